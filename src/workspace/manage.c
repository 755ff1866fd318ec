/* What the API offers about keys and principals: see people.h for who may do what. */
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/meta.h"
#include "workspace/people.h"
#include "workspace/people_int.h"

enum { CENTURY_S = 100 * 366 * 86400LL };

/* ---- keys ---- */

static int check_scopes(const struct who *who, uint32_t scopes, struct err *e)
{
    if (scopes & ~(uint32_t)SCOPE_ALL)
        return err_set(e, ERR_INVALID, "scopes: there are only those in the list");
    uint32_t beyond = scopes & ~who->scopes;
    if (!beyond)
        return 0;
    scoped(buf_done) struct buf names = BUF_INIT(200);
    scopes_print(beyond, &names);
    return err_set(e, ERR_DENIED, "scopes: your own key lacks %s", names.bytes);
}

/* A limit of the new key: the maker's when none is wished, never a larger one. */
static int narrow(const char *what, uint32_t has, uint32_t *wish, struct err *e)
{
    if (has == 0)
        return 0;
    if (*wish == 0)
        *wish = has;
    if (*wish > has)
        return err_set(e, ERR_DENIED, "limits.%s: your own key has at most %u", what, has);
    return 0;
}

static int narrow_limits(const struct key_limits *has, struct key_limits *wish, struct err *e)
{
    return narrow("sessions", has->sessions, &wish->sessions, e) ||
                   narrow("runs_per_minute", has->runs_per_minute, &wish->runs_per_minute, e) ||
                   narrow("cpu_s_per_day", has->cpu_s_per_day, &wish->cpu_s_per_day, e) ||
                   narrow("memory_mb", has->memory_mb, &wish->memory_mb, e) ||
                   narrow("runs_per_month", has->runs_per_month, &wish->runs_per_month, e) ||
                   narrow("cpu_s_per_month", has->cpu_s_per_month, &wish->cpu_s_per_month, e)
               ? -1
               : 0;
}

static int choose_expiry(const struct who *who, int64_t in_s, int64_t now_us, int64_t *ret,
                         struct err *e)
{
    if (in_s < 0 || in_s > CENTURY_S)
        return err_set(e, ERR_INVALID, "expires_in_s: 1 to %lld, or 0 for never",
                       (long long)CENTURY_S);
    int64_t expires_us = in_s ? now_us + in_s * 1000000 : 0;
    if (who->key_expires_us == 0) {
        *ret = expires_us;
        return 0;
    }
    if (expires_us == 0)
        expires_us = who->key_expires_us;
    if (expires_us > who->key_expires_us)
        return err_set(e, ERR_DENIED, "expires_in_s: your own key expires before that");
    *ret = expires_us;
    return 0;
}

static int plan_key(const struct who *who, const struct key_wishes *wishes, int64_t now_us,
                    struct key_row *row, struct err *e)
{
    *row = (struct key_row){
        .name = wishes->name ? wishes->name : "",
        .scopes = wishes->scopes ? wishes->scopes : who->scopes & ~(uint32_t)SCOPE_ADMIN,
        .limits = wishes->limits,
        .created_us = now_us,
    };
    if (who_may(who, SCOPE_ADMIN, e) || check_scopes(who, row->scopes, e) ||
        narrow_limits(&who->limits, &row->limits, e) ||
        choose_expiry(who, wishes->expires_in_s, now_us, &row->expires_us, e))
        return -1;
    return *row->name ? check_text("name", str_of(row->name), e) : 0;
}

/* With a place in the table reserved. */
static int make_key(struct people *p, struct key_row *row, const char *principal, char *secret,
                    struct key_row *ret, struct err *e)
{
    struct principal_row owner;
    if (meta_principal_get(p->meta, principal, &owner, e))
        return e->code == ERR_NOT_FOUND
                   ? err_set(e, ERR_NOT_FOUND, "there is no principal %.64s", principal)
                   : -1;
    memcpy(row->principal, owner.id, ID_SIZE);
    int failed = id_make("key_", row->id, e) ||
                 id_make_long("cik_", SECRET_RANDOM_LEN, secret, e) ||
                 secret_hash(str_of(secret), row->sha256, e) || meta_key_insert(p->meta, row, e) ||
                 meta_key_get(p->meta, row->id, ret, e);
    if (!failed && known_add(p, row, owner.workspace, e)) {
        key_row_done(ret);
        failed = -1; /* stored, and works after the next start; nobody knows its secret */
    }
    principal_row_done(&owner);
    return failed ? -1 : 0;
}

int people_key_issue(struct people *p, const char *principal, struct key_row *row,
                     struct key_row *ret, char ret_secret[SECRET_SIZE], struct err *e)
{
    char secret[ID_SIZE];
    if (known_reserve(p, row->created_us, e))
        return -1;
    if (make_key(p, row, principal, secret, ret, e)) {
        known_unreserve(p);
        return -1;
    }
    memcpy(ret_secret, secret, SECRET_SIZE);
    explicit_bzero(secret, sizeof secret);
    return 0;
}

int people_key_create(struct people *p, const struct who *who, const struct key_wishes *wishes,
                      int64_t now_us, struct key_row *ret, char ret_secret[SECRET_SIZE],
                      struct err *e)
{
    struct key_row row;
    if (plan_key(who, wishes, now_us, &row, e))
        return -1;
    return people_key_issue(p, wishes->principal ? wishes->principal : who->principal, &row, ret,
                            ret_secret, e);
}

int people_keys_end(struct people *p, const char *principal, const char *name, uint32_t keep,
                    int64_t now_us, struct err *e)
{
    const struct page page = {.limit = PAGE_MAX}; /* newest first; those that work are among them */
    struct key_rows rows;
    uint32_t count = 0;
    int failed = 0;
    if (meta_key_list(p->meta, principal, &page, &rows, e))
        return -1;
    for (size_t i = 0; i < rows.count && !failed; i++) {
        const struct key_row *k = &rows.items[i];
        bool is_one = strcmp(k->name, name) == 0 && k->revoked_us == 0 &&
                      (k->expires_us == 0 || k->expires_us > now_us);
        if (!is_one || ++count <= keep)
            continue;
        failed = meta_key_revoke(p->meta, k->id, now_us, e);
        if (!failed)
            known_remove(p, k->id);
    }
    key_rows_done(&rows);
    return failed;
}

int people_key_list(struct people *p, const struct who *who, const char *principal,
                    const struct page *page, struct key_rows *ret, struct err *e)
{
    if (!who->is_admin && principal && strcmp(principal, who->principal) != 0)
        return err_set(e, ERR_NOT_FOUND, "there is no principal %.64s", principal);
    if (!who->is_admin)
        principal = who->principal;
    if (meta_key_list(p->meta, principal, page, ret, e))
        return -1;
    for (size_t i = 0; i < ret->count; i++)
        ret->items[i].scopes &= SCOPE_ALL;
    return 0;
}

int people_key_get(struct people *p, const struct who *who, const char *id, struct key_row *ret,
                   struct err *e)
{
    struct key_row row;
    int failed = meta_key_get(p->meta, id, &row, e);
    if (failed && e->code != ERR_NOT_FOUND)
        return -1;
    if (!failed && !who_owns(who, row.principal)) {
        key_row_done(&row);
        failed = -1;
    }
    if (failed)
        return err_set(e, ERR_NOT_FOUND, "there is no key %.64s", id);
    row.scopes &= SCOPE_ALL;
    *ret = row;
    return 0;
}

int people_key_revoke(struct people *p, const struct who *who, const char *id, int64_t now_us,
                      struct err *e)
{
    struct key_row row;
    if (people_key_get(p, who, id, &row, e))
        return -1;
    key_row_done(&row);
    if (known_is_fixed(p, id))
        return err_set(e, ERR_CONFLICT, "the configuration fixes this key: change it there");
    if (meta_key_revoke(p->meta, id, now_us, e))
        return -1;
    known_remove(p, id);
    return 0;
}

/* ---- principals ---- */

int people_principal_create(struct people *p, const struct who *who, enum principal_kind kind,
                            const char *name, int64_t now_us, struct principal_row *ret,
                            struct err *e)
{
    struct principal_row row = {.kind = kind, .name = name, .created_us = now_us};
    if (who_may(who, SCOPE_ADMIN, e) || check_text("name", str_of(name), e) ||
        principal_make(p, &row, PEOPLE_PRINCIPALS_MAX, e))
        return -1;
    return meta_principal_get(p->meta, row.id, ret, e);
}

int people_principal_get(struct people *p, const struct who *who, const char *id,
                         struct principal_row *ret, struct err *e)
{
    struct principal_row row;
    int failed = meta_principal_get(p->meta, id, &row, e);
    if (failed && e->code != ERR_NOT_FOUND)
        return -1;
    if (!failed && !who_owns(who, row.id) && strcmp(row.parent, who->principal) != 0) {
        principal_row_done(&row);
        failed = -1;
    }
    if (failed)
        return err_set(e, ERR_NOT_FOUND, "there is no principal %.64s", id);
    *ret = row;
    return 0;
}

int people_principal_list(struct people *p, const struct who *who, const struct page *page,
                          struct principal_rows *ret, struct err *e)
{
    const struct principal_filter filter = {.parent = who->is_admin ? NULL : who->principal};
    return meta_principal_list(p->meta, &filter, page, ret, e);
}
