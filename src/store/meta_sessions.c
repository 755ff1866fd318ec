#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/meta_int.h"

/* Lists and counts share their conditions: one that an index serves, and all that were asked for
 * behind it. INDEXED BY makes a missing index an error instead of a slow list. */
enum drive { BY_NAME, BY_OPEN_PRINCIPAL, BY_PRINCIPAL, BY_OPEN_KEY, BY_WORKSPACE, BY_OPEN, BY_ALL };

static const struct {
    const char *insert, *get, *name_taken, *open_of_principal, *open_of_key, *least_used, *update,
        *set_options, *used, *close, *unlock, *is_closed, *subject;
    struct {
        const char *list, *count;
    } by[7];
} sql = {
#define COLUMNS                                                                               \
    "SELECT id, principal, workspace, key_id, name, options, tz, idle_s, snapshots, created," \
    " used, closed, closed_why, parent, parent_run, state_run FROM sessions "
#define FILTERS                                                              \
    "AND (?4 IS NULL OR principal = ?4) AND (?5 IS NULL OR workspace = ?5) " \
    "AND (?6 IS NULL OR key_id = ?6) AND (?7 IS NULL OR name = ?7) "         \
    "AND (?8 = 0 OR (closed = 0) = (?8 = 1)) AND (?9 = 0 OR used < ?9) "
#define BY(index, condition)                                                           \
    {                                                                                  \
        .list = COLUMNS "INDEXED BY " index " WHERE " condition                        \
                        " AND (created, id) < (?1, ?2) " FILTERS                       \
                        "ORDER BY created DESC, id DESC LIMIT ?3",                     \
        .count = "SELECT count(*) FROM sessions INDEXED BY " index " WHERE " condition \
                 " AND ?1 >= 0 AND ?2 = '' AND ?3 >= 0 " FILTERS,                      \
    }
    .insert = "INSERT INTO sessions (id, principal, workspace, key_id, name, options, tz, idle_s,"
              " snapshots, created, used, closed, closed_why, parent, parent_run, state_run)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
              " (SELECT nullif(state_run, '') FROM sessions WHERE id = ?14),"
              " iif(?14 IS NULL, '', (SELECT state_run FROM sessions WHERE id = ?14)))",
    .get = COLUMNS "WHERE id = ?1",
    .name_taken = "SELECT count(*) FROM sessions WHERE principal = ?1 AND name = ?2 AND closed = 0"
                  " AND id <> ?3",
    .open_of_principal = "SELECT count(*) FROM sessions WHERE principal = ?1 AND closed = 0",
    .open_of_key = "SELECT count(*) FROM sessions WHERE key_id = ?1 AND closed = 0",
    .least_used = COLUMNS "INDEXED BY sessions_open_principal WHERE principal = ?1 AND closed = 0"
                          " AND workspace IN (SELECT id FROM workspaces WHERE kind = ?2)"
                          " ORDER BY used, id LIMIT ?3",
    .update = "UPDATE sessions SET name = ?2, options = ?3, tz = ?4, idle_s = ?5, snapshots = ?6"
              " WHERE id = ?1 AND closed = 0",
    .set_options = "UPDATE sessions SET options = ?2 WHERE id = ?1 AND closed = 0",
    .used = "UPDATE sessions SET used = max(used, ?2) WHERE id = ?1",
    .close = "UPDATE sessions SET closed = ?2, closed_why = ?3 WHERE id = ?1 AND closed = 0",
    .unlock = "DELETE FROM locks WHERE session = ?1", /* they end with it */
    .subject = "SELECT principal, workspace FROM sessions WHERE id = ?1",
    .is_closed = "SELECT 1 + (closed > 0) FROM sessions WHERE id = ?1",
    .by =
        {
            [BY_NAME] = BY("sessions_name", "principal = ?4 AND name = ?7 AND closed = 0"),
            [BY_OPEN_PRINCIPAL] = BY("sessions_open_principal", "principal = ?4 AND closed = 0"),
            [BY_PRINCIPAL] = BY("sessions_principal", "principal = ?4"),
            [BY_OPEN_KEY] = BY("sessions_open_key", "key_id = ?6 AND closed = 0"),
            [BY_WORKSPACE] = BY("sessions_workspace", "workspace = ?5"),
            [BY_OPEN] = BY("sessions_open", "closed = 0"),
            [BY_ALL] = BY("sessions_created", "true"),
        },
};

static enum drive drive_of(const struct session_filter *f)
{
    bool is_open = f->open == OPEN_ONLY;
    if (f->principal && f->name && is_open)
        return BY_NAME;
    if (f->principal)
        return is_open ? BY_OPEN_PRINCIPAL : BY_PRINCIPAL;
    if (f->key && is_open)
        return BY_OPEN_KEY;
    if (f->workspace)
        return BY_WORKSPACE;
    return is_open ? BY_OPEN : BY_ALL;
}

#define FILTER_VALUES(f)                                                                         \
    SQL_TEXT((f)->principal), SQL_TEXT((f)->workspace), SQL_TEXT((f)->key), SQL_TEXT((f)->name), \
        SQL_INT((f)->open), SQL_INT((f)->used_before_us)

static int read_session(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct session_row *r = ret;
    *r = (struct session_row){
        .idle_s = (uint32_t)sql_int(rows, 7),
        .snapshots = (uint32_t)sql_int(rows, 8),
        .created_us = sql_int(rows, 9),
        .used_us = sql_int(rows, 10),
        .closed_us = sql_int(rows, 11),
    };
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->principal);
    sql_id(rows, 2, r->workspace);
    sql_id(rows, 3, r->key);
    sql_id(rows, 13, r->parent);
    sql_id(rows, 14, r->parent_run);
    sql_id(rows, 15, r->state_run);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 4)},
                                {.to = &r->options, .from = sql_text(rows, 5)},
                                {.to = &r->tz, .from = sql_text(rows, 6)},
                                {.to = &r->closed_why, .from = sql_text(rows, 12)}};
    return texts_own(texts, 4, &r->owned, e);
}

static void done_session(void *row)
{
    session_row_done(row);
}

static const struct row_kind session_kind = {
    .size = sizeof(struct session_row),
    .created_at = offsetof(struct session_row, created_us),
    .read = read_session,
    .done = done_session,
};

/* ---- writing ---- */

/* Says which of the constraints it would be. */
static int check_name(struct db_conn *c, const struct session_row *r, struct err *e)
{
    int64_t taken = 0;
    if (r->name &&
        sql_number(c, sql.name_taken,
                   SQL_WITH(SQL_TEXT(r->principal), SQL_TEXT(r->name), SQL_TEXT(r->id)), &taken, e))
        return -1;
    return taken
               ? err_set(e, ERR_CONFLICT,
                         "an open session is called '%.100s' already: use it, close it, or choose "
                         "another name",
                         r->name)
               : 0;
}

/* Counted where nobody else can insert one in between. */
static int check_count(struct db_conn *c, const char *text, const char *id, uint32_t max,
                       const char *what, struct err *e)
{
    int64_t count = 0;
    if (max == 0)
        return 0;
    if (sql_number(c, text, SQL_WITH(SQL_TEXT(id)), &count, e))
        return -1;
    return count < max ? 0
                       : err_set(e, ERR_LIMIT, "%lld sessions%s are open; close some",
                                 (long long)count, what);
}

static int insert_session(struct db_conn *c, void *arg, struct err *e)
{
    const struct session_row *r = arg;
    if (check_name(c, r, e) ||
        check_count(c, sql.open_of_principal, r->principal, r->principal_max, "", e) ||
        check_count(c, sql.open_of_key, r->key, r->key_max, " of this key", e))
        return -1;
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_TEXT(r->principal), SQL_TEXT(r->workspace),
                         SQL_ID(r->key), SQL_TEXT(r->name),
                         SQL_TEXT(r->options ? r->options : "{}"), SQL_TEXT(r->tz),
                         SQL_INT(r->idle_s), SQL_INT(r->snapshots), SQL_INT(r->created_us),
                         SQL_INT(r->used_us), SQL_INT(r->closed_us), SQL_TEXT(r->closed_why),
                         SQL_ID(r->parent)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = r->id,
                                          .principal = r->principal,
                                          .workspace = r->workspace,
                                          .session = r->id});
    return 0;
}

static void free_session(void *arg)
{
    session_row_done(arg);
    free(arg);
}

static struct str view(const char *text)
{
    return text ? str_of(text) : STR_NONE;
}

static struct session_row *copy_session(const struct session_row *row, struct err *e)
{
    struct session_row *r = malloc(sizeof *r);
    if (!r) {
        (void)err_set(e, ERR_NO_MEMORY, "keep a session");
        return NULL;
    }
    *r = *row;
    struct text_slot texts[] = {{.to = &r->name, .from = view(row->name)},
                                {.to = &r->options, .from = view(row->options)},
                                {.to = &r->tz, .from = view(row->tz)},
                                {.to = &r->closed_why, .from = view(row->closed_why)}};
    if (texts_own(texts, 4, &r->owned, e)) {
        free(r);
        return NULL;
    }
    return r;
}

int meta_session_insert(struct meta *m, const struct session_row *row, enum meta_when when,
                        struct err *e)
{
    if (when == META_NOW) {
        struct session_row r = *row;
        return db_write(m->db, insert_session, &r, e);
    }
    struct session_row *copy = copy_session(row, e);
    /* That of a one-shot, whose run is what is told of. */
    return copy ? db_note(m->db, insert_session, copy, free_session, e) : -1;
}

/* Why an update of an open session found none. */
static int not_open(struct db_conn *c, const char *id, struct err *e)
{
    int64_t found;
    if (sql_number(c, sql.is_closed, SQL_WITH(SQL_TEXT(id)), &found, e))
        return -1;
    if (found == 0)
        return err_set(e, ERR_NOT_FOUND, "there is no session %s", id);
    return err_set(e, ERR_CONFLICT, "session %s is closed", id);
}

static int update_session(struct db_conn *c, void *arg, struct err *e)
{
    const struct session_row *r = arg;
    if (check_name(c, r, e))
        return -1;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(r->id), SQL_TEXT(r->name),
                         SQL_TEXT(r->options ? r->options : "{}"), SQL_TEXT(r->tz),
                         SQL_INT(r->idle_s), SQL_INT(r->snapshots)),
                e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_open(c, r->id, e);
}

int meta_session_update(struct meta *m, const struct session_row *row, struct err *e)
{
    struct session_row r = *row;
    return db_write(m->db, update_session, &r, e);
}

struct new_options {
    const char *id, *options;
};

static int set_options(struct db_conn *c, void *arg, struct err *e)
{
    const struct new_options *o = arg;
    if (sql_run(c, sql.set_options, SQL_WITH(SQL_TEXT(o->id), SQL_TEXT(o->options)), e))
        return -1;
    return sql_changes(c) > 0 ? 0 : not_open(c, o->id, e);
}

int meta_session_set_options(struct meta *m, const char *id, const char *options, struct err *e)
{
    struct new_options o = {id, options};
    struct db_rider *before = db_rider_set(NULL);
    int failed = db_write(m->db, set_options, &o, e);
    (void)db_rider_set(before);
    return failed;
}

int meta_session_used(struct meta *m, const char *id, int64_t now_us, struct err *e)
{
    return meta_run_soon(m, sql.used, &id, 1, &now_us, 1, e);
}

struct closing {
    char id[ID_SIZE];
    char why[100];
    int64_t now_us;
};

static int find_subject(struct db_conn *c, const char *id, char principal[ID_SIZE],
                        char workspace[ID_SIZE], struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.subject, SQL_WITH(SQL_TEXT(id)), &rows, e) || sql_next(&rows, e) < 0)
        return -1;
    sql_id(&rows, 0, principal);
    sql_id(&rows, 1, workspace);
    return 0;
}

/* A one-shot's end is its run's. */
static int tell_closed(struct db_conn *c, const struct closing *k, struct err *e)
{
    char principal[ID_SIZE], workspace[ID_SIZE], detail[160];
    if (strcmp(k->why, "one-shot") == 0)
        return 0;
    if (find_subject(c, k->id, principal, workspace, e))
        return -1;
    audit_tell(c, &(struct audit_subject){.workspace = workspace, .session = k->id});
    (void)snprintf(detail, sizeof detail, "{\"why\":\"%s\"}", k->why); /* words of our own */
    return audit_own(c,
                     &(struct audit_entry){.event = "closeSession",
                                           .principal = principal,
                                           .workspace = workspace,
                                           .session = k->id,
                                           .object = k->id,
                                           .detail = detail},
                     e);
}

static int close_session(struct db_conn *c, void *arg, struct err *e)
{
    const struct closing *k = arg;
    if (sql_run(c, sql.close, SQL_WITH(SQL_TEXT(k->id), SQL_INT(k->now_us), SQL_TEXT(k->why)), e))
        return -1;
    if (sql_changes(c) == 0)
        return not_open(c, k->id, e);
    return sql_run(c, sql.unlock, SQL_WITH(SQL_TEXT(k->id)), e) ? -1 : tell_closed(c, k, e);
}

int meta_session_close(struct meta *m, const char *id, int64_t now_us, const char *why,
                       enum meta_when when, struct err *e)
{
    struct closing k = {.now_us = now_us};
    (void)snprintf(k.id, sizeof k.id, "%s", id);
    (void)snprintf(k.why, sizeof k.why, "%s", why);
    if (when == META_NOW)
        return db_write(m->db, close_session, &k, e);
    struct closing *copy = malloc(sizeof *copy);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "close a session");
    *copy = k;
    return db_post(m->db, close_session, copy, free, e);
}

/* ---- reading ---- */

int meta_session_get(struct meta *m, const char *id, struct session_row *ret, struct err *e)
{
    return row_get(m, &session_kind, sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_session_list(struct meta *m, const struct session_filter *filter, const struct page *page,
                      struct session_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e) ||
        row_list(m, &session_kind, sql.by[drive_of(filter)].list,
                 SQL_WITH(PAGE_VALUES(mark, page), FILTER_VALUES(filter)), page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_session_count(struct meta *m, const struct session_filter *filter, uint64_t *ret,
                       struct err *e)
{
    int64_t count;
    if (meta_number(m, sql.by[drive_of(filter)].count,
                    SQL_WITH(SQL_INT(0), SQL_TEXT(""), SQL_INT(0), FILTER_VALUES(filter)), &count,
                    e))
        return -1;
    *ret = (uint64_t)count;
    return 0;
}

int meta_session_list_unused(struct meta *m, const char *principal, enum workspace_kind kind,
                             uint32_t limit, struct session_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &session_kind, sql.least_used,
                 SQL_WITH(SQL_TEXT(principal), SQL_INT(kind), SQL_INT((int64_t)limit + 1)), limit,
                 &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}
