/* fields.h -- a JSON object becomes a C struct, by a table.
 *
 * Whoever accepts an object says once, in a table, what may be in it; the table reads it, checks
 * it, explains mistakes and describes itself as JSON Schema. Handlers get a struct in which every
 * value is within its limits.
 *
 *     struct run_args {
 *         const char *code;
 *         int64_t timeout_ms;
 *     };
 *     static const struct json_field run_fields[] = {
 *         {JF_TEXT(struct run_args, code), .required = true, .max = 1 << 20, .doc = "Python"},
 *         {JF_MILLI(struct run_args, timeout_ms, "timeout_s"), .max = 600000, .preset = 60000},
 *         {0},
 *     };
 *     struct run_args in;
 *     if (fields_read(run_fields, json, &in, e))
 *         return -1;
 *     ...
 *     fields_done(run_fields, &in);
 *
 * A key that is not in the table is an error that names the closest one that is. Errors are
 * ERR_INVALID and begin with the path: "limits.memory_mb: 31 is not between 32 and 1048576".
 * A field that is not required may also be null, which is as if it were not there.
 *
 * The names are json_field and JF_ because wire/frame.h has fields of its own.
 *
 * Text and JSON in the struct are borrowed from the json_t, which has to outlive it (from the
 * texts, for fields_from_text); only arrays are allocated, and fields_done frees them.
 */
#ifndef JSON_FIELDS_H
#define JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct json_t;
struct json_writer;

/* Of each: the member's C type; what min and max count; what an absent one is. */
enum json_field_kind {
    JF_KIND_NONE,    /* ends a table */
    JF_KIND_TEXT,    /* const char *; bytes; preset_text. A NUL inside is refused */
    JF_KIND_STR,     /* struct str; bytes; preset_text. May hold NULs */
    JF_KIND_BOOL,    /* bool; nothing; preset */
    JF_KIND_INT,     /* int64_t; the value; preset */
    JF_KIND_MILLI,   /* int64_t, thousandths: 1.5 is 1500; the value in thousandths; preset */
    JF_KIND_CHOICE,  /* int, index of one of `choices`; nothing; preset */
    JF_KIND_FLAGS,   /* unsigned, an array of `choices` as bits; how many; preset */
    JF_KIND_TEXTS,   /* struct json_texts; how many; none. item_max */
    JF_KIND_PAIRS,   /* struct json_pairs, an object of strings; how many; none. item_max */
    JF_KIND_OBJECT,  /* a struct, by `table`; nothing; its own presets */
    JF_KIND_OBJECTS, /* struct json_structs, by `table`; how many; none */
    JF_KIND_JSON,    /* struct json_t *, any value; nothing; NULL */
};

/* No NULs in any of these texts. */
struct json_texts {
    const char **items;
    size_t count;
};

struct json_pair {
    const char *name, *value;
};

struct json_pairs {
    struct json_pair *items;
    size_t count;
};

/* Structs as the field's `table` describes them, each `item_size` bytes. */
struct json_structs {
    void *items;
    size_t count;
};

struct json_field {
    const char *name; /* the key */
    enum json_field_kind kind;
    bool required;
    bool is_open;  /* absent means something else than the preset's value: not shown as default */
    size_t at;     /* where in the struct the value goes */
    size_t has_at; /* JF_HAS: a bool that says whether the key was there, even as null */
    int64_t min, max;        /* see the kinds; max 0: none; both 0: also none below */
    int64_t preset;          /* what an absent one becomes */
    const char *preset_text; /* NULL: none */
    size_t item_max;         /* bytes of each text in a TEXTS, name and value in a PAIRS; 0: any */
    size_t item_size;        /* JF_KIND_OBJECTS */
    const char *const *choices; /* names, NULL at the end */
    const struct json_field *table;
    const char *doc; /* a sentence for people */
};

/* Each names the key and the member, and does not compile when the member has another type. */
#define JF_TEXT(s, member) JF_AS(JF_KIND_TEXT, const char *, s, member)
#define JF_STR(s, member) JF_AS(JF_KIND_STR, struct str, s, member)
#define JF_BOOL(s, member) JF_AS(JF_KIND_BOOL, bool, s, member)
#define JF_INT(s, member) JF_AS(JF_KIND_INT, int64_t, s, member)
#define JF_MILLI(s, member, key) JF_KEY(key, JF_KIND_MILLI, int64_t, s, member) /* s as ms */
#define JF_TEXTS(s, member) JF_AS(JF_KIND_TEXTS, struct json_texts, s, member)
#define JF_PAIRS(s, member) JF_AS(JF_KIND_PAIRS, struct json_pairs, s, member)
#define JF_JSON(s, member) JF_AS(JF_KIND_JSON, struct json_t *, s, member)
#define JF_CHOICE(s, member, names) JF_AS(JF_KIND_CHOICE, int, s, member), .choices = (names)
#define JF_FLAGS(s, member, names) JF_AS(JF_KIND_FLAGS, unsigned, s, member), .choices = (names)
#define JF_OBJECT(s, member, fields) \
    .name = #member, .kind = JF_KIND_OBJECT, .at = offsetof(s, member), .table = (fields)
#define JF_OBJECTS(s, member, item, fields) \
    JF_AS(JF_KIND_OBJECTS, struct json_structs, s, member), .table = (fields), JF_ITEM(item)
#define JF_ITEM(item) .item_size = sizeof(item)
#define JF_HAS(s, member) (offsetof(s, member) + 1)

/* clang-format off */
#define JF_AS(kind_, type, s, member) JF_KEY(#member, kind_, type, s, member)
#define JF_KEY(key, kind_, type, s, member)                                              \
    .name = (key), .kind = (kind_),                                                      \
    .at = offsetof(s, member) +                                                          \
          0 * sizeof(char[JF_IS(type, ((s *)0)->member) ? 1 : -1])
#define JF_IS(type, value) __builtin_types_compatible_p(__typeof__(value), type)
/* clang-format on */

/* Fills *ret (of the struct the table was made for) from an object. On failure there is nothing to
 * free. */
int fields_read(const struct json_field *table, const struct json_t *object, void *ret,
                struct err *e);

/* What fields_read makes of {}, without asking for what is required. */
void fields_preset(const struct json_field *table, void *ret);

/* The same tables for parameters of a query: sets the one called `name` from text, in a struct that
 * went through fields_preset. Booleans are true, false, 1 or 0, and "" is true; FLAGS and TEXTS are separated by
 * commas; PAIRS, OBJECT, OBJECTS and JSON cannot be had. On failure fields_done is still due. */
int fields_from_text(const struct json_field *table, const char *name, const char *value,
                     void *into, struct err *e);

/* A whole query: presets, every pair, no name twice, nothing required missing. On failure there is
 * nothing to free. */
int fields_from_pairs(const struct json_field *table, const struct json_pair *pairs, size_t count,
                      void *ret, struct err *e);

/* Frees the arrays; the struct is as fields_preset would leave its arrays. */
void fields_done(const struct json_field *table, void *of);

/* Writes the JSON Schema of the object (draft 2020-12, as OpenAPI 3.1 uses it): types, limits,
 * defaults, enums, descriptions, what is required, and that nothing else may be there. */
void fields_schema(const struct json_field *table, struct json_writer *w);

/* The same with one type for each field, for readers that know no more (language models' tools): that null
 * may stand for what is left out is not said. */
void fields_schema_plain(const struct json_field *table, struct json_writer *w);

/* Writes one OpenAPI parameter object per field into the array that is open in `w`. `where` is
 * "query", "path" or "header". */
void fields_parameters(const struct json_field *table, const char *where, struct json_writer *w);

#endif
