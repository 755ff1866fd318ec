/* chat_sink.c -- what the agent does, as chunks of a chat completion and as the message it will be. */
#include <stdlib.h>

#include <jansson.h>

#include "agent/halt.h"
#include "ask/flight.h"
#include "base/scope.h"
#include "openai/chat_turn.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/turn.h"

/* ---- chunks ---- */

void chat_emit(struct chat_turn *c, struct json_t *json)
{
    scoped(json_decrefp) json_t *owned = json;
    scoped(freep) char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
    if (text)
        flight_emit(c->f, NULL, str_of(text));
    else
        halt_now(flight_halt(c->f)); /* no memory: half a stream is worth nothing */
}

static const char *name_of(const struct chat_turn *c)
{
    const char *asked = c->t->q.model ? c->t->q.model : model_name(c->t->oa->o.model);
    return *c->model ? c->model : asked;
}

struct json_t *chat_object(const struct chat_turn *c, const char *kind, struct json_t *choices)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", c->id, "object", kind, "created",
                     (json_int_t)c->created_s, "model", name_of(c), "choices", choices);
}

/* `delta` is given away. */
struct json_t *chat_chunk(const struct chat_turn *c, struct json_t *delta, const char *finish)
{
    return chat_object(c, "chat.completion.chunk",
                       json_pack("[{s:i, s:o, s:n, s:s?}]", "index", 0, "delta", delta, "logprobs",
                                 "finish_reason", finish));
}

static void emit_delta(struct chat_turn *c, const char *name, json_t *value)
{
    if (c->is_stream)
        chat_emit(c, chat_chunk(c, json_pack("{s:o}", name, value), NULL));
    else
        json_decref(value);
}

static json_t *text_json(struct str s)
{
    return json_stringn(s.ptr ? s.ptr : "", s.len);
}

/* ---- what the agent does ---- */

static void add_text(struct chat_turn *c, struct str delta)
{
    buf_add(&c->text, delta.ptr, delta.len);
    emit_delta(c, "content", text_json(delta));
}

/* Appends to a list of the message. */
static void add_to(struct chat_turn *c, const char *list, json_t *value)
{
    if (!json_object_get(c->message, list))
        (void)json_object_set_new(c->message, list, json_array()); /* or the next fails, too */
    if (json_array_append_new(json_object_get(c->message, list), value))
        halt_now(flight_halt(c->f));
}

static void begin_call(struct chat_turn *c, const json_t *item)
{
    json_t *call = json_pack("{s:i, s:s, s:s, s:{s:s, s:s}}", "index", (int)c->calls, "id",
                             shape_text(item, "call_id"), "type", "function", "function", "name",
                             shape_text(item, "name"), "arguments", "");
    c->calls++;
    emit_delta(c, "tool_calls", json_pack("[o]", call));
}

static void on_item(void *arg, size_t index, const struct json_t *item)
{
    struct chat_turn *c = arg;
    c->under.item(c->under.arg, index, item);
    if (shape_is(item, "type", "function_call"))
        begin_call(c, item);
    if (shape_is(item, "type", "message") && c->text.len > 0)
        add_text(c, str_of("\n\n"));
    c->text_at = c->text.len;
}

static void on_text(void *arg, size_t index, struct str delta)
{
    (void)index;
    add_text(arg, delta);
}

static void on_reasoning(void *arg, size_t index, struct str delta)
{
    (void)index;
    emit_delta(arg, "reasoning_content", text_json(delta));
}

static void on_refusal(void *arg, size_t index, struct str delta)
{
    (void)index;
    emit_delta(arg, "refusal", text_json(delta));
}

static void on_arguments(void *arg, size_t index, struct str delta)
{
    struct chat_turn *c = arg;
    (void)index;
    emit_delta(c, "tool_calls",
               json_pack("[{s:i, s:{s:o}}]", "index", (int)c->calls - 1, "function", "arguments",
                         text_json(delta)));
}

static void on_running(void *arg, size_t index, const struct json_t *item)
{
    struct chat_turn *c = arg;
    c->under.running(c->under.arg, index, item);
}

static void on_ran(void *arg, size_t index, const struct json_t *run)
{
    struct chat_turn *c = arg;
    c->under.ran(c->under.arg, index, run);
}

static void on_annotate(void *arg, const char *text, struct json_t **ret)
{
    struct chat_turn *c = arg;
    c->under.annotate(c->under.arg, text, ret);
}

/* ---- items that are done ---- */

static json_int_t code_points(struct str s)
{
    json_int_t count = 0;
    for (size_t i = 0; i < s.len; i++)
        count += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return count;
}

/* A citation counts from the beginning of its item; here all texts are one. Those of nowhere stay so. */
static json_t *shifted(const json_t *note, json_int_t by)
{
    json_t *copy = json_copy((json_t *)note);
    json_int_t start = json_integer_value(json_object_get(note, "start_index"));
    json_int_t end = json_integer_value(json_object_get(note, "end_index"));
    if (end > 0 && (json_object_set_new(copy, "start_index", json_integer(start + by)) ||
                    json_object_set_new(copy, "end_index", json_integer(end + by)))) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* A chunk that says nothing but what `key` of the extra member is. */
static void emit_extra(struct chat_turn *c, const char *key, json_t *value)
{
    if (!c->is_stream)
        return;
    json_t *chunk = chat_chunk(c, json_object(), NULL);
    (void)json_object_set_new(
        chunk, "code_interpreter", /* or it is not told of */
        json_pack("{s:s, s:O}", "container_id", c->t->container.id, key, value));
    chat_emit(c, chunk);
}

static void add_notes(struct chat_turn *c, const json_t *notes, json_int_t by)
{
    scoped(json_decrefp) json_t *moved = json_array();
    for (size_t i = 0; i < json_array_size(notes); i++)
        (void)json_array_append_new(moved,
                                    shifted(json_array_get(notes, i), by)); /* or not cited */
    if (json_array_size(moved) == 0)
        return;
    if (json_array_extend(c->notes, moved))
        halt_now(flight_halt(c->f));
    emit_extra(c, "annotations", moved);
}

static void done_message(struct chat_turn *c, const json_t *item)
{
    const json_t *parts = json_object_get(item, "content");
    const json_int_t by = code_points((struct str){c->text.bytes, c->text_at});
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        if (shape_is(part, "type", "refusal"))
            (void)json_object_set(c->message, "refusal", json_object_get(part, "refusal"));
        add_notes(c, json_object_get(part, "annotations"), by);
    }
}

static void done_code(struct chat_turn *c, size_t index)
{
    /* As it is kept: with the container, and what was said of a session that is gone. */
    const json_t *kept = json_array_get(oa_response_output(c->t->object), index);
    json_t *shown = oa_item_shown(kept, c->t->has_outputs);
    if (json_array_append(c->runs, shown))
        halt_now(flight_halt(c->f));
    emit_extra(c, "call", shown);
    json_decref(shown);
}

static void done_call(struct chat_turn *c, const json_t *item)
{
    add_to(c, "tool_calls",
           json_pack("{s:s, s:s, s:{s:s, s:s}}", "id", shape_text(item, "call_id"), "type",
                     "function", "function", "name", shape_text(item, "name"), "arguments",
                     shape_text(item, "arguments")));
}

static void on_item_done(void *arg, size_t index, const struct json_t *item)
{
    struct chat_turn *c = arg;
    c->under.item_done(c->under.arg, index, item);
    if (shape_is(item, "type", "message"))
        done_message(c, item);
    else if (shape_is(item, "type", "code_interpreter_call"))
        done_code(c, index);
    else if (shape_is(item, "type", "function_call"))
        done_call(c, item);
}

void chat_sink(struct chat_turn *c, struct agent_sink *ret)
{
    *ret = (struct agent_sink){
        .item = on_item,
        .text = on_text,
        .reasoning = on_reasoning,
        .refusal = on_refusal,
        .arguments = on_arguments,
        .running = on_running,
        .ran = on_ran,
        .item_done = on_item_done,
        .annotate = on_annotate,
        .arg = c,
    };
}
