#include "openai/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/events_int.h"
#include "openai/shape.h"

enum { NONE = -1 };

struct oa_events_item {
    char id[ID_SIZE];
    int part[OA_DELTAS];    /* content_index of the part of that kind; NONE: it has not begun */
    size_t sent[OA_DELTAS]; /* bytes of deltas */
    int parts;
    bool is_running, has_run;
};

void oa_events_done(struct oa_events *ev)
{
    free(ev->items);
    ev->items = NULL;
    ev->count = ev->room = 0;
}

static struct str str_at(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_string(v) ? (struct str){json_string_value(v), json_string_length(v)}
                             : str_of("");
}

/* ---- the items that are being made ---- */

static struct oa_events_item *item_at(struct oa_events *ev, size_t index)
{
    return index < ev->count ? &ev->items[index] : NULL;
}

static struct oa_events_item *new_item(struct oa_events *ev, size_t index, const char *id)
{
    if (index != ev->count) /* a gap, or one that is there already */
        return NULL;
    if (ev->count == ev->room) {
        size_t room = ev->room ? 2 * ev->room : 8;
        void *items = realloc(ev->items, room * sizeof *ev->items);
        if (!items) {
            ev->has_failed = true;
            return NULL;
        }
        ev->items = items;
        ev->room = room;
    }
    struct oa_events_item *it = &ev->items[ev->count++];
    *it = (struct oa_events_item){0};
    (void)snprintf(it->id, sizeof it->id, "%s", id);
    for (size_t i = 0; i < OA_DELTAS; i++)
        it->part[i] = NONE;
    return it;
}

/* An event of an item: output_index, and the item's id. */
static void begin_of(struct event_writing *it, struct oa_events *ev, const char *event,
                     size_t index)
{
    event_begin(it, ev, event);
    event_u64(it, "output_index", index);
    event_text(it, "item_id", ev->items[index].id);
}

static void emit_of(struct oa_events *ev, const char *event, size_t index)
{
    struct event_writing it;
    begin_of(&it, ev, event, index);
    event_finish(&it);
}

static void emit_item(struct oa_events *ev, const char *event, size_t index, const json_t *item)
{
    struct event_writing it;
    event_begin(&it, ev, event);
    event_u64(&it, "output_index", index);
    event_json(&it, "item", item);
    event_finish(&it);
}

void oa_events_item(struct oa_events *ev, size_t index, const struct json_t *item)
{
    if (!new_item(ev, index, shape_text(item, "id")))
        return;
    scoped(json_decrefp) json_t *empty = event_empty_item(item);
    emit_item(ev, "response.output_item.added", index, empty);
    if (shape_is(item, "type", "code_interpreter_call"))
        emit_of(ev, "response.code_interpreter_call.in_progress", index);
}

/* ---- deltas ---- */

static const struct kind {
    const char *delta, *done; /* events */
    const char *part,
        *key;          /* of the part: its type, and the member with the text; NULL: it has none */
    const char *whole; /* the member of `done` */
} kinds[OA_DELTAS] = {
    [OA_TEXT] = {"response.output_text.delta", "response.output_text.done", "output_text", "text",
                 "text"},
    [OA_REFUSAL] = {"response.refusal.delta", "response.refusal.done", "refusal", "refusal",
                    "refusal"},
    [OA_REASONING] = {"response.reasoning_text.delta", "response.reasoning_text.done",
                      "reasoning_text", "text", "text"},
    [OA_CODE] = {"response.code_interpreter_call_code.delta",
                 "response.code_interpreter_call_code.done", NULL, "code", "code"},
    [OA_ARGUMENTS] = {"response.function_call_arguments.delta",
                      "response.function_call_arguments.done", NULL, "arguments", "arguments"},
};

static json_t *empty_part(enum oa_delta what)
{
    if (what == OA_TEXT)
        return json_pack("{s:s, s:[], s:[], s:s}", "type", "output_text", "annotations", "logprobs",
                         "text", "");
    return json_pack("{s:s, s:s}", "type", kinds[what].part, kinds[what].key, "");
}

static void emit_part(struct oa_events *ev, const char *event, size_t index, int at,
                      const json_t *part)
{
    struct event_writing it;
    begin_of(&it, ev, event, index);
    event_u64(&it, "content_index", (uint64_t)at);
    event_json(&it, "part", part);
    event_finish(&it);
}

static void open_part(struct oa_events *ev, size_t index, enum oa_delta what)
{
    struct oa_events_item *item = &ev->items[index];
    if (!kinds[what].part || item->part[what] != NONE)
        return;
    scoped(json_decrefp) json_t *part = empty_part(what);
    item->part[what] = item->parts++;
    emit_part(ev, "response.content_part.added", index, item->part[what], part);
}

/* An event with a text of that kind: a delta, or the whole. */
static void emit_words(struct oa_events *ev, const char *event, size_t index, enum oa_delta what,
                       const char *key, struct str words)
{
    struct event_writing it;
    begin_of(&it, ev, event, index);
    if (kinds[what].part)
        event_u64(&it, "content_index", (uint64_t)ev->items[index].part[what]);
    event_str(&it, key, words);
    if (what == OA_TEXT) {
        jw_key(&it.w, "logprobs");
        jw_array(&it.w);
        jw_end_array(&it.w);
    }
    event_finish(&it);
}

void oa_events_delta(struct oa_events *ev, size_t index, enum oa_delta what, struct str delta)
{
    struct oa_events_item *item = item_at(ev, index);
    if (!item || delta.len == 0)
        return;
    open_part(ev, index, what);
    emit_words(ev, kinds[what].delta, index, what, "delta", delta);
    item->sent[what] += delta.len;
}

static void close_arguments(struct oa_events *ev, size_t index, const json_t *item)
{
    struct event_writing it;
    struct str whole = str_at(item, "arguments");
    if (ev->items[index].sent[OA_ARGUMENTS] == 0)
        oa_events_delta(ev, index, OA_ARGUMENTS, whole);
    begin_of(&it, ev, kinds[OA_ARGUMENTS].done, index);
    event_text(&it, "name", shape_text(item, "name"));
    event_str(&it, kinds[OA_ARGUMENTS].whole, whole);
    event_finish(&it);
}

/* ---- code ---- */

static void close_code(struct oa_events *ev, size_t index, const json_t *item)
{
    if (ev->items[index].is_running)
        return;
    ev->items[index].is_running = true;
    if (ev->items[index].sent[OA_CODE] == 0) /* what was not sent as deltas is one */
        oa_events_delta(ev, index, OA_CODE, str_at(item, "code"));
    emit_words(ev, kinds[OA_CODE].done, index, OA_CODE, kinds[OA_CODE].whole, str_at(item, "code"));
}

void oa_events_running(struct oa_events *ev, size_t index, const struct json_t *item)
{
    if (!item_at(ev, index) || ev->items[index].is_running)
        return;
    close_code(ev, index, item);
    emit_of(ev, "response.code_interpreter_call.interpreting", index);
}

void oa_events_ran(struct oa_events *ev, size_t index)
{
    if (!item_at(ev, index) || ev->items[index].has_run)
        return;
    ev->items[index].has_run = true;
    emit_of(ev, "response.code_interpreter_call.completed", index);
}

/* ---- the end of an item ---- */

static void emit_annotations(struct oa_events *ev, size_t index, int at, const json_t *part)
{
    size_t i;
    json_t *annotation;
    json_array_foreach(json_object_get(part, "annotations"), i, annotation)
    {
        struct event_writing it;
        begin_of(&it, ev, "response.output_text.annotation.added", index);
        event_u64(&it, "content_index", (uint64_t)at);
        event_u64(&it, "annotation_index", i);
        event_json(&it, "annotation", annotation);
        event_finish(&it);
    }
}

static enum oa_delta kind_of(const json_t *part)
{
    for (int i = 0; i < OA_DELTAS; i++)
        if (kinds[i].part && shape_is(part, "type", kinds[i].part))
            return (enum oa_delta)i;
    return OA_DELTAS;
}

static void close_part(struct oa_events *ev, size_t index, const json_t *part)
{
    enum oa_delta what = kind_of(part);
    if (what == OA_DELTAS)
        return;
    struct str whole = str_at(part, kinds[what].key);
    open_part(ev, index, what);
    if (ev->items[index].sent[what] == 0)
        oa_events_delta(ev, index, what, whole);
    int at = ev->items[index].part[what];
    emit_annotations(ev, index, at, part);
    emit_words(ev, kinds[what].done, index, what, kinds[what].whole, whole);
    emit_part(ev, "response.content_part.done", index, at, part);
}

static void close_parts(struct oa_events *ev, size_t index, const json_t *item)
{
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(item, "content"), i, part)
    {
        close_part(ev, index, part);
    }
}

void oa_events_item_done(struct oa_events *ev, size_t index, const struct json_t *item)
{
    if (!item_at(ev, index))
        return;
    if (shape_is(item, "type", "code_interpreter_call")) {
        close_code(ev, index, item);
        oa_events_ran(ev, index);
    } else if (shape_is(item, "type", "function_call")) {
        close_arguments(ev, index, item);
    } else {
        close_parts(ev, index, item);
    }
    emit_item(ev, "response.output_item.done", index, item);
}

/* ---- the whole ---- */

void oa_events_response(struct oa_events *ev, const char *event, const struct json_t *response)
{
    struct event_writing it;
    event_begin(&it, ev, event);
    event_json(&it, "response", response);
    event_finish(&it);
}

void oa_events_error(struct oa_events *ev, const char *type, const char *code, const char *message)
{
    struct event_writing it;
    event_begin(&it, ev, "error");
    event_text(&it, "code", code);
    event_text(&it, "message", message);
    event_text(&it, "param", NULL);
    jw_key(&it.w, "error");
    jw_object(&it.w);
    event_text(&it, "type", type);
    event_text(&it, "code", code);
    event_text(&it, "message", message);
    event_text(&it, "param", NULL);
    jw_end_object(&it.w);
    event_finish(&it);
}
