#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/diff_int.h"

void diff_lines_done(struct diff_lines *l)
{
    free(l->starts);
    free(l->ids);
    free(l->is_changed);
    *l = (struct diff_lines){0};
}

static size_t line_count(struct str text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len; count++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.ptr) + 1 : text.len;
    }
    return count;
}

static int cut(struct str text, size_t count, struct diff_lines *ret, struct err *e)
{
    ret->text = text;
    ret->count = (uint32_t)count;
    ret->starts = malloc((count + 1) * sizeof *ret->starts);
    ret->ids = malloc((count + 1) * sizeof *ret->ids);
    ret->is_changed = calloc(count + 1, sizeof *ret->is_changed);
    if (!ret->starts || !ret->ids || !ret->is_changed)
        return err_set(e, ERR_NO_MEMORY, "compare two texts");
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        ret->starts[i] = (uint32_t)at;
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.ptr) + 1 : text.len;
    }
    ret->starts[count] = (uint32_t)text.len;
    return 0;
}

/* ---- numbers for lines ---- */

/* A table of lines, by their text. What a slot holds is the number of a line, and 0 for nothing. */
struct numbering {
    uint32_t *slots;
    size_t mask;
    const char **texts; /* of line number 1, 2, ... */
    uint32_t *lens;
    uint32_t count;
    uint64_t work; /* that is left: somebody may have chosen lines that all meet in one place */
};

static void numbering_done(struct numbering *n)
{
    free(n->slots);
    free(n->texts);
    free(n->lens);
}

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* False when there is no work left. */
static bool number(struct numbering *n, const char *text, uint32_t len, uint32_t *ret)
{
    for (size_t at = hash_of(text, len) & n->mask;; at = (at + 1) & n->mask) {
        uint32_t known = n->slots[at];
        if (known == 0) {
            n->slots[at] = *ret = ++n->count;
            n->texts[n->count] = text;
            n->lens[n->count] = len;
            return true;
        }
        if (n->lens[known] == len && memcmp(n->texts[known], text, len) == 0) {
            *ret = known;
            return true;
        }
        if (n->work < len + 1U)
            return false;
        n->work -= len + 1U;
    }
}

static bool number_all(struct numbering *n, struct diff_lines *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (!number(n, l->text.ptr + l->starts[i], l->starts[i + 1] - l->starts[i], &l->ids[i]))
            return false;
    return true;
}

static int number_both(struct diff_lines *a, struct diff_lines *b, struct err *e)
{
    size_t count = (size_t)a->count + b->count, slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    scoped(numbering_done) struct numbering n = {
        .slots = calloc(slots, sizeof *n.slots),
        .mask = slots - 1,
        .texts = malloc((count + 1) * sizeof *n.texts),
        .lens = malloc((count + 1) * sizeof *n.lens),
        .work = DIFF_WORK_MAX,
    };
    if (!n.slots || !n.texts || !n.lens)
        return err_set(e, ERR_NO_MEMORY, "compare two texts");
    return number_all(&n, a) && number_all(&n, b);
}

int diff_lines_make(struct str from, struct str to, struct diff_lines *a, struct diff_lines *b,
                    struct err *e)
{
    size_t from_count = line_count(from), to_count = line_count(to);
    if (from_count > DIFF_LINES_MAX || to_count > DIFF_LINES_MAX)
        return 0;
    if (cut(from, from_count, a, e) || cut(to, to_count, b, e))
        return -1;
    return number_both(a, b, e);
}
