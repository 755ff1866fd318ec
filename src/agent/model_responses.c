/* A conversation as the Responses API has it: the items themselves, without what only we know of them. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/model_write.h"
#include "base/err.h"
#include "base/scope.h"

static json_t *plain_part(const char *type, const json_t *part)
{
    scoped(json_decrefp) json_t *list = json_pack("[O]", part);
    return json_pack("{s:s, s:o}", "type", type, "text", content_words(list));
}

static json_t *input_part(const struct model_manner *m, const json_t *part)
{
    const char *image = part_image(part), *detail = item_text(part, "detail");
    if (!image || !m->has_images)
        return plain_part("input_text", part);
    return json_pack("{s:s, s:s, s:s}", "type", "input_image", "image_url", image, "detail",
                     *detail ? detail : "auto");
}

static json_t *message(const struct model_manner *m, const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    const char *role = item_text(item, "role");
    bool is_ours = strcmp(role, "assistant") == 0;
    scoped(json_decrefp) json_t *parts = NULL;
    if (json_is_string(content))
        return json_pack("{s:s, s:s, s:O}", "type", "message", "role", role, "content", content);
    parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (json_array_append_new(parts,
                                  is_ours ? plain_part("output_text", part) : input_part(m, part)))
            return NULL;
    }
    return json_pack("{s:s, s:s, s:O}", "type", "message", "role", role, "content", parts);
}

static json_t *call(const char *id, const char *name, const json_t *arguments)
{
    return json_pack("{s:s, s:s, s:s, s:O}", "type", "function_call", "call_id", id, "name", name,
                     "arguments", arguments);
}

static json_t *output(const char *id, const json_t *text)
{
    return json_pack("{s:s, s:s, s:O}", "type", "function_call_output", "call_id", id, "output",
                     text);
}

static int take_code(json_t *input, const json_t *item)
{
    scoped(json_decrefp) json_t *arguments = python_arguments(item), *text = python_output(item);
    const char *id = python_call_id(item);
    return json_array_append_new(input, call(id, "python", arguments)) ||
                   json_array_append_new(input, output(id, text))
               ? -1
               : 0;
}

static int take_function_call(json_t *input, const json_t *item)
{
    const json_t *given = json_object_get(item, "arguments");
    scoped(json_decrefp) json_t *arguments =
        json_is_string(given) ? json_incref((json_t *)given) : json_string("{}");
    return json_array_append_new(
        input, call(item_text(item, "call_id"), item_text(item, "name"), arguments));
}

static int take_function_output(json_t *input, const json_t *item)
{
    scoped(json_decrefp) json_t *text = content_words(json_object_get(item, "output"));
    return json_array_append_new(input, output(item_text(item, "call_id"), text));
}

/* Only what the endpoint sealed itself can be given back to it. */
static int take_reasoning(json_t *input, const json_t *item)
{
    const json_t *sealed = json_object_get(item, "encrypted_content");
    const json_t *summary = json_object_get(item, "summary");
    if (!json_is_string(sealed))
        return 0;
    scoped(json_decrefp) json_t *none = json_array();
    return json_array_append_new(input, json_pack("{s:s, s:O, s:O}", "type", "reasoning", "summary",
                                                  json_is_array(summary) ? summary : none,
                                                  "encrypted_content", sealed));
}

static int take_item(const struct model_manner *m, json_t *input, const json_t *item)
{
    if (item_is(item, "message"))
        return json_array_append_new(input, message(m, item));
    if (item_is(item, "function_call"))
        return take_function_call(input, item);
    if (item_is(item, "function_call_output"))
        return take_function_output(input, item);
    if (item_is(item, "code_interpreter_call"))
        return take_code(input, item);
    return item_is(item, "reasoning") ? take_reasoning(input, item) : 0;
}

static json_t *function_tools(const json_t *tools)
{
    json_t *made = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        json_t *function = json_pack("{s:s, s:b}", "type", "function", "strict", 0);
        copy_param(tool, "name", function, "name");
        copy_param(tool, "description", function, "description");
        copy_param(tool, "parameters", function, "parameters");
        copy_param(tool, "strict", function, "strict");
        (void)json_array_append_new(made, function);
    }
    return made;
}

static void put_tools(const struct model_question *q, const struct model_manner *m, json_t *body)
{
    if (json_array_size(q->tools) == 0)
        return;
    (void)json_object_set_new(body, "tools", function_tools(q->tools));
    const char *name = json_string_value(json_object_get(q->choice, "name"));
    if (name)
        (void)json_object_set_new(body, "tool_choice",
                                  json_pack("{s:s, s:s}", "type", "function", "name", name));
    else if (json_is_string(q->choice))
        (void)json_object_set(body, "tool_choice", (json_t *)q->choice);
    if (!(m->without & WITHOUT_PARALLEL))
        (void)json_object_set_new(body, "parallel_tool_calls", json_boolean(q->is_parallel));
}

static void put_params(const struct model_question *q, json_t *body)
{
    static const char *const same[] = {
        "temperature", "top_p",      "max_output_tokens", "reasoning",         "text",
        "user",        "truncation", "service_tier",      "safety_identifier", "prompt_cache_key"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        copy_param(q->params, same[i], body, same[i]);
}

int responses_request(const struct model_question *q, const struct model_manner *m, struct buf *out,
                      struct err *e)
{
    json_t *input = json_array();
    scoped(json_decrefp) json_t *body =
        json_pack("{s:s, s:b, s:o}", "model", m->name, "stream", 1, "input", input);
    if (!body)
        return err_set(e, ERR_NO_MEMORY, "write the question for the model");
    if (q->instructions && *q->instructions)
        (void)json_object_set_new(body, "instructions", json_string(q->instructions));
    if (!(m->without & WITHOUT_STORE)) /* what is said here is nobody else's to keep */
        (void)json_object_set_new(body, "store", json_false());
    for (size_t i = 0; i < json_array_size(q->items); i++)
        if (take_item(m, input, json_array_get(q->items, i)))
            return err_set(e, ERR_NO_MEMORY, "write the question for the model");
    put_tools(q, m, body);
    put_params(q, body);
    return write_body(body, out, e);
}
