/* str.h -- text somebody else owns: a view, not NUL-terminated, never modified. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR_NONE ((struct str){.ptr = NULL, .len = 0})

static inline struct str str_of(const char *text)
{
    return (struct str){.ptr = text, .len = strlen(text)};
}

static inline bool str_is(struct str s, const char *text)
{
    size_t len = strlen(text);
    return s.len == len && memcmp(s.ptr ? s.ptr : "", text, len) == 0;
}

#endif
