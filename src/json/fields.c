#include "json/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "json/fields_int.h"

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: break;
    }
    return "null";
}

static int expected(const char *what, const json_t *v, const struct place *p, struct err *e)
{
    return place_bad(p, e, "expected %s, not %s", what, type_name(v));
}

/* A string without NULs. */
static int read_text(const json_t *v, const struct place *p, const char **ret, size_t *ret_len,
                     struct err *e)
{
    if (!json_is_string(v))
        return expected("a string", v, p, e);
    *ret = json_string_value(v);
    *ret_len = json_string_length(v);
    if (strlen(*ret) != *ret_len)
        return place_bad(p, e, "the string contains a NUL character");
    return 0;
}

static int read_one_text(const struct json_field *f, const json_t *v, const char **ret,
                         const struct place *p, struct err *e)
{
    const char *text;
    size_t len;
    if (read_text(v, p, &text, &len, e) || field_check_size(f, len, "bytes", p, e))
        return -1;
    *ret = text;
    return 0;
}

static int read_str(const struct json_field *f, const json_t *v, struct str *ret,
                    const struct place *p, struct err *e)
{
    if (!json_is_string(v))
        return expected("a string", v, p, e);
    *ret = (struct str){json_string_value(v), json_string_length(v)};
    return field_check_size(f, ret->len, "bytes", p, e);
}

/* A whole number may also be written 60.0, as JSON Schema says. */
static int read_int(const struct json_field *f, const json_t *v, int64_t *ret,
                    const struct place *p, struct err *e)
{
    double real = json_number_value(v);
    if (json_is_integer(v))
        *ret = json_integer_value(v);
    else if (json_is_real(v) && real == floor(real) && fabs(real) < 9e15)
        *ret = (int64_t)real;
    else if (json_is_real(v))
        return place_bad(p, e, "%.10g is not a whole number", real);
    else
        return expected("a whole number", v, p, e);
    return field_check_value(f, *ret, p, e);
}

static int read_milli(const struct json_field *f, const json_t *v, int64_t *ret,
                      const struct place *p, struct err *e)
{
    double real = json_number_value(v);
    if (!json_is_number(v))
        return expected("a number", v, p, e);
    if (fabs(real) > 9e12)
        return place_bad(p, e, "%.10g is too large", real);
    *ret = (int64_t)llround(real * 1000);
    return field_check_value(f, *ret, p, e);
}

static int read_choice(const struct json_field *f, const json_t *v, int *ret, const struct place *p,
                       struct err *e)
{
    const char *name;
    size_t len;
    if (read_text(v, p, &name, &len, e))
        return -1;
    return field_choice(f, name, p, ret, e);
}

static int read_flags(const struct json_field *f, const json_t *v, unsigned *ret,
                      const struct place *p, struct err *e)
{
    if (!json_is_array(v))
        return expected("an array", v, p, e);
    if (field_check_size(f, json_array_size(v), "entries", p, e))
        return -1;
    *ret = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        struct place here = {.up = p, .index = i};
        int bit;
        if (read_choice(f, json_array_get(v, i), &bit, &here, e))
            return -1;
        *ret |= 1u << bit;
    }
    return 0;
}

static int read_texts(const struct json_field *f, const json_t *v, struct json_texts *ret,
                      const struct place *p, struct err *e)
{
    if (!json_is_array(v))
        return expected("an array", v, p, e);
    size_t count = json_array_size(v);
    if (field_check_size(f, count, "entries", p, e))
        return -1;
    if (count > 0 && !(ret->items = calloc(count, sizeof *ret->items)))
        return err_set(e, ERR_NO_MEMORY, "read a list");
    for (; ret->count < count; ret->count++) {
        struct place here = {.up = p, .index = ret->count};
        size_t len;
        if (read_text(json_array_get(v, ret->count), &here, &ret->items[ret->count], &len, e) ||
            field_check_item(f, len, &here, e))
            return -1;
    }
    return 0;
}

static int read_pairs(const struct json_field *f, const json_t *v, struct json_pairs *ret,
                      const struct place *p, struct err *e)
{
    if (!json_is_object(v))
        return expected("an object of strings", v, p, e);
    size_t count = json_object_size(v);
    if (field_check_size(f, count, "entries", p, e))
        return -1;
    if (count > 0 && !(ret->items = calloc(count, sizeof *ret->items)))
        return err_set(e, ERR_NO_MEMORY, "read an object");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)v, name, value)
    {
        struct place here = {.up = p, .name = name};
        struct json_pair *pair = &ret->items[ret->count++];
        size_t len;
        pair->name = name;
        if (field_check_item(f, strlen(name), &here, e) ||
            read_text(value, &here, &pair->value, &len, e) || field_check_item(f, len, &here, e))
            return -1;
    }
    return 0;
}

static int read_object(const struct json_field *table, const json_t *v, void *into,
                       const struct place *p, struct err *e);

static int read_objects(const struct json_field *f, const json_t *v, struct json_structs *ret,
                        const struct place *p, struct err *e)
{
    if (!json_is_array(v))
        return expected("an array", v, p, e);
    size_t count = json_array_size(v);
    if (field_check_size(f, count, "entries", p, e))
        return -1;
    if (count > 0 && !(ret->items = calloc(count, f->item_size)))
        return err_set(e, ERR_NO_MEMORY, "read a list");
    for (; ret->count < count;) {
        struct place here = {.up = p, .index = ret->count};
        void *item = (char *)ret->items + ret->count++ * f->item_size;
        fields_preset(f->table, item);
        if (read_object(f->table, json_array_get(v, ret->count - 1), item, &here, e))
            return -1;
    }
    return 0;
}

static int read_bool(const json_t *v, bool *ret, const struct place *p, struct err *e)
{
    if (!json_is_boolean(v))
        return expected("true or false", v, p, e);
    *ret = json_is_true(v);
    return 0;
}

static int read_member(const struct json_field *f, json_t *v, void *to, const struct place *p,
                       struct err *e)
{
    switch (f->kind) {
    case JF_KIND_TEXT: return read_one_text(f, v, to, p, e);
    case JF_KIND_STR: return read_str(f, v, to, p, e);
    case JF_KIND_BOOL: return read_bool(v, to, p, e);
    case JF_KIND_INT: return read_int(f, v, to, p, e);
    case JF_KIND_MILLI: return read_milli(f, v, to, p, e);
    case JF_KIND_CHOICE: return read_choice(f, v, to, p, e);
    case JF_KIND_FLAGS: return read_flags(f, v, to, p, e);
    case JF_KIND_TEXTS: return read_texts(f, v, to, p, e);
    case JF_KIND_PAIRS: return read_pairs(f, v, to, p, e);
    case JF_KIND_OBJECT: return read_object(f->table, v, to, p, e);
    case JF_KIND_OBJECTS: return read_objects(f, v, to, p, e);
    case JF_KIND_JSON: *(json_t **)to = v; return 0;
    case JF_KIND_NONE: break;
    }
    return err_set(e, ERR_INTERNAL, "a field of no kind");
}

static int read_object(const struct json_field *table, const json_t *v, void *into,
                       const struct place *p, struct err *e)
{
    if (!json_is_object(v))
        return expected("an object", v, p, e);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)v, key, value) if (!json_field_find(table, key, p, e)) return -1;

    for (const struct json_field *f = table; f->kind; f++) {
        struct place here = {.up = p, .name = f->name};
        value = json_object_get(v, f->name);
        set_has(f, into, value != NULL);
        if (value && !json_is_null(value)) {
            if (read_member(f, value, member_of(f, into), &here, e))
                return -1;
        } else if (value && f->kind == JF_KIND_JSON) {
            *(json_t **)member_of(f, into) = value;
        } else if (f->required) {
            return place_bad(&here, e, "is required");
        }
    }
    return 0;
}

int fields_read(const struct json_field *table, const struct json_t *object, void *ret,
                struct err *e)
{
    fields_preset(table, ret);
    if (read_object(table, object, ret, /* p= */ NULL, e)) {
        fields_done(table, ret);
        return -1;
    }
    return 0;
}

void fields_preset(const struct json_field *table, void *ret)
{
    for (const struct json_field *f = table; f->kind; f++) {
        void *to = member_of(f, ret);
        set_has(f, ret, false);
        switch (f->kind) {
        case JF_KIND_TEXT: *(const char **)to = f->preset_text; break;
        case JF_KIND_STR:
            *(struct str *)to = f->preset_text ? str_of(f->preset_text) : STR_NONE;
            break;
        case JF_KIND_BOOL: *(bool *)to = f->preset != 0; break;
        case JF_KIND_INT:
        case JF_KIND_MILLI: *(int64_t *)to = f->preset; break;
        case JF_KIND_CHOICE: *(int *)to = (int)f->preset; break;
        case JF_KIND_FLAGS: *(unsigned *)to = (unsigned)f->preset; break;
        case JF_KIND_TEXTS: *(struct json_texts *)to = (struct json_texts){0}; break;
        case JF_KIND_PAIRS: *(struct json_pairs *)to = (struct json_pairs){0}; break;
        case JF_KIND_OBJECT: fields_preset(f->table, to); break;
        case JF_KIND_OBJECTS: *(struct json_structs *)to = (struct json_structs){0}; break;
        case JF_KIND_JSON: *(json_t **)to = NULL; break;
        case JF_KIND_NONE: break;
        }
    }
}

static void structs_done(const struct json_field *table, size_t size, struct json_structs *l)
{
    for (size_t i = 0; i < l->count; i++)
        fields_done(table, (char *)l->items + i * size);
    free(l->items);
    *l = (struct json_structs){0};
}

void fields_done(const struct json_field *table, void *of)
{
    for (const struct json_field *f = table; f->kind; f++) {
        void *member = member_of(f, of);
        if (f->kind == JF_KIND_TEXTS) {
            free(((struct json_texts *)member)->items);
            *(struct json_texts *)member = (struct json_texts){0};
        } else if (f->kind == JF_KIND_PAIRS) {
            free(((struct json_pairs *)member)->items);
            *(struct json_pairs *)member = (struct json_pairs){0};
        } else if (f->kind == JF_KIND_OBJECTS) {
            structs_done(f->table, f->item_size, member);
        } else if (f->kind == JF_KIND_OBJECT) {
            fields_done(f->table, member);
        }
    }
}
