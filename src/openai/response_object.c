#include "openai/response_object.h"

#include <string.h>

#include <jansson.h>

#include "agent/model.h"
#include "base/scope.h"
#include "openai/request.h"
#include "openai/shape.h"

/* What the request said, or what it means not to say it. Takes `preset`. */
static void echo(json_t *object, const struct oa_request *q, const char *key, json_t *preset)
{
    json_t *sent = json_object_get(q->body, key);
    const bool is_sent = sent && !json_is_null(sent);
    /* A key that is missing for want of memory is found by the count in oa_response_make. */
    (void)json_object_set(object, key, is_sent ? sent : preset);
    json_decref(preset);
}

static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value); /* as above */
}

/* {"effort":null,"summary":null} with what was sent on it. */
static json_t *reasoning_of(const struct oa_request *q)
{
    json_t *all = json_pack("{s:n, s:n}", "effort", "summary");
    if (json_is_object(json_object_get(q->body, "reasoning")))
        (void)json_object_update(all, json_object_get(q->body, "reasoning"));
    return all;
}

static json_t *text_of(const struct oa_request *q)
{
    json_t *all = json_pack("{s:{s:s}, s:s}", "format", "type", "text", "verbosity", "medium");
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(q->body, "text"), key, value)
    {
        if (!json_is_null(value))
            (void)json_object_set(all, key, value);
    }
    return all;
}

static json_t *service_tier_of(const struct oa_request *q)
{
    const char *tier = shape_text(q->body, "service_tier");
    return json_string(!*tier || strcmp(tier, "auto") == 0 ? "default" : tier);
}

static json_t *conversation_of(const struct oa_request *q)
{
    return q->conversation ? json_pack("{s:s}", "id", q->conversation) : json_null();
}

enum { KEYS = 35 };

struct json_t *oa_response_make(const struct oa_request *q, const char *id, const char *model,
                                int64_t created_s, const char *status)
{
    json_t *o = json_object();
    put(o, "id", json_string(id));
    put(o, "object", json_string("response"));
    put(o, "created_at", json_integer(created_s));
    put(o, "status", json_string(status));
    put(o, "background", json_boolean(q->is_background));
    put(o, "completed_at", json_null());
    put(o, "error", json_null());
    put(o, "incomplete_details", json_null());
    echo(o, q, "instructions", json_null());
    echo(o, q, "max_output_tokens", json_null());
    echo(o, q, "max_tool_calls", json_null());
    put(o, "model", json_string(model));
    put(o, "output", json_array());
    put(o, "parallel_tool_calls", json_boolean(q->is_parallel));
    echo(o, q, "previous_response_id", json_null());
    put(o, "conversation", conversation_of(q));
    echo(o, q, "prompt_cache_key", json_null());
    echo(o, q, "prompt_cache_retention", json_null());
    put(o, "reasoning", reasoning_of(q));
    echo(o, q, "safety_identifier", json_null());
    put(o, "service_tier", service_tier_of(q));
    put(o, "store", json_boolean(q->is_stored));
    echo(o, q, "temperature", json_real(1.0));
    put(o, "text", text_of(q));
    echo(o, q, "tool_choice", json_string("auto"));
    echo(o, q, "tools", json_array());
    echo(o, q, "top_logprobs", json_integer(0));
    echo(o, q, "top_p", json_real(1.0));
    echo(o, q, "truncation", json_string("disabled"));
    put(o, "usage", json_null());
    echo(o, q, "user", json_null());
    echo(o, q, "metadata", json_object());
    put(o, "access_programs", json_null());
    put(o, "moderation", json_null());
    put(o, "prompt", json_null());
    if (json_object_size(o) == KEYS)
        return o;
    json_decref(o);
    return NULL;
}

struct json_t *oa_response_output(struct json_t *object)
{
    return json_object_get(object, "output");
}

static json_t *usage_of(const struct model_usage *u)
{
    return json_pack("{s:I, s:{s:I, s:i}, s:I, s:{s:I}, s:I}", "input_tokens", (json_int_t)u->input,
                     "input_tokens_details", "cached_tokens", (json_int_t)u->cached,
                     "cache_write_tokens", 0, "output_tokens", (json_int_t)u->output,
                     "output_tokens_details", "reasoning_tokens", (json_int_t)u->reasoning,
                     "total_tokens", (json_int_t)u->input + (json_int_t)u->output);
}

int oa_response_status(struct json_t *object, const char *status)
{
    return json_object_set_new(object, "status", json_string(status));
}

int oa_response_end(struct json_t *object, const struct oa_end *end)
{
    json_t *error = json_null(), *details = json_null();
    const bool is_completed = strcmp(end->status, "completed") == 0;
    if (end->error)
        error = json_pack("{s:s, s:s%}", "code", end->error, "message", end->message,
                          strlen(end->message));
    if (end->reason)
        details = json_pack("{s:s}", "reason", end->reason);
    int failed = oa_response_status(object, end->status);
    failed |= json_object_set_new(object, "error", error);
    failed |= json_object_set_new(object, "incomplete_details", details);
    failed |= json_object_set_new(object, "completed_at",
                                  is_completed ? json_integer(end->ended_s) : json_null());
    if (end->usage)
        failed |= json_object_set_new(object, "usage", usage_of(end->usage));
    return failed ? -1 : 0;
}

/* ---- what clients see ---- */

struct json_t *oa_item_shown(const struct json_t *item, bool has_outputs)
{
    json_t *shown = json_copy((json_t *)item);
    if (!shown)
        return NULL;
    (void)json_object_del(shown, "x_text"); /* it may not be there */
    (void)json_object_del(shown, "x_run");
    (void)json_object_del(shown, "x_turn");
    if (!has_outputs && shape_is(shown, "type", "code_interpreter_call") &&
        json_object_set_new(shown, "outputs", json_null())) {
        json_decref(shown);
        return NULL;
    }
    return shown;
}

struct json_t *oa_items_shown(const struct json_t *items, bool has_outputs)
{
    scoped(json_decrefp) json_t *shown = json_array();
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)items, i, item)
    {
        if (json_array_append_new(shown, oa_item_shown(item, has_outputs)))
            return NULL;
    }
    return take(shown);
}

struct json_t *oa_response_shown(const struct json_t *object, bool has_outputs)
{
    scoped(json_decrefp) json_t *shown = json_copy((json_t *)object);
    json_t *output = oa_items_shown(json_object_get(object, "output"), has_outputs);
    if (!shown || json_object_set_new(shown, "output", output))
        return NULL;
    return take(shown);
}
