#include "workspace/people.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "store/meta.h"
#include "workspace/acts.h"
#include "workspace/people_int.h"

enum { ADMIN_SECRET_MIN = 16, ADMIN_SECRET_MAX = 256 };

int check_text(const char *what, struct str text, struct err *e)
{
    bool is_fine =
        text.len >= 1 && text.len <= PEOPLE_NAME_MAX && utf8_is_valid(text.ptr, text.len);
    for (size_t i = 0; i < text.len && is_fine; i++)
        is_fine = (unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 127;
    if (!is_fine)
        return err_set(e, ERR_INVALID, "%s: 1 to %d bytes of text without control characters", what,
                       PEOPLE_NAME_MAX);
    return 0;
}

int principal_make(struct people *p, struct principal_row *row, uint64_t max, struct err *e)
{
    struct workspace_row workspace = {.name = "default", .created_us = row->created_us};
    if ((!*row->id && id_make("prn_", row->id, e)) || id_make("ws_", row->workspace, e))
        return -1;
    memcpy(workspace.id, row->workspace, ID_SIZE);
    memcpy(workspace.owner, row->id, ID_SIZE);
    return meta_principal_insert(p->meta, row, &workspace, max, e);
}

/* ---- opening ---- */

/* The id is remembered before the row is made, so that a crash in between makes no second one. */
static int open_admin(struct people *p, int64_t now_us, struct err *e)
{
    struct principal_row row = {.kind = PRINCIPAL_HUMAN, .name = "admin", .created_us = now_us};
    char id[ID_SIZE];
    if (meta_setting_get(p->meta, "admin_principal", id, e)) {
        if (e->code != ERR_NOT_FOUND || id_make("prn_", id, e) ||
            meta_setting_set(p->meta, "admin_principal", id, e))
            return -1;
    }
    struct principal_row found;
    int failed = meta_principal_get(p->meta, id, &found, e);
    if (failed && e->code == ERR_NOT_FOUND) {
        memcpy(row.id, id, ID_SIZE);
        failed = principal_make(p, &row, PEOPLE_PRINCIPALS_MAX, e) ||
                 meta_principal_get(p->meta, id, &found, e);
    }
    if (failed)
        return err_wrap(e, "the admin principal");
    p->local = (struct who){.scopes = SCOPE_ALL, .is_admin = true};
    memcpy(p->local.principal, found.id, ID_SIZE);
    memcpy(p->local.workspace, found.workspace, ID_SIZE);
    principal_row_done(&found);
    return 0;
}

/* Whether a stored key belongs into the table. `fixed` is the hash of the configured secret. */
static bool is_usable(const struct key_row *row, const uint8_t *fixed, int64_t now_us)
{
    if (row->revoked_us != 0 || (row->expires_us != 0 && row->expires_us <= now_us))
        return false;
    return !(row->scopes & KEY_IS_FIXED) || (fixed && memcmp(row->sha256, fixed, HASH_LEN) == 0);
}

static int load_key(struct people *p, const struct key_row *row, int64_t now_us, struct err *e)
{
    struct principal_row owner;
    if (meta_principal_get(p->meta, row->principal, &owner, e))
        return err_wrap(e, "the owner of key %s", row->id);
    int failed = known_reserve(p, now_us, e);
    if (!failed && known_add(p, row, owner.workspace, e)) {
        known_unreserve(p);
        failed = -1;
    }
    principal_row_done(&owner);
    return failed;
}

static int load_page(struct people *p, const struct key_rows *rows, const uint8_t *fixed,
                     int64_t now_us, struct err *e)
{
    for (size_t i = 0; i < rows->count; i++)
        if (is_usable(&rows->items[i], fixed, now_us) && load_key(p, &rows->items[i], now_us, e))
            return -1;
    return 0;
}

static int load_keys(struct people *p, const uint8_t *fixed, int64_t now_us, struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    do {
        const struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        struct key_rows rows;
        if (meta_key_list(p->meta, /* principal= */ NULL, &page, &rows, e))
            return -1;
        int failed = load_page(p, &rows, fixed, now_us, e);
        memcpy(cursor, rows.next, sizeof cursor);
        key_rows_done(&rows);
        if (failed)
            return -1;
    } while (*cursor);
    return 0;
}

static int make_admin_key(struct people *p, struct str secret, const char *name, uint32_t flags,
                          int64_t now_us, struct err *e)
{
    struct key_row row = {.name = name, .scopes = SCOPE_ALL | flags, .created_us = now_us};
    memcpy(row.principal, p->local.principal, ID_SIZE);
    if (secret_hash(secret, row.sha256, e) || id_make("key_", row.id, e) ||
        meta_key_insert(p->meta, &row, e))
        return -1;
    return load_key(p, &row, now_us, e);
}

/* The configured secret: known from an earlier start, or new. */
static int fix_admin_key(struct people *p, const char *secret, int64_t now_us, struct err *e)
{
    struct who who;
    struct err unknown = {0};
    if (people_who(p, str_of(secret), now_us, &who, &unknown) == 0) {
        if (who.is_admin)
            return 0;
        return err_set(e, ERR_CONFLICT,
                       "the configured admin key is the key %s, which is no "
                       "admin's; choose another secret",
                       who.key);
    }
    if (make_admin_key(p, str_of(secret), "configured", KEY_IS_FIXED, now_us, e)) {
        if (e->code == ERR_CONFLICT)
            (void)err_set(e, ERR_CONFLICT,
                          "the configured admin key is one that expired or was "
                          "revoked; choose another secret");
        return -1;
    }
    return 0;
}

static bool has_admin_key(struct people *p, int64_t now_us)
{
    bool has = false;
    pthread_rwlock_rdlock(&p->lock);
    for (size_t i = 0; i < KEY_BUCKETS && !has; i++)
        for (const struct known_key *k = p->buckets[i]; k; k = k->next)
            has |= k->who.is_admin && (k->expires_us == 0 || k->expires_us > now_us);
    pthread_rwlock_unlock(&p->lock);
    return has;
}

static int open_keys(struct people *p, const struct people_options *o, struct err *e)
{
    uint8_t fixed[HASH_LEN];
    size_t len = o->admin_secret ? strlen(o->admin_secret) : 0;
    if (o->admin_secret && (len < ADMIN_SECRET_MIN || len > ADMIN_SECRET_MAX))
        return err_set(e, ERR_INVALID, "the configured admin key has to be %d to %d bytes long",
                       ADMIN_SECRET_MIN, ADMIN_SECRET_MAX);
    if (o->admin_secret && secret_hash(str_of(o->admin_secret), fixed, e))
        return -1;
    if (load_keys(p, o->admin_secret ? fixed : NULL, o->now_us, e))
        return -1;
    if (o->admin_secret)
        return fix_admin_key(p, o->admin_secret, o->now_us, e);
    if (has_admin_key(p, o->now_us))
        return 0;
    char secret[ID_SIZE];
    if (id_make_long("cik_", SECRET_RANDOM_LEN, secret, e) ||
        make_admin_key(p, str_of(secret), "admin", /* flags= */ 0, o->now_us, e))
        return -1;
    memcpy(p->new_secret, secret, ID_SIZE);
    return 0;
}

int people_open(const struct people_options *options, struct people **ret, struct err *e)
{
    struct people *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "open the keys");
    p->meta = options->meta;
    pthread_rwlock_init(&p->lock, NULL);
    if (open_admin(p, options->now_us, e) || disabled_load(p, e) || open_keys(p, options, e)) {
        people_close(p);
        return -1;
    }
    *ret = p;
    return 0;
}

void people_close(struct people *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < KEY_BUCKETS; i++)
        for (struct known_key *k = p->buckets[i], *next; k; k = next) {
            next = k->next;
            free(k);
        }
    disabled_done(p);
    pthread_rwlock_destroy(&p->lock);
    explicit_bzero(p->new_secret, sizeof p->new_secret);
    free(p);
}

const char *people_new_secret(const struct people *p)
{
    return *p->new_secret ? p->new_secret : NULL;
}

void people_local(struct people *p, struct who *ret)
{
    *ret = p->local;
}

/* ---- on behalf of ---- */

static int make_child(struct people *p, const struct who *who, const char *external,
                      const char *name, int64_t now_us, struct principal_row *ret, struct err *e)
{
    struct principal_row row = {
        .kind = PRINCIPAL_HUMAN, .name = name, .external = external, .created_us = now_us};
    memcpy(row.parent, who->principal, ID_SIZE);
    const struct audit_entry entry = {
        .event = "createPrincipal", .principal = who->principal, .key = who->key, .via = "server"};
    struct act act; /* of its own: what is asked for on their behalf is another */
    if (act_begin(&act, p->meta, &entry, e))
        return -1;
    int failed = principal_make(p, &row, PEOPLE_CHILDREN_MAX, e) && e->code != ERR_CONFLICT;
    act_end_server(&act); /* told if it was made */
    if (failed)
        return -1;
    /* Either ours, or somebody else was faster. */
    return meta_principal_find_external(p->meta, who->principal, external, ret, e);
}

int principal_child(struct people *p, const struct who *maker, const char *external,
                    const char *name, int64_t now_us, struct principal_row *ret, struct err *e)
{
    if (meta_principal_find_external(p->meta, maker->principal, external, ret, e) == 0)
        return 0;
    return e->code == ERR_NOT_FOUND ? make_child(p, maker, external, name, now_us, ret, e) : -1;
}

int people_behalf(struct people *p, const struct who *who, struct str name, int64_t now_us,
                  struct who *ret, struct err *e)
{
    if (*who->parent)
        return err_set(e, ERR_INVALID, "on_behalf_of: already acting for somebody");
    if (check_text("on_behalf_of", name, e))
        return -1;
    char text[PEOPLE_NAME_MAX + 1];
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    struct principal_row row;
    if (principal_child(p, who, text, text, now_us, &row, e))
        return err_wrap(e, "on_behalf_of");
    if (row.disabled_us) {
        principal_row_done(&row);
        return err_set(e, ERR_DENIED,
                       "on_behalf_of: they were disabled by an admin of this server");
    }
    struct who child = *who;
    child.scopes &= ~(uint32_t)SCOPE_ADMIN;
    child.is_admin = false;
    memcpy(child.parent, who->principal, ID_SIZE);
    memcpy(child.principal, row.id, ID_SIZE);
    memcpy(child.workspace, row.workspace, ID_SIZE);
    principal_row_done(&row);
    *ret = child;
    return 0;
}
