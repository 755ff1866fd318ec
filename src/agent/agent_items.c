/* agent_items.c -- items, from when they are begun until they are whole. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/text.h"
#include "base/scope.h"

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "an item of a conversation");
}

int history_add(struct loop *l, struct json_t *item, struct err *e)
{
    return item && json_array_append_new(l->history, item) == 0 ? 0 : no_memory(e);
}

int item_set(struct loop *l, const char *key, struct json_t *value, struct err *e)
{
    return value && json_object_set_new(l->open.json, key, value) == 0 ? 0 : no_memory(e);
}

/* ---- begin ---- */

/* In what code is run, as soon as it is wanted. A failure is told when the code is run. */
static void open_container(struct loop *l)
{
    struct err e = {0}; /* it is tried again */
    if (!*l->container && l->w->hands && l->w->hands->open &&
        l->w->hands->open(l->w->hands->arg, l->container, &e))
        l->container[0] = '\0';
}

static json_t *make(struct loop *l, enum agent_item kind, const char *id)
{
    switch (kind) {
    case ITEM_REASONING:
        return json_pack("{s:s, s:s, s:s, s:[]}", "id", id, "type", "reasoning", "status",
                         "in_progress", "summary");
    case ITEM_MESSAGE:
        return json_pack("{s:s, s:s, s:s, s:s, s:[]}", "id", id, "type", "message", "status",
                         "in_progress", "role", "assistant", "content");
    case ITEM_CODE:
        open_container(l);
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:[]}", "id", id, "type",
                         "code_interpreter_call", "status", "in_progress", "code", "",
                         "container_id", l->container, "outputs");
    case ITEM_CALL:
        return json_pack("{s:s, s:s, s:s, s:s}", "id", id, "type", "function_call", "status",
                         "in_progress", "arguments", "");
    case ITEM_NONE: break;
    }
    return NULL;
}

/* `call_id` and `name` are of a call. */
static int begin(struct loop *l, enum agent_item kind, const char *call_id, const char *name,
                 struct err *e)
{
    static const char *const prefixes[] = {"", "rs_", "msg_", "ci_", "fc_"};
    char id[ID_SIZE];
    if (item_end(l, "completed", e) || id_make(prefixes[kind], id, e))
        return -1;
    l->open = (struct agent_open){.kind = kind,
                                  .json = make(l, kind, id),
                                  .index = json_array_size(l->o->items),
                                  .text = BUF_INIT(MODEL_TEXT_MAX),
                                  .refusal = BUF_INIT(MODEL_TEXT_MAX)};
    if (!l->open.json)
        return no_memory(e);
    if (call_id && (item_set(l, "call_id", text_json(str_of(call_id)), e) ||
                    item_set(l, "name", text_json(str_of(name)), e)))
        return -1;
    if (l->sink->item)
        l->sink->item(l->sink->arg, l->open.index, l->open.json);
    return 0;
}

int item_begin(struct loop *l, enum agent_item kind, struct err *e)
{
    return begin(l, kind, NULL, NULL, e);
}

int item_begin_call(struct loop *l, const char *call_id, const char *name, struct err *e)
{
    return begin(l, ITEM_CALL, call_id, name, e);
}

/* ---- deltas ---- */

void item_delta(struct loop *l, struct str delta)
{
    const struct agent_sink *s = l->sink;
    void (*const hears[])(void *, size_t, struct str) = {
        [ITEM_NONE] = NULL,    [ITEM_REASONING] = s->reasoning, [ITEM_MESSAGE] = s->text,
        [ITEM_CODE] = s->code, [ITEM_CALL] = s->arguments,
    };
    if (delta.len == 0)
        return;
    buf_add(&l->open.text, delta.ptr, delta.len);
    if (hears[l->open.kind])
        hears[l->open.kind](s->arg, l->open.index, delta);
}

void item_refuse(struct loop *l, struct str delta)
{
    if (delta.len > 0 && l->open.text.len == 0)
        l->open.is_refused_first = true;
    buf_add(&l->open.refusal, delta.ptr, delta.len);
    if (l->sink->refusal && delta.len > 0)
        l->sink->refusal(l->sink->arg, l->open.index, delta);
}

/* ---- end ---- */

static json_t *text_of(const struct buf *b)
{
    return b->failed ? NULL : text_json((struct str){b->bytes, b->len});
}

/* The part of a message that is text, with its annotations. */
static json_t *make_text(struct loop *l)
{
    json_t *text = text_of(&l->open.text), *notes = NULL;
    if (text && l->sink->annotate)
        l->sink->annotate(l->sink->arg, json_string_value(text), &notes);
    return json_pack("{s:s, s:o, s:o, s:[]}", "type", "output_text", "text", text, "annotations",
                     notes ? notes : json_array(), "logprobs");
}

/* The parts stand in the order in which they began: that is how their deltas were told. */
static int end_message(struct loop *l, struct err *e)
{
    scoped(json_decrefp) json_t *content = json_array();
    const bool has_refusal = l->open.refusal.len > 0;
    const bool has_text = l->open.text.len > 0 || !has_refusal;
    const size_t text_at = has_refusal && l->open.is_refused_first;
    if (has_refusal &&
        json_array_append_new(content, json_pack("{s:s, s:o}", "type", "refusal", "refusal",
                                                 text_of(&l->open.refusal))))
        return no_memory(e);
    if (has_text && json_array_insert_new(content, text_at, make_text(l)))
        return no_memory(e);
    return item_set(l, "content", take(content), e);
}

static int end_kind(struct loop *l, struct err *e)
{
    if (l->open.kind == ITEM_MESSAGE)
        return end_message(l, e);
    if (l->open.kind == ITEM_CODE || l->open.kind == ITEM_CALL)
        return item_set(l, l->open.kind == ITEM_CODE ? "code" : "arguments", text_of(&l->open.text),
                        e);
    return item_set(
        l, "content",
        json_pack("[{s:s, s:o}]", "type", "reasoning_text", "text", text_of(&l->open.text)), e);
}

int item_add(struct loop *l, struct json_t *item, struct err *e)
{
    size_t index = json_array_size(l->o->items);
    if (!item || json_array_append_new(l->o->items, item) || json_array_append(l->history, item))
        return no_memory(e);
    if (l->sink->item)
        l->sink->item(l->sink->arg, index, item);
    if (l->sink->item_done)
        l->sink->item_done(l->sink->arg, index, item);
    return 0;
}

int item_end(struct loop *l, const char *status, struct err *e)
{
    struct agent_open *open = &l->open;
    if (open->kind == ITEM_NONE)
        return 0;
    int failed = !open->json || end_kind(l, e) || item_set(l, "status", json_string(status), e);
    if (!failed &&
        (json_array_append(l->o->items, open->json) || json_array_append(l->history, open->json)))
        failed = no_memory(e);
    if (!failed && l->sink->item_done)
        l->sink->item_done(l->sink->arg, open->index, open->json);
    json_decref(open->json);
    buf_done(&open->text);
    buf_done(&open->refusal);
    *open = (struct agent_open){.kind = ITEM_NONE};
    return failed ? -1 : 0;
}
