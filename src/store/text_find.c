/* text_find.c -- questions to FTS5, and the documents that answer them. */
#include "store/text_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

enum {
    QUESTION_MAX = 64 << 10, /* bytes of what is asked of FTS5 */
    SCOPE_TEXT_MAX = 1 << 20,
    PHRASES_MAX = 2 * TEXT_SCOPE_WORDS + 3 * TEXT_TERMS * (1 + TEXT_SIMILAR_MAX),
    CHUNKS_MIN = 64, /* so many are looked at, and some for each document that is wanted */
    CHUNKS_PER_DOC = 6,
    CHUNKS_MAX = 4000,
};

/* json_each makes a list of numbers out of a text: SQLite has no parameters that are lists. */
#define FILTER                                                                          \
    " AND d.workspace IN (SELECT value FROM json_each(?5))"                             \
    " AND (?6 < 0 OR d.kind = ?6) AND (?13 IS NULL OR d.kind = 0 OR d.principal = ?13)" \
    " AND (?7 IS NULL OR substr(d.path, 1, length(?7)) = ?7)"                           \
    " AND (?8 IS NULL OR path_fits(?8, d.path))"                                        \
    " AND (?9 IS NULL OR substr(d.mime, 1, length(?9)) = ?9)"                           \
    " AND (?10 IS NULL OR substr(lower(d.path), -length(?10)) = ?10)"                   \
    " AND d.changed >= ?11 AND d.changed < ?12"

static const struct {
    const char *scope, *count, *find, *find_filtered, *hit;
} sql = {
    .scope = "SELECT number, chunks, words FROM workspaces WHERE id = ?1",
    .count = "SELECT count(*), max(r), (SELECT max(number) FROM chunks) FROM"
             " (SELECT rowid AS r FROM words WHERE words MATCH ?1 LIMIT ?2)",
    .find = "SELECT r, s FROM (SELECT rowid AS r, relevance(words, ?2) AS s FROM words"
            " WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?4)"
            " ORDER BY s DESC, r LIMIT ?3",
    .find_filtered =
        "SELECT r, s FROM (SELECT words.rowid AS r, relevance(words, ?2) AS s FROM words"
        " CROSS JOIN chunks AS c ON c.number = words.rowid CROSS JOIN docs AS d ON d.number = c.doc"
        " WHERE words MATCH ?1" FILTER " ORDER BY words.rowid DESC LIMIT ?4)"
        " ORDER BY s DESC, r LIMIT ?3",
    .hit =
        "SELECT d.number, w.id, w.vault, d.kind, d.id, d.path, d.indexed, d.size, d.sha256,"
        " d.changed, d.principal, c.place, c.first, c.last, c.column, c.label, t.body FROM chunks AS c"
        " JOIN texts AS t ON t.number = c.number JOIN docs AS d ON d.number = c.doc"
        " JOIN workspaces AS w ON w.number = d.workspace WHERE c.number = ?1",
};

void text_hits_done(struct text_hits *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->items[i].label);
        free(h->items[i].text);
    }
    free(h->items);
    *h = (struct text_hits){0};
}

/* ---- what the reader may see ---- */

static int add_workspace(struct text_reader *r, const char *id, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(r->c->db, sql.scope, SQL_WITH(SQL_TEXT(id)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got != 1)
        return got;
    long long number = (long long)sql_int(&rows, 0);
    r->chunks += (uint64_t)sql_int(&rows, 1);
    r->words += (uint64_t)sql_int(&rows, 2);
    buf_fmt(&r->numbers, "%s%lld", r->scope_count ? "," : "", number);
    if (r->scope_count < TEXT_SCOPE_WORDS)
        buf_fmt(&r->scope, "%s\"zw%lld\" OR \"zr%lld%s%s\"", r->scope_count ? " OR " : "", number,
                number, r->filter.principal ? " " : "",
                r->filter.principal ? r->filter.principal : "");
    r->scope_count++;
    return 0;
}

static int set_scope(struct text_reader *r, struct err *e)
{
    buf_str(&r->numbers, "[");
    for (size_t i = 0; i < r->workspace_count; i++)
        if (add_workspace(r, r->workspaces[i], e))
            return -1;
    buf_str(&r->numbers, "]");
    return buf_check(&r->numbers, e) || buf_check(&r->scope, e) ? -1 : 0;
}

int text_reader_begin(struct text_index *t, const char (*workspaces)[ID_SIZE], size_t count,
                      const struct text_filter *filter, struct text_reader **ret, struct err *e)
{
    struct text_reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NO_MEMORY, "search");
    *r = (struct text_reader){.index = t,
                              .workspaces = workspaces,
                              .workspace_count = count,
                              .filter = *filter,
                              .scope = BUF_INIT(SCOPE_TEXT_MAX),
                              .numbers = BUF_INIT(SCOPE_TEXT_MAX)};
    if (text_read_take(t, &r->c, e)) {
        free(r);
        return -1;
    }
    if (conn_exec(r->c->db, "BEGIN", e) || set_scope(r, e)) {
        text_reader_end(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void text_reader_end(struct text_reader *r)
{
    struct err ignored = {0};
    if (!r)
        return;
    if (!sqlite3_get_autocommit(r->c->db->sqlite))
        (void)conn_exec(r->c->db, "COMMIT", &ignored);
    text_read_give(r->index, r->c);
    buf_done(&r->scope);
    buf_done(&r->numbers);
    free(r);
}

uint64_t text_reader_chunks(const struct text_reader *r)
{
    return r->chunks;
}

/* ---- questions ---- */

/* What is asked of FTS5, and what each phrase in it counts for, in order. */
struct question {
    struct buf text;
    double numbers[1 + PHRASES_MAX];
    size_t count; /* of numbers */
};

static void question_done(struct question *q)
{
    buf_done(&q->text);
}

static void add_phrase(struct question *q, const char *text, bool is_prefix, double weight)
{
    buf_str(&q->text, "\"");
    for (const char *at = text; *at; at++)
        if (*at != '"') /* inside quotes everything else is a character like another */
            buf_add(&q->text, at, 1);
    buf_str(&q->text, is_prefix ? "\" *" : "\"");
    if (q->count < sizeof q->numbers / sizeof *q->numbers)
        q->numbers[q->count++] = weight;
}

static void add_term(struct question *q, const struct text_term *term)
{
    buf_str(&q->text, "(");
    add_phrase(q, term->text, term->is_prefix, term->weight);
    for (size_t i = 0; i < TEXT_SIMILAR_MAX && term->similar[i]; i++) {
        buf_str(&q->text, " OR ");
        add_phrase(q, term->similar[i], /* is_prefix= */ false, term->weight / 2);
    }
    buf_str(&q->text, ")");
}

static void add_terms(struct question *q, const struct text_term *terms, size_t count,
                      const char *between)
{
    buf_str(&q->text, "{title body} : (");
    for (size_t i = 0; i < count; i++) {
        buf_str(&q->text, i ? between : "");
        add_term(q, &terms[i]);
    }
    buf_str(&q->text, ")");
}

/* What has one of those that are needed, asked for once more together with the others, so that they
 * count: FTS5 knows no word that may be missing. */
static void add_needed(struct question *q, const struct text_plan *plan)
{
    size_t from = q->count;
    add_terms(q, plan->terms, plan->needed, " OR ");
    while (from < q->count)
        q->numbers[from++] = 0; /* they are weighed the second time */
    buf_str(&q->text, " AND ");
}

static bool has_scope_words(const struct text_reader *r)
{
    return r->scope_count > 0 && r->scope_count <= TEXT_SCOPE_WORDS;
}

static void ask(const struct text_reader *r, const struct text_plan *plan, struct question *q)
{
    q->numbers[0] = r->chunks ? (double)r->words / (double)r->chunks : 1;
    q->count = 1;
    if (has_scope_words(r)) {
        buf_fmt(&q->text, "scope : (%s) AND ", r->scope.bytes);
        for (size_t i = 0; i < 2 * r->scope_count; i++)
            q->numbers[q->count++] = 0;
    }
    buf_str(&q->text, "(");
    if (!plan->is_all && plan->needed && plan->needed < plan->count)
        add_needed(q, plan);
    add_terms(q, plan->terms, plan->count, plan->is_all ? " AND " : " OR ");
    buf_str(&q->text, ")");
    if (plan->without_count) {
        buf_str(&q->text, " NOT ");
        add_terms(q, plan->without, plan->without_count, " OR ");
    }
}

/* Of more than are counted, as many as there would be if they were spread evenly. */
static uint64_t guess(const struct text_reader *r, int64_t count, int64_t last, int64_t end)
{
    if (count < TEXT_COUNT_MAX || last <= 0)
        return (uint64_t)count;
    double all = (double)count * (double)end / (double)last;
    return all < (double)r->chunks ? (uint64_t)all : r->chunks;
}

int text_count(struct text_reader *r, const struct text_term *term, uint64_t *ret, struct err *e)
{
    scoped(question_done) struct question q = {.text = BUF_INIT(QUESTION_MAX)};
    scoped(sql_rows_done) struct sql_rows rows = {0};
    const struct text_plan plan = {.terms = term, .count = 1};
    *ret = 0;
    if (r->scope_count == 0)
        return 0;
    ask(r, &plan, &q);
    if (buf_check(&q.text, e) ||
        sql_query(r->c->db, sql.count, SQL_WITH(SQL_TEXT(q.text.bytes), SQL_INT(TEXT_COUNT_MAX)),
                  &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got == 1)
        *ret = guess(r, sql_int(&rows, 0), sql_int(&rows, 1), sql_int(&rows, 2));
    sql_rows_done(&rows);
    return got < 0 ? -1 : 0;
}

/* ---- hits ---- */

static bool is_filtered(const struct text_reader *r)
{
    const struct text_filter *f = &r->filter;
    return !has_scope_words(r) || f->kind >= 0 || f->prefix || f->glob || f->mime || f->suffix ||
           f->after_us || f->before_us;
}

static char *own(struct str text)
{
    char *copy = malloc(text.len + 1);
    if (!copy)
        return NULL;
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* 1: *ret is filled. 0: of a document that is there already. */
static int load_hit(struct text_reader *r, int64_t chunk, const struct text_hits *so_far,
                    struct text_hit *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(r->c->db, sql.hit, SQL_WITH(SQL_INT(chunk)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got != 1)
        return got;
    for (size_t i = 0; i < so_far->count; i++)
        if (so_far->items[i].doc.number == sql_int(&rows, 0))
            return 0;
    struct str label = sql_text(&rows, 15), body = sql_text(&rows, 16);
    *ret = (struct text_hit){.chunk = chunk,
                             .place = (enum place)sql_int(&rows, 11),
                             .first = (uint32_t)sql_int(&rows, 12),
                             .last = (uint32_t)sql_int(&rows, 13),
                             .column = (uint32_t)sql_int(&rows, 14)};
    text_doc_read(&rows, &ret->doc);
    ret->label = label.ptr ? own(label) : NULL;
    ret->text = own(body);
    ret->text_len = body.len;
    if (!ret->text || (label.ptr && !ret->label)) {
        free(ret->label);
        free(ret->text);
        return err_set(e, ERR_NO_MEMORY, "search");
    }
    return 1;
}

int text_hit_load(struct text_reader *r, int64_t chunk, struct text_hit *ret, struct err *e)
{
    return load_hit(r, chunk, &(struct text_hits){0}, ret, e);
}

static int collect(struct text_reader *r, struct sql_rows *rows, size_t limit,
                   struct text_hits *ret, struct err *e)
{
    int got;
    ret->items = calloc(limit, sizeof *ret->items);
    if (!ret->items)
        return err_set(e, ERR_NO_MEMORY, "search");
    while (ret->count < limit && (got = sql_next(rows, e)) != 0) {
        if (got < 0 || (got = load_hit(r, sql_int(rows, 0), ret, &ret->items[ret->count], e)) < 0)
            return -1;
        if (got == 1)
            ret->items[ret->count++].score = sqlite3_column_double(rows->st, 1);
    }
    return 0;
}

static int64_t chunks_for(size_t limit)
{
    size_t wanted = CHUNKS_MIN + CHUNKS_PER_DOC * limit;
    return (int64_t)(wanted < CHUNKS_MAX ? wanted : CHUNKS_MAX);
}

static int start(struct text_reader *r, const struct question *q, size_t limit,
                 struct sql_rows *ret, struct err *e)
{
    const struct text_filter *f = &r->filter;
    const struct sql_value values[] = {
        SQL_TEXT(q->text.bytes),    SQL_BYTES(q->numbers, q->count * sizeof *q->numbers),
        SQL_INT(chunks_for(limit)), SQL_INT(TEXT_SCORED_MAX),
        SQL_TEXT(r->numbers.bytes), SQL_INT(f->kind),
        SQL_TEXT(f->prefix),        SQL_TEXT(f->glob),
        SQL_TEXT(f->mime),          SQL_TEXT(f->suffix),
        SQL_INT(f->after_us),       SQL_INT(f->before_us ? f->before_us : INT64_MAX),
        SQL_TEXT(f->principal),
    };
    return is_filtered(r) ? sql_query(r->c->db, sql.find_filtered, values, 13, ret, e)
                          : sql_query(r->c->db, sql.find, values, 4, ret, e);
}

int text_find(struct text_reader *r, const struct text_plan *plan, struct text_hits *ret,
              struct err *e)
{
    scoped(question_done) struct question q = {.text = BUF_INIT(QUESTION_MAX)};
    scoped(sql_rows_done) struct sql_rows rows = {0}; /* borrows the question */
    struct text_hits hits = {0};
    *ret = hits;
    if (r->scope_count == 0 || plan->count == 0 || plan->limit == 0)
        return 0;
    ask(r, plan, &q);
    int failed = buf_check(&q.text, e) || start(r, &q, plan->limit, &rows, e) ||
                 collect(r, &rows, plan->limit, &hits, e);
    if (failed)
        text_hits_done(&hits);
    else
        *ret = hits;
    return failed ? -1 : 0;
}

int text_words(struct text_reader *r, const char *text, size_t len,
               int (*put)(void *arg, struct str stem, size_t from, size_t to), void *arg)
{
    return text_tokens(r->c, /* is_stemmed= */ true, text, len, put, arg);
}
