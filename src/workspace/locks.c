#include "workspace/locks.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/files.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"

enum { TOKEN_CHARS = 40 };

void lock_done(struct lock *l)
{
    lock_row_done(&l->row);
    *l = (struct lock){0};
}

/* ---- tokens ---- */

static int hash_token(struct str token, uint8_t ret[HASH_LEN], struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    return hash_init(&h, e) || hash_add(&h, token.ptr, token.len, e) || hash_end(&h, ret, e) ? -1
                                                                                             : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Without blanks, <> and the scheme that WebDAV writes before it. */
static struct str bare(struct str s)
{
    static const char scheme[] = "opaquelocktoken:";
    while (s.len > 0 && is_blank(*s.ptr))
        s = (struct str){s.ptr + 1, s.len - 1};
    while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
        s.len--;
    if (s.len >= 2 && *s.ptr == '<' && s.ptr[s.len - 1] == '>')
        s = (struct str){s.ptr + 1, s.len - 2};
    if (s.len >= sizeof scheme - 1 && memcmp(s.ptr, scheme, sizeof scheme - 1) == 0)
        s = (struct str){s.ptr + sizeof scheme - 1, s.len - (sizeof scheme - 1)};
    return s;
}

int lock_present(struct lock_pass *pass, struct str text, struct err *e)
{
    while (text.len > 0) {
        const char *comma = memchr(text.ptr, ',', text.len);
        size_t len = comma ? (size_t)(comma - text.ptr) : text.len;
        struct str token = bare((struct str){text.ptr, len});
        text = (struct str){text.ptr + len + (comma != NULL), text.len - len - (comma != NULL)};
        if (token.len == 0)
            continue;
        if (pass->count == LOCK_TOKENS_MAX)
            return err_set(e, ERR_INVALID, "Lock-Token: at most %d at once", LOCK_TOKENS_MAX);
        if (hash_token(token, pass->tokens[pass->count++], e))
            return -1;
    }
    return 0;
}

/* ---- taking one ---- */

static int check_text(const char *holder, struct err *e)
{
    size_t len = strlen(holder);
    if (len == 0 || len > LOCK_HOLDER_MAX)
        return err_set(e, ERR_INVALID, "holder: 1 to %d bytes", LOCK_HOLDER_MAX);
    for (const char *at = holder; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return err_set(e, ERR_INVALID, "holder: no control characters");
    return 0;
}

static int fill_path(const struct lock_wishes *wishes, struct lock_row *row,
                     char path[PATH_BYTES_MAX + 1], struct err *e)
{
    bool is_all = !*wishes->path || strcmp(wishes->path, "/") == 0;
    path[0] = '\0';
    if (!is_all && path_clean(wishes->path, path, e))
        return -1;
    if (is_all && !wishes->is_tree)
        return err_set(e, ERR_INVALID, "path: a whole workspace is locked as a tree");
    row->path = path;
    return 0;
}

static int fill_ttl(const struct lock_wishes *wishes, struct lock_row *row, struct err *e)
{
    row->ttl_s = wishes->ttl_s ? wishes->ttl_s : LOCK_TTL_S;
    if (row->ttl_s < LOCK_TTL_MIN_S || row->ttl_s > LOCK_TTL_MAX_S)
        return err_set(e, ERR_INVALID, "ttl_s: %d to %d seconds; renew it to hold it for longer",
                       LOCK_TTL_MIN_S, LOCK_TTL_MAX_S);
    return 0;
}

/* What the principal is called. */
static int fill_holder(struct files *f, const struct who *who, const struct lock_wishes *wishes,
                       struct lock_row *row, char name[LOCK_HOLDER_MAX + 1], struct err *e)
{
    struct principal_row p;
    if (wishes->holder) {
        row->holder = wishes->holder;
        return check_text(wishes->holder, e);
    }
    (void)snprintf(name, LOCK_HOLDER_MAX + 1, "%s", who->principal);
    if (meta_principal_get(f->o.meta, who->principal, &p, e) == 0) {
        struct err ignored = {0};
        if (p.name && check_text(p.name, &ignored) == 0)
            (void)snprintf(name, LOCK_HOLDER_MAX + 1, "%s", p.name);
        principal_row_done(&p);
    } else if (e->code != ERR_NOT_FOUND) {
        return -1;
    }
    row->holder = name;
    return 0;
}

/* A session of somebody else's does not exist; whether it is open is asked when it counts. */
static int fill_session(struct files *f, const struct who *who, const char *session,
                        struct lock_row *row, struct err *e)
{
    struct session_row s;
    if (!session)
        return 0;
    bool is_theirs = false;
    if (strlen(session) < ID_SIZE && meta_session_get(f->o.meta, session, &s, e) == 0) {
        is_theirs = who_owns(who, s.principal);
        memcpy(row->session, s.id, ID_SIZE);
        session_row_done(&s);
    }
    return is_theirs ? 0 : err_set(e, ERR_NOT_FOUND, "there is no session %.64s", session);
}

static int fill_secret(struct lock *l, struct err *e)
{
    if (id_make("lock_", l->row.id, e) || id_make_long("clk_", TOKEN_CHARS, l->token, e))
        return -1;
    return hash_token(str_of(l->token), l->row.sha256, e);
}

int lock_take(struct files *f, const struct who *who, const struct workspace_row *ws,
              const struct lock_wishes *wishes, struct lock *ret, struct lock_block *ret_block,
              struct err *e)
{
    struct lock l = {.row = {.is_tree = wishes->is_tree, .is_shared = wishes->is_shared}};
    char path[PATH_BYTES_MAX + 1], name[LOCK_HOLDER_MAX + 1];
    memcpy(l.row.workspace, ws->id, ID_SIZE);
    memcpy(l.row.principal, who->principal, ID_SIZE);
    if (fill_path(wishes, &l.row, path, e) || fill_ttl(wishes, &l.row, e) ||
        fill_holder(f, who, wishes, &l.row, name, e) ||
        fill_session(f, who, wishes->session, &l.row, e) || fill_secret(&l, e) ||
        lock_await(f, &l.row, wishes->deadline_us, wishes->patience, ret_block, e))
        return -1;
    struct lock taken = {0};
    if (lock_get(f, ws, l.row.id, &taken, e))
        return -1;
    memcpy(taken.token, l.token, sizeof taken.token);
    *ret = taken;
    return 0;
}

/* ---- what is done with one ---- */

int lock_get(struct files *f, const struct workspace_row *ws, const char *id, struct lock *ret,
             struct err *e)
{
    *ret = (struct lock){0};
    return meta_lock_get(f->o.meta, ws->id, id, clock_wall_us(), &ret->row, e);
}

int lock_list(struct files *f, const struct workspace_row *ws, const char *path,
              const struct page *page, struct lock_rows *ret, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1] = "";
    bool is_all = path && (!*path || strcmp(path, "/") == 0);
    if (path && !is_all && path_clean(path, clean, e))
        return -1;
    return meta_lock_list(f->o.meta, ws->id, path ? clean : NULL, clock_wall_us(), page, ret, e);
}

int lock_renew(struct files *f, const struct workspace_row *ws, const char *id,
               const struct lock_pass *pass, uint32_t ttl_s, struct lock *ret, struct err *e)
{
    struct lock_row row;
    if (fill_ttl(&(struct lock_wishes){.ttl_s = ttl_s}, &row, e) ||
        meta_lock_renew(f->o.meta, ws->id, id, pass, ttl_s, clock_wall_us(), e))
        return -1;
    return lock_get(f, ws, id, ret, e);
}

static int end_lock(struct files *f, const struct workspace_row *ws, const char *id,
                    const struct lock_pass *pass, struct err *e)
{
    if (meta_lock_remove(f->o.meta, ws->id, id, pass, clock_wall_us(), e))
        return -1;
    locks_wake(f);
    return 0;
}

int lock_release(struct files *f, const struct workspace_row *ws, const char *id,
                 const struct lock_pass *pass, struct err *e)
{
    return end_lock(f, ws, id, pass, e);
}

int lock_break(struct files *f, const struct workspace_row *ws, const char *id, struct err *e)
{
    return end_lock(f, ws, id, /* pass= */ NULL, e);
}

int lock_check(struct files *f, const struct workspace_row *ws, const char *path,
               const struct author *author, struct err *e)
{
    return meta_lock_check(f->o.meta, ws->id, path, author, clock_wall_us(), e);
}
