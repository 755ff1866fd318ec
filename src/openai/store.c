#include "openai/store.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "ask/flight.h"
#include "base/clock.h"
#include "base/scope.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/slim.h"
#include "openai/turn.h"

/* So that it stays small: without the bytes of images and files. */
static json_t *slim_body(const json_t *object, const json_t *input, uint64_t events)
{
    scoped(json_decrefp) json_t *response = json_copy((json_t *)object);
    if (json_object_set_new(response, "output", oa_slim(json_object_get(object, "output"))))
        return NULL;
    return json_pack("{s:O, s:o, s:I}", "response", response, "input", oa_slim(input), "events",
                     (json_int_t)events);
}

static int make(const char *principal, const char *id, const json_t *object, const json_t *input,
                uint64_t events, struct oa_card *ret, struct err *e)
{
    *ret = (struct oa_card){.card = {.kind = CARD_RESPONSE, .name = ""}};
    ret->card.created_us = ret->card.used_us = clock_wall_us();
    (void)snprintf(ret->card.id, sizeof ret->card.id, "%s", id);
    (void)snprintf(ret->card.principal, sizeof ret->card.principal, "%s", principal);
    if (shape_size(object) + shape_size(input) <= OA_KEPT_MAX)
        ret->body = json_pack("{s:O, s:O, s:I}", "response", object, "input", input, "events",
                              (json_int_t)events);
    else
        ret->body = slim_body(object, input, events);
    return ret->body ? 0 : err_set(e, ERR_NO_MEMORY, "keep a response");
}

/* Counting somebody's responses takes as long as there are many, and nobody else can write meanwhile. As none of them is worth
 * that, it is done for one of 64, by chance: the last byte of an id is nothing else. So there may be some hundred more. */
static uint64_t max_for(const char *id)
{
    const size_t len = strlen(id);
    const bool is_counted = len < 2 || (id[len - 1] == '0' && strchr("048c", id[len - 2]));
    return is_counted ? RESPONSES_MAX : 0;
}

int oa_stored_insert(struct openai *oa, const char *principal, const char *id,
                     const struct json_t *object, const struct json_t *input, uint64_t events,
                     struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return make(principal, id, object, input, events, &c, e) ||
                   oa_card_insert(oa, &c, max_for(id), e)
               ? -1
               : 0;
}

int oa_stored_save(struct openai *oa, const char *principal, const char *id,
                   const struct json_t *object, const struct json_t *input, uint64_t events,
                   struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return make(principal, id, object, input, events, &c, e) || oa_card_save(oa, &c, e) ? -1 : 0;
}

void oa_stored_done(struct oa_stored *s)
{
    json_decref(s->object);
    json_decref(s->input);
    flight_unref(s->flight);
    *s = (struct oa_stored){0};
}

static int read_card(struct openai *oa, const char *principal, const char *id,
                     struct oa_stored *ret, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (oa_card_get(oa, principal, CARD_RESPONSE, id, &c, e))
        return -1;
    json_decref(ret->object);
    json_decref(ret->input);
    ret->object = json_incref(json_object_get(c.body, "response"));
    ret->input = json_incref(json_object_get(c.body, "input"));
    ret->events = (uint64_t)oa_card_int(&c, "events");
    return ret->object ? 0 : err_set(e, ERR_DAMAGED, "a response without its object");
}

static bool goes_on(const json_t *object)
{
    return shape_is(object, "status", "queued") || shape_is(object, "status", "in_progress");
}

/* Nothing goes on any more. */
static int tell_as_failed(json_t *object, struct err *e)
{
    const struct oa_end end = {
        .status = "failed",
        .error = "server_error",
        .message = "The server was stopped while this response was being made. Files that its code "
                   "had written are in its container. Create the response again.",
    };
    return oa_response_end(object, &end) ? err_set(e, ERR_NO_MEMORY, "tell of a response") : 0;
}

/* One that goes on, as it is at this moment. False: there is none that is kept. */
static bool read_flight(struct oa_stored *ret)
{
    struct oa_turn *t = ret->flight ? flight_arg(ret->flight) : NULL;
    if (!t || flight_is_over(ret->flight) || !oa_turn_is_kept(t))
        return false;
    ret->object = oa_turn_object(t);
    ret->input = oa_turn_input(t);
    return ret->object != NULL;
}

int oa_stored_get(struct openai *oa, const char *principal, const char *id, struct oa_stored *ret,
                  struct err *e)
{
    /* Other things go on among the flights, and what those carry is no turn. */
    const bool is_response = strncmp(id, "resp_", 5) == 0;
    *ret = (struct oa_stored){.flight =
                                  is_response ? flight_find(oa->o.flights, principal, id) : NULL};
    if (read_flight(ret))
        return 0;
    int failed = read_card(oa, principal, id, ret, e);
    if (!failed && goes_on(ret->object)) {
        /* It may have ended between the two looks; then the card is another now. */
        failed = read_card(oa, principal, id, ret, e) ||
                 (goes_on(ret->object) && tell_as_failed(ret->object, e));
    }
    if (failed)
        oa_stored_done(ret);
    return failed ? -1 : 0;
}
