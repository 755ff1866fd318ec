#include "store/meta.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/meta_int.h"

int meta_settle(struct meta *m, struct err *e)
{
    return db_settle(m->db, e);
}

void meta_stats(struct meta *m, struct db_stats *ret)
{
    db_stats(m->db, ret);
}

/* ---- rows ---- */

int texts_own(struct text_slot *slots, size_t count, void **owned, struct err *e)
{
    size_t total = 1;
    for (size_t i = 0; i < count; i++)
        total += slots[i].from.ptr ? slots[i].from.len + 1 : 0;
    char *at = malloc(total);
    if (!at)
        return err_set(e, ERR_NO_MEMORY, "keep a row");
    *owned = at;
    for (size_t i = 0; i < count; i++) {
        struct str from = slots[i].from;
        *slots[i].to = from.ptr ? at : NULL;
        if (slots[i].len)
            *slots[i].len = from.len;
        if (!from.ptr)
            continue;
        memcpy(at, from.ptr, from.len);
        at[from.len] = '\0';
        at += from.len + 1;
    }
    return 0;
}

int row_get(struct meta *m, const struct row_kind *kind, const char *sql,
            const struct sql_value *values, size_t count, void *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql, values, count, &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    return got ? kind->read(&rows, ret, e) : err_set(e, ERR_NOT_FOUND, "there is none");
}

/* ---- pages ---- */

/* A cursor is the last row's time in hexadecimal, a dot, and its id. */
static int mark_of(const char *cursor, struct mark *ret)
{
    uint64_t v = 0;
    const char *at = cursor;
    for (int digit; at - cursor < 16; at++, v = v << 4 | (unsigned)digit) {
        if (*at >= '0' && *at <= '9')
            digit = *at - '0';
        else if (*at >= 'a' && *at <= 'f')
            digit = *at - 'a' + 10;
        else
            break;
    }
    size_t len = *at == '.' ? strlen(at + 1) : 0;
    if (at == cursor || len == 0 || len >= sizeof ret->id || v > INT64_MAX)
        return -1;
    ret->created_us = (int64_t)v;
    memcpy(ret->id, at + 1, len + 1);
    return 0;
}

int mark_parse(const struct page *page, struct mark *ret, struct err *e)
{
    assert(page->limit >= 1 && page->limit <= PAGE_MAX);
    *ret = (struct mark){.created_us = INT64_MAX};
    if (page->cursor && mark_of(page->cursor, ret))
        return err_set(e, ERR_INVALID, "cursor: not one that a list gave as next_cursor");
    return 0;
}

/* More room for rows, doubling; the new ones are zeros. */
static int grow(struct row_list *l, size_t size, size_t *cap, struct err *e)
{
    if (l->count < *cap)
        return 0;
    size_t wider = *cap ? 2 * *cap : 16;
    char *items = reallocarray(l->items, wider, size);
    if (!items)
        return err_set(e, ERR_NO_MEMORY, "read a list");
    memset(items + l->count * size, 0, (wider - l->count) * size);
    l->items = items;
    *cap = wider;
    return 0;
}

static void list_free(const struct row_kind *kind, struct row_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        kind->done((char *)l->items + i * kind->size);
    free(l->items);
}

static int fill(struct sql_rows *rows, const struct row_kind *kind, struct row_list *l,
                struct err *e)
{
    size_t cap = 0;
    int got;
    while ((got = sql_next(rows, e)) == 1) {
        if (grow(l, kind->size, &cap, e) ||
            kind->read(rows, (char *)l->items + l->count * kind->size, e))
            return -1;
        l->count++;
    }
    return got;
}

/* Takes the row too many away and makes the cursor of the last that stays. */
static void cut(const struct row_kind *kind, uint32_t limit, struct row_list *l)
{
    if (limit == 0 || l->count <= limit)
        return;
    l->count = limit;
    kind->done((char *)l->items + limit * kind->size);
    const char *last = (char *)l->items + (limit - 1) * kind->size;
    int64_t created_us;
    memcpy(&created_us, last + kind->created_at, sizeof created_us);
    l->has_more = true;
    (void)snprintf(l->next, sizeof l->next, "%" PRIx64 ".%.64s", (uint64_t)created_us, last);
}

int row_list_on(struct db_conn *c, const struct row_kind *kind, const char *sql,
                const struct sql_value *values, size_t count, uint32_t limit, struct row_list *ret,
                struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    struct row_list l = {0};
    if (sql_query(c, sql, values, count, &rows, e))
        return -1;
    if (fill(&rows, kind, &l, e)) {
        list_free(kind, &l);
        return -1;
    }
    cut(kind, limit, &l);
    *ret = l;
    return 0;
}

int row_list(struct meta *m, const struct row_kind *kind, const char *sql,
             const struct sql_value *values, size_t count, uint32_t limit, struct row_list *ret,
             struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    return row_list_on(c, kind, sql, values, count, limit, ret, e);
}

int meta_number(struct meta *m, const char *sql, const struct sql_value *values, size_t count,
                int64_t *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    return sql_number(c, sql, values, count, ret, e);
}

int meta_write_beside(struct meta *m, db_job *job, void *arg, struct err *e)
{
    struct db_rider *before = db_rider_set(NULL);
    int failed = db_write(m->db, job, arg, e);
    (void)db_rider_set(before);
    return failed;
}

/* ---- single statements, soon ---- */

struct statement {
    const char *sql;
    size_t count;
    struct sql_value values[STATEMENT_VALUES_MAX];
    char texts[]; /* of the values, each with its NUL */
};

static int statement_run(struct db_conn *c, void *arg, struct err *e)
{
    const struct statement *s = arg;
    return sql_run(c, s->sql, s->values, s->count, e);
}

int meta_run_soon(struct meta *m, const char *sql, const char *const *texts, size_t text_count,
                  const int64_t *numbers, size_t number_count, struct err *e)
{
    assert(text_count + number_count <= STATEMENT_VALUES_MAX);
    size_t total = 0;
    for (size_t i = 0; i < text_count; i++)
        total += strlen(texts[i]) + 1;
    struct statement *s = malloc(sizeof *s + total);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "write a row");
    s->sql = sql;
    s->count = 0;
    char *at = s->texts;
    for (size_t i = 0; i < text_count; i++) {
        size_t size = strlen(texts[i]) + 1;
        memcpy(at, texts[i], size);
        s->values[s->count++] = SQL_TEXT(at);
        at += size;
    }
    for (size_t i = 0; i < number_count; i++)
        s->values[s->count++] = SQL_INT(numbers[i]);
    return db_note(m->db, statement_run, s, free, e);
}
