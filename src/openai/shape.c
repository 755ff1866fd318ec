#include "openai/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/utf8.h"

enum { METADATA_MAX = 16, METADATA_KEY_MAX = 64, METADATA_VALUE_MAX = 512 };

int refuse(struct refusal *r, const char *param, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(r->message, sizeof r->message, fmt, args);
    va_end(args);
    r->message[utf8_cut(r->message, strlen(r->message))] = 0;
    (void)snprintf(r->param, sizeof r->param, "%s", param);
    r->param[utf8_cut(r->param, strlen(r->param))] = 0;
    r->code = code;
    return -1;
}

void shape_index(char ret[SHAPE_PARAM_SIZE], const char *at, size_t index)
{
    char made[SHAPE_PARAM_SIZE];
    (void)snprintf(made, sizeof made, "%.120s[%zu]", at, index);
    memcpy(ret, made, sizeof made);
}

void shape_under(char ret[SHAPE_PARAM_SIZE], const char *at, const char *key)
{
    char made[SHAPE_PARAM_SIZE];
    (void)snprintf(made, sizeof made, "%.100s%s%.50s", at, *at ? "." : "", key);
    made[utf8_cut(made, strlen(made))] = 0;
    memcpy(ret, made, sizeof made);
}

static const char *name_of(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a decimal";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    default: return "null";
    }
}

static const char *const wanted[] = {
    [SHAPE_ANY] = "a value",
    [SHAPE_TEXT] = "a string",
    [SHAPE_BOOL] = "a boolean",
    [SHAPE_INT] = "an integer",
    [SHAPE_NUMBER] = "a decimal",
    [SHAPE_OBJECT] = "an object",
    [SHAPE_ARRAY] = "an array",
    [SHAPE_TEXT_OR_ARRAY] = "a string or an array",
    [SHAPE_TEXT_OR_OBJECT] = "a string or an object",
};

static bool has_type(const json_t *v, const struct shape_field *f)
{
    if (json_is_null(v))
        return f->is_nullable || f->type == SHAPE_ANY;
    switch (f->type) {
    case SHAPE_ANY: return true;
    case SHAPE_TEXT: return json_is_string(v);
    case SHAPE_BOOL: return json_is_boolean(v);
    case SHAPE_INT: return json_is_integer(v);
    case SHAPE_NUMBER: return json_is_number(v);
    case SHAPE_OBJECT: return json_is_object(v);
    case SHAPE_ARRAY: return json_is_array(v);
    case SHAPE_TEXT_OR_ARRAY: return json_is_string(v) || json_is_array(v);
    case SHAPE_TEXT_OR_OBJECT: return json_is_string(v) || json_is_object(v);
    }
    return false;
}

static int check_number(const json_t *v, const char *at, const struct shape_field *f,
                        struct refusal *r)
{
    const bool is_int = f->type == SHAPE_INT;
    const double n = json_number_value(v);
    const char *what = is_int ? "integer" : "decimal";
    if (n < f->min)
        return refuse(r, at, is_int ? "integer_below_min_value" : "decimal_below_min_value",
                      "Invalid '%s': %s below minimum value. Expected a value >= %g, but got %g "
                      "instead.",
                      at, what, f->min, n);
    if (n > f->max)
        return refuse(r, at, is_int ? "integer_above_max_value" : "decimal_above_max_value",
                      "Invalid '%s': %s above maximum value. Expected a value <= %g, but got %g "
                      "instead.",
                      at, what, f->max, n);
    return 0;
}

static int check_size(const json_t *v, const char *at, const struct shape_field *f,
                      struct refusal *r)
{
    if (json_is_array(v) && (double)json_array_size(v) > f->max)
        return refuse(r, at, "array_above_max_length",
                      "Invalid '%s': array too long. Expected an array with maximum length %g, but "
                      "got an array with length %zu instead.",
                      at, f->max, json_array_size(v));
    if (json_is_string(v) && (double)shape_length(v) > f->max)
        return refuse(
            r, at, "string_above_max_length",
            "Invalid '%s': string too long. Expected a string with maximum length %g, but "
            "got a string with length %zu instead.",
            at, f->max, shape_length(v));
    if (json_is_string(v) && strlen(json_string_value(v)) != json_string_length(v))
        return refuse(r, at, "invalid_value", "Invalid '%s': it has a NUL in it.", at);
    return 0;
}

static int check_choice(const json_t *v, const char *at, const char *const *choices,
                        struct refusal *r)
{
    char list[240] = "";
    size_t len = 0;
    for (size_t i = 0; choices[i]; i++) {
        if (strcmp(json_string_value(v), choices[i]) == 0)
            return 0;
        int n = snprintf(list + len, sizeof list - len, "%s'%s'",
                         i == 0           ? ""
                         : choices[i + 1] ? ", "
                                          : " and ",
                         choices[i]);
        len = n > 0 && (size_t)n < sizeof list - len ? len + (size_t)n : sizeof list - 1;
    }
    return refuse(r, at, "invalid_value", "Invalid value: '%.60s'. Supported values are: %s.",
                  json_string_value(v), list);
}

int shape_value(const struct json_t *v, const char *at, const struct shape_field *f,
                struct refusal *r)
{
    const bool has_bounds = f->min != 0 || f->max != 0;
    if (!has_type(v, f))
        return refuse(r, at, "invalid_type",
                      "Invalid type for '%s': expected %s, but got %s instead.", at,
                      wanted[f->type], name_of(v));
    if (has_bounds && json_is_number(v))
        return check_number(v, at, f, r);
    if (has_bounds && check_size(v, at, f, r))
        return -1;
    return f->choices && json_is_string(v) ? check_choice(v, at, f->choices, r) : 0;
}

int shape_check(const struct json_t *object, const char *at, const struct shape_field *fields,
                struct refusal *r)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char place[SHAPE_PARAM_SIZE];
        const struct shape_field *f = fields;
        shape_under(place, at, key);
        while (f->key && strcmp(f->key, key) != 0)
            f++;
        if (!f->key)
            return refuse(r, place, "unknown_parameter", "Unknown parameter: '%s'.", place);
        if (shape_value(value, place, f, r))
            return -1;
    }
    return 0;
}

int shape_missing(const struct json_t *object, const char *at, const char *key, struct refusal *r)
{
    char place[SHAPE_PARAM_SIZE];
    const json_t *v = json_object_get(object, key);
    if (v && !json_is_null(v))
        return 0;
    shape_under(place, at, key);
    return refuse(r, place, "missing_required_parameter", "Missing required parameter: '%s'.",
                  place);
}

int shape_metadata(const struct json_t *metadata, struct refusal *r)
{
    static const struct shape_field value_field = {"", .type = SHAPE_TEXT,
                                                   .max = METADATA_VALUE_MAX};
    const char *key;
    json_t *value;
    if (!metadata || json_is_null(metadata))
        return 0;
    if (json_object_size(metadata) > METADATA_MAX)
        return refuse(r, "metadata", "object_above_max_properties",
                      "Invalid 'metadata': too many properties. Expected an object with at most %d "
                      "properties, but got an object with %zu properties instead.",
                      METADATA_MAX, json_object_size(metadata));
    json_object_foreach((json_t *)metadata, key, value)
    {
        char place[SHAPE_PARAM_SIZE];
        size_t length = 0;
        for (const char *p = key; *p; p++)
            length += ((unsigned char)*p & 0xc0) != 0x80;
        shape_under(place, "metadata", key);
        if (length > METADATA_KEY_MAX)
            return refuse(r, "metadata", "string_above_max_length",
                          "Invalid 'metadata': key too long. Expected keys with maximum length %d, "
                          "but got one with length %zu instead.",
                          METADATA_KEY_MAX, length);
        if (shape_value(value, place, &value_field, r))
            return -1;
    }
    return 0;
}

size_t shape_length(const struct json_t *text)
{
    const char *s = json_string_value(text);
    size_t count = 0, len = json_string_length(text);
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

size_t shape_size(const struct json_t *value)
{
    size_t i, sum = 64;
    const char *key;
    json_t *one;
    if (json_is_string(value))
        return sum + json_string_length(value);
    json_array_foreach((json_t *)value, i, one) sum += shape_size(one);
    json_object_foreach((json_t *)value, key, one) sum += shape_size(one);
    return sum;
}

const char *shape_text(const struct json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

bool shape_is(const struct json_t *object, const char *key, const char *value)
{
    return strcmp(shape_text(object, key), value) == 0;
}
