/* syntax.h -- the small grammar that the formats of HTTP share: characters, tokens, lists, hosts. */
#ifndef HTTP_SYNTAX_H
#define HTTP_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* What a byte may be part of. */
enum {
    SYNTAX_TOKEN = 1,
    SYNTAX_TARGET = 2,
    SYNTAX_VALUE = 4,
    SYNTAX_HOST = 8,
    SYNTAX_HEX = 16,
    SYNTAX_DIGIT = 32,
};

bool syntax_is(char c, int kind);

/* How many bytes at the begin of `s` are of that kind. */
size_t syntax_span(struct str s, int kind);

bool syntax_has_good_escapes(struct str s); /* every '%' has two hex digits, and none is a NUL */
bool syntax_is_host(struct str s);          /* "example.com:80", "[::1]" */

bool http_is_token(struct str s);               /* of RFC 9110: a method, a header's name */
bool http_same(struct str s, const char *text); /* but for the case of ASCII letters */

/* Walks a comma-separated list: the next element without the blanks around it, or false at the end.
 * Empty elements are skipped. */
bool http_list_next(struct str *list, struct str *ret);

/* ---- pieces of a view ---- */

static inline struct str str_from(struct str s, size_t at)
{
    return (struct str){.ptr = s.ptr + at, .len = s.len - at};
}

static inline struct str str_upto(struct str s, size_t len)
{
    return (struct str){.ptr = s.ptr, .len = len};
}

/* The index of the first `c` in `s`, or its length. */
static inline size_t str_find(struct str s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return at ? (size_t)(at - s.ptr) : s.len;
}

struct str str_trim(struct str s); /* without blanks and tabs around it */

#endif
