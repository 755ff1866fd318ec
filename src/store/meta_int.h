/* meta_int.h -- what the files of meta share: rows out of queries, pages, jobs. */
#ifndef STORE_META_INT_H
#define STORE_META_INT_H

#include <stddef.h>

#include "store/db.h"
#include "store/meta.h"
#include "store/pack.h"
#include "store/sql.h"

struct meta {
    struct db *db;
    struct packer packer; /* of run objects */
};

extern const char *const meta_migrations[];
extern const size_t meta_migration_count;

/* ---- texts of a row ---- */

/* A text that goes to *to, and its length to *len unless that is NULL. */
struct text_slot {
    const char **to;
    size_t *len;
    struct str from;
};

/* Copies all of them into one block, *owned, each with a NUL behind it. STR_NONE becomes NULL. */
int texts_own(struct text_slot *slots, size_t count, void **owned, struct err *e);

/* ---- one kind of row ---- */

/* Every row begins with its id. `read` fills a row from the columns of a query. */
struct row_kind {
    size_t size;
    size_t created_at; /* offset of created_us */
    int (*read)(const struct sql_rows *rows, void *ret, struct err *e);
    void (*done)(void *row);
};

/* The row that `sql` finds with the id as ?1. Fails with ERR_NOT_FOUND. */
int row_get(struct meta *m, const struct row_kind *kind, const char *sql,
            const struct sql_value *values, size_t count, void *ret, struct err *e);

/* ---- pages ---- */

/* Where a page begins: everything older than this. */
struct mark {
    int64_t created_us;
    char id[ID_SIZE];
};

int mark_parse(const struct page *page, struct mark *ret, struct err *e);

/* Values ?1, ?2 and ?3 of every list: older than the mark, one more than the limit. */
#define PAGE_VALUES(mark, page) \
    SQL_INT((mark).created_us), SQL_TEXT((mark).id), SQL_INT((int64_t)(page)->limit + 1)

struct row_list {
    void *items;
    size_t count;
    bool has_more;
    char next[CURSOR_SIZE];
};

/* All that `sql` finds, of which one more than `limit` means that there is more. */
int row_list(struct meta *m, const struct row_kind *kind, const char *sql,
             const struct sql_value *values, size_t count, uint32_t limit, struct row_list *ret,
             struct err *e);

/* The same inside a job or a read, without a limit. */
int row_list_on(struct db_conn *c, const struct row_kind *kind, const char *sql,
                const struct sql_value *values, size_t count, uint32_t limit, struct row_list *ret,
                struct err *e);

/* Hands a list over to one of the x_rows of rows.h. */
#define ROWS_GIVE(ret, list)                                 \
    do {                                                     \
        (ret)->items = (list).items;                         \
        (ret)->count = (list).count;                         \
        (ret)->has_more = (list).has_more;                   \
        memcpy((ret)->next, (list).next, sizeof(ret)->next); \
    } while (0)

/* ---- jobs that others are part of ---- */

db_job workspace_insert; /* arg: const struct workspace_row */
/* A principal and its default workspace. */
int principal_insert_both(struct db_conn *c, const struct principal_row *principal,
                          const struct workspace_row *workspace, uint64_t max, struct err *e);
struct login_row;
int login_insert(struct db_conn *c, const struct login_row *row, int64_t now_us, struct err *e);

/* ---- counting, and single statements as jobs ---- */

int meta_number(struct meta *m, const char *sql, const struct sql_value *values, size_t count,
                int64_t *ret, struct err *e);

/* db_write without a rider: for what is kept on the way. The act that a request is about has its row with
 * what it changes, not with this. */
int meta_write_beside(struct meta *m, db_job *job, void *arg, struct err *e);

enum { STATEMENT_VALUES_MAX = 8 };

/* A statement whose values are ids and numbers, written soon, for what happens on the way: no rider
 * goes with it. `texts` are copied. */
int meta_run_soon(struct meta *m, const char *sql, const char *const *texts, size_t text_count,
                  const int64_t *numbers, size_t number_count, struct err *e);

#endif
