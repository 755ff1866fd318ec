/* events_write.c -- one event, as JSON. */
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/events.h"
#include "openai/events_int.h"
#include "openai/shape.h"

void event_begin(struct event_writing *it, struct oa_events *ev, const char *event)
{
    it->ev = ev;
    it->event = event;
    it->text = BUF_INIT(OA_EVENT_MAX);
    it->w = JSON_WRITER(&it->text);
    jw_object(&it->w);
    jw_key(&it->w, "type");
    jw_text(&it->w, event);
    jw_key(&it->w, "sequence_number");
    jw_u64(&it->w, ev->next);
}

void event_finish(struct event_writing *it)
{
    jw_end_object(&it->w);
    if (it->text.failed) {
        it->ev->has_failed = true;
    } else {
        it->ev->emit(it->ev->arg, it->event, (struct str){it->text.bytes, it->text.len});
        it->ev->next++;
    }
    buf_done(&it->text);
}

void event_u64(struct event_writing *it, const char *key, uint64_t v)
{
    jw_key(&it->w, key);
    jw_u64(&it->w, v);
}

void event_str(struct event_writing *it, const char *key, struct str v)
{
    jw_key(&it->w, key);
    jw_str(&it->w, v.ptr ? v.ptr : "", v.len);
}

void event_text(struct event_writing *it, const char *key, const char *v)
{
    jw_key(&it->w, key);
    jw_text(&it->w, v);
}

static int add_text(const char *bytes, size_t len, void *out)
{
    buf_add(out, bytes, len);
    return 0;
}

void event_json(struct event_writing *it, const char *key, const struct json_t *v)
{
    scoped(buf_done) struct buf text = BUF_INIT(OA_EVENT_MAX);
    jw_key(&it->w, key);
    if (json_dump_callback(v, add_text, &text, JSON_COMPACT | JSON_ENCODE_ANY) || text.failed) {
        it->text.failed = true;
        jw_null(&it->w);
        return;
    }
    jw_raw(&it->w, text.bytes, text.len);
}

struct json_t *event_empty_item(const struct json_t *item)
{
    json_t *empty = json_copy((json_t *)item);
    const char *type = shape_text(item, "type");
    (void)json_object_del(empty, "x_text"); /* none of these need be there */
    (void)json_object_del(empty, "x_run");
    (void)json_object_del(empty, "x_exec");
    (void)json_object_del(empty, "x_files");
    if (strcmp(type, "reasoning") == 0) {
        (void)json_object_del(empty, "content");
        (void)json_object_set_new(empty, "summary", json_array());
        return empty;
    }
    (void)json_object_set_new(empty, "status", json_string("in_progress"));
    if (strcmp(type, "message") == 0)
        (void)json_object_set_new(empty, "content", json_array());
    if (strcmp(type, "function_call") == 0)
        (void)json_object_set_new(empty, "arguments", json_string(""));
    if (strcmp(type, "code_interpreter_call") == 0) {
        (void)json_object_set_new(empty, "code", json_string(""));
        (void)json_object_set_new(empty, "outputs", json_array());
    }
    return empty;
}
