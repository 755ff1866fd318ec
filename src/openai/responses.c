/* responses.c -- /v1/responses: made, shown, cancelled, deleted. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/halt.h"
#include "ask/flight.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "openai/events.h"
#include "openai/items.h"
#include "openai/response_object.h"
#include "openai/responses_int.h"
#include "openai/shape.h"
#include "openai/store.h"
#include "openai/turn.h"

static void flight_unrefp(struct flight **f)
{
    flight_unref(*f);
}

int responses_shown(struct oa_call *o, const struct json_t *object, bool has_outputs, struct err *e)
{
    return oa_answer_take(o, oa_response_shown(object, has_outputs), e);
}

/* ---- create ---- */

static int no_model(struct oa_call *o, struct err *e)
{
    http_add_header(o->c->x, "x-should-retry", "false");
    return oa_fail(o, e, ERR_UNAVAILABLE, NULL, "model_not_configured",
                   "This server has no model. Set CICADA_MODEL_URL and CICADA_MODEL_NAME: "
                   "http://127.0.0.1:11434/v1 and qwen3 for Ollama, or the /v1 of a hosted API "
                   "with CICADA_MODEL_KEY. See docs/openai.md.");
}

int responses_read(struct oa_call *o, struct oa_request *ret, struct err *e)
{
    struct refusal r;
    if (!o->oa->o.model)
        return no_model(o, e);
    if (oa_body(o, e))
        return -1;
    if (oa_request_read(o->json, ret, &r) == 0)
        return 0;
    oa_request_done(ret);
    return oa_fail(o, e, ERR_INVALID, r.param, r.code, "%s", r.message);
}

/* It is known before anybody can ask for it. */
static int keep_begun(struct oa_turn *t, struct oa_call *o, struct err *e)
{
    return t->q.is_background ? oa_stored_insert(t->oa, o->c->who.principal, t->id, t->object,
                                                 t->input, /* events= */ 0, e)
                              : 0;
}

/* The end of a stream when the server ends: the response itself is finished, if that does not take long. */
#define STOPPING \
    "The server is stopping. Retrieve the response in a moment if it is stored, or ask again."
static const char last_words[] =
    "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"" STOPPING
    "\",\"param\":null,\"error\":{\"type\":\"server_error\",\"code\":\"server_error\",\"message\":"
    "\"" STOPPING "\",\"param\":null}}\n\n";

static int start(struct oa_turn *t, struct oa_call *o, struct flight **ret, struct err *e)
{
    char id[ID_SIZE];
    struct err ignored = {0};
    const bool is_background = t->q.is_background;
    const struct flight_options options = {
        .id = t->id,
        .principal = o->c->who.principal,
        .is_background = is_background,
        .last_words = last_words,
        .run = oa_turn_run,
        .free_arg = oa_turn_free,
        .arg = t,
    };
    memcpy(id, t->id, sizeof id);
    if (flight_start(o->oa->o.flights, &options, ret, e) == 0)
        return 0;
    if (is_background) /* a card of something that never was; at worst it says that it failed */
        (void)card_delete(o->oa->o.cards, o->c->who.principal, CARD_RESPONSE, id, &ignored);
    return -1;
}

/* Nothing was made: then there is no response either, only what went wrong. */
static int told_why(struct oa_call *o, const struct oa_turn *t, struct err *e)
{
    if (t->is_final)
        http_add_header(o->c->x, "x-should-retry", "false");
    return oa_fail(o, e, t->why.code, NULL, t->why_code, "%s", t->why.text);
}

static int answer_whole(struct oa_call *o, struct flight *f, struct err *e)
{
    struct oa_turn *t = flight_arg(f);
    flight_wait(f, o->c);
    int failed = t->has_failed && t->is_empty ? told_why(o, t, e)
                                              : responses_shown(o, t->object, t->has_outputs, e);
    oa_turn_release(t);
    return failed;
}

static int create(struct oa_call *o, struct err *e)
{
    struct oa_request q;
    struct oa_turn *t;
    scoped(flight_unrefp) struct flight *f = NULL;
    scoped(json_decrefp) json_t *begun = NULL;
    if (responses_read(o, &q, e) || oa_turn_new(o, &q, &t, e))
        return -1;
    const bool is_background = t->q.is_background, is_stream = t->q.is_stream;
    if (keep_begun(t, o, e)) {
        oa_turn_free(t);
        return -1;
    }
    begun = is_background ? oa_turn_object(t) : NULL;
    if (start(t, o, &f, e))
        return -1;
    if (is_stream)
        return flight_stream(f, o->c, /* from= */ 0, /* is_owner= */ true, e);
    return is_background ? responses_shown(o, begun, /* has_outputs= */ true, e)
                         : answer_whole(o, f, e);
}

/* ---- one that was made ---- */

int responses_find(struct oa_call *o, struct oa_stored *ret, struct err *e)
{
    struct err why = {0};
    const char *id = o->piece[0];
    if (strlen(id) < ID_SIZE && oa_stored_get(o->oa, o->c->who.principal, id, ret, &why) == 0)
        return 0;
    if (why.code != ERR_NONE && why.code != ERR_NOT_FOUND) {
        *e = why;
        return -1;
    }
    return oa_not_found(o, e, "Response with id '%.64s' not found.", id);
}

static int delete (struct oa_call *o, struct err *e)
{
    scoped(oa_stored_done) struct oa_stored s = {0};
    struct err why = {0};
    if (responses_find(o, &s, e))
        return -1;
    if (s.flight) {
        oa_turn_delete(flight_arg(s.flight));
        halt_now(flight_halt(s.flight));
        flight_wait(s.flight, NULL); /* what it might still keep is deleted below */
    }
    if (card_delete(o->oa->o.cards, o->c->who.principal, CARD_RESPONSE, o->piece[0], &why) &&
        why.code != ERR_NOT_FOUND) {
        *e = why;
        return -1;
    }
    return oa_answer_deleted(o, o->piece[0], "response", e);
}

static int cannot_cancel(struct oa_call *o, const json_t *object, struct err *e)
{
    if (!json_is_true(json_object_get(object, "background")))
        return oa_fail(o, e, ERR_INVALID, NULL, NULL, "Cannot cancel a synchronous response.");
    return oa_fail(o, e, ERR_INVALID, NULL, NULL, "Cannot cancel a %s response.",
                   shape_text(object, "status"));
}

static bool is_going(const json_t *object)
{
    return shape_is(object, "status", "queued") || shape_is(object, "status", "in_progress");
}

static int cancel(struct oa_call *o, struct err *e)
{
    scoped(oa_stored_done) struct oa_stored s = {0};
    if (responses_find(o, &s, e))
        return -1;
    const bool has_outputs = o->oa->o.has_outputs;
    if (shape_is(s.object, "status", "cancelled"))
        return responses_shown(o, s.object, has_outputs, e);
    if (!json_is_true(json_object_get(s.object, "background")) || !s.flight || !is_going(s.object))
        return cannot_cancel(o, s.object, e);
    oa_turn_cancel(flight_arg(s.flight));
    halt_now(flight_halt(s.flight));
    flight_wait(s.flight, NULL);
    oa_stored_done(&s);
    if (responses_find(o, &s, e))
        return -1;
    return shape_is(s.object, "status", "cancelled")
               ? responses_shown(o, s.object, has_outputs, e)
               : cannot_cancel(o, s.object, e); /* it had come to its end by itself */
}

static const struct oa_op ops[] = {
    {"POST", "responses", SCOPE_RUN, create},
    {"POST", "responses/input_tokens", SCOPE_RUN, responses_input_tokens},
    {"GET", "responses/{id}", SCOPE_RUN, responses_retrieve},
    {"DELETE", "responses/{id}", SCOPE_RUN, delete},
    {"POST", "responses/{id}/cancel", SCOPE_RUN, cancel},
    {"GET", "responses/{id}/input_items", SCOPE_RUN, responses_input_items},
};
const struct oa_table oa_responses = {ops, sizeof ops / sizeof *ops};
