/* fields_int.h -- what the files of json/fields share: places, and the checks of single values. */
#ifndef JSON_FIELDS_INT_H
#define JSON_FIELDS_INT_H

#include "json/fields.h"

/* Where a value stands, from the inside out: "limits.memory_mb", "files[3].path". */
struct place {
    const struct place *up; /* NULL: the outermost object */
    const char *name;       /* NULL: an item */
    size_t index;
};

enum { MILLI_TEXT_SIZE = 32 };

/* ERR_INVALID with the place in front. */
int place_bad(const struct place *p, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The field of that name, or ERR_INVALID and what was probably meant. */
const struct json_field *json_field_find(const struct json_field *table, const char *name,
                                         const struct place *p, struct err *e);

/* "0.5" for 500. */
void milli_text(int64_t v, char ret[MILLI_TEXT_SIZE]);

/* A number (INT, MILLI) within the field's limits. */
int field_check_value(const struct json_field *f, int64_t v, const struct place *p, struct err *e);

/* `size` things ("bytes", "entries") within the field's limits. */
int field_check_size(const struct json_field *f, size_t size, const char *of_what,
                     const struct place *p, struct err *e);

/* A text of an array, at most item_max bytes. */
int field_check_item(const struct json_field *f, size_t len, const struct place *p, struct err *e);

int field_choice(const struct json_field *f, const char *name, const struct place *p, int *ret,
                 struct err *e);

/* The member of `of`, which the caller takes for what the field's kind says it is. */
static inline void *member_of(const struct json_field *f, void *of)
{
    return (char *)of + f->at;
}

static inline void set_has(const struct json_field *f, void *of, bool v)
{
    if (f->has_at)
        *(bool *)((char *)of + f->has_at - 1) = v;
}

static inline bool has_min(const struct json_field *f)
{
    return f->min != 0 || f->max != 0;
}

#endif
