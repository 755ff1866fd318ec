/* The names by which people sign in. */
#include <stdlib.h>

#include "base/err.h"
#include "store/meta_int.h"
#include "store/meta_tickets.h"

static const struct {
    const char *insert, *taken, *find, *of, *set;
} sql = {
    .insert = "INSERT INTO logins (principal, name, password, created, changed)"
              " VALUES (?1, ?2, ?3, ?4, ?4)",
    .taken = "SELECT count(*) FROM logins WHERE name = ?1",
    .find = "SELECT principal, name, password FROM logins WHERE name = ?1",
    .of = "SELECT principal, name, password FROM logins WHERE principal = ?1",
    .set = "UPDATE logins SET password = ?2, changed = ?3 WHERE principal = ?1",
};

void login_row_done(struct login_row *r)
{
    free(r->owned);
    *r = (struct login_row){0};
}

static int read_login(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct login_row *r = ret;
    *r = (struct login_row){0};
    sql_id(rows, 0, r->principal);
    struct text_slot texts[] = {{.to = &r->name, .from = sql_text(rows, 1)},
                                {.to = &r->password, .from = sql_text(rows, 2)}};
    return texts_own(texts, 2, &r->owned, e);
}

static void done_login(void *row)
{
    login_row_done(row);
}

static const struct row_kind login_kind = {
    .size = sizeof(struct login_row), .read = read_login, .done = done_login};

int login_insert(struct db_conn *c, const struct login_row *row, int64_t now_us, struct err *e)
{
    int64_t taken = 0;
    if (sql_number(c, sql.taken, SQL_WITH(SQL_TEXT(row->name)), &taken, e))
        return -1;
    if (taken)
        return err_set(e, ERR_CONFLICT, "login: '%.64s' is taken; choose another", row->name);
    return sql_run(c, sql.insert,
                   SQL_WITH(SQL_TEXT(row->principal), SQL_TEXT(row->name), SQL_TEXT(row->password),
                            SQL_INT(now_us)),
                   e);
}

int meta_login_find(struct meta *m, const char *name, struct login_row *ret, struct err *e)
{
    return row_get(m, &login_kind, sql.find, SQL_WITH(SQL_TEXT(name)), ret, e);
}

int meta_login_of(struct meta *m, const char *principal, struct login_row *ret, struct err *e)
{
    return row_get(m, &login_kind, sql.of, SQL_WITH(SQL_TEXT(principal)), ret, e);
}

struct set_job {
    const char *principal, *password;
    int64_t now_us;
};

static int set(struct db_conn *c, void *arg, struct err *e)
{
    const struct set_job *j = arg;
    if (sql_run(c, sql.set,
                SQL_WITH(SQL_TEXT(j->principal), SQL_TEXT(j->password), SQL_INT(j->now_us)), e))
        return -1;
    return sql_changes(c) ? 0 : err_set(e, ERR_NOT_FOUND, "there is no sign-in of yours");
}

int meta_login_set_password(struct meta *m, const char *principal, const char *password,
                            int64_t now_us, struct err *e)
{
    struct set_job j = {principal, password, now_us};
    return db_write(m->db, set, &j, e);
}
