/* shape.h -- whether a JSON object of a client has the form it should, told as the API tells it.
 *
 *     static const struct shape_field fields[] = {
 *         {"temperature", SHAPE_NUMBER, .is_nullable = true, .min = 0, .max = 2},
 *         {"truncation", SHAPE_TEXT, .choices = truncations},
 *         {0},
 *     };
 *     struct refusal r;
 *     if (shape_check(object, "tools[0]", fields, &r))
 *         r.param is "tools[0].temperature", r.code "decimal_above_max_value", r.message says it in words
 *
 * What is not in the table is refused as an unknown parameter. What is not there is not missed: shape_missing tells of that. Pure.
 */
#ifndef OPENAI_SHAPE_H
#define OPENAI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct json_t;

enum { SHAPE_PARAM_SIZE = 160 };

/* Why a request is refused: 400. */
struct refusal {
    const char *code; /* static; NULL: none */
    char param[SHAPE_PARAM_SIZE];
    char message[480];
};

/* -1. `param` is where, "" nowhere. */
int refuse(struct refusal *r, const char *param, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

enum shape_type {
    SHAPE_ANY,
    SHAPE_TEXT,
    SHAPE_BOOL,
    SHAPE_INT,
    SHAPE_NUMBER,
    SHAPE_OBJECT,
    SHAPE_ARRAY,
    SHAPE_TEXT_OR_ARRAY,
    SHAPE_TEXT_OR_OBJECT,
};

struct shape_field {
    const char *key; /* NULL at the end of a table */
    enum shape_type type;
    bool is_nullable;
    double min,
        max; /* of a number; of a text's characters and an array's items only max. Both 0: any */
    const char *const *choices; /* of a text, NULL at the end; NULL: any */
};

/* `at` is the place of the object, "" for the whole body. */
int shape_check(const struct json_t *object, const char *at, const struct shape_field *fields,
                struct refusal *r);
/* One value, at that place. */
int shape_value(const struct json_t *value, const char *at, const struct shape_field *field,
                struct refusal *r);
/* Refuses when the key is not there, or null. */
int shape_missing(const struct json_t *object, const char *at, const char *key, struct refusal *r);

/* Places: "tools" 0 -> "tools[0]"; "tools[0]" "container" -> "tools[0].container". Cut where too long. */
void shape_index(char ret[SHAPE_PARAM_SIZE], const char *at, size_t index);
void shape_under(char ret[SHAPE_PARAM_SIZE], const char *at, const char *key);

/* At most 16 pairs, keys of 64, values of 512 characters, all text. NULL and null are fine. */
int shape_metadata(const struct json_t *metadata, struct refusal *r);

/* A text's characters. */
size_t shape_length(const struct json_t *text);

/* About how many bytes a value takes as text: what its texts have, and a little for everything else. */
size_t shape_size(const struct json_t *value);

/* For reading what was checked: "" and false where there is none. */
const char *shape_text(const struct json_t *object, const char *key);
bool shape_is(const struct json_t *object, const char *key, const char *value);

#endif
