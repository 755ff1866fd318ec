/* A conversation as Chat Completions have it: messages, of which the assistant's carry calls, and one for each output. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/model_write.h"
#include "base/err.h"
#include "base/scope.h"

struct chat {
    json_t *messages;   /* owned */
    json_t *open;       /* the assistant's last, to which calls may be added; NULL: none */
    json_t *turn_open;  /* the same for another call of the same turn, though outputs followed */
    const json_t *turn; /* its x_turn */
    bool has_images;
    bool failed; /* no memory */
};

/* Takes `message` over. Borrowed is what it returns. */
static json_t *append(struct chat *c, json_t *message)
{
    if (json_array_append_new(c->messages, message))
        c->failed = true;
    return message;
}

/* ---- messages ---- */

static bool has_image(const json_t *content)
{
    for (size_t i = 0; i < json_array_size(content); i++)
        if (part_image(json_array_get(content, i)))
            return true;
    return false;
}

static json_t *chat_part(const json_t *part)
{
    const char *image = part_image(part), *detail = item_text(part, "detail");
    scoped(json_decrefp) json_t *list = NULL;
    if (!image) {
        list = json_pack("[O]", part);
        return json_pack("{s:s, s:o}", "type", "text", "text", content_words(list));
    }
    json_t *made = json_pack("{s:s, s:{s:s}}", "type", "image_url", "image_url", "url", image);
    if (strcmp(detail, "low") == 0 || strcmp(detail, "high") == 0)
        (void)json_object_set_new(json_object_get(made, "image_url"), "detail",
                                  json_string(detail)); /* a wish, no more */
    return made;
}

/* Only who shows an image needs parts; a text is understood by everybody. */
static json_t *user_content(const struct chat *c, const json_t *content)
{
    if (!c->has_images || !has_image(content))
        return content_words(content);
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++)
        if (json_array_append_new(parts, chat_part(json_array_get(content, i)))) {
            json_decref(parts);
            return NULL;
        }
    return parts;
}

static void take_message(struct chat *c, const json_t *item)
{
    const char *role = item_text(item, "role");
    const json_t *content = json_object_get(item, "content");
    bool is_ours = strcmp(role, "assistant") == 0;
    bool is_user = strcmp(role, "user") == 0;
    scoped(json_decrefp) json_t *made = is_user ? user_content(c, content) : content_words(content);
    c->open = c->turn_open = NULL;
    if (is_ours && made && json_string_length(made) == 0)
        return;
    json_t *message = append(c, json_pack("{s:s, s:O}", "role",
                                          is_ours   ? "assistant"
                                          : is_user ? "user"
                                                    : "system",
                                          "content", made));
    if (is_ours)
        c->open = message;
}

/* ---- calls ---- */

/* The message that a call belongs to. */
static json_t *message_of(struct chat *c, const json_t *item)
{
    const json_t *turn = json_object_get(item, "x_turn");
    bool is_same = turn && c->turn && c->turn_open && json_equal(turn, c->turn);
    json_t *message = is_same ? c->turn_open : c->open;
    if (!message)
        message = append(c, json_pack("{s:s, s:n}", "role", "assistant", "content"));
    c->open = c->turn_open = message;
    c->turn = turn;
    return message;
}

static void add_call(struct chat *c, const json_t *item, const char *id, const char *name,
                     const json_t *arguments)
{
    json_t *message = message_of(c, item);
    json_t *calls = json_object_get(message, "tool_calls");
    if (!calls && !json_object_set_new(message, "tool_calls", json_array()))
        calls = json_object_get(message, "tool_calls");
    if (json_array_append_new(calls,
                              json_pack("{s:s, s:s, s:{s:s, s:O}}", "id", id, "type", "function",
                                        "function", "name", name, "arguments", arguments)))
        c->failed = true;
}

static void add_output(struct chat *c, const char *id, const json_t *text)
{
    (void)append(c,
                 json_pack("{s:s, s:s, s:O}", "role", "tool", "tool_call_id", id, "content", text));
    c->open = NULL;
}

static void take_function_call(struct chat *c, const json_t *item)
{
    const json_t *arguments = json_object_get(item, "arguments");
    scoped(json_decrefp) json_t *text =
        json_is_string(arguments) ? json_incref((json_t *)arguments) : json_string("{}");
    add_call(c, item, item_text(item, "call_id"), item_text(item, "name"), text);
}

static void take_function_output(struct chat *c, const json_t *item)
{
    scoped(json_decrefp) json_t *text = content_words(json_object_get(item, "output"));
    add_output(c, item_text(item, "call_id"), text);
    c->turn_open = NULL; /* what follows is another turn, perhaps of another answer */
}

static void take_code(struct chat *c, const json_t *item)
{
    scoped(json_decrefp) json_t *arguments = python_arguments(item), *text = python_output(item);
    add_call(c, item, python_call_id(item), "python", arguments);
    add_output(c, python_call_id(item), text);
}

static void take_item(struct chat *c, const json_t *item)
{
    if (item_is(item, "message"))
        take_message(c, item);
    else if (item_is(item, "function_call"))
        take_function_call(c, item);
    else if (item_is(item, "function_call_output"))
        take_function_output(c, item);
    else if (item_is(item, "code_interpreter_call"))
        take_code(c, item);
}

/* ---- the rest of the request ---- */

static json_t *chat_tools(const json_t *tools)
{
    json_t *made = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        json_t *function = json_object();
        copy_param(tool, "name", function, "name");
        copy_param(tool, "description", function, "description");
        copy_param(tool, "parameters", function, "parameters");
        copy_param(tool, "strict", function, "strict");
        (void)json_array_append_new(
            made, json_pack("{s:s, s:o}", "type", "function", "function", function));
    }
    return made;
}

static void put_tools(const struct model_question *q, const struct model_manner *m, json_t *body)
{
    if (json_array_size(q->tools) == 0)
        return;
    (void)json_object_set_new(body, "tools", chat_tools(q->tools));
    const char *name = json_string_value(json_object_get(q->choice, "name"));
    if (name)
        (void)json_object_set_new(
            body, "tool_choice",
            json_pack("{s:s, s:{s:s}}", "type", "function", "function", "name", name));
    else if (json_is_string(q->choice))
        (void)json_object_set(body, "tool_choice", (json_t *)q->choice);
    if (!q->is_parallel && !(m->without & WITHOUT_PARALLEL))
        (void)json_object_set_new(body, "parallel_tool_calls", json_false());
}

static void put_format(const json_t *format, json_t *body)
{
    if (item_is(format, "json_object"))
        (void)json_object_set_new(body, "response_format",
                                  json_pack("{s:s}", "type", "json_object"));
    if (!item_is(format, "json_schema"))
        return;
    json_t *schema = json_object();
    copy_param(format, "name", schema, "name");
    copy_param(format, "description", schema, "description");
    copy_param(format, "schema", schema, "schema");
    copy_param(format, "strict", schema, "strict");
    (void)json_object_set_new(
        body, "response_format",
        json_pack("{s:s, s:o}", "type", "json_schema", "json_schema", schema));
}

static void put_params(const struct model_question *q, const struct model_manner *m, json_t *body)
{
    static const char *const same[] = {
        "temperature", "top_p", "seed", "stop", "user", "presence_penalty", "frequency_penalty"};
    const json_t *text = json_object_get(q->params, "text");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        copy_param(q->params, same[i], body, same[i]);
    copy_param(q->params, "max_output_tokens", body,
               m->without & WITHOUT_MAX_TOKENS ? "max_completion_tokens" : "max_tokens");
    copy_param(json_object_get(q->params, "reasoning"), "effort", body, "reasoning_effort");
    copy_param(text, "verbosity", body, "verbosity");
    put_format(json_object_get(text, "format"), body);
}

int chat_request(const struct model_question *q, const struct model_manner *m, struct buf *out,
                 struct err *e)
{
    struct chat c = {.messages = json_array(), .has_images = m->has_images};
    scoped(json_decrefp) json_t *body =
        json_pack("{s:s, s:b, s:o}", "model", m->name, "stream", 1, "messages", c.messages);
    if (!body)
        return err_set(e, ERR_NO_MEMORY, "write the question for the model");
    if (q->instructions && *q->instructions)
        (void)append(&c, json_pack("{s:s, s:s}", "role", "system", "content", q->instructions));
    for (size_t i = 0; i < json_array_size(q->items); i++)
        take_item(&c, json_array_get(q->items, i));
    if (c.failed)
        return err_set(e, ERR_NO_MEMORY, "write the question for the model");
    if (!(m->without & WITHOUT_STREAM_OPTIONS))
        (void)json_object_set_new(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    put_tools(q, m, body);
    put_params(q, m, body);
    return write_body(body, out, e);
}
