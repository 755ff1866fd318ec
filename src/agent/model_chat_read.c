/* Answers of Chat Completions. */
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
        .input = count_in(usage, "prompt_tokens"),
        .output = count_in(usage, "completion_tokens"),
        .cached = count_in(json_object_get(usage, "prompt_tokens_details"), "cached_tokens"),
        .reasoning =
            count_in(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens"),
    };
}

static void read_finish(struct model_reader *r, const json_t *reason)
{
    static const struct {
        const char *word;
        enum model_finish finish;
    } words[] = {
        {"length", MODEL_LENGTH},         {"max_tokens", MODEL_LENGTH},
        {"tool_calls", MODEL_CALLS},      {"function_call", MODEL_CALLS},
        {"content_filter", MODEL_FILTER},
    };
    const char *word = json_string_value(reason);
    if (!word || !*word)
        return;
    r->has_end = true;
    r->a->finish = MODEL_STOP;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0)
            r->a->finish = words[i].finish;
}

/* A text, or parts of one. */
static int read_content(struct model_reader *r, const json_t *content, struct err *e)
{
    if (!json_is_array(content))
        return reader_text(r, content, e);
    for (size_t i = 0; i < json_array_size(content); i++)
        if (reader_text(r, json_object_get(json_array_get(content, i), "text"), e))
            return -1;
    return 0;
}

/* Which call this piece belongs to. Numbers may be missing, and some number all calls 0 but give each an id and
 * a name of its own. */
static int find_call(struct model_reader *r, const json_t *piece, size_t *ret, struct err *e)
{
    const json_t *number = json_object_get(piece, "index");
    const char *id = json_string_value(json_object_get(piece, "id"));
    const char *name =
        json_string_value(json_object_get(json_object_get(piece, "function"), "name"));
    struct model_answer *a = r->a;
    bool has_number = json_is_integer(number);
    bool has_begun = id && *id && name && *name;
    int64_t key = has_number ? json_integer_value(number) : -1;
    int at = has_number ? reader_find(r, key) : (int)a->call_count - 1;
    if (!has_number && name && *name)
        at = -1;
    if (at >= 0 && has_begun && a->calls[at].id && strcmp(a->calls[at].id, id) != 0)
        at = -1;
    if (at < 0)
        return reader_begin(r, key, ret, e);
    *ret = (size_t)at;
    return 0;
}

static int read_calls(struct model_reader *r, const json_t *calls, struct err *e)
{
    size_t at;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *piece = json_array_get(calls, i);
        const json_t *function = json_object_get(piece, "function");
        if (!json_is_object(piece))
            continue;
        if (find_call(r, piece, &at, e) ||
            reader_call(r, at, json_object_get(piece, "id"), json_object_get(function, "name"),
                        json_object_get(function, "arguments"), e))
            return -1;
    }
    return 0;
}

/* How calls were made before there could be several. */
static int read_old_call(struct model_reader *r, const json_t *function, struct err *e)
{
    size_t at = 0;
    if (!json_is_object(function))
        return 0;
    if (r->a->call_count == 0 && reader_begin(r, 0, &at, e))
        return -1;
    return reader_call(r, at, NULL, json_object_get(function, "name"),
                       json_object_get(function, "arguments"), e);
}

static int read_delta(struct model_reader *r, const json_t *delta, struct err *e)
{
    const json_t *thought = json_object_get(delta, "reasoning_content");
    if (!json_is_string(thought))
        thought = json_object_get(delta, "reasoning");
    if (reader_reasoning(r, thought, e) || read_content(r, json_object_get(delta, "content"), e) ||
        reader_refusal(r, json_object_get(delta, "refusal"), e))
        return -1;
    return read_calls(r, json_object_get(delta, "tool_calls"), e) ||
                   read_old_call(r, json_object_get(delta, "function_call"), e)
               ? -1
               : 0;
}

static int read_object(struct model_reader *r, const json_t *root, struct err *e)
{
    if (reader_trouble(r, root, e))
        return -1;
    reader_name(r, json_object_get(root, "model"));
    read_usage(r, json_object_get(root, "usage"));
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    if (json_integer_value(json_object_get(choice, "index")) != 0)
        return 0; /* one was asked for */
    const json_t *delta = json_object_get(choice, "delta");
    if (!json_is_object(delta))
        delta = json_object_get(choice, "message");
    if (read_delta(r, delta, e))
        return -1;
    read_finish(r, json_object_get(choice, "finish_reason"));
    return 0;
}

int chat_event(struct model_reader *r, struct str text, struct err *e)
{
    scoped(json_decrefp) json_t *root = NULL;
    if (str_is(text, "[DONE]")) {
        r->has_end = true;
        return 0;
    }
    if (text.len == 0)
        return 0;
    return reader_json(text, &root, e) ? -1 : read_object(r, root, e);
}

int chat_whole(struct model_reader *r, struct str text, struct err *e)
{
    scoped(json_decrefp) json_t *root = NULL;
    if (reader_json(text, &root, e) || reader_trouble(r, root, e))
        return -1;
    if (!json_is_object(
            json_object_get(json_array_get(json_object_get(root, "choices"), 0), "message")))
        return err_set(
            e, ERR_PROTOCOL,
            "the model's endpoint answers with JSON that is no chat completion; check model.url and model.api");
    if (read_object(r, root, e))
        return -1;
    r->has_end = true;
    return 0;
}
