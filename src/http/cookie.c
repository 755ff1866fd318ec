#include "http/cookie.h"

#include "http/syntax.h"

static struct str unquote(struct str s)
{
    bool is_quoted = s.len >= 2 && s.ptr[0] == '"' && s.ptr[s.len - 1] == '"';
    return is_quoted ? (struct str){s.ptr + 1, s.len - 2} : s;
}

struct str cookie_get(struct str header, const char *name)
{
    while (header.len > 0) {
        size_t end = str_find(header, ';');
        struct str pair = str_trim(str_upto(header, end));
        size_t eq = str_find(pair, '=');
        if (eq < pair.len && str_is(str_trim(str_upto(pair, eq)), name))
            return unquote(str_trim(str_from(pair, eq + 1)));
        header = str_from(header, end < header.len ? end + 1 : end);
    }
    return STR_NONE;
}
