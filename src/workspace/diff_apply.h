/* diff_apply.h -- for tests: does what a diff says, strictly, so that a wrong diff is found. */
#ifndef WORKSPACE_DIFF_APPLY_H
#define WORKSPACE_DIFF_APPLY_H

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

/* The next line of `s`, with its '\n' where it has one; taken away from its front. */
static inline struct str apply_line(struct str *s)
{
    const char *end = s->len ? memchr(s->ptr, '\n', s->len) : NULL;
    struct str line = {s->ptr, end ? (size_t)(end - s->ptr) + 1 : s->len};
    s->ptr += line.len;
    s->len -= line.len;
    return line;
}

static inline bool apply_begins(struct str s, const char *with)
{
    return s.len >= strlen(with) && memcmp(s.ptr, with, strlen(with)) == 0;
}

/* Start and length behind `at`, of which the sign is the first character. */
static inline const char *apply_range(const char *at, unsigned *ret_start, unsigned *ret_count)
{
    int n = 0;
    *ret_count = 1;
    int got = sscanf(at + 1, "%u%n", ret_start, &n);
    assert(got == 1);
    at += 1 + n;
    if (*at == ',') {
        got = sscanf(at + 1, "%u%n", ret_count, &n);
        assert(got == 1);
        at += 1 + n;
    }
    return at;
}

/* One line of a hunk. */
static inline void apply_step(struct str *diff, struct str *text, struct buf *out,
                              unsigned *ret_old, unsigned *ret_new)
{
    struct str line = apply_line(diff);
    assert(line.len >= 1);
    char sign = *line.ptr;
    struct str body = {line.ptr + 1, line.len - 1};
    if (apply_begins(*diff, "\\ No newline")) {
        (void)apply_line(diff);
        body.len--;
    }
    assert(sign == ' ' || sign == '-' || sign == '+');
    if (sign != '+') {
        struct str old = apply_line(text);
        assert(old.len == body.len && memcmp(old.ptr, body.ptr, old.len) == 0);
        (*ret_old)--;
    }
    if (sign != '-') {
        buf_add(out, body.ptr, body.len);
        (*ret_new)--;
    }
}

/* Appends to `out` what `from` becomes. */
static inline void diff_apply(struct str from, struct str diff, struct buf *out)
{
    bool has_heads = apply_begins(apply_line(&diff), "--- a/");
    has_heads = apply_begins(apply_line(&diff), "+++ b/") && has_heads;
    assert(has_heads);
    unsigned at = 0; /* lines of `from` that are done */
    while (diff.len > 0) {
        struct str head = apply_line(&diff);
        assert(apply_begins(head, "@@ -"));
        unsigned start, old, added_at, added;
        const char *rest = apply_range(head.ptr + 3, &start, &old);
        (void)apply_range(rest + 1, &added_at, &added);
        for (unsigned first = old ? start - 1 : start; at < first; at++) {
            struct str line = apply_line(&from);
            assert(line.len > 0);
            buf_add(out, line.ptr, line.len);
        }
        at += old;
        while (old > 0 || added > 0)
            apply_step(&diff, &from, out, &old, &added);
    }
    buf_add(out, from.ptr ? from.ptr : "", from.len);
}

#endif
