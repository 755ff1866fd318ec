/* pick.h -- fields of a JSON object that somebody else made: present, of the right type, or not.
 *
 * An answer of a server is not to be trusted to have every field. What is missing or of another type
 * reads as the empty value, so that showing it needs no checks.
 */
#ifndef CLI_PICK_H
#define CLI_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* "" if there is none. Borrowed from the object. */
static inline const char *pick_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* 0 if there is none or it is negative. */
static inline uint64_t pick_count(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

/* An integer or a fraction; 0 if there is none or it is negative. */
static inline double pick_number(const json_t *object, const char *key)
{
    double n = json_number_value(json_object_get(object, key));
    return n > 0 ? n : 0;
}

static inline bool pick_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

#endif
