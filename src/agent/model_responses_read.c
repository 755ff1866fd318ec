/* Answers of the Responses API. */
#include "agent/model_read.h"

#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"

static uint64_t count_in(const json_t *object, const char *name)
{
    const json_t *n = json_object_get(object, name);
    return json_is_integer(n) && json_integer_value(n) > 0 ? (uint64_t)json_integer_value(n) : 0;
}

static void read_usage(struct model_reader *r, const json_t *usage)
{
    if (!json_is_object(usage))
        return;
    r->a->usage = (struct model_usage){
        .input = count_in(usage, "input_tokens"),
        .output = count_in(usage, "output_tokens"),
        .cached = count_in(json_object_get(usage, "input_tokens_details"), "cached_tokens"),
        .reasoning = count_in(json_object_get(usage, "output_tokens_details"), "reasoning_tokens"),
    };
}

static int64_t number_of(const json_t *event)
{
    const json_t *n = json_object_get(event, "output_index");
    return json_is_integer(n) ? json_integer_value(n) : 0;
}

/* ---- items ---- */

static int begin_call(struct model_reader *r, int64_t key, const json_t *item, size_t *ret,
                      struct err *e)
{
    int at = reader_find(r, key);
    if (at >= 0)
        *ret = (size_t)at;
    else if (reader_begin(r, key, ret, e))
        return -1;
    return reader_call(r, *ret, json_object_get(item, "call_id"), json_object_get(item, "name"),
                       NULL, e);
}

/* Arguments in one piece, if none came in many. */
static int whole_arguments(struct model_reader *r, size_t at, const json_t *arguments,
                           struct err *e)
{
    return r->a->calls[at].arguments.len ? 0 : reader_call(r, at, NULL, NULL, arguments, e);
}

static int read_message(struct model_reader *r, const json_t *item, struct err *e)
{
    const json_t *parts = json_object_get(item, "content");
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        if (reader_text(r, json_object_get(part, "text"), e) ||
            reader_refusal(r, json_object_get(part, "refusal"), e))
            return -1;
    }
    return 0;
}

static int read_thought(struct model_reader *r, const json_t *item, struct err *e)
{
    const json_t *parts = json_object_get(item, "summary");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (reader_reasoning(r, json_object_get(json_array_get(parts, i), "text"), e))
            return -1;
    return 0;
}

/* An item that is complete, of which deltas may have come. */
static int read_item(struct model_reader *r, int64_t key, const json_t *item, struct err *e)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    size_t at;
    if (type && strcmp(type, "function_call") == 0)
        return begin_call(r, key, item, &at, e) ||
                       whole_arguments(r, at, json_object_get(item, "arguments"), e)
                   ? -1
                   : 0;
    if (type && strcmp(type, "message") == 0 && r->a->text.len == 0 && r->a->refusal.len == 0)
        return read_message(r, item, e);
    if (type && strcmp(type, "reasoning") == 0 && r->a->reasoning.len == 0)
        return read_thought(r, item, e);
    return 0;
}

/* A second message is set off from the first. */
static int separate(struct model_reader *r, struct err *e)
{
    scoped(json_decrefp) json_t *between = r->a->text.len ? json_string("\n\n") : NULL;
    return reader_text(r, between, e);
}

static int item_added(struct model_reader *r, const json_t *event, struct err *e)
{
    const json_t *item = json_object_get(event, "item");
    const char *type = json_string_value(json_object_get(item, "type"));
    size_t at;
    if (type && strcmp(type, "function_call") == 0)
        return begin_call(r, number_of(event), item, &at, e);
    return type && strcmp(type, "message") == 0 ? separate(r, e) : 0;
}

static int item_done(struct model_reader *r, const json_t *event, struct err *e)
{
    return read_item(r, number_of(event), json_object_get(event, "item"), e);
}

/* ---- the whole ---- */

static int read_response(struct model_reader *r, const json_t *response, struct err *e)
{
    const char *status = json_string_value(json_object_get(response, "status"));
    const char *reason = json_string_value(
        json_object_get(json_object_get(response, "incomplete_details"), "reason"));
    const json_t *output = json_object_get(response, "output");
    bool has_all = r->has_passed; /* it came piece by piece */
    reader_name(r, json_object_get(response, "model"));
    read_usage(r, json_object_get(response, "usage"));
    if (reader_trouble(r, response, e))
        return -1;
    for (size_t i = 0; !has_all && i < json_array_size(output); i++)
        if (read_item(r, (int64_t)i, json_array_get(output, i), e))
            return -1;
    r->has_end = true;
    r->a->finish = MODEL_STOP;
    if (status && strcmp(status, "incomplete") == 0)
        r->a->finish =
            reason && strcmp(reason, "content_filter") == 0 ? MODEL_FILTER : MODEL_LENGTH;
    return 0;
}

static int ended(struct model_reader *r, const json_t *event, struct err *e)
{
    return read_response(r, json_object_get(event, "response"), e);
}

static int begun(struct model_reader *r, const json_t *event, struct err *e)
{
    (void)e;
    reader_name(r, json_object_get(json_object_get(event, "response"), "model"));
    return 0;
}

static int failed(struct model_reader *r, const json_t *event, struct err *e)
{
    const json_t *response = json_object_get(event, "response");
    if (reader_trouble(r, response ? response : event, e))
        return -1;
    r->has_failed = true; /* {"type":"error","message":...}, or nothing at all */
    return model_trouble_say(&r->trouble, e);
}

/* ---- deltas ---- */

static int text_delta(struct model_reader *r, const json_t *event, struct err *e)
{
    return reader_text(r, json_object_get(event, "delta"), e);
}

static int refusal_delta(struct model_reader *r, const json_t *event, struct err *e)
{
    return reader_refusal(r, json_object_get(event, "delta"), e);
}

static int thought_delta(struct model_reader *r, const json_t *event, struct err *e)
{
    return reader_reasoning(r, json_object_get(event, "delta"), e);
}

static int arguments_delta(struct model_reader *r, const json_t *event, struct err *e)
{
    int64_t key = number_of(event);
    int found = reader_find(r, key);
    size_t at = (size_t)found;
    if (found < 0 && reader_begin(r, key, &at, e))
        return -1;
    return reader_call(r, at, NULL, NULL, json_object_get(event, "delta"), e);
}

static int arguments_done(struct model_reader *r, const json_t *event, struct err *e)
{
    int at = reader_find(r, number_of(event));
    return at < 0 ? 0 : whole_arguments(r, (size_t)at, json_object_get(event, "arguments"), e);
}

static const struct {
    const char *type;
    int (*read)(struct model_reader *r, const json_t *event, struct err *e);
} kinds[] = {
    {"response.output_text.delta", text_delta},
    {"response.function_call_arguments.delta", arguments_delta},
    {"response.reasoning_summary_text.delta", thought_delta},
    {"response.reasoning_text.delta", thought_delta},
    {"response.refusal.delta", refusal_delta},
    {"response.function_call_arguments.done", arguments_done},
    {"response.output_item.added", item_added},
    {"response.output_item.done", item_done},
    {"response.created", begun},
    {"response.completed", ended},
    {"response.incomplete", ended},
    {"response.failed", failed},
    {"error", failed},
};

static bool is_piece(const char *type)
{
    const char *end = strrchr(type, '.');
    return end && strcmp(end, ".delta") == 0;
}

int responses_event(struct model_reader *r, struct str text, struct err *e)
{
    scoped(json_decrefp) json_t *event = NULL;
    if (text.len == 0 || str_is(text, "[DONE]"))
        return 0;
    if (reader_json(text, &event, e))
        return -1;
    const char *type = json_string_value(json_object_get(event, "type"));
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0)
            return (!is_piece(type) && reader_flush(r, e)) || kinds[i].read(r, event, e) ? -1 : 0;
    return type ? 0 : reader_trouble(r, event, e);
}

int responses_whole(struct model_reader *r, struct str text, struct err *e)
{
    scoped(json_decrefp) json_t *root = NULL;
    if (reader_json(text, &root, e) || reader_trouble(r, root, e))
        return -1;
    if (!json_is_array(json_object_get(root, "output")))
        return err_set(
            e, ERR_PROTOCOL,
            "the model's endpoint answers with JSON that is no response; check model.url and model.api");
    return read_response(r, root, e);
}
