/* text_similar.c -- words that are like another one, and where words are in a text. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

enum {
    WORD_MAX = 64,       /* bytes of a word that is compared */
    CANDIDATES_MAX = 64, /* words with the most trigrams in common that are compared */
    STEMS_MAX = 128,     /* of one plan */
};

static const char similar_sql[] =
    "SELECT t.term FROM grams JOIN terms AS t ON t.number = grams.rowid"
    " WHERE grams MATCH ?1 ORDER BY grams.rank LIMIT ?2";

/* ---- how far two words are from each other ---- */

static int least(int one, int two)
{
    return one < two ? one : two;
}

/* Letters to insert, remove, change or swap with their neighbour, to make one of the other. */
static int distance(struct str left, struct str right)
{
    int rows[3][WORD_MAX + 1];
    int *before = rows[0], *above = rows[1], *now = rows[2];
    for (size_t k = 0; k <= right.len; k++)
        above[k] = (int)k;
    for (size_t i = 1; i <= left.len; i++) {
        now[0] = (int)i;
        for (size_t k = 1; k <= right.len; k++) {
            int other = left.ptr[i - 1] != right.ptr[k - 1];
            now[k] = least(least(above[k] + 1, now[k - 1] + 1), above[k - 1] + other);
            if (i > 1 && k > 1 && left.ptr[i - 1] == right.ptr[k - 2] &&
                left.ptr[i - 2] == right.ptr[k - 1])
                now[k] = least(now[k], before[k - 2] + 1);
        }
        int *free_row = before;
        before = above;
        above = now;
        now = free_row;
    }
    return above[right.len];
}

/* How unlike they are; -1: too much. One that contains the word is like it, the more so the less it
 * has beside it. */
static int unlike(struct str word, struct str term)
{
    if (term.len > WORD_MAX)
        return -1;
    if (term.len > word.len && memmem(term.ptr, term.len, word.ptr, word.len))
        return 50 + (int)(term.len - word.len);
    int allowed = word.len < 8 ? 1 : 2, far = distance(word, term);
    return far <= allowed ? far * 30 : -1;
}

/* ---- candidates ---- */

struct plain_word {
    char text[WORD_MAX + 1];
    size_t len, count;
};

static int take_word(void *arg, struct str word, size_t from, size_t to)
{
    struct plain_word *w = arg;
    (void)from;
    (void)to;
    if (w->count++ == 0 && word.len <= WORD_MAX) {
        memcpy(w->text, word.ptr, word.len);
        w->len = word.len;
    }
    return 0;
}

static size_t char_len(const char *at)
{
    unsigned char c = (unsigned char)*at;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Any of its trigrams. */
static void ask_grams(const struct plain_word *w, struct buf *out)
{
    for (const char *at = w->text; *at; at += char_len(at)) {
        const char *end = at;
        for (int i = 0; i < 3 && *end; i++)
            end += char_len(end);
        if (end > w->text + w->len)
            return;
        buf_fmt(out, "%s\"%.*s\"", out->len ? " OR " : "", (int)(end - at), at);
        if (!*end)
            return;
    }
}

struct likest {
    char *words[TEXT_SIMILAR_MAX];
    int unlike[TEXT_SIMILAR_MAX];
    size_t count;
};

static int keep_likest(struct likest *l, struct str term, int how, struct err *e)
{
    size_t at = l->count;
    while (at > 0 && l->unlike[at - 1] > how)
        at--;
    if (at >= TEXT_SIMILAR_MAX)
        return 0;
    char *copy = strndup(term.ptr, term.len);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "search");
    if (l->count == TEXT_SIMILAR_MAX)
        free(l->words[--l->count]);
    memmove(&l->words[at + 1], &l->words[at], (l->count - at) * sizeof *l->words);
    memmove(&l->unlike[at + 1], &l->unlike[at], (l->count - at) * sizeof *l->unlike);
    l->words[at] = copy;
    l->unlike[at] = how;
    l->count++;
    return 0;
}

static int compare_all(struct text_reader *r, const struct plain_word *w, const char *grams,
                       struct likest *l, struct err *e)
{
    const struct str word = {.ptr = w->text, .len = w->len};
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(r->c->db, similar_sql, SQL_WITH(SQL_TEXT(grams), SQL_INT(CANDIDATES_MAX)),
                        &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        struct str term = sql_text(&rows, 0);
        int how = unlike(word, term);
        got = how > 0 ? keep_likest(l, term, how, e) : 0;
    }
    return got < 0 ? -1 : 0;
}

int text_similar(struct text_reader *r, const char *word, char *ret[TEXT_SIMILAR_MAX],
                 size_t *ret_count, struct err *e)
{
    struct plain_word w = {0};
    struct likest l = {0};
    scoped(buf_done) struct buf grams = BUF_INIT(4096);
    *ret_count = 0;
    if (text_tokens(r->c, /* is_stemmed= */ false, word, strlen(word), take_word, &w) ||
        w.count != 1 || w.len < 4)
        return 0;
    ask_grams(&w, &grams);
    if (grams.len == 0)
        return 0;
    if (buf_check(&grams, e) || compare_all(r, &w, grams.bytes, &l, e)) {
        while (l.count)
            free(l.words[--l.count]);
        return -1;
    }
    memcpy(ret, l.words, l.count * sizeof *ret);
    *ret_count = l.count;
    return 0;
}

/* ---- where words are ---- */

struct stem {
    char text[WORD_MAX];
    size_t len, term;
    bool is_prefix;
};

struct stems {
    struct stem items[STEMS_MAX];
    size_t count, term;
};

static int take_stem(void *arg, struct str word, size_t from, size_t to)
{
    struct stems *s = arg;
    (void)from;
    (void)to;
    if (s->count == STEMS_MAX || word.len > WORD_MAX)
        return 0;
    struct stem *it = &s->items[s->count++];
    *it = (struct stem){.len = word.len, .term = s->term};
    memcpy(it->text, word.ptr, word.len);
    return 0;
}

static void find_stems(struct text_conn *c, const struct text_plan *plan, struct stems *ret)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct text_term *term = &plan->terms[i];
        ret->term = i;
        /* What cannot be told apart is not marked; nothing else depends on it. */
        (void)text_tokens(c, true, term->text, strlen(term->text), take_stem, ret);
        if (term->is_prefix && ret->count)
            ret->items[ret->count - 1].is_prefix = true;
        for (size_t k = 0; k < TEXT_SIMILAR_MAX && term->similar[k]; k++)
            (void)text_tokens(c, true, term->similar[k], strlen(term->similar[k]), take_stem, ret);
    }
}

struct marking {
    const struct stems *stems;
    struct text_mark *ret;
    size_t count, max;
};

static int mark_word(void *arg, struct str word, size_t from, size_t to)
{
    struct marking *m = arg;
    for (size_t i = 0; i < m->stems->count; i++) {
        const struct stem *s = &m->stems->items[i];
        bool is_it = s->is_prefix ? word.len >= s->len : word.len == s->len;
        if (!is_it || memcmp(word.ptr, s->text, s->len) != 0)
            continue;
        m->ret[m->count++] = (struct text_mark){from, to, s->term};
        return m->count == m->max;
    }
    return 0;
}

size_t text_mark(struct text_reader *r, const struct text_plan *plan, const char *text, size_t len,
                 struct text_mark *ret, size_t max)
{
    scoped(freep) struct stems *stems = calloc(1, sizeof *stems);
    struct marking m = {.stems = stems, .ret = ret, .max = max};
    if (!stems || max == 0)
        return 0;
    find_stems(r->c, plan, stems);
    if (stems->count)
        (void)text_tokens(r->c, /* is_stemmed= */ true, text, len, mark_word, &m);
    return m.count;
}
