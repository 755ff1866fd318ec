/* search_snippet.c -- the part of a chunk that says most about the question, and where that is. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "workspace/search_int.h"

enum {
    MARKS_MAX = 256,
    WINDOW = 220, /* bytes of text in a snippet */
    LEAD = 60,    /* of these, before the first word that was found */
};

struct window {
    size_t first, last; /* marks */
    double worth;
};

/* What the marks from `first` on are worth that fit into one snippet: each term once. */
static struct window look_from(const struct query *q, const struct text_mark *marks, size_t count,
                               size_t first)
{
    bool seen[TEXT_TERMS] = {0};
    struct window w = {.first = first, .last = first};
    for (size_t i = first; i < count && marks[i].to - marks[first].from <= WINDOW - LEAD; i++) {
        w.worth += seen[marks[i].term] ? 0.01 : q->terms[marks[i].term].weight;
        seen[marks[i].term] = true;
        w.last = i;
    }
    return w;
}

static struct window best_window(const struct query *q, const struct text_mark *marks, size_t count)
{
    struct window best = {.worth = -1};
    for (size_t i = 0; i < count; i++) {
        struct window w = look_from(q, marks, count, i);
        if (w.worth > best.worth)
            best = w;
    }
    return best;
}

/* Blanks of all kinds are one blank each. */
static void add_plain(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_blank = isspace((unsigned char)text[i]) || (unsigned char)text[i] < ' ';
        if (!is_blank)
            buf_add(out, text + i, 1);
        else if (out->len && out->bytes[out->len - 1] != ' ')
            buf_str(out, " ");
    }
}

static size_t begin_of(const char *text, size_t at)
{
    size_t from = at > LEAD ? at - LEAD : 0;
    while (from > 0 && from < at && !isspace((unsigned char)text[from - 1]))
        from++;
    return from + utf8_skip(text + from, at - from);
}

static size_t end_of(const char *text, size_t len, size_t from, size_t at_least)
{
    size_t end = from + WINDOW < len ? from + WINDOW : len;
    if (end < at_least)
        end = at_least;
    while (end < len && end > at_least && !isspace((unsigned char)text[end]))
        end--;
    return from + utf8_cut(text + from, end - from);
}

static void write_snippet(const char *text, size_t len, const struct text_mark *marks, size_t count,
                          const struct window *w, struct buf *out)
{
    size_t from = count ? begin_of(text, marks[w->first].from) : 0;
    size_t end = end_of(text, len, from, count ? marks[w->last].to : 0), at = from;
    if (from > 0)
        buf_str(out, "\u2026 ");
    for (size_t i = w->first; i < count && marks[i].to <= end; i++) {
        if (marks[i].from < at)
            continue;
        add_plain(out, text + at, marks[i].from - at);
        buf_str(out, "**");
        add_plain(out, text + marks[i].from, marks[i].to - marks[i].from);
        buf_str(out, "**");
        at = marks[i].to;
    }
    add_plain(out, text + at, end - at);
    while (out->len && out->bytes[out->len - 1] == ' ')
        out->bytes[--out->len] = '\0';
    if (end < len)
        buf_str(out, " \u2026");
}

static uint32_t count_char(const char *text, size_t len, char it)
{
    uint32_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += text[i] == it;
    return count;
}

static bool has_lines(enum place place)
{
    return place != PLACE_NONE && place != PLACE_PAGE && place != PLACE_SLIDE &&
           place != PLACE_CELL;
}

static uint32_t widest(const char *text, size_t len)
{
    uint32_t most = 0, now = 1;
    for (size_t i = 0; i < len; i++) {
        now = text[i] == '\n' ? 1 : now + (text[i] == '\t');
        most = now > most ? now : most;
    }
    return most ? most : 1;
}

/* Of a sheet: the cell of a mark. */
static void cite_cell(const struct text_hit *hit, const struct text_mark *mark,
                      struct search_cite *cite)
{
    size_t line = mark->from;
    while (line > 0 && hit->text[line - 1] != '\n')
        line--;
    cite->cell_row = hit->first + count_char(hit->text, mark->from, '\n');
    cite->cell_column = hit->column + count_char(hit->text + line, mark->from - line, '\t');
}

static void write_cite(const struct text_hit *hit, const struct text_mark *marks, size_t count,
                       const struct window *w, struct search_cite *ret)
{
    *ret = (struct search_cite){.place = hit->place, .first = hit->first, .last = hit->last};
    if (hit->label)
        (void)snprintf(ret->label, sizeof ret->label, "%s", hit->label);
    if (hit->place == PLACE_SHEET)
        ret->last_column = hit->column + widest(hit->text, hit->text_len) - 1;
    if (hit->place == PLACE_CELL) { /* lines of the cell, from `column` on */
        ret->cell_row = hit->column;
        ret->cell_column = hit->column + count_char(hit->text, hit->text_len, '\n');
    }
    if (count == 0)
        return;
    uint32_t first = count_char(hit->text, marks[w->first].from, '\n');
    uint32_t last = count_char(hit->text, marks[w->last].from, '\n');
    if (hit->place == PLACE_SHEET) {
        cite_cell(hit, &marks[w->first], ret);
    } else if (hit->place == PLACE_CELL) {
        ret->cell_row = hit->column + first;
        ret->cell_column = hit->column + last;
    } else if (has_lines(hit->place)) {
        ret->first = hit->first + first;
        ret->last = hit->first + last;
    }
}

int search_snippet(struct text_reader *r, const struct query *q, const struct text_hit *hit,
                   char **ret_snippet, struct search_cite *ret_cite, struct err *e)
{
    const struct text_plan plan = {.terms = q->terms, .count = q->count};
    scoped(freep) struct text_mark *marks = calloc(MARKS_MAX, sizeof *marks);
    scoped(buf_done) struct buf out = BUF_INIT(16 * SEARCH_SNIPPET_MAX);
    if (!marks)
        return err_set(e, ERR_NO_MEMORY, "search");
    size_t count = text_mark(r, &plan, hit->text, hit->text_len, marks, MARKS_MAX);
    struct window w = count ? best_window(q, marks, count) : (struct window){0};
    buf_str(&out, "");
    write_snippet(hit->text, hit->text_len, marks, count, &w, &out);
    if (buf_check(&out, e))
        return -1;
    write_cite(hit, marks, count, &w, ret_cite);
    *ret_snippet = buf_take(&out, NULL);
    return *ret_snippet ? 0 : err_set(e, ERR_NO_MEMORY, "search");
}
