#include "workspace/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "workspace/diff_int.h"

/* Lines [a0, a1) of the one side and [b0, b1) of the other. */
struct hunk {
    uint32_t a0, a1, b0, b1;
};

static bool has_change(const struct diff_lines *l, uint32_t at)
{
    return at < l->count && l->is_changed[at];
}

/* The next hunk from line h->a1, h->b1 on, up to which everything was told; false at the end. */
static bool hunk_next(const struct diff_lines *a, const struct diff_lines *b, struct hunk *h)
{
    uint32_t x = h->a1, y = h->b1;
    while (x < a->count && y < b->count && !a->is_changed[x] && !b->is_changed[y]) {
        x++;
        y++;
    }
    if (x == a->count && y == b->count)
        return false;
    uint32_t before = x - h->a1 < DIFF_CONTEXT ? x - h->a1 : DIFF_CONTEXT;
    h->a0 = x - before;
    h->b0 = y - before;
    for (;;) {
        while (has_change(a, x))
            x++;
        while (has_change(b, y))
            y++;
        uint32_t same = 0;
        while (x + same < a->count && y + same < b->count && !a->is_changed[x + same] &&
               !b->is_changed[y + same] && same <= 2 * DIFF_CONTEXT)
            same++;
        bool goes_on =
            same <= 2 * DIFF_CONTEXT && (has_change(a, x + same) || has_change(b, y + same));
        if (!goes_on && same > DIFF_CONTEXT)
            same = DIFF_CONTEXT;
        x += same;
        y += same;
        if (!goes_on)
            break;
    }
    h->a1 = x;
    h->b1 = y;
    return true;
}

static void put_range(struct buf *out, char sign, uint32_t from, uint32_t to)
{
    /* Of nothing: the line after which it would be. */
    buf_fmt(out, "%c%u", sign, to > from ? from + 1 : from);
    if (to - from != 1)
        buf_fmt(out, ",%u", to - from);
}

static void put_line(struct buf *out, const char *sign, const struct diff_lines *l, uint32_t at)
{
    const char *line = l->text.ptr + l->starts[at];
    size_t len = l->starts[at + 1] - l->starts[at];
    buf_add(out, sign, 1);
    buf_add(out, line, len);
    if (line[len - 1] != '\n')
        buf_str(out, "\n\\ No newline at end of file\n");
}

static void put_hunk(struct buf *out, const struct diff_lines *a, const struct diff_lines *b,
                     const struct hunk *h)
{
    buf_str(out, "@@ ");
    put_range(out, '-', h->a0, h->a1);
    buf_str(out, " ");
    put_range(out, '+', h->b0, h->b1);
    buf_str(out, " @@\n");
    for (uint32_t x = h->a0, y = h->b0; x < h->a1 || y < h->b1;) {
        for (; x < h->a1 && a->is_changed[x]; x++)
            put_line(out, "-", a, x);
        for (; y < h->b1 && b->is_changed[y]; y++)
            put_line(out, "+", b, y);
        for (; x < h->a1 && y < h->b1 && !a->is_changed[x] && !b->is_changed[y]; x++, y++)
            put_line(out, " ", a, x);
    }
}

static bool is_binary(struct str text)
{
    return text.len > 0 && (memchr(text.ptr, '\0', text.len) || !utf8_is_valid(text.ptr, text.len));
}

static bool is_same(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int diff_text(const struct diff_side *from, const struct diff_side *to, struct buf *out,
              enum diff_outcome *ret, struct err *e)
{
    enum diff_outcome outcome = is_same(from->text, to->text) ? DIFF_SAME
                                : from->text.len > DIFF_BYTES_MAX || to->text.len > DIFF_BYTES_MAX
                                    ? DIFF_TOO_LARGE
                                : is_binary(from->text) || is_binary(to->text) ? DIFF_BINARY
                                                                               : DIFF_DIFFERENT;
    if (outcome != DIFF_DIFFERENT) {
        *ret = outcome;
        return 0;
    }
    scoped(diff_lines_done) struct diff_lines a = {0}, b = {0};
    int made = diff_lines_make(from->text, to->text, &a, &b, e);
    if (made < 0 || (made && diff_mark(&a, &b, DIFF_WORK_MAX, e)))
        return -1;
    if (!made) {
        *ret = DIFF_TOO_LARGE;
        return 0;
    }
    buf_fmt(out, "--- a/%s\n+++ b/%s\n", from->path, to->path);
    for (struct hunk h = {0}; hunk_next(&a, &b, &h);)
        put_hunk(out, &a, &b, &h);
    if (buf_check(out, e))
        return err_wrap(e, "compare %.100s", to->path);
    *ret = DIFF_DIFFERENT;
    return 0;
}
