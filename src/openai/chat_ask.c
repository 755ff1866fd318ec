/* chat_ask.c -- a request for Chat Completions, told as one for Responses. */
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/chat.h"
#include "openai/shape.h"

static int no_memory(struct refusal *r)
{
    return refuse(r, "", NULL, "There is no memory left; try again.");
}

/* ---- messages ---- */

/* One part, or NULL when it is none that can be told. */
static json_t *part_of(const json_t *part, bool is_ours)
{
    const json_t *image = json_object_get(part, "image_url"), *file = json_object_get(part, "file");
    json_t *made;
    if (shape_is(part, "type", "text"))
        return json_pack("{s:s, s:s}", "type", is_ours ? "output_text" : "input_text", "text",
                         shape_text(part, "text"));
    if (shape_is(part, "type", "refusal"))
        return json_pack("{s:s, s:s}", "type", "refusal", "refusal", shape_text(part, "refusal"));
    if (shape_is(part, "type", "image_url") && json_is_string(json_object_get(image, "url")))
        return json_pack("{s:s, s:s}", "type", "input_image", "image_url",
                         shape_text(image, "url"));
    if (!shape_is(part, "type", "file") || !json_is_object(file))
        return NULL;
    made = json_pack("{s:s}", "type", "input_file");
    return json_object_update(made, (json_t *)file) ? NULL : made;
}

static int take_parts(const json_t *content, bool is_ours, const char *at, json_t *to,
                      struct refusal *r)
{
    for (size_t i = 0; i < json_array_size(content); i++) {
        char place[SHAPE_PARAM_SIZE];
        json_t *part = part_of(json_array_get(content, i), is_ours);
        shape_index(place, at, i);
        if (!part)
            return refuse(r, place, "invalid_value",
                          "Invalid '%s': a part is a text, an image_url, a file or a refusal here.",
                          place);
        if (json_array_append_new(to, part))
            return no_memory(r);
    }
    return 0;
}

static int take_content(const json_t *message, const char *at, json_t *input, struct refusal *r)
{
    const json_t *content = json_object_get(message, "content");
    const char *role = shape_text(message, "role");
    char place[SHAPE_PARAM_SIZE];
    json_t *parts;
    shape_under(place, at, "content");
    if (!content || json_is_null(content) ||
        (json_is_string(content) && json_string_length(content) == 0))
        return 0;
    if (json_is_string(content))
        return json_array_append_new(input,
                                     json_pack("{s:s, s:O}", "role", role, "content", content))
                   ? no_memory(r)
                   : 0;
    if (!json_is_array(content))
        return refuse(r, place, "invalid_type", "Invalid '%s': it is a text or an array of parts.",
                      place);
    parts = json_array();
    if (json_array_append_new(input, json_pack("{s:s, s:o}", "role", role, "content", parts)))
        return no_memory(r);
    return take_parts(content, strcmp(role, "assistant") == 0, place, parts, r);
}

static int take_calls(const json_t *calls, json_t *input, struct refusal *r)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *one = json_array_get(calls, i), *function = json_object_get(one, "function");
        if (json_array_append_new(input, json_pack("{s:s, s:s, s:s, s:s}", "type", "function_call",
                                                   "call_id", shape_text(one, "id"), "name",
                                                   shape_text(function, "name"), "arguments",
                                                   shape_text(function, "arguments"))))
            return no_memory(r);
    }
    return 0;
}

/* The output of a function, which is a text or parts that are texts. */
static int take_output(const json_t *message, const char *at, json_t *input, struct refusal *r)
{
    const json_t *content = json_object_get(message, "content");
    scoped(json_decrefp) json_t *output =
        json_is_string(content) ? json_incref((json_t *)content) : json_array();
    if (json_is_array(content) && take_parts(content, /* is_ours= */ false, at, output, r))
        return -1;
    return json_array_append_new(input, json_pack("{s:s, s:s, s:O}", "type", "function_call_output",
                                                  "call_id", shape_text(message, "tool_call_id"),
                                                  "output", output))
               ? no_memory(r)
               : 0;
}

static int take_message(const json_t *message, const char *at, json_t *input, struct refusal *r)
{
    static const char *const roles[] = {"system", "developer", "user", "assistant"};
    if (shape_is(message, "role", "tool"))
        return take_output(message, at, input, r);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (shape_is(message, "role", roles[i]))
            return take_content(message, at, input, r) ||
                           take_calls(json_object_get(message, "tool_calls"), input, r)
                       ? -1
                       : 0;
    return refuse(r, at, "invalid_value",
                  "Invalid '%s': its role is system, developer, user, assistant or tool.", at);
}

static int take_messages(const json_t *messages, json_t *input, struct refusal *r)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, "messages", i);
        if (take_message(json_array_get(messages, i), place, input, r))
            return -1;
    }
    return 0;
}

/* ---- tools ---- */

static int take_wish(const json_t *wish, json_t *tools, struct refusal *r)
{
    static const struct shape_field fields[] = {{"container", .type = SHAPE_TEXT_OR_OBJECT}, {0}};
    scoped(json_decrefp) json_t *preset = json_pack("{s:s}", "type", "auto");
    if (!json_is_true(wish) && !json_is_object(wish))
        return refuse(r, "code_interpreter", "invalid_type",
                      "Invalid 'code_interpreter': it is true or {\"container\": \"cntr_...\"}.");
    if (json_is_object(wish) && shape_check(wish, "code_interpreter", fields, r))
        return -1;
    const json_t *container = json_object_get(wish, "container");
    return json_array_append_new(tools, json_pack("{s:s, s:O}", "type", "code_interpreter",
                                                  "container", container ? container : preset))
               ? no_memory(r)
               : 0;
}

static int take_tools(const json_t *body, json_t *tools, struct refusal *r)
{
    const json_t *all = json_object_get(body, "tools");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *function = json_object_get(json_array_get(all, i), "function");
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, "tools", i);
        if (!shape_is(json_array_get(all, i), "type", "function") || !json_is_object(function))
            return refuse(r, place, "invalid_value",
                          "Invalid '%s': besides code_interpreter only functions can be offered.",
                          place);
        json_t *made = json_pack("{s:s}", "type", "function");
        if (json_object_update(made, (json_t *)function) || json_array_append_new(tools, made))
            return no_memory(r);
    }
    return 0;
}

static json_t *choice_of(const json_t *choice)
{
    const json_t *function = json_object_get(choice, "function");
    return json_is_object(function)
               ? json_pack("{s:s, s:s}", "type", "function", "name", shape_text(function, "name"))
               : json_incref((json_t *)choice);
}

/* ---- the rest ---- */

/* response_format as `text`: what json_schema holds stands beside its type there. */
static json_t *text_of(const json_t *body)
{
    const json_t *format = json_object_get(body, "response_format");
    json_t *verbosity = json_object_get(body, "verbosity");
    json_t *made = json_object();
    if (json_is_object(format)) {
        json_t *flat = json_pack("{s:s}", "type", shape_text(format, "type"));
        (void)json_object_set_new(made, "format", flat); /* without memory it is refused below */
        if (json_is_object(json_object_get(format, "json_schema")))
            (void)json_object_update(flat, json_object_get(format, "json_schema"));
    }
    if (verbosity)
        (void)json_object_set(made, "verbosity", verbosity);
    return made;
}

static int set(json_t *to, const char *name, json_t *value, struct refusal *r)
{
    return json_object_set_new(to, name, value) ? no_memory(r) : 0;
}

static int take_params(const json_t *body, json_t *to, struct refusal *r)
{
    static const char *const same[] = {"model", "temperature", "top_p", "user",
                                       "parallel_tool_calls"};
    json_t *most = json_object_get(body, "max_completion_tokens");
    json_t *effort = json_object_get(body, "reasoning_effort");
    json_t *choice = json_object_get(body, "tool_choice");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        json_t *value = json_object_get(body, same[i]);
        if (value && set(to, same[i], json_incref(value), r))
            return -1;
    }
    if (!most)
        most = json_object_get(body, "max_tokens");
    if (json_object_get(body, "n") && json_integer_value(json_object_get(body, "n")) != 1)
        return refuse(r, "n", "invalid_value", "Invalid 'n': with code_interpreter it is 1.");
    if ((most && set(to, "max_output_tokens", json_incref(most), r)) ||
        (effort && set(to, "reasoning", json_pack("{s:O}", "effort", effort), r)) ||
        (choice && set(to, "tool_choice", choice_of(choice), r)))
        return -1;
    return set(to, "text", text_of(body), r);
}

int oa_chat_translate(const struct json_t *body, const struct json_t *wish, struct json_t **ret,
                      struct refusal *r)
{
    json_t *input = json_array(), *tools = json_array();
    scoped(json_decrefp) json_t *made =
        json_pack("{s:o, s:o, s:b}", "input", input, "tools", tools, "store", 0);
    if (!made)
        return no_memory(r);
    if (take_messages(json_object_get(body, "messages"), input, r) || take_wish(wish, tools, r) ||
        take_tools(body, tools, r) || take_params(body, made, r))
        return -1;
    *ret = take(made);
    return 0;
}
