/* Cards: their rows. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/conn_int.h"
#include "store/meta_cards.h"
#include "store/meta_int.h"
#include "store/pack.h"

static const struct {
    const char *count, *insert, *update, *touch, *get, *remove, *newest, *oldest, *newest_in,
        *oldest_in, *expired;
} sql = {
#define COLUMNS                                                                             \
    "SELECT id, kind, principal, parent, name, created, used, expires, packing, body FROM " \
    "cards "
#define OF "INDEXED BY cards_of WHERE principal = ?1 AND kind = ?2 "
#define IN "INDEXED BY cards_parent WHERE parent = ?6 AND kind = ?2 AND principal = ?1 "
#define NAMED "AND (?3 IS NULL OR name = ?3) "
#define DOWN "AND (?4 IS NULL OR id < ?4) ORDER BY id DESC LIMIT ?5"
#define UP "AND (?4 IS NULL OR id > ?4) ORDER BY id LIMIT ?5"
    .count = "SELECT count(*) FROM cards INDEXED BY cards_of WHERE principal = ?1 AND kind = ?2",
    .insert = "INSERT INTO cards (id, kind, principal, parent, name, created, used, expires,"
              " packing, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    .update = "UPDATE cards SET name = ?3, used = ?4, expires = ?5, packing = ?6, body = ?7"
              " WHERE id = ?1 AND kind = ?2",
    .touch = "UPDATE cards SET used = max(used, ?2) WHERE id = ?1",
    .get = COLUMNS "WHERE id = ?1 AND kind = ?2",
    .remove = "DELETE FROM cards WHERE id = ?1 AND kind = ?2",
    .newest = COLUMNS OF NAMED DOWN,
    .oldest = COLUMNS OF NAMED UP,
    .newest_in = COLUMNS IN NAMED DOWN,
    .oldest_in = COLUMNS IN NAMED UP,
    .expired = COLUMNS "INDEXED BY cards_expiring WHERE kind = ?1 AND expires > 0 AND"
                       " expires <= ?2 ORDER BY expires LIMIT ?3",
#undef COLUMNS
};

/* ---- rows ---- */

static int read_card(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct card *r = ret;
    scoped(freep) char *body = NULL;
    size_t len;
    *r = (struct card){.kind = (enum card_kind)sql_int(rows, 1),
                       .created_us = sql_int(rows, 5),
                       .used_us = sql_int(rows, 6),
                       .expires_us = sql_int(rows, 7)};
    sql_id(rows, 0, r->id);
    sql_id(rows, 2, r->principal);
    sql_id(rows, 3, r->parent);
    if (unpack(&rows->c->unpacker, (enum packing)sql_int(rows, 8), sql_text(rows, 9), CARD_BODY_MAX,
               &body, &len, e))
        return err_wrap(e, "card %s", r->id);
    struct text_slot texts[] = {
        {.to = &r->name, .from = sql_text(rows, 4)},
        {.to = &r->body, .len = &r->body_len, .from = {body, len}},
    };
    return texts_own(texts, 2, &r->owned, e);
}

void card_done(struct card *c)
{
    free(c->owned);
    c->owned = NULL;
}

static void done_card(void *row)
{
    card_done(row);
}

static const struct row_kind card_row = {
    .size = sizeof(struct card),
    .created_at = offsetof(struct card, created_us),
    .read = read_card,
    .done = done_card,
};

void card_rows_done(struct card_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        card_done(&l->items[i]);
    free(l->items);
    *l = (struct card_rows){0};
}

/* ---- writing ---- */

struct card_write {
    const struct card *card;
    uint64_t max;
    struct packed body;
};

static int write_card(struct meta *m, const struct card *card, uint64_t max, db_job *job,
                      struct err *e)
{
    struct card_write w = {.card = card, .max = max};
    if (card->body_len > CARD_BODY_MAX)
        return err_set(e, ERR_TOO_LARGE, "what is to be kept is larger than %d MiB",
                       CARD_BODY_MAX >> 20);
    if (pack(&m->packer, (struct str){card->body, card->body_len}, &w.body, e))
        return -1;
    int failed = meta_write_beside(m, job, &w, e);
    packed_done(&w.body);
    return failed;
}

static int insert(struct db_conn *c, void *arg, struct err *e)
{
    const struct card_write *w = arg;
    const struct card *r = w->card;
    int64_t count = 0;
    if (w->max &&
        sql_number(c, sql.count, SQL_WITH(SQL_TEXT(r->principal), SQL_INT(r->kind)), &count, e))
        return -1;
    if (w->max && (uint64_t)count >= w->max)
        return err_set(e, ERR_LIMIT, "there are %llu of these; delete some first",
                       (unsigned long long)w->max);
    return sql_run(c, sql.insert,
                   SQL_WITH(SQL_TEXT(r->id), SQL_INT(r->kind), SQL_TEXT(r->principal),
                            SQL_ID(r->parent), SQL_TEXT(r->name ? r->name : ""),
                            SQL_INT(r->created_us), SQL_INT(r->used_us), SQL_INT(r->expires_us),
                            SQL_INT(w->body.packing), SQL_BYTES(w->body.bytes, w->body.len)),
                   e);
}

int meta_card_insert(struct meta *m, const struct card *card, uint64_t max, struct err *e)
{
    return write_card(m, card, max, insert, e);
}

static int not_there(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no %.64s", id);
}

static int update(struct db_conn *c, void *arg, struct err *e)
{
    const struct card_write *w = arg;
    const struct card *r = w->card;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(r->id), SQL_INT(r->kind), SQL_TEXT(r->name ? r->name : ""),
                         SQL_INT(r->used_us), SQL_INT(r->expires_us), SQL_INT(w->body.packing),
                         SQL_BYTES(w->body.bytes, w->body.len)),
                e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_there(r->id, e);
}

int meta_card_update(struct meta *m, const struct card *card, struct err *e)
{
    return write_card(m, card, /* max= */ 0, update, e);
}

int meta_card_touch(struct meta *m, const char *id, int64_t used_us, struct err *e)
{
    return meta_run_soon(m, sql.touch, &id, 1, &used_us, 1, e);
}

struct card_name {
    enum card_kind kind;
    const char *id;
};

static int remove_card(struct db_conn *c, void *arg, struct err *e)
{
    const struct card_name *n = arg;
    if (sql_run(c, sql.remove, SQL_WITH(SQL_TEXT(n->id), SQL_INT(n->kind)), e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_there(n->id, e);
}

int meta_card_delete(struct meta *m, enum card_kind kind, const char *id, struct err *e)
{
    struct card_name n = {kind, id};
    return meta_write_beside(m, remove_card, &n, e);
}

/* ---- reading ---- */

int meta_card_get(struct meta *m, enum card_kind kind, const char *id, struct card *ret,
                  struct err *e)
{
    if (!row_get(m, &card_row, sql.get, SQL_WITH(SQL_TEXT(id), SQL_INT(kind)), ret, e))
        return 0;
    return e->code == ERR_NOT_FOUND ? not_there(id, e) : -1;
}

static int give(const struct row_list *l, struct card_rows *ret)
{
    *ret = (struct card_rows){.items = l->items, .count = l->count, .has_more = l->has_more};
    return 0;
}

int meta_card_list(struct meta *m, const struct card_filter *f, struct card_rows *ret,
                   struct err *e)
{
    struct row_list l;
    const char *text = f->parent ? (f->is_ascending ? sql.oldest_in : sql.newest_in)
                                 : (f->is_ascending ? sql.oldest : sql.newest);
    const struct sql_value values[] = {
        SQL_TEXT(f->principal),         SQL_INT(f->kind),   SQL_TEXT(f->name), SQL_TEXT(f->after),
        SQL_INT((int64_t)f->limit + 1), SQL_TEXT(f->parent)};
    if (row_list(m, &card_row, text, values, f->parent ? 6 : 5, f->limit, &l, e))
        return -1;
    return give(&l, ret);
}

int meta_card_list_expired(struct meta *m, enum card_kind kind, int64_t now_us, uint32_t limit,
                           struct card_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &card_row, sql.expired,
                 SQL_WITH(SQL_INT(kind), SQL_INT(now_us), SQL_INT((int64_t)limit + 1)), limit, &l,
                 e))
        return -1;
    return give(&l, ret);
}
