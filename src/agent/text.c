#include "agent/text.h"

#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/utf8.h"

enum { ESCAPE_MAX = 4096 }; /* bytes of an escape sequence */

/* ---- as a terminal shows it ---- */

/* How many bytes an escape sequence at the front has; 0: there is none. One without an end is taken for
 * one of two bytes. */
static size_t escape_len(const char *at, size_t left)
{
    size_t i = 2;
    if (left >
        ESCAPE_MAX) /* a longer one is none: whichever has no end would look for it for ever */
        left = ESCAPE_MAX;
    if (left < 2 || at[0] != '\033')
        return 0;
    if (at[1] == '[') { /* CSI: parameters, then a letter */
        while (i < left && (unsigned char)at[i] >= 0x20 && (unsigned char)at[i] < 0x40)
            i++;
        return i < left ? i + 1 : 2;
    }
    if (at[1] != ']')
        return 2;
    for (; i < left && at[i] != '\n'; i++) { /* OSC: to BEL or ESC \ */
        if (at[i] == '\a')
            return i + 1;
        if (at[i] == '\033' && i + 1 < left && at[i + 1] == '\\')
            return i + 2;
    }
    return 2;
}

/* One line, its end included. What stands before a carriage return is overwritten, unless nothing
 * follows. */
static void add_line(struct buf *out, const char *line, size_t len)
{
    size_t from = 0, body = len;
    while (body > 0 && (line[body - 1] == '\n' || line[body - 1] == '\r'))
        body--;
    for (size_t i = 0; i < body; i++)
        if (line[i] == '\r')
            from = i + 1;
    for (size_t i = from; i < body;) {
        size_t skip = escape_len(line + i, body - i), run = i;
        while (run < body && line[run] != '\033')
            run++;
        if (run == i)
            run += skip ? skip : 1;
        else
            buf_add(out, line + i, run - i);
        i = run;
    }
    if (len > 0 && line[len - 1] == '\n')
        buf_str(out, "\n");
}

void text_plain(struct buf *out, struct str text)
{
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end ? (size_t)(end - (text.ptr + at)) + 1 : text.len - at;
        add_line(out, text.ptr + at, len);
        at += len;
    }
}

/* ---- head and tail ---- */

/* Where the head ends: after a line end in its second half, or else between characters. */
static size_t head_end(struct str text, size_t max)
{
    for (size_t at = max; at > max / 2; at--)
        if (text.ptr[at - 1] == '\n')
            return at;
    return utf8_cut(text.ptr, max);
}

/* Where a tail of at most `max` bytes begins: in its first half after a line end, or else between
 * characters. */
static size_t tail_begin(struct str text, size_t max)
{
    size_t first = text.len - max;
    for (size_t at = first; at < first + max / 2; at++)
        if (at == 0 || text.ptr[at - 1] == '\n')
            return at;
    return first + utf8_skip(text.ptr + first, max);
}

static size_t count_lines(const char *bytes, size_t len)
{
    size_t lines = 0;
    for (const char *at = bytes, *end = bytes + len;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    return lines;
}

static void add_notice(struct buf *out, struct str gap, const char *where)
{
    size_t lines = count_lines(gap.ptr, gap.len);
    buf_fmt(out, "[... %zu bytes", gap.len);
    if (lines > 1)
        buf_fmt(out, " (%zu lines)", lines);
    buf_fmt(out, " left out%s%.250s ...]\n", where ? "; " : "", where ? where : "");
}

static void end_line(struct buf *out, struct str last)
{
    if (last.len > 0 && last.ptr[last.len - 1] != '\n')
        buf_str(out, "\n");
}

static bool shorten(struct buf *out, struct str text, size_t max, const char *where)
{
    if (text.len <= max) {
        buf_add(out, text.ptr, text.len);
        return false;
    }
    size_t head = head_end(text, max / 2), tail = tail_begin(text, max - max / 2);
    buf_add(out, text.ptr, head);
    end_line(out, (struct str){text.ptr, head});
    add_notice(out, (struct str){text.ptr + head, tail - head}, where);
    buf_add(out, text.ptr + tail, text.len - tail);
    return true;
}

bool text_shorten(struct buf *out, struct str text, size_t max, const char *where)
{
    bool is_cut = shorten(out, text, max, where);
    end_line(out, text);
    return is_cut;
}

/* ---- in JSON ---- */

size_t text_json_size(struct str text)
{
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
            size += 2;
        else if (c < 0x20 || c == 0x7f)
            size += 6;
        else
            size += c == 0xe2 ? 4 : 1; /* U+2028 and U+2029 begin so, and are escaped */
    }
    return size;
}

bool text_shorten_json(struct buf *out, struct str text, size_t max)
{
    size_t limit = max;
    for (;;) {
        scoped(buf_done) struct buf tried = BUF_INIT(limit + TEXT_NOTICE_MAX);
        bool is_cut = shorten(&tried, text, limit, /* where= */ NULL);
        size_t size = text_json_size((struct str){tried.bytes, tried.len});
        if (size <= max || limit < 64) {
            buf_add(out, tried.bytes, tried.len);
            return is_cut;
        }
        /* As much less as it is too large, and a little more: so it ends. */
        limit = limit * max / size * 15 / 16;
    }
}

struct str text_clean(struct str text, struct buf *copy)
{
    if (text.len == 0 || (utf8_is_valid(text.ptr, text.len) && !memchr(text.ptr, 0, text.len)))
        return text;
    for (size_t at = 0; at < text.len;) {
        const char *nul = memchr(text.ptr + at, 0, text.len - at);
        size_t len = nul ? (size_t)(nul - (text.ptr + at)) : text.len - at;
        utf8_clean(text.ptr + at, len, copy);
        if (nul)
            buf_str(copy, "\xEF\xBF\xBD");
        at += len + (nul ? 1 : 0);
    }
    return (struct str){copy->bytes, copy->len};
}

struct json_t *text_json(struct str text)
{
    scoped(buf_done) struct buf copy = BUF_INIT(3 * text.len + 1);
    struct str clean = text_clean(text, &copy);
    return copy.failed ? NULL : json_stringn(clean.len ? clean.ptr : "", clean.len);
}

struct str text_window(struct str text, size_t offset, size_t len, size_t *ret_next)
{
    size_t from = offset < text.len ? offset : text.len;
    from += utf8_skip(text.ptr + from, text.len - from);
    size_t to = text.len - from <= len ? text.len : from + utf8_cut(text.ptr + from, len);
    *ret_next = to;
    return (struct str){text.ptr + from, to - from};
}
