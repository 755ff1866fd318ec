#include "agent/model_write.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"

enum { WORDS_MAX = 64 << 20 };

bool item_is(const struct json_t *item, const char *type)
{
    const char *has = json_string_value(json_object_get(item, "type"));
    return strcmp(has ? has : "message", type) == 0;
}

const char *item_text(const struct json_t *item, const char *name)
{
    const char *text = json_string_value(json_object_get(item, name));
    return text ? text : "";
}

const char *part_image(const struct json_t *part)
{
    const json_t *url = json_object_get(part, "image_url");
    return json_string_value(json_is_object(url) ? json_object_get(url, "url") : url);
}

static void add_string(const json_t *text, struct buf *out)
{
    if (json_is_string(text))
        buf_add(out, json_string_value(text), json_string_length(text));
}

void part_words(const struct json_t *part, struct buf *out)
{
    if (item_is(part, "input_image") || item_is(part, "image_url") || item_is(part, "image")) {
        buf_str(out, "[an image, which this model cannot be shown]");
    } else if (item_is(part, "input_file")) {
        const char *name = item_text(part, "filename");
        buf_fmt(out, "[a file: %s]", *name ? name : item_text(part, "file_id"));
    } else if (item_is(part, "refusal")) {
        add_string(json_object_get(part, "refusal"), out);
    } else {
        add_string(json_object_get(part, "text"), out);
    }
}

static json_t *words_json(struct buf *words)
{
    json_t *made = words->failed ? NULL : json_stringn(words->len ? words->bytes : "", words->len);
    buf_done(words);
    return made;
}

struct json_t *content_words(const struct json_t *content)
{
    struct buf words = BUF_INIT(WORDS_MAX);
    if (json_is_string(content))
        return json_incref((json_t *)content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        if (i > 0 && words.len > 0 && words.bytes[words.len - 1] != '\n')
            buf_str(&words, "\n");
        part_words(json_array_get(content, i), &words);
    }
    return words_json(&words);
}

struct json_t *python_arguments(const struct json_t *item)
{
    const json_t *code = json_object_get(item, "code");
    scoped(json_decrefp) json_t *made = json_object();
    (void)json_object_set_new(made, "code", /* without memory it is left out; that is seen below */
                              json_is_string(code) ? json_incref((json_t *)code) : json_string(""));
    scoped(freep) char *text = json_dumps(made, JSON_COMPACT);
    return text ? json_string(text) : NULL;
}

struct json_t *python_output(const struct json_t *item)
{
    const json_t *told = json_object_get(item, "x_text");
    const json_t *outputs = json_object_get(item, "outputs");
    struct buf words = BUF_INIT(WORDS_MAX);
    if (json_is_string(told))
        return json_incref((json_t *)told);
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *one = json_array_get(outputs, i);
        if (item_is(one, "image"))
            buf_str(&words, "[an image was shown]\n");
        else
            add_string(json_object_get(one, "logs"), &words);
    }
    if (words.len == 0)
        buf_str(&words, "(no output)");
    return words_json(&words);
}

const char *python_call_id(const struct json_t *item)
{
    const char *id = item_text(item, "x_call_id");
    return *id ? id : item_text(item, "id");
}

void copy_param(const struct json_t *from, const char *name, struct json_t *to, const char *as)
{
    json_t *value = json_object_get(from, name);
    if (value && !json_is_null(value))
        (void)json_object_set(to, as,
                              value); /* fails for lack of memory, and then so does the rest */
}

static int to_buf(const char *bytes, size_t len, void *arg)
{
    struct buf *out = arg;
    buf_add(out, bytes, len);
    return out->failed ? -1 : 0;
}

int write_body(struct json_t *body, struct buf *out, struct err *e)
{
    if (!body || json_dump_callback(body, to_buf, out, JSON_COMPACT | JSON_REAL_PRECISION(15)))
        return out->failed && out->len > out->max / 2
                   ? err_set(e, ERR_TOO_LARGE, "the conversation is larger than %zu MiB",
                             out->max >> 20)
                   : err_set(e, ERR_NO_MEMORY, "write the question for the model");
    return 0;
}
