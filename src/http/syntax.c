#include "http/syntax.h"

/* Short names for the table. U is what a URL may have: browsers send [ ] { } | ^ ` and, in a query, \
 * as they are. From 0x80 on there is obs-text. */
enum {
    T = SYNTAX_TOKEN,
    U = SYNTAX_TARGET,
    V = SYNTAX_VALUE,
    H = SYNTAX_HOST,
    X = SYNTAX_HEX,
    D = SYNTAX_DIGIT,
};

/* clang-format off */
static const unsigned char kinds[256] = {
    ['\t'] = V, [' '] = V,
    ['!'] = T|U|V, ['"'] = V, ['#'] = T|V,
    ['$'] = T|U|V, ['%'] = T|U|V|H,
    ['&'] = T|U|V, ['\''] = T|U|V,
    ['('] = U|V, [')'] = U|V, ['*'] = T|U|V,
    ['+'] = T|U|V, [','] = U|V,
    ['-'] = T|U|V|H, ['.'] = T|U|V|H,
    ['/'] = U|V,
    ['0' ... '9'] = T|U|V|H|X|D,
    [':'] = U|V, [';'] = U|V, ['<'] = V, ['='] = U|V,
    ['>'] = V, ['?'] = U|V, ['@'] = U|V,
    ['A' ... 'F'] = T|U|V|H|X, ['G' ... 'Z'] = T|U|V|H,
    ['['] = U|V, ['\\'] = U|V, [']'] = U|V,
    ['^'] = T|U|V, ['_'] = T|U|V|H,
    ['`'] = T|U|V,
    ['a' ... 'f'] = T|U|V|H|X, ['g' ... 'z'] = T|U|V|H,
    ['{'] = U|V, ['|'] = T|U|V, ['}'] = U|V,
    ['~'] = T|U|V|H,
    [0x80 ... 0xff] = V,
};
/* clang-format on */

bool syntax_is(char c, int kind)
{
    return kinds[(unsigned char)c] & kind;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

size_t syntax_span(struct str s, int kind)
{
    size_t n = 0;
    while (n < s.len && syntax_is(s.ptr[n], kind))
        n++;
    return n;
}

bool http_is_token(struct str s)
{
    return s.len > 0 && syntax_span(s, SYNTAX_TOKEN) == s.len;
}

bool http_same(struct str s, const char *text)
{
    for (size_t i = 0; i < s.len; i++)
        if (!text[i] || lower(s.ptr[i]) != lower(text[i]))
            return false;
    return text[s.len] == '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
    while (s.len && is_blank(s.ptr[0]))
        s = str_from(s, 1);
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool http_list_next(struct str *list, struct str *ret)
{
    while (list->len) {
        size_t comma = str_find(*list, ',');
        struct str one = str_trim(str_upto(*list, comma));
        *list = str_from(*list, comma < list->len ? comma + 1 : comma);
        if (one.len) {
            *ret = one;
            return true;
        }
    }
    return false;
}

bool syntax_has_good_escapes(struct str s)
{
    for (size_t i = str_find(s, '%'); i < s.len; i += str_find(str_from(s, i), '%')) {
        if (s.len - i < 3 || !syntax_is(s.ptr[i + 1], SYNTAX_HEX) ||
            !syntax_is(s.ptr[i + 2], SYNTAX_HEX))
            return false;
        if (s.ptr[i + 1] == '0' && s.ptr[i + 2] == '0')
            return false;
        i += 3;
    }
    return true;
}

static bool is_port(struct str s)
{
    unsigned port = 0;
    if (s.len > 5 || syntax_span(s, SYNTAX_DIGIT) != s.len)
        return false;
    for (size_t i = 0; i < s.len; i++)
        port = port * 10 + (unsigned)(s.ptr[i] - '0');
    return port <= 65535;
}

/* "[" IPv6 "]" is only looked at for its letters: nobody connects to it. */
bool syntax_is_host(struct str s)
{
    if (s.len == 0)
        return false;
    size_t name = 0;
    if (s.ptr[0] == '[') {
        name = str_find(s, ']');
        if (name == s.len || name < 3)
            return false;
        for (size_t i = 1; i < name; i++)
            if (!syntax_is(s.ptr[i], SYNTAX_HEX) && s.ptr[i] != ':' && s.ptr[i] != '.')
                return false;
        name++;
    } else {
        name = syntax_span(s, SYNTAX_HOST);
    }
    if (name == 0 || !syntax_has_good_escapes(str_upto(s, name)))
        return false;
    return name == s.len || (s.ptr[name] == ':' && is_port(str_from(s, name + 1)));
}
