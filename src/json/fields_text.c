/* Parameters of a query by the tables of fields.h. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/str.h"
#include "json/fields.h"
#include "json/fields_int.h"

static int text_bool(const char *value, bool *ret, const struct place *p, struct err *e)
{
    static const char *const names[] = {"false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            *ret = i % 2;
            return 0;
        }
    if (!*value) { /* ?stat */
        *ret = true;
        return 0;
    }
    return place_bad(p, e, "'%.40s' is neither true nor false", value);
}

/* INT and MILLI. */
static int text_number(const struct json_field *f, const char *value, int64_t *ret,
                       const struct place *p, struct err *e)
{
    bool is_negative = *value == '-';
    const char *digits = value + is_negative;
    uint64_t size;
    struct err why = {0};
    int failed = f->kind == JF_KIND_MILLI ? parse_milli(digits, &size, &why)
                                          : parse_u64(digits, 0, INT64_MAX, &size, &why);
    if (failed || size > INT64_MAX)
        return place_bad(p, e, "'%.40s' is not a %snumber", value,
                         f->kind == JF_KIND_INT ? "whole " : "");
    *ret = is_negative ? -(int64_t)size : (int64_t)size;
    return field_check_value(f, *ret, p, e);
}

static size_t count_items(const char *value)
{
    size_t count = *value ? 1 : 0;
    for (const char *at = value; (at = strchr(at, ',')); at++)
        count++;
    return count;
}

/* The array and, behind it, a copy of the text, cut at its commas. */
static int split(const char *value, struct json_texts *ret, struct err *e)
{
    size_t count = count_items(value), len = strlen(value) + 1;
    char *block = malloc(count * sizeof *ret->items + len);
    if (!block)
        return err_set(e, ERR_NO_MEMORY, "read a list");
    ret->items = (const char **)(void *)block;
    ret->count = count;
    char *at = memcpy(block + count * sizeof *ret->items, value, len);
    for (size_t i = 0; i < count; i++) {
        ret->items[i] = at;
        at += strcspn(at, ",");
        *at++ = '\0';
    }
    return 0;
}

static int text_texts(const struct json_field *f, const char *value, struct json_texts *ret,
                      const struct place *p, struct err *e)
{
    free(ret->items);
    *ret = (struct json_texts){0};
    if (field_check_size(f, count_items(value), "entries", p, e) || split(value, ret, e))
        return -1;
    for (size_t i = 0; i < ret->count; i++)
        if (field_check_item(f, strlen(ret->items[i]), p, e))
            return -1;
    return 0;
}

static int text_flags(const struct json_field *f, const char *value, unsigned *ret,
                      const struct place *p, struct err *e)
{
    struct json_texts names = {0};
    if (field_check_size(f, count_items(value), "entries", p, e) || split(value, &names, e))
        return -1;
    unsigned bits = 0;
    int failed = 0;
    for (size_t i = 0; i < names.count && !failed; i++) {
        int bit = 0;
        failed = field_choice(f, names.items[i], p, &bit, e);
        bits |= 1u << bit;
    }
    free(names.items);
    if (!failed)
        *ret = bits;
    return failed;
}

int fields_from_text(const struct json_field *table, const char *name, const char *value,
                     void *into, struct err *e)
{
    const struct json_field *f = json_field_find(table, name, /* p= */ NULL, e);
    if (!f)
        return -1;
    struct place here = {.name = f->name};
    void *to = member_of(f, into);
    set_has(f, into, true);
    switch (f->kind) {
    case JF_KIND_TEXT:
        *(const char **)to = value;
        return field_check_size(f, strlen(value), "bytes", &here, e);
    case JF_KIND_STR:
        *(struct str *)to = str_of(value);
        return field_check_size(f, strlen(value), "bytes", &here, e);
    case JF_KIND_BOOL: return text_bool(value, to, &here, e);
    case JF_KIND_INT:
    case JF_KIND_MILLI: return text_number(f, value, to, &here, e);
    case JF_KIND_CHOICE: return field_choice(f, value, &here, to, e);
    case JF_KIND_FLAGS: return text_flags(f, value, to, &here, e);
    case JF_KIND_TEXTS: return text_texts(f, value, to, &here, e);
    default: return place_bad(&here, e, "cannot be given as text");
    }
}

static const char *find_pair(const struct json_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

static int take_pairs(const struct json_field *table, const struct json_pair *pairs, size_t count,
                      void *into, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        if (find_pair(pairs, i, pairs[i].name))
            return err_set(e, ERR_INVALID, "%.40s: is given twice", pairs[i].name);
        if (fields_from_text(table, pairs[i].name, pairs[i].value, into, e))
            return -1;
    }
    for (const struct json_field *f = table; f->kind; f++)
        if (f->required && !find_pair(pairs, count, f->name))
            return err_set(e, ERR_INVALID, "%s: is required", f->name);
    return 0;
}

int fields_from_pairs(const struct json_field *table, const struct json_pair *pairs, size_t count,
                      void *ret, struct err *e)
{
    fields_preset(table, ret);
    if (take_pairs(table, pairs, count, ret, e)) {
        fields_done(table, ret);
        return -1;
    }
    return 0;
}
