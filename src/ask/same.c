#include "ask/same.h"

#include <math.h>

#include "ask/numbers.h"
#include "base/utf8.h"

enum {
    ADDRESS_MIN = 6, /* digits of what is taken for an address */
    NUMBER_MAX = 64, /* bytes of what is taken for a number */
};

static struct str next_line(struct str *text)
{
    const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
    size_t len = end ? (size_t)(end - text->ptr) : text->len, used = end ? len + 1 : len;
    struct str line = {text->ptr, len};
    *text = (struct str){text->ptr + used, text->len - used};
    while (line.len > 0 && strchr(" \t\r", line.ptr[line.len - 1]))
        line.len--;
    return line;
}

static struct str without_end(struct str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* The length of "0x..." at the front, if it is an address; 0: it is none. */
static size_t address_len(struct str t)
{
    size_t i = 2;
    if (t.len < 2 || t.ptr[0] != '0' || t.ptr[1] != 'x')
        return 0;
    while (i < t.len && t.ptr[i] && strchr("0123456789abcdefABCDEF", t.ptr[i]))
        i++;
    return i >= 2 + ADDRESS_MIN ? i : 0;
}

static void skip(struct str *t, size_t len)
{
    *t = (struct str){t->ptr + len, t->len - len};
}

static bool begins_number(struct str t)
{
    size_t at = t.ptr[0] == '-' ? 1 : 0; /* a sign; or a currency, which may be of several bytes */
    unsigned char c = at < t.len ? (unsigned char)t.ptr[at] : 0;
    return (c >= '0' && c <= '9') || c == '$' || c >= 0x80;
}

/* The number at the very front. */
static bool number_at(struct str t, struct number *ret)
{
    size_t at = 0, len = t.len < NUMBER_MAX ? t.len : NUMBER_MAX;
    return begins_number(t) && number_next(t.ptr, len, &at, ret) && ret->start == 0;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 + 1e-6 * fmax(fabs(a), fabs(b));
}

/* Whether a number may begin at `t`: what is before it belongs to neither word nor number. */
static bool is_border(const char *line, const char *at)
{
    if (at == line)
        return true;
    char c = at[-1];
    return !((c >= '0' && c <= '9') || c == '.' || c == ',' || (c >= 'a' && c <= 'z') ||
             (c >= 'A' && c <= 'Z') || c == '_');
}

static bool lines_are_same(struct str a, struct str b)
{
    const char *line = a.ptr;
    while (a.len > 0 && b.len > 0) {
        struct number n, m;
        size_t one = address_len(a), other = address_len(b);
        if (one && other) {
            skip(&a, one);
            skip(&b, other);
        } else if (is_border(line, a.ptr) && number_at(a, &n) && number_at(b, &m)) {
            if (!is_close(n.value, m.value) || n.is_percent != m.is_percent)
                return false;
            skip(&a, n.end);
            skip(&b, m.end);
        } else if (*a.ptr == *b.ptr) {
            skip(&a, 1);
            skip(&b, 1);
        } else {
            return false;
        }
    }
    return a.len == 0 && b.len == 0;
}

static struct str shown(struct str line)
{
    if (line.len > SAME_LINE_MAX)
        line.len = utf8_cut(line.ptr, SAME_LINE_MAX);
    return line;
}

bool texts_are_same(struct str was, struct str is, struct difference *ret)
{
    unsigned number = 0;
    was = without_end(was);
    is = without_end(is);
    while (was.len > 0 || is.len > 0) {
        struct str a = next_line(&was), b = next_line(&is);
        number++;
        if (lines_are_same(a, b))
            continue;
        *ret = (struct difference){number, shown(a), shown(b)};
        return false;
    }
    return true;
}
