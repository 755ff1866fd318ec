#include "openai/items.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "openai/shape.h"

static const char *const roles[] = {"user", "assistant", "system", "developer", NULL};
static const char *const part_types[] = {"input_text",  "input_image", "input_file",
                                         "output_text", "refusal",     NULL};
static const char *const item_types[] = {"message",
                                         "function_call",
                                         "function_call_output",
                                         "code_interpreter_call",
                                         "reasoning",
                                         "item_reference",
                                         NULL};

static const struct shape_field an_object = {"", .type = SHAPE_OBJECT};
static const struct shape_field a_text = {"", .type = SHAPE_TEXT};
static const struct shape_field an_id = {"", .type = SHAPE_TEXT, .max = 64};
static const struct shape_field a_call_id = {"", .type = SHAPE_TEXT, .max = OA_CALL_ID_MAX};
static const struct shape_field a_role = {"", .type = SHAPE_TEXT, .choices = roles};
static const struct shape_field a_part = {"", .type = SHAPE_TEXT, .choices = part_types};
static const struct shape_field an_item = {"", .type = SHAPE_TEXT, .choices = item_types};
static const struct shape_field a_content = {"", .type = SHAPE_TEXT_OR_ARRAY};

static int no_memory(struct refusal *r)
{
    return refuse(r, "", NULL, "There is no memory left; try again.");
}

static int too_long(const char *at, int max, struct refusal *r)
{
    return refuse(r, at, "array_above_max_length",
                  "Invalid '%s': array too long. Expected an array with maximum length %d.", at,
                  max);
}

/* A member that has to be there, as it should be. */
static int need(const json_t *object, const char *at, const char *key,
                const struct shape_field *field, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    shape_under(place, at, key);
    return shape_missing(object, at, key, r) ||
                   shape_value(json_object_get(object, key), place, field, r)
               ? -1
               : 0;
}

static bool has(const json_t *object, const char *key)
{
    return json_is_string(json_object_get(object, key));
}

/* ---- parts ---- */

static int check_image(const json_t *part, const char *at, struct refusal *r)
{
    if (has(part, "file_id"))
        return need(part, at, "file_id", &an_id, r);
    if (need(part, at, "image_url", &a_text, r))
        return -1;
    const char *url = shape_text(part, "image_url");
    if (strncmp(url, "data:", 5) == 0 || strncmp(url, "http://", 7) == 0 ||
        strncmp(url, "https://", 8) == 0)
        return 0;
    char place[SHAPE_PARAM_SIZE];
    shape_under(place, at, "image_url");
    return refuse(r, place, "invalid_value",
                  "Invalid '%s': expected a URL that begins with data:, http:// or https://.",
                  place);
}

static int check_file(const json_t *part, const char *at, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    if (has(part, "file_url")) {
        shape_under(place, at, "file_url");
        return refuse(
            r, place, "unsupported_parameter",
            "Unsupported parameter: '%s'. This server fetches nothing from elsewhere: send "
            "'file_data' with 'filename', or upload the file and send its 'file_id'.",
            place);
    }
    if (has(part, "file_id"))
        return need(part, at, "file_id", &an_id, r);
    return need(part, at, "file_data", &a_text, r) || need(part, at, "filename", &a_text, r) ? -1
                                                                                             : 0;
}

static int check_part(const json_t *part, const char *at, struct refusal *r)
{
    if (shape_value(part, at, &an_object, r) || need(part, at, "type", &a_part, r))
        return -1;
    const char *type = shape_text(part, "type");
    if (strcmp(type, "input_image") == 0)
        return check_image(part, at, r);
    if (strcmp(type, "input_file") == 0)
        return check_file(part, at, r);
    return need(part, at, strcmp(type, "refusal") == 0 ? "refusal" : "text", &a_text, r);
}

static int check_parts(const json_t *content, const char *at, struct refusal *r)
{
    size_t i;
    json_t *part;
    if (json_array_size(content) > OA_PARTS_MAX)
        return too_long(at, OA_PARTS_MAX, r);
    json_array_foreach((json_t *)content, i, part)
    {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, at, i);
        if (check_part(part, place, r))
            return -1;
    }
    return 0;
}

/* ---- items ---- */

/* A text becomes the list of parts that it stands for. */
static json_t *parts_of(const json_t *content, const char *role)
{
    if (json_is_array(content))
        return json_deep_copy(content);
    if (strcmp(role, "assistant") == 0)
        return json_pack("[{s:s, s:O, s:[], s:[]}]", "type", "output_text", "text", content,
                         "annotations", "logprobs");
    return json_pack("[{s:s, s:O}]", "type", "input_text", "text", content);
}

static int read_message(const json_t *item, const char *at, json_t *made, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    if (need(item, at, "role", &a_role, r) || need(item, at, "content", &a_content, r))
        return -1;
    const json_t *content = json_object_get(item, "content");
    shape_under(place, at, "content");
    if (json_is_array(content) && check_parts(content, place, r))
        return -1;
    int failed = json_object_set_new(made, "type", json_string("message")) ||
                 json_object_set_new(made, "content", parts_of(content, shape_text(item, "role")));
    if (!json_is_string(json_object_get(item, "status")))
        failed |= json_object_set_new(made, "status", json_string("completed"));
    return failed ? no_memory(r) : 0;
}

static int read_output(const json_t *item, const char *at, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    const json_t *output = json_object_get(item, "output");
    if (need(item, at, "call_id", &a_call_id, r) || need(item, at, "output", &a_content, r))
        return -1;
    shape_under(place, at, "output");
    return json_is_array(output) ? check_parts(output, place, r) : 0;
}

static int read_code(const json_t *item, const char *at, struct refusal *r)
{
    static const struct shape_field fields[] = {
        {"code", .type = SHAPE_TEXT, .is_nullable = true},
        {"container_id", .type = SHAPE_TEXT, .is_nullable = true, .max = 64},
        {"outputs", .type = SHAPE_ARRAY, .is_nullable = true},
        {0},
    };
    for (const struct shape_field *f = fields; f->key; f++) {
        char place[SHAPE_PARAM_SIZE];
        const json_t *v = json_object_get(item, f->key);
        shape_under(place, at, f->key);
        if (v && shape_value(v, place, f, r))
            return -1;
    }
    return 0;
}

static int is_nameless(const json_t *item, const char *at, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    shape_under(place, at, "id");
    return *shape_text(item, "id")
               ? 0
               : refuse(r, place, "invalid_value", "Invalid '%s': it is empty.", place);
}

static int read_by_type(const json_t *item, const char *type, const char *at, json_t *made,
                        struct refusal *r)
{
    if (strcmp(type, "message") == 0)
        return read_message(item, at, made, r);
    if (strcmp(type, "function_call_output") == 0)
        return read_output(item, at, r);
    if (strcmp(type, "code_interpreter_call") == 0)
        return read_code(item, at, r);
    if (strcmp(type, "item_reference") == 0)
        return need(item, at, "id", &an_id, r) || is_nameless(item, at, r) ||
                       json_object_set_new(made, "type", json_string("item_reference"))
                   ? -1
                   : 0;
    if (strcmp(type, "function_call") == 0)
        return need(item, at, "call_id", &a_call_id, r) || need(item, at, "name", &an_id, r) ||
                       need(item, at, "arguments", &a_text, r)
                   ? -1
                   : 0;
    return 0;
}

/* Items are known by their type; without one, those with a role are messages, those with nothing but an id references. */
static int type_of(const json_t *item, const char *at, const char **ret, struct refusal *r)
{
    const json_t *type = json_object_get(item, "type");
    if (shape_value(item, at, &an_object, r))
        return -1;
    if (type && !json_is_null(type)) {
        *ret = shape_text(item, "type");
        return need(item, at, "type", &an_item, r);
    }
    *ret = has(item, "role") || !has(item, "id") ? "message" : "item_reference";
    return 0;
}

static int new_id(json_t *item, const char *type, struct refusal *r)
{
    char id[ID_SIZE];
    struct err e = {0};
    if (oa_item_id(type, id, &e))
        return refuse(r, "", NULL, "There is no randomness left; try again.");
    return json_object_set_new(item, "id", json_string(id)) ? no_memory(r) : 0;
}

/* `ids` are those of the items before it. What a reference has is not its own. */
static int give_id(json_t *item, const char *type, json_t *ids, struct refusal *r)
{
    if (strcmp(type, "item_reference") == 0)
        return 0;
    if ((!*shape_text(item, "id") || json_object_get(ids, shape_text(item, "id"))) &&
        new_id(item, type, r))
        return -1;
    return json_object_set_new(ids, shape_text(item, "id"), json_true()) ? no_memory(r) : 0;
}

static int read_item(const json_t *item, const char *at, json_t *items, json_t *ids,
                     struct refusal *r)
{
    const char *type;
    const json_t *id;
    char place[SHAPE_PARAM_SIZE];
    if (type_of(item, at, &type, r))
        return -1;
    id = json_object_get(item, "id");
    shape_under(place, at, "id");
    if (id && !json_is_null(id) && shape_value(id, place, &an_id, r))
        return -1;
    scoped(json_decrefp) json_t *made = json_copy((json_t *)item);
    if (!made)
        return no_memory(r);
    if (read_by_type(item, type, at, made, r) || give_id(made, type, ids, r))
        return -1;
    return json_array_append(items, made) ? no_memory(r) : 0;
}

static int read_all(const json_t *input, const char *at, json_t *items, json_t *ids,
                    struct refusal *r)
{
    size_t i;
    json_t *item;
    if (json_is_string(input)) {
        scoped(json_decrefp) json_t *message =
            json_pack("{s:s, s:O}", "role", "user", "content", input);
        return message ? read_item(message, at, items, ids, r) : no_memory(r);
    }
    if (json_array_size(input) > OA_ITEMS_MAX)
        return too_long(at, OA_ITEMS_MAX, r);
    json_array_foreach((json_t *)input, i, item)
    {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, at, i);
        if (read_item(item, place, items, ids, r))
            return -1;
    }
    return 0;
}

int oa_items_read(const struct json_t *input, const char *at, struct json_t **ret,
                  struct refusal *r)
{
    scoped(json_decrefp) json_t *items = json_array(), *ids = json_object();
    if (!items || !ids)
        return no_memory(r);
    if (input && read_all(input, at, items, ids, r))
        return -1;
    *ret = take(items);
    return 0;
}

/* ---- for others ---- */

int oa_item_id(const char *type, char *ret, struct err *e)
{
    static const struct {
        const char *type, *prefix;
    } prefixes[] = {{"message", "msg_"},
                    {"function_call", "fc_"},
                    {"function_call_output", "fco_"},
                    {"code_interpreter_call", "ci_"},
                    {"reasoning", "rs_"}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strcmp(type, prefixes[i].type) == 0)
            return id_make(prefixes[i].prefix, ret, e);
    return id_make("item_", ret, e);
}

const char *oa_items_container(const struct json_t *items)
{
    for (size_t i = json_array_size(items); i-- > 0;) {
        const json_t *item = json_array_get(items, i);
        if (shape_is(item, "type", "code_interpreter_call") && *shape_text(item, "container_id"))
            return shape_text(item, "container_id");
    }
    return "";
}
