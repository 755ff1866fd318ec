/* chat_code.c -- a chat completion that may run code: the agent does the work of a response (turn.h), and it is told as a
 * chat completion, whole or in chunks.
 *
 * What the API has no place for stands in extra members: `code_interpreter` of the completion, or of a chunk, has the
 * container, the calls, and the annotations that cite files. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent.h"
#include "agent/halt.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/scope.h"
#include "openai/chat.h"
#include "openai/chat_turn.h"
#include "openai/shape.h"
#include "openai/turn.h"

/* What it is made of. Nobody can come back to it, so it need not wait for the flight to be forgotten. */
static void drop(struct chat_turn *c)
{
    oa_turn_free(c->t);
    c->t = NULL;
    json_decref(c->message);
    json_decref(c->runs);
    json_decref(c->notes);
    c->message = c->runs = c->notes = NULL;
    buf_done(&c->text);
}

static void chat_free(void *arg)
{
    drop(arg);
    free(arg);
}

static json_t *usage_of(const struct chat_turn *c)
{
    const struct model_usage *u = &c->usage;
    return json_pack("{s:I, s:I, s:I, s:{s:I}, s:{s:I}}", "prompt_tokens", (json_int_t)u->input,
                     "completion_tokens", (json_int_t)u->output, "total_tokens",
                     (json_int_t)u->input + (json_int_t)u->output, "prompt_tokens_details",
                     "cached_tokens", (json_int_t)u->cached, "completion_tokens_details",
                     "reasoning_tokens", (json_int_t)u->reasoning);
}

/* ---- its thread ---- */

static const char *finish_of(enum agent_end end)
{
    switch (end) {
    case AGENT_ANSWERED:
    case AGENT_CALLS_LIMIT: return "stop";
    case AGENT_FUNCTION: return "tool_calls";
    case AGENT_FILTERED: return "content_filter";
    case AGENT_OUTPUT_LIMIT:
    case AGENT_TOKENS_LIMIT: break;
    }
    return "length";
}

static void tell_end(struct chat_turn *c)
{
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    json_t *usage;
    if (c->failed) {
        oa_chat_error(&c->why, &text);
        flight_emit(c->f, NULL, (struct str){text.bytes, text.len});
        return;
    }
    chat_emit(c, chat_chunk(c, json_object(), c->finish));
    if (c->wants_usage) {
        usage = chat_object(c, "chat.completion.chunk", json_array());
        (void)json_object_set_new(usage, "usage", usage_of(c)); /* or it is not told */
        chat_emit(c, usage);
    }
    flight_emit(c->f, NULL, str_of("[DONE]"));
}

static void run(struct flight *f, void *arg)
{
    struct chat_turn *c = arg;
    struct agent_outcome outcome = {0};
    struct agent_sink sink;
    c->f = c->t->flight = f;
    oa_turn_sink(c->t, &c->under);
    chat_sink(c, &sink);
    if (c->is_stream)
        chat_emit(c,
                  chat_chunk(c, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL));
    c->failed = oa_turn_ask(c->t, &sink, flight_halt(f), &outcome, &c->why);
    c->finish = finish_of(outcome.end);
    c->usage = outcome.usage;
    memcpy(c->model, outcome.model, sizeof c->model);
    agent_outcome_done(&outcome);
    if (c->failed)
        oa_plain(c->t->oa, c->id, &c->why);
    if (c->failed && c->why.code == ERR_GONE) /* if not they have gone, it is the server */
        (void)err_set(&c->why, ERR_UNAVAILABLE, "the server is stopping; ask again");
    if (c->is_stream) {
        tell_end(c);
        drop(c);
    }
}

/* ---- the handler ---- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "prepare a chat completion");
}

/* What the Responses API does not have, but models do. */
static int more_params(const json_t *body, json_t *params, struct err *e)
{
    static const char *const names[] = {"seed", "stop", "presence_penalty", "frequency_penalty"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(body, names[i]);
        if (value && json_object_set(params, names[i], value))
            return no_memory(e);
    }
    return 0;
}

static int read_request(struct oa_call *o, const json_t *wish, struct oa_request *ret,
                        struct err *e)
{
    scoped(json_decrefp) json_t *body = NULL;
    struct refusal r;
    if (oa_chat_translate(o->json, wish, &body, &r))
        return oa_fail(o, e, ERR_INVALID, r.param, r.code, "%s", r.message);
    int failed = oa_request_read(body, ret, &r)
                     ? oa_fail(o, e, ERR_INVALID, r.param, r.code, "%s", r.message)
                     : more_params(o->json, ret->params, e);
    if (failed)
        oa_request_done(ret);
    return failed;
}

static int make(struct oa_call *o, struct oa_turn *t, struct chat_turn **ret, struct err *e)
{
    const json_t *options = json_object_get(o->json, "stream_options");
    struct chat_turn *c = calloc(1, sizeof *c);
    if (!c) {
        oa_turn_free(t);
        return no_memory(e);
    }
    *c = (struct chat_turn){
        .t = t,
        .is_stream = json_is_true(json_object_get(o->json, "stream")),
        .wants_usage = json_is_true(json_object_get(options, "include_usage")),
        .created_s = clock_wall_us() / 1000000,
        .message = json_pack("{s:s, s:n, s:n}", "role", "assistant", "content", "refusal"),
        .text = BUF_INIT(4 * MODEL_TEXT_MAX),
        .runs = json_array(),
        .notes = json_array(),
    };
    if (id_make("chatcmpl-", c->id, e) || !c->message || !c->runs || !c->notes) {
        chat_free(c);
        return no_memory(e);
    }
    *ret = c;
    return 0;
}

static int answer(struct oa_call *o, struct chat_turn *c, struct err *e)
{
    if (c->failed)
        return oa_fail(o, e, c->why.code, NULL, NULL, "%s", c->why.text);
    if (c->text.len > 0)
        (void)json_object_set_new(c->message,
                                  "content", /* or the answer cannot be written either */
                                  json_stringn(c->text.bytes, c->text.len));
    json_t *made = chat_object(c, "chat.completion",
                               json_pack("[{s:i, s:O, s:n, s:s}]", "index", 0, "message",
                                         c->message, "logprobs", "finish_reason", c->finish));
    if (json_object_set_new(made, "usage", usage_of(c)) ||
        json_object_set_new(made, "code_interpreter",
                            json_pack("{s:s?, s:O, s:O}", "container_id",
                                      c->t->has_container ? c->t->container.id : NULL, "calls",
                                      c->runs, "annotations", c->notes))) {
        json_decref(made);
        return no_memory(e);
    }
    return oa_answer_take(o, made, e);
}

static void flight_unrefp(struct flight **f)
{
    flight_unref(*f);
}

/* The end of a stream when the server ends. */
static const char last_words[] =
    "data: {\"error\":{\"message\":\"The server is stopping. Ask again in a moment.\","
    "\"type\":\"server_error\",\"param\":null,\"code\":\"server_error\"}}\n\n";

int oa_chat_code(struct oa_call *o, const struct json_t *wish, struct err *e)
{
    struct oa_request q;
    struct oa_turn *t = NULL;
    struct chat_turn *c = NULL;
    scoped(flight_unrefp) struct flight *f = NULL;
    if (read_request(o, wish, &q, e) || oa_turn_new(o, &q, &t, e) || make(o, t, &c, e))
        return -1;
    const struct flight_options options = {
        .id = c->id,
        .principal = o->c->who.principal,
        .last_words = last_words,
        .run = run,
        .free_arg = chat_free,
        .arg = c,
    };
    const bool is_stream = c->is_stream;
    if (flight_start(o->oa->o.flights, &options, &f, e))
        return -1;
    if (is_stream)
        return flight_stream(f, o->c, /* from= */ 0, /* is_owner= */ true, e);
    flight_wait(f, o->c);
    int failed = answer(o, c, e);
    drop(c);
    return failed;
}
