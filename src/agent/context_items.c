/* context_items.c -- how much an item takes, and what it is when it has to take less. */
#include <string.h>

#include <jansson.h>

#include "agent/context_int.h"
#include "agent/text.h"
#include "base/buf.h"
#include "base/scope.h"

static struct str text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return STR_NONE;
    return (struct str){json_string_value(value), json_string_length(value)};
}

bool fit_is(const struct json_t *item, const char *type)
{
    struct str is = text(item, "type");
    return is.ptr ? str_is(is, type) : strcmp(type, "message") == 0;
}

bool fit_is_output(const struct json_t *item)
{
    return fit_is(item, "code_interpreter_call") || fit_is(item, "function_call_output");
}

bool fit_is_of(const struct json_t *item, const char *role)
{
    return fit_is(item, "message") && str_is(text(item, "role"), role);
}

/* ---- how much ---- */

uint64_t context_text_tokens(size_t len)
{
    return len / 3 + 1;
}

static uint64_t part_tokens(const json_t *part)
{
    if (str_is(text(part, "type"), "input_image"))
        return CONTEXT_IMAGE_TOKENS;
    return context_text_tokens(text(part, "text").len + text(part, "refusal").len +
                               text(part, "file_data").len);
}

/* A text, or an array of parts. */
static uint64_t content_tokens(const json_t *content)
{
    uint64_t sum = 0;
    size_t i;
    json_t *part;
    if (json_is_string(content))
        return context_text_tokens(json_string_length(content));
    json_array_foreach(content, i, part) sum += part_tokens(part);
    return sum;
}

static uint64_t outputs_tokens(const json_t *item)
{
    size_t i, len = 0;
    json_t *output;
    if (json_is_string(json_object_get(item, "x_text")))
        return context_text_tokens(text(item, "x_text").len);
    json_array_foreach(json_object_get(item, "outputs"), i, output) len += text(output, "logs").len;
    return context_text_tokens(len);
}

uint64_t fit_tokens(const struct json_t *item)
{
    enum { FRAME = 8 }; /* what is around it */
    if (fit_is(item, "code_interpreter_call"))
        return FRAME + context_text_tokens(text(item, "code").len) + outputs_tokens(item);
    if (fit_is(item, "function_call"))
        return FRAME + context_text_tokens(text(item, "name").len + text(item, "arguments").len);
    if (fit_is(item, "function_call_output"))
        return FRAME + content_tokens(json_object_get(item, "output"));
    return FRAME + content_tokens(json_object_get(item, "content"));
}

uint64_t context_tokens(const struct json_t *items)
{
    uint64_t sum = 0;
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) sum += fit_tokens(item);
    return sum;
}

/* ---- less ---- */

static json_t *short_text(struct str from)
{
    scoped(buf_done) struct buf out = BUF_INIT(CONTEXT_OUTPUT_MAX + TEXT_NOTICE_MAX + 1);
    (void)text_shorten(&out, from, CONTEXT_OUTPUT_MAX, "shortened for lack of room");
    return out.failed ? NULL : text_json((struct str){out.bytes, out.len});
}

/* Of an old call without words of its own: its logs. */
static json_t *short_logs(const json_t *item)
{
    scoped(buf_done) struct buf all = BUF_INIT(64 << 20);
    size_t i;
    json_t *output;
    json_array_foreach(json_object_get(item, "outputs"), i, output)
    {
        struct str logs = text(output, "logs");
        buf_add(&all, logs.ptr, logs.len);
        if (logs.len > 0)
            buf_str(&all, "\n");
    }
    return all.failed || all.len <= CONTEXT_OUTPUT_MAX
               ? NULL
               : short_text((struct str){all.bytes, all.len});
}

/* Parts of an output as one text. */
static json_t *short_parts(const json_t *parts)
{
    scoped(buf_done) struct buf all = BUF_INIT(64 << 20);
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        struct str one = text(part, "text");
        buf_add(&all, one.ptr, one.len);
    }
    return all.failed ? NULL : short_text((struct str){all.bytes, all.len});
}

/* The item with `value` (stolen) in place of that member. */
static json_t *with(const json_t *item, const char *key, json_t *value)
{
    json_t *copy = value ? json_copy((json_t *)item) : NULL;
    if (!copy || json_object_set_new(copy, key, value)) {
        json_decref(copy ? copy : value);
        return NULL;
    }
    return copy;
}

struct json_t *fit_shortened(const struct json_t *item)
{
    bool is_code = fit_is(item, "code_interpreter_call");
    const char *key = is_code ? "x_text" : "output";
    struct str told = text(item, key);
    if (told.ptr)
        return told.len <= CONTEXT_OUTPUT_MAX ? NULL : with(item, key, short_text(told));
    return with(item, key,
                is_code ? short_logs(item) : short_parts(json_object_get(item, "output")));
}

struct json_t *fit_without_images(const struct json_t *item)
{
    size_t i, left_out = 0;
    json_t *part;
    json_t *parts = json_is_array(json_object_get(item, "content")) ? json_array() : NULL;
    if (!parts)
        return NULL;
    json_array_foreach(json_object_get(item, "content"), i, part)
    {
        if (!str_is(text(part, "type"), "input_image")) {
            (void)json_array_append(parts, part); /* without memory there is one less */
            continue;
        }
        left_out++;
        (void)json_array_append_new(
            parts, json_pack("{s:s, s:s}", "type", "input_text", "text",
                             "[an image was here; it is left out for lack of room]"));
    }
    if (left_out == 0) {
        json_decref(parts);
        return NULL;
    }
    return with(item, "content", parts);
}
