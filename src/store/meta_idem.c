/* Requests that must not happen twice. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/meta_int.h"

static const struct {
    const char *take, *get, *subject, *end, *drop, *restart;
} sql = {
    .take = "INSERT INTO idempotency (principal, idem_key, operation, sha256, status, created)"
            " VALUES (?1, ?2, ?3, ?4, 0, ?5) ON CONFLICT DO NOTHING",
    .get = "SELECT operation, sha256, subject, status, body, created FROM idempotency"
           " WHERE principal = ?1 AND idem_key = ?2",
    .subject = "UPDATE idempotency SET subject = ?3 WHERE principal = ?1 AND idem_key = ?2",
    .end = "UPDATE idempotency SET status = ?3, body = ?4 WHERE principal = ?1 AND idem_key = ?2",
    .drop = "DELETE FROM idempotency WHERE principal = ?1 AND idem_key = ?2 AND status = 0",
    .restart = "DELETE FROM idempotency WHERE status = 0 AND subject IS NULL",
};

void idem_done(struct idem *i)
{
    free(i->owned);
    i->owned = NULL;
    i->body = NULL;
}

struct taking {
    struct idem *idem;
    int64_t now_us;
};

static int read_idem(struct sql_rows *rows, struct idem *i, struct err *e)
{
    struct str operation = sql_text(rows, 0), hash = sql_text(rows, 1);
    sql_id(rows, 2, i->subject);
    i->status = (int)sql_int(rows, 3);
    i->created_us = sql_int(rows, 5);
    if (!str_is(operation, i->operation) || hash.len != HASH_LEN ||
        memcmp(hash.ptr, i->sha256, HASH_LEN) != 0) {
        i->state = IDEM_MISMATCH;
        return 0;
    }
    i->state = i->status == 0 ? IDEM_PENDING : IDEM_DONE;
    struct text_slot body = {.to = &i->body, .len = &i->body_len, .from = sql_text(rows, 4)};
    return texts_own(&body, 1, &i->owned, e);
}

static int take_key(struct db_conn *c, void *arg, struct err *e)
{
    const struct taking *t = arg;
    struct idem *i = t->idem;
    idem_done(i); /* of the time before */
    if (sql_run(c, sql.take,
                SQL_WITH(SQL_TEXT(i->principal), SQL_TEXT(i->key), SQL_TEXT(i->operation),
                         SQL_BYTES(i->sha256, HASH_LEN), SQL_INT(t->now_us)),
                e))
        return -1;
    i->subject[0] = '\0';
    i->status = 0;
    i->body_len = 0;
    i->created_us = t->now_us;
    i->state = IDEM_NEW;
    if (sql_changes(c) > 0)
        return 0;
    struct sql_rows rows = {0};
    int got = sql_query(c, sql.get, SQL_WITH(SQL_TEXT(i->principal), SQL_TEXT(i->key)), &rows, e);
    if (got == 0 && (got = sql_next(&rows, e)) == 1)
        got = read_idem(&rows, i, e);
    sql_rows_done(&rows);
    return got;
}

int meta_idem_begin(struct meta *m, struct idem *i, int64_t now_us, struct err *e)
{
    i->owned = NULL;
    struct taking t = {i, now_us};
    if (meta_write_beside(m, take_key, &t, e)) {
        idem_done(i);
        return -1;
    }
    return 0;
}

int meta_idem_subject(struct meta *m, const struct idem *i, const char *id, struct err *e)
{
    const char *const texts[] = {i->principal, i->key, id};
    return meta_run_soon(m, sql.subject, texts, 3, NULL, 0, e);
}

/* An answer on its way into the table. */
struct answer {
    const char *principal, *key, *body;
    size_t body_len;
    int status;
    void *owned; /* the texts, when written soon */
};

static int end_key(struct db_conn *c, void *arg, struct err *e)
{
    const struct answer *a = arg;
    return sql_run(c, sql.end,
                   SQL_WITH(SQL_TEXT(a->principal), SQL_TEXT(a->key), SQL_INT(a->status),
                            SQL_BYTES(a->body, a->body_len)),
                   e);
}

static void answer_free(void *arg)
{
    struct answer *a = arg;
    free(a->owned);
    free(a);
}

static struct answer *answer_copy(const struct answer *from, struct err *e)
{
    struct answer *a = malloc(sizeof *a);
    if (!a) {
        (void)err_set(e, ERR_NO_MEMORY, "keep an answer");
        return NULL;
    }
    *a = *from;
    struct text_slot texts[] = {
        {.to = &a->principal, .from = str_of(from->principal)},
        {.to = &a->key, .from = str_of(from->key)},
        {.to = &a->body, .len = &a->body_len, .from = {from->body, from->body_len}},
    };
    if (texts_own(texts, 3, &a->owned, e)) {
        free(a);
        return NULL;
    }
    return a;
}

int meta_idem_end(struct meta *m, const struct idem *i, int status, const char *body, size_t len,
                  enum meta_when when, struct err *e)
{
    struct answer a = {i->principal, i->key, body, len, status, NULL};
    if (when == META_NOW)
        return meta_write_beside(m, end_key, &a, e);
    struct answer *copy = answer_copy(&a, e);
    return copy ? db_note(m->db, end_key, copy, answer_free, e) : -1;
}

static int drop_key(struct db_conn *c, void *arg, struct err *e)
{
    const struct idem *i = arg;
    return sql_run(c, sql.drop, SQL_WITH(SQL_TEXT(i->principal), SQL_TEXT(i->key)), e);
}

int meta_idem_drop(struct meta *m, const struct idem *i, struct err *e)
{
    struct idem copy = *i;
    return meta_write_beside(m, drop_key, &copy, e);
}

static int restart(struct db_conn *c, void *arg, struct err *e)
{
    (void)arg;
    return sql_run(c, sql.restart, SQL_NOTHING, e);
}

int meta_idem_restart(struct meta *m, struct err *e)
{
    return meta_write_beside(m, restart, /* arg= */ NULL, e);
}
