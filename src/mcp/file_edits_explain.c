/* file_edits_explain.c -- what in a text comes closest to a piece that is not in it.
 *
 * Models write old_text from memory: blanks for tabs, straight quotes for curly ones, a word that is
 * not there any more. Lines are compared loosely: runs of blanks are one, quotes and dashes of all kinds
 * are the same. Either some lines follow each other as in old_text, and the first that differs is told; or
 * the line is told that has most in common with the first one. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "mcp/file_edits.h"
#include "json/write.h"

enum {
    COMPARED_MAX = 400,      /* bytes of a line that are compared by how much they have in common */
    SHOWN_MAX = 300,         /* of a line that is shown */
    LIKE_PERCENT = 50,       /* less in common: nothing is told */
    FOLLOWED_MAX = 20000000, /* bytes that are compared to those that follow, in all */
};

/* ---- lines, loosely ---- */

static struct str next_line(struct str *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    struct str line = {rest->ptr, len};
    size_t used = end ? len + 1 : len;
    *rest = (struct str){rest->ptr + used, rest->len - used};
    return line;
}

/* The character that stands for those that look like the one at the front; *ret_len: its bytes. */
static int plain(struct str s, size_t *ret_len)
{
    const unsigned char *c = (const unsigned char *)s.ptr;
    *ret_len = 1;
    if (c[0] == '\t' || c[0] == '\r' || c[0] == ' ')
        return ' ';
    if (s.len >= 2 && c[0] == 0xc2 && c[1] == 0xa0) {
        *ret_len = 2;
        return ' ';
    }
    if (s.len < 3 || c[0] != 0xe2 || (c[1] != 0x80 && c[1] != 0x88))
        return c[0];
    int mark = c[1] == 0x88                   ? (c[2] == 0x92 ? '-' : 0)
               : c[2] >= 0x98 && c[2] <= 0x9b ? '\''
               : c[2] >= 0x9c && c[2] <= 0x9f ? '"'
               : c[2] >= 0x90 && c[2] <= 0x95 ? '-'
                                              : 0;
    *ret_len = mark ? 3 : 1;
    return mark ? mark : c[0];
}

/* The next character of a line, with blanks taken together and none at the end; -1: the end. */
static int loose_next(struct str *s)
{
    size_t len;
    int c = s->len ? plain(*s, &len) : -1;
    if (c != ' ') {
        if (c >= 0)
            *s = (struct str){s->ptr + len, s->len - len};
        return c;
    }
    while (s->len && plain(*s, &len) == ' ')
        *s = (struct str){s->ptr + len, s->len - len};
    return s->len ? ' ' : -1;
}

static struct str without_indent(struct str s)
{
    size_t len;
    while (s.len && plain(s, &len) == ' ')
        s = (struct str){s.ptr + len, s.len - len};
    return s;
}

static bool is_alike(struct str a, struct str b)
{
    a = without_indent(a);
    b = without_indent(b);
    for (;;) {
        int one = loose_next(&a), other = loose_next(&b);
        if (one != other)
            return false;
        if (one < 0)
            return true;
    }
}

/* How much two lines have in common at their ends, in percent of the longer one. */
static unsigned likeness(struct str a, struct str b)
{
    a = without_indent(a);
    b = without_indent(b);
    size_t len_a = a.len < COMPARED_MAX ? a.len : COMPARED_MAX;
    size_t len_b = b.len < COMPARED_MAX ? b.len : COMPARED_MAX;
    size_t shorter = len_a < len_b ? len_a : len_b, longer = len_a < len_b ? len_b : len_a;
    size_t front = 0, back = 0;
    while (front < shorter && a.ptr[front] == b.ptr[front])
        front++;
    while (back < shorter - front && a.ptr[len_a - 1 - back] == b.ptr[len_b - 1 - back])
        back++;
    return longer ? (unsigned)((front + back) * 100 / longer) : 0;
}

/* ---- the closest place ---- */

struct closest {
    uint64_t line;          /* of the text, from 1; 0: nothing is close */
    struct str found, want; /* the first lines that differ */
    bool is_all_alike;      /* none does, but for blanks and the like */
    uint64_t followed;      /* lines before it that are alike */
    unsigned likeness;
};

/* How far the lines of `want` go on in `text` as they do there. */
static struct closest follow(struct str text, struct str want, uint64_t line, uint64_t *budget)
{
    struct closest c = {.line = line};
    while (want.len && *budget > 0) {
        c.want = next_line(&want);
        c.found = next_line(&text);
        *budget -= c.want.len + 1 < *budget ? c.want.len + 1 : *budget;
        if (!is_alike(c.found, c.want))
            return c;
        c.followed++;
        c.line++;
    }
    c.is_all_alike = want.len == 0;
    return c;
}

static struct closest look(struct str text, struct str old_text)
{
    struct closest best = {0};
    struct str first = STR_NONE, want = old_text;
    while (want.len && without_indent(first).len == 0) { /* blank lines say nothing */
        old_text = want;
        first = next_line(&want);
    }
    uint64_t line = 1, budget = FOLLOWED_MAX;
    for (struct str rest = text; rest.len && budget > 0; line++) {
        struct str from = rest, it = next_line(&rest);
        struct closest c = {.line = line, .found = it, .want = first};
        if (is_alike(it, first))
            c = follow(from, old_text, line, &budget);
        else
            c.likeness = likeness(it, first);
        if (c.is_all_alike)
            return c;
        if (c.followed > best.followed ||
            (c.followed == best.followed && c.likeness > best.likeness))
            best = c;
    }
    if (!best.followed && best.likeness < LIKE_PERCENT)
        best.line = 0;
    return best;
}

/* ---- telling ---- */

static void put_shown(struct buf *out, const char *what, struct str line)
{
    size_t len = line.len < SHOWN_MAX ? line.len : utf8_cut(line.ptr, SHOWN_MAX);
    struct json_writer w = JSON_WRITER(out);
    buf_str(out, what);
    jw_str(&w, line.ptr, len); /* so that tabs and the like are seen */
    buf_str(out, len < line.len ? " ...\n" : "\n");
}

/* The first pair of lines that is not the same to the byte. */
static void find_difference(struct str text, struct str old_text, struct closest *c)
{
    uint64_t first = c->line - c->followed;
    for (uint64_t line = 1; text.len; line++) {
        struct str it = next_line(&text);
        if (line < first)
            continue;
        struct str want = next_line(&old_text);
        bool is_same = it.len == want.len && memcmp(it.ptr, want.ptr, it.len) == 0;
        if (!is_same || !old_text.len) {
            c->line = line;
            c->found = it;
            c->want = want;
            return;
        }
    }
}

void edits_explain(struct str text, struct str old_text, struct buf *out)
{
    struct closest c = look(text, old_text);
    if (c.line == 0) {
        buf_str(
            out,
            "Nothing in the file is like it. Read the file again: it may have changed, or it is "
            "another file.\n");
        return;
    }
    if (c.is_all_alike) {
        struct str want = old_text;
        for (struct str rest = old_text; rest.len;) { /* from its first line that is not blank */
            want = rest;
            if (without_indent(next_line(&rest)).len)
                break;
        }
        find_difference(text, want, &c);
        buf_fmt(out,
                "Line %" PRIu64 " differs only in blanks, tabs, line ends, quotes or dashes:\n",
                c.line);
    } else if (c.followed) {
        buf_fmt(out,
                "%" PRIu64 " lines of it are there, up to line %" PRIu64 ", which is another:\n",
                c.followed, c.line);
    } else {
        buf_fmt(out, "Closest is line %" PRIu64 ":\n", c.line);
    }
    put_shown(out, "  file:     ", c.found);
    put_shown(out, "  old_text: ", c.want);
}
