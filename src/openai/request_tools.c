/* request_tools.c -- which tools a request offers, and which of them the model is to use. */
#include <string.h>

#include <jansson.h>

#include "openai/request.h"
#include "openai/shape.h"

enum { FILES_MAX = 50 };

static const char *const tool_types[] = {"code_interpreter", "function", NULL};
static const char *const autos[] = {"auto", NULL};
static const char *const limits[] = {"1g", "4g", "16g", "64g", NULL};
static const char *const policies[] = {"disabled", NULL};
static const char *const words[] = {"none", "auto", "required", NULL};
static const char *const modes[] = {"auto", "required", NULL};
static const char *const choice_types[] = {"code_interpreter", "function", "allowed_tools", NULL};

/* clang-format off */
static const struct shape_field code_fields[] = {
    {"type", .type = SHAPE_TEXT},
    {"container", .type = SHAPE_TEXT_OR_OBJECT},
    {"allowed_callers", .type = SHAPE_ARRAY, .is_nullable = true},
    {0},
};
static const struct shape_field container_fields[] = {
    {"type", .type = SHAPE_TEXT, .choices = autos},
    {"file_ids", .type = SHAPE_ARRAY, .is_nullable = true, .max = FILES_MAX},
    {"memory_limit", .type = SHAPE_TEXT, .is_nullable = true, .choices = limits},
    {"network_policy", .type = SHAPE_OBJECT, .is_nullable = true},
    {"expires_after", .type = SHAPE_OBJECT, .is_nullable = true},
    {0},
};
static const struct shape_field function_fields[] = {
    {"type", .type = SHAPE_TEXT},
    {"name", .type = SHAPE_TEXT, .max = 64},
    {"description", .type = SHAPE_TEXT, .is_nullable = true},
    {"parameters", .type = SHAPE_OBJECT, .is_nullable = true},
    {"strict", .type = SHAPE_BOOL, .is_nullable = true},
    {"defer_loading", .type = SHAPE_BOOL, .is_nullable = true},
    {"output_schema", .type = SHAPE_OBJECT, .is_nullable = true},
    {"allowed_callers", .type = SHAPE_ARRAY, .is_nullable = true},
    {0},
};
static const struct shape_field choice_fields[] = {
    {"type", .type = SHAPE_TEXT, .choices = choice_types},
    {"name", .type = SHAPE_TEXT, .max = 64},
    {"mode", .type = SHAPE_TEXT, .choices = modes},
    {"tools", .type = SHAPE_ARRAY, .max = 128},
    {0},
};
/* clang-format on */

static int no_memory(struct refusal *r)
{
    return refuse(r, "", NULL, "There is no memory left; try again.");
}

/* ---- code_interpreter ---- */

static int check_files(const json_t *ids, const char *at, struct refusal *r)
{
    static const struct shape_field field = {"", .type = SHAPE_TEXT, .max = 64};
    size_t i;
    json_t *id;
    json_array_foreach((json_t *)ids, i, id)
    {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, at, i);
        if (shape_value(id, place, &field, r))
            return -1;
    }
    return 0;
}

static int check_policy(const json_t *policy, const char *at, struct refusal *r)
{
    static const struct shape_field field = {"", .type = SHAPE_TEXT, .choices = policies};
    char place[SHAPE_PARAM_SIZE];
    if (!json_is_object(policy))
        return 0;
    shape_under(place, at, "type");
    if (shape_missing(policy, at, "type", r) ||
        shape_value(json_object_get(policy, "type"), place, &field, r))
        return -1;
    return json_object_size(policy) > 1
               ? refuse(r, at, "invalid_value",
                        "Invalid '%s': code has no network on this server, send "
                        "{\"type\":\"disabled\"}.",
                        at)
               : 0;
}

static int check_auto(const json_t *container, const char *at, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    if (shape_check(container, at, container_fields, r) || shape_missing(container, at, "type", r))
        return -1;
    shape_under(place, at, "file_ids");
    if (check_files(json_object_get(container, "file_ids"), place, r))
        return -1;
    shape_under(place, at, "network_policy");
    return check_policy(json_object_get(container, "network_policy"), place, r);
}

static int read_code(struct oa_request *q, const json_t *tool, const char *at, struct refusal *r)
{
    static const struct shape_field id_field = {"", .type = SHAPE_TEXT, .max = 64};
    char place[SHAPE_PARAM_SIZE];
    if (shape_check(tool, at, code_fields, r) || shape_missing(tool, at, "container", r))
        return -1;
    if (q->container)
        return refuse(r, at, "invalid_value", "There can be only one code_interpreter in 'tools'.");
    q->container = json_object_get(tool, "container");
    q->has_code = true;
    shape_under(place, at, "container");
    return json_is_string(q->container) ? shape_value(q->container, place, &id_field, r)
                                        : check_auto(q->container, place, r);
}

/* ---- functions ---- */

static bool is_name(const char *name)
{
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-")] == 0;
}

static const json_t *function_named(const struct oa_request *q, const char *name)
{
    size_t i;
    json_t *f;
    json_array_foreach(q->functions, i, f)
    {
        if (shape_is(f, "name", name))
            return f;
    }
    return NULL;
}

static int read_function(struct oa_request *q, const json_t *tool, const char *at,
                         struct refusal *r)
{
    static const char *const kept[] = {"name", "description", "parameters", "strict"};
    char place[SHAPE_PARAM_SIZE];
    const char *name = shape_text(tool, "name");
    shape_under(place, at, "name");
    if (shape_check(tool, at, function_fields, r) || shape_missing(tool, at, "name", r))
        return -1;
    if (!is_name(name))
        return refuse(r, place, "invalid_value",
                      "Invalid '%s': string does not match pattern. Expected a string that matches "
                      "the pattern '^[a-zA-Z0-9_-]+$'.",
                      place);
    if (function_named(q, name))
        return refuse(r, place, "invalid_value", "Invalid '%s': there are two functions '%s'.",
                      place, name);
    json_t *f = json_object();
    for (size_t i = 0; f && i < sizeof kept / sizeof *kept; i++) {
        json_t *v = json_object_get(tool, kept[i]);
        if (v && !json_is_null(v))
            (void)json_object_set(f, kept[i], v); /* what is missing the model does without */
    }
    return json_array_append_new(q->functions, f) ? no_memory(r) : 0;
}

static int read_tool(struct oa_request *q, const json_t *tool, const char *at, struct refusal *r)
{
    static const struct shape_field any_field = {"", .type = SHAPE_OBJECT};
    static const struct shape_field type_field = {"", .type = SHAPE_TEXT, .choices = tool_types};
    char place[SHAPE_PARAM_SIZE];
    shape_under(place, at, "type");
    if (shape_value(tool, at, &any_field, r) || shape_missing(tool, at, "type", r) ||
        shape_value(json_object_get(tool, "type"), place, &type_field, r))
        return -1;
    return shape_is(tool, "type", "function") ? read_function(q, tool, at, r)
                                              : read_code(q, tool, at, r);
}

/* ---- tool_choice ---- */

static bool is_offered(const struct oa_request *q, const json_t *choice)
{
    if (shape_is(choice, "type", "function"))
        return function_named(q, shape_text(choice, "name")) != NULL;
    return shape_is(choice, "type", "code_interpreter") && q->has_code;
}

/* Only those that are allowed remain. */
static int allow(struct oa_request *q, const json_t *choice, struct refusal *r)
{
    json_t *functions = json_array(), *tool;
    bool has_code = false;
    size_t i;
    if (shape_missing(choice, "tool_choice", "tools", r) ||
        shape_missing(choice, "tool_choice", "mode", r)) {
        json_decref(functions);
        return -1;
    }
    json_array_foreach(json_object_get(choice, "tools"), i, tool)
    {
        if (shape_is(tool, "type", "code_interpreter"))
            has_code = true;
        const json_t *f = function_named(q, shape_text(tool, "name"));
        if (shape_is(tool, "type", "function") && f)
            (void)json_array_append(functions, (json_t *)f);
    }
    json_decref(q->functions);
    q->functions = functions;
    q->has_code = q->has_code && has_code;
    q->made_choice = json_string(shape_text(choice, "mode"));
    q->choice = q->made_choice;
    return q->functions && q->made_choice ? 0 : no_memory(r);
}

static int read_choice(struct oa_request *q, struct refusal *r)
{
    static const struct shape_field word_field = {"", .type = SHAPE_TEXT, .choices = words};
    const json_t *choice = json_object_get(q->body, "tool_choice");
    if (!choice || json_is_null(choice))
        return 0;
    q->choice = choice;
    if (json_is_string(choice)) {
        if (shape_value(choice, "tool_choice", &word_field, r))
            return -1;
        return shape_is(q->body, "tool_choice", "required") && !q->has_code &&
                       json_array_size(q->functions) == 0
                   ? refuse(r, "tool_choice", "invalid_value",
                            "Tool choice 'required' must be specified with 'tools' parameter.")
                   : 0;
    }
    if (shape_check(choice, "tool_choice", choice_fields, r) ||
        shape_missing(choice, "tool_choice", "type", r))
        return -1;
    if (shape_is(choice, "type", "allowed_tools"))
        return allow(q, choice, r);
    if (!is_offered(q, choice))
        return refuse(
            r, "tool_choice", "invalid_value", "Tool choice '%s' not found in 'tools' parameter.",
            *shape_text(choice, "name") ? shape_text(choice, "name") : shape_text(choice, "type"));
    return 0;
}

int oa_request_tools(struct oa_request *q, struct refusal *r)
{
    size_t i;
    json_t *tool;
    q->functions = json_array();
    if (!q->functions)
        return no_memory(r);
    json_array_foreach(json_object_get(q->body, "tools"), i, tool)
    {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, "tools", i);
        if (read_tool(q, tool, place, r))
            return -1;
    }
    if (q->has_code && function_named(q, "python"))
        return refuse(
            r, "tools", "invalid_value",
            "A function cannot be called 'python' beside code_interpreter, which the model "
            "knows by that name.");
    return read_choice(q, r);
}
