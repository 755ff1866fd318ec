#include "ask/figures.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ask/numbers.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"

enum {
    LOOKED_MAX = 2 * FIGURES_MAX, /* numbers of an answer that are looked for */
    MET_MAX = 20000,              /* and that are read at all: most repeat each other then */
    NEAR_MAX = 40,                /* bytes around one that say what it is */
};

/* A number of an output. */
struct seen {
    struct number number;
    size_t source;
};

struct sight {
    struct seen *items;
    size_t count, cap;
};

/* ---- the outputs ---- */

static int grow(struct sight *s, struct err *e)
{
    size_t cap = s->cap ? s->cap * 2 : 256;
    struct seen *grown = realloc(s->items, cap * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "look for figures");
    s->items = grown;
    s->cap = cap;
    return 0;
}

static int look(const struct figure_source *source, size_t index, struct sight *s, struct err *e)
{
    struct number n;
    for (size_t at = 0;
         s->count < FIGURES_SEEN_MAX && number_next(source->text.ptr, source->text.len, &at, &n);) {
        if (s->count == s->cap && grow(s, e))
            return -1;
        s->items[s->count++] = (struct seen){n, index};
    }
    return 0;
}

/* The last that has it exactly, else the last that has it rounded; NULL: none has. */
static const struct seen *find_in(const struct sight *s, const struct figure_source *sources,
                                  bool is_run, const struct number *said)
{
    const struct seen *rounded = NULL;
    for (size_t i = s->count; i > 0; i--) {
        const struct seen *one = &s->items[i - 1];
        bool is_exact;
        if ((sources[one->source].run_id != NULL) != is_run ||
            !number_is_said(said, &one->number, &is_exact))
            continue;
        if (is_exact)
            return one;
        rounded = rounded ? rounded : one;
    }
    return rounded;
}

static const struct seen *find(const struct sight *s, const struct figure_source *sources,
                               const struct number *said)
{
    const struct seen *found = find_in(s, sources, /* is_run= */ true, said);
    return found ? found : find_in(s, sources, /* is_run= */ false, said);
}

/* ---- the answer ---- */

/* Where a number stands does not make it one: in code, or in what a link leads to. */
struct surroundings {
    size_t at;
    bool is_code, is_link;
};

static void move_on(struct surroundings *s, struct str text, size_t to)
{
    for (; s->at < to; s->at++) {
        char c = text.ptr[s->at], before = s->at > 0 ? text.ptr[s->at - 1] : ' ';
        if (c == '`')
            s->is_code = !s->is_code;
        if (c == '(' && before == ']')
            s->is_link = true;
        bool is_end = c == ')' || c == ' ' || c == '\n' || c == '\t';
        if (s->is_link && is_end)
            s->is_link = false;
        if (c == ':' && text.len - s->at > 2 && memcmp(text.ptr + s->at, "://", 3) == 0)
            s->is_link = true;
    }
}

static bool is_list_number(struct str text, const struct number *n)
{
    size_t line = n->start;
    while (line > 0 && n->start - line < NEAR_MAX && strchr(" \t#>*", text.ptr[line - 1]))
        line--;
    if (line > 0 && text.ptr[line - 1] != '\n')
        return false;
    bool is_closed = n->end < text.len && (text.ptr[n->end] == '.' || text.ptr[n->end] == ')');
    return n->is_plain && is_closed && (n->end + 1 == text.len || text.ptr[n->end + 1] == ' ');
}

/* [1], [1, 2], [1][3] */
static bool is_mark(struct str text, const struct number *n)
{
    size_t from = n->start, to = n->end;
    if (!n->is_plain || n->digits > 4)
        return false;
    while (from > 0 && n->start - from < NEAR_MAX && strchr("0123456789, ", text.ptr[from - 1]))
        from--;
    while (to < text.len && to - n->end < NEAR_MAX && strchr("0123456789, ", text.ptr[to]))
        to++;
    return from > 0 && text.ptr[from - 1] == '[' && to < text.len && text.ptr[to] == ']';
}

static bool is_year(const struct number *n)
{
    return n->is_plain && !n->is_signed && n->digits == 4 && n->value >= 1900 && n->value <= 2100;
}

static bool is_listed(const json_t *all, struct str text)
{
    size_t i;
    json_t *one;
    json_array_foreach(all, i, one)
    {
        const char *other = json_string_value(json_object_get(one, "text"));
        if (other && strlen(other) == text.len && memcmp(other, text.ptr, text.len) == 0)
            return true;
    }
    return false;
}

/* The line of the output in which it stands. */
static json_t *line_of(struct str text, const struct number *n)
{
    size_t from = n->start, to = n->end;
    while (from > 0 && text.ptr[from - 1] != '\n' && n->start - from < FIGURE_LINE_MAX / 2)
        from--;
    from += utf8_skip(text.ptr + from, n->start - from);
    while (to < text.len && text.ptr[to] != '\n' && to - from < FIGURE_LINE_MAX)
        to++;
    to = from + utf8_cut(text.ptr + from, to - from);
    while (from < to && strchr(" \t\r", text.ptr[from]))
        from++;
    scoped(buf_done) struct buf clean = BUF_INIT(4 * FIGURE_LINE_MAX);
    utf8_clean(text.ptr + from, to - from, &clean);
    return json_stringn(clean.bytes ? clean.bytes : "", clean.len);
}

static int tell(json_t *all, struct str text, const struct number *n, const struct seen *found,
                const struct figure_source *sources, struct err *e)
{
    const struct figure_source *source = found ? &sources[found->source] : NULL;
    json_t *one = json_object();
    if (!one || json_array_append_new(all, one) ||
        json_object_set_new(one, "text", json_stringn(text.ptr, text.len)) ||
        json_object_set_new(one, "value", json_real(n->value)) ||
        json_object_set_new(one, "run_id",
                            source && source->run_id ? json_string(source->run_id) : json_null()) ||
        json_object_set_new(one, "line",
                            source ? line_of(source->text, &found->number) : json_null()))
        return err_set(e, ERR_NO_MEMORY, "list figures");
    return 0;
}

static int list(struct str answer, const struct sight *sight, const struct figure_source *sources,
                json_t *all, struct err *e)
{
    struct surroundings around = {0};
    struct number n;
    size_t looked = 0, met = 0;
    for (size_t at = 0; json_array_size(all) < FIGURES_MAX && looked < LOOKED_MAX &&
                        met < MET_MAX && number_next(answer.ptr, answer.len, &at, &n);
         met++) {
        struct str text = {answer.ptr + n.start, n.end - n.start};
        move_on(&around, answer, n.start);
        if (around.is_code || around.is_link || is_list_number(answer, &n) || is_mark(answer, &n) ||
            is_listed(all, text))
            continue;
        const struct seen *found = find(sight, sources, &n);
        looked++;
        if (!found && is_year(&n))
            continue;
        if (tell(all, text, &n, found, sources, e))
            return -1;
    }
    return 0;
}

int figures_find(struct str answer, const struct figure_source *sources, size_t count, json_t **ret,
                 struct err *e)
{
    struct sight sight = {0};
    json_t *all = json_array();
    int failed = all ? 0 : err_set(e, ERR_NO_MEMORY, "list figures");
    for (size_t i = 0; i < count && !failed; i++)
        failed = look(&sources[i], i, &sight, e);
    if (!failed)
        failed = list(answer, &sight, sources, all, e);
    free(sight.items);
    if (failed)
        json_decref(all);
    else
        *ret = all;
    return failed;
}
