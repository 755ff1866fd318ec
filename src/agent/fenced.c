#include "agent/fenced.h"

#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

enum { TEXT_MAX = 64 << 20 };

static struct str text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return str_of("");
    return (struct str){json_string_value(value), json_string_length(value)};
}

/* A content as one text; false: it is more than text. */
static bool read_content(const json_t *content, struct buf *out)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        buf_add(out, json_string_value(content), json_string_length(content));
    json_array_foreach(content, i, part)
    {
        struct str type = text(part, "type"), one = text(part, "text"), no = text(part, "refusal");
        if (str_is(type, "input_image") || str_is(type, "input_file"))
            return false;
        buf_add(out, one.ptr, one.len);
        buf_add(out, no.ptr, no.len);
    }
    return true;
}

static bool is_of(const json_t *message, const char *role)
{
    return str_is(text(message, "role"), role) &&
           json_is_string(json_object_get(message, "content"));
}

/* Adds what one side said, to its last message if that was the last. */
static int say(json_t *all, const char *role, struct str words, struct err *e)
{
    json_t *last = json_array_get(all, json_array_size(all) - 1);
    scoped(buf_done) struct buf joined = BUF_INIT(TEXT_MAX);
    bool is_more = last && is_of(last, role);
    if (is_more) {
        struct str before = text(last, "content");
        buf_add(&joined, before.ptr, before.len);
        buf_str(&joined, before.len ? "\n\n" : "");
    }
    buf_add(&joined, words.ptr, words.len);
    json_t *content = joined.failed ? NULL : text_json((struct str){joined.bytes, joined.len});
    if (is_more) {
        if (!content || json_object_set_new(last, "content", content))
            return err_set(e, ERR_NO_MEMORY, "a conversation in blocks");
        return 0;
    }
    json_t *message =
        json_pack("{s:s, s:s, s:o}", "type", "message", "role", role, "content", content);
    if (!message || json_array_append_new(all, message))
        return err_set(e, ERR_NO_MEMORY, "a conversation in blocks");
    return 0;
}

static int add_message(json_t *all, const json_t *item, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TEXT_MAX);
    struct str role = text(item, "role");
    if (read_content(json_object_get(item, "content"), &words) &&
        (str_is(role, "user") || str_is(role, "assistant")))
        return say(all, role.ptr, (struct str){words.bytes, words.len}, e);
    if (json_array_append(all, (json_t *)item))
        return err_set(e, ERR_NO_MEMORY, "a conversation in blocks");
    return 0;
}

/* What came back, as the other side says it. */
static int add_output(json_t *all, const json_t *item, const char *key, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TEXT_MAX);
    size_t i;
    json_t *output;
    buf_str(&words, "[output]\n");
    (void)read_content(json_object_get(item, key), &words); /* what is no text is not shown */
    if (!json_object_get(item, key))
        json_array_foreach(json_object_get(item, "outputs"), i, output)
        {
            struct str logs = text(output, "logs");
            buf_add(&words, logs.ptr, logs.len);
        }
    return say(all, "user", (struct str){words.bytes, words.len}, e);
}

static int add_code(json_t *all, const json_t *item, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TEXT_MAX);
    struct str code = text(item, "code");
    /* Four marks: there may be three in the code. */
    const char *marks = strstr(code.ptr, "```") ? "````" : "```";
    buf_fmt(&words, "%spython\n", marks);
    buf_add(&words, code.ptr, code.len);
    if (code.len == 0 || code.ptr[code.len - 1] != '\n')
        buf_str(&words, "\n");
    buf_str(&words, marks);
    return say(all, "assistant", (struct str){words.bytes, words.len}, e) ||
                   add_output(all, item, "x_text", e)
               ? -1
               : 0;
}

static int add_call(json_t *all, const json_t *item, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TEXT_MAX);
    struct str arguments = text(item, "arguments");
    buf_fmt(&words, "```tool_call\n{\"name\": \"%s\", \"arguments\": %s}\n```",
            text(item, "name").ptr, arguments.len ? arguments.ptr : "{}");
    return say(all, "assistant", (struct str){words.bytes, words.len}, e);
}

static int add_item(json_t *all, const json_t *item, struct err *e)
{
    struct str type = text(item, "type");
    if (str_is(type, "code_interpreter_call"))
        return add_code(all, item, e);
    if (str_is(type, "function_call"))
        return add_call(all, item, e);
    if (str_is(type, "function_call_output"))
        return add_output(all, item, "output", e);
    return str_is(type, "reasoning") ? 0 : add_message(all, item, e);
}

int fenced_items(const struct json_t *items, struct json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *all = json_array();
    size_t i;
    json_t *item;
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "a conversation in blocks");
    json_array_foreach(items, i, item)
    {
        if (add_item(all, item, e))
            return -1;
    }
    *ret = take(all);
    return 0;
}
