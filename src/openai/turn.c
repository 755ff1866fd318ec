#include "openai/turn.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent.h"
#include "agent/halt.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "openai/conversation.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/store.h"

void oa_turn_free(void *turn)
{
    struct oa_turn *t = turn;
    if (!t)
        return;
    if (!t->flight) /* it was refused at the door */
        oa_turn_unmake(t);
    oa_request_done(&t->q);
    oa_events_done(&t->events);
    json_decref(t->input);
    json_decref(t->items);
    json_decref(t->marks);
    json_decref(t->names);
    json_decref(t->made);
    json_decref(t->object);
    free(t->instructions);
    caller_free(t->caller);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

void oa_turn_release(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    json_t *const held[] = {t->items,  t->marks,       t->made,     t->input,        t->object,
                            t->q.body, t->q.functions, t->q.params, t->q.made_choice};
    char *words = t->instructions;
    t->items = t->input = t->object = t->marks = t->made = NULL;
    t->q.body = t->q.functions = t->q.params = t->q.made_choice = NULL;
    t->instructions = NULL;
    pthread_mutex_unlock(&t->lock);
    free(words);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        json_decref(held[i]);
}

/* ---- from other threads ---- */

struct json_t *oa_turn_object(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    json_t *copy = json_copy(t->object);
    json_t *output = json_array(), *item;
    size_t i;
    /* The items are copied, too: their status may be set at the end. What is in them is not changed any more. */
    json_array_foreach(oa_response_output(t->object), i, item)
    {
        (void)json_array_append_new(output, json_copy(item)); /* an item less, for want of memory */
    }
    pthread_mutex_unlock(&t->lock);
    if (json_object_set_new(copy, "output", output) == 0)
        return copy;
    json_decref(copy);
    return NULL;
}

struct json_t *oa_turn_input(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    json_t *input = json_incref(t->input);
    pthread_mutex_unlock(&t->lock);
    return input;
}

bool oa_turn_is_kept(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    bool is_kept = t->q.is_stored && !t->is_deleted;
    pthread_mutex_unlock(&t->lock);
    return is_kept;
}

void oa_turn_cancel(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->is_cancelled = true;
    pthread_mutex_unlock(&t->lock);
}

void oa_turn_delete(struct oa_turn *t)
{
    pthread_mutex_lock(&t->lock);
    t->is_deleted = true;
    pthread_mutex_unlock(&t->lock);
}

/* ---- events ---- */

static void emit(void *arg, const char *event, struct str data)
{
    struct oa_turn *t = arg;
    if (t->is_ending)
        t->is_ended = flight_emit_last(t->flight, event, data);
    else
        flight_emit(t->flight, event, data);
}

static void tell(struct oa_turn *t, const char *event)
{
    if (!t->is_told)
        return;
    scoped(json_decrefp) json_t *whole = oa_turn_object(t);
    scoped(json_decrefp) json_t *shown = whole ? oa_response_shown(whole, t->has_outputs) : NULL;
    if (shown)
        oa_events_response(&t->events, event, shown);
}

static void set_status(struct oa_turn *t, const char *status)
{
    pthread_mutex_lock(&t->lock);
    (void)oa_response_status(t->object, status); /* or it is said a little later */
    pthread_mutex_unlock(&t->lock);
}

static void tell_begin(struct oa_turn *t)
{
    tell(t, "response.created");
    if (t->q.is_background)
        tell(t, "response.queued");
    set_status(t, "in_progress");
    tell(t, "response.in_progress");
}

/* Clients wait for this one, so it comes also when there is room for no other: then without the outputs of code, or with no items
 * at all. What is missing was told before, and is kept. */
static void tell_last(struct oa_turn *t, const char *event)
{
    scoped(json_decrefp) json_t *whole = oa_turn_object(t);
    t->is_ending = true;
    for (int less = 0; whole && less < 3 && !t->is_ended; less++) {
        scoped(json_decrefp) json_t *shown = oa_response_shown(whole, t->has_outputs && less == 0);
        if (less == 2)
            (void)json_object_set_new(shown, "output", json_array()); /* or it does not fit again */
        t->events.next = flight_count(t->flight);
        if (shown)
            oa_events_response(&t->events, event, shown);
    }
}

static void tell_end(struct oa_turn *t)
{
    if (!t->is_told)
        return;
    if (t->has_failed)
        oa_events_error(&t->events, oa_type(t->why.code), t->why_code, t->why.text);
    if (shape_is(t->object, "status", "completed"))
        tell_last(t, "response.completed");
    else if (shape_is(t->object, "status", "incomplete"))
        tell_last(t, "response.incomplete");
    else if (shape_is(t->object, "status", "failed"))
        tell_last(t, "response.failed");
}

/* ---- keeping it ---- */

/* How many events there will have been: the last is still to come. */
static uint64_t event_count(const struct oa_turn *t)
{
    return t->events.next + (t->has_failed ? 2 : 1);
}

/* Nobody hears of a response that failed before it had begun to be one. */
static bool is_worth_keeping(struct oa_turn *t)
{
    return oa_turn_is_kept(t) && (t->is_told || !t->has_failed || !t->is_empty);
}

static int keep_response(struct oa_turn *t, const json_t *object, struct err *e)
{
    const char *principal = caller_who(t->caller)->principal;
    if (!is_worth_keeping(t))
        return 0;
    return t->q.is_background
               ? oa_stored_save(t->oa, principal, t->id, object, t->input, event_count(t), e)
               : oa_stored_insert(t->oa, principal, t->id, object, t->input, event_count(t), e);
}

/* What was said belongs to the conversation, whether or not the response is kept by itself. */
static int keep_items(struct oa_turn *t, json_t *object, struct err *e)
{
    if (!t->q.conversation || t->has_failed || t->is_deleted ||
        shape_is(object, "status", "cancelled"))
        return 0;
    return oa_conversation_append(t->oa, caller_who(t->caller)->principal, t->q.conversation,
                                  t->input, oa_response_output(object), e);
}

static void keep(struct oa_turn *t)
{
    struct err e = {0};
    scoped(json_decrefp) json_t *object = oa_turn_object(t);
    if (!object || (keep_response(t, object, &e) == 0 && keep_items(t, object, &e) == 0) ||
        e.code == ERR_NOT_FOUND) /* it was deleted meanwhile */
        return;
    log_line(t->oa->o.log, LOG_WARNING, "response not kept", LOG_STR("id", t->id),
             LOG_STR("why", e.text));
}

/* ---- its thread ---- */

static int open_hands(void *arg, char ret_container[ID_SIZE], struct err *e)
{
    struct oa_turn *t = arg;
    if (oa_turn_open(t, e))
        return -1;
    memcpy(ret_container, t->container.id, ID_SIZE);
    return 0;
}

int oa_turn_ask(struct oa_turn *t, const struct agent_sink *sink, struct halt *halt,
                struct agent_outcome *outcome, struct err *e)
{
    const struct agent_hands hands = {.open = open_hands, .run = oa_turn_code, .arg = t};
    struct agent_wishes w = {
        .model = t->q.model,
        .instructions = t->instructions,
        .items = t->items,
        .functions = json_array_size(t->q.functions) > 0 ? t->q.functions : NULL,
        .choice = t->q.choice,
        .params = t->q.params,
        .is_parallel = t->q.is_parallel,
        .hands = t->q.has_code ? &hands : NULL,
        .code = t->oa->o.code,
        .limits = t->oa->o.limits,
    };
    const uint32_t most = w.limits.calls_max ? w.limits.calls_max : AGENT_CALLS;
    if (t->q.calls_max > 0 && t->q.calls_max < most)
        w.limits.calls_max = t->q.calls_max;
    return agent_run(t->oa->o.model, &w, sink, halt, outcome, e);
}

void oa_turn_run(struct flight *f, void *turn)
{
    struct oa_turn *t = turn;
    struct agent_outcome outcome = {0};
    struct agent_sink sink;
    struct err e = {0};
    t->flight = f;
    t->events.emit = emit;
    t->events.arg = t;
    tell_begin(t);
    oa_turn_sink(t, &sink);
    int failed = oa_turn_ask(t, &sink, flight_halt(f), &outcome, &e);
    oa_turn_end(t, failed, &e, &outcome, halt_is(flight_halt(f)));
    t->events.next = flight_count(f); /* those that there was no room for have no number */
    keep(t);
    tell_end(t);
    agent_outcome_done(&outcome);
    if (t->is_told) /* otherwise somebody waits for the object */
        oa_turn_release(t);
}
