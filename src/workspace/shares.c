/* Making links, changing and revoking them. */
#include "workspace/shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/files_int.h"
#include "workspace/passwords.h"
#include "workspace/paths.h"
#include "workspace/people_int.h"

const char *const share_right_names[] = {"view", "download", "upload", NULL};

/* ---- what is to be shared ---- */

static int find_below(struct files *f, const struct workspace_row *ws, const char *path, bool *ret,
                      struct err *e)
{
    char prefix[PATH_BYTES_MAX + 2];
    struct file_rows rows;
    scoped(freep) char *next = NULL;
    (void)snprintf(prefix, sizeof prefix, "%s/", path);
    const struct file_query query = {.prefix = prefix, .is_flat = true, .limit = 1};
    if (meta_file_list(f->o.meta, ws->id, &query, &rows, &next, e))
        return -1;
    *ret = rows.count > 0;
    file_rows_done(&rows);
    return 0;
}

/* A file or a folder that is there now. */
static int find_newest(struct files *f, const struct workspace_row *ws, struct share_row *r,
                       struct err *e)
{
    struct err why = {0};
    struct file_row row;
    if (!*r->path) {
        r->is_folder = true;
        return 0;
    }
    if (!meta_file_get(f->o.meta, ws->id, r->path, &row, &why)) {
        r->is_folder = row.kind == FILE_DIR;
        file_row_done(&row);
        return 0;
    }
    if (why.code == ERR_NOT_FOUND && find_below(f, ws, r->path, &r->is_folder, e))
        return -1;
    if (r->is_folder)
        return 0;
    if (why.code == ERR_NOT_FOUND)
        return err_set(e, ERR_NOT_FOUND, "there is no file or folder %.100s", r->path);
    *e = why;
    return -1;
}

static int find_version(struct files *f, const struct workspace_row *ws, struct share_row *r,
                        struct err *e)
{
    struct version_row row;
    if (!*r->path)
        return err_set(e, ERR_INVALID, "version: a folder has none");
    if (files_stat(f, ws, r->path, r->version, &row, e))
        return -1;
    bool is_deleted = row.change == CHANGE_DELETED;
    memcpy(r->file, row.file, sizeof r->file);
    version_row_done(&row);
    return is_deleted ? err_set(e, ERR_NOT_FOUND, "that version is a deletion: choose another") : 0;
}

static int check_rights(struct share_row *r, struct err *e)
{
    if (r->rights & SHARE_DOWNLOAD)
        r->rights |= SHARE_VIEW;
    if (!r->rights)
        return err_set(e, ERR_INVALID, "rights: at least one of view, download, upload");
    if (r->rights & SHARE_UPLOAD && !r->is_folder)
        return err_set(e, ERR_INVALID, "rights: upload is for folders");
    if (r->max_downloads && !(r->rights & SHARE_DOWNLOAD))
        return err_set(e, ERR_INVALID, "max_downloads: the rights do not have download");
    return 0;
}

/* ---- making ---- */

/* Whether the right to make it is only that of a server's admin, who has no role to lose. */
static int look_at_maker(struct files *f, const struct who *who, const struct workspace_row *ws,
                         struct share_row *r, struct err *e)
{
    struct who plain = *who;
    enum role role;
    plain.is_admin = false;
    if (rights_role(f, &plain, ws, &role, e))
        return -1;
    r->is_by_server = role < ROLE_EDITOR;
    memcpy(r->made_by, who->principal, sizeof r->made_by);
    return 0;
}

static int make(struct files *f, struct share_row *r, char token[ID_SIZE], struct err *e)
{
    char fresh[ID_SIZE];
    if (id_make("shr_", r->id, e) || id_make_long("", SHARE_RANDOM_LEN, fresh, e) ||
        secret_hash(str_of(fresh), r->sha256, e) || meta_share_insert(f->o.meta, r, SHARES_MAX, e))
        return -1;
    memcpy(token, fresh, sizeof fresh);
    return 0;
}

static int clean(const struct share_wishes *w, char path[PATH_BYTES_MAX + 1], struct err *e)
{
    bool is_top = !*w->path || strcmp(w->path, "/") == 0 || strcmp(w->path, "/mnt/data") == 0 ||
                  strcmp(w->path, "/mnt/data/") == 0;
    *path = '\0';
    return is_top ? 0 : path_clean(w->path, path, e);
}

int shares_create(struct files *f, struct passwords *p, const struct who *who,
                  const struct workspace_row *ws, const struct share_wishes *w, int64_t now_us,
                  struct share_row *ret, char ret_token[ID_SIZE], struct err *e)
{
    char path[PATH_BYTES_MAX + 1], hash[PASSWORD_HASH_SIZE];
    struct share_row r = {.path = path,
                          .version = w->version,
                          .rights = w->rights,
                          .note = w->note ? w->note : "",
                          .max_downloads = w->max_downloads,
                          .created_us = now_us,
                          .expires_us = w->expires_s ? now_us + w->expires_s * 1000000 : 0};
    memcpy(r.workspace, ws->id, sizeof r.workspace);
    if (clean(w, path, e) || (w->version ? find_version : find_newest)(f, ws, &r, e) ||
        check_rights(&r, e) || look_at_maker(f, who, ws, &r, e))
        return -1;
    if (w->password.len) {
        if (passwords_hash(p, w->password, hash, e))
            return -1;
        r.password = hash;
    }
    if (make(f, &r, ret_token, e))
        return -1;
    return meta_share_get(f->o.meta, ws->id, r.id, ret, e);
}

/* ---- changing ---- */

static int check_maker(struct files *f, const struct who *who, const struct workspace_row *ws,
                       const char *id, struct err *e)
{
    struct share_row row;
    if (meta_share_get(f->o.meta, ws->id, id, &row, e))
        return -1;
    bool is_own = strcmp(row.made_by, who->principal) == 0;
    share_row_done(&row);
    return is_own ? 0 : rights_check(f, who, ws, RIGHT_ADMIN, e);
}

int shares_change(struct files *f, struct passwords *p, const struct who *who,
                  const struct workspace_row *ws, const char *id, const struct share_wish *wish,
                  int64_t now_us, struct err *e)
{
    char hash[PASSWORD_HASH_SIZE] = "";
    if (check_maker(f, who, ws, id, e) ||
        (wish->password.len && passwords_hash(p, wish->password, hash, e)))
        return -1;
    const struct share_change change = {
        .note = wish->note,
        .password = wish->has_password ? hash : NULL,
        .expires_us = wish->expires_s > 0 ? now_us + wish->expires_s * 1000000 : wish->expires_s,
        .max_downloads = wish->max_downloads,
    };
    return meta_share_update(f->o.meta, ws->id, id, &change, e);
}

int shares_revoke(struct files *f, const struct who *who, const struct workspace_row *ws,
                  const char *id, int64_t now_us, struct err *e)
{
    if (check_maker(f, who, ws, id, e))
        return -1;
    return meta_share_revoke(f->o.meta, ws->id, id, now_us, e);
}

/* ---- forgetting ---- */

int shares_tidy(struct files *f, int64_t now_us, struct err *e)
{
    enum { STEP = 500, STEPS_MAX = 20 };
    uint64_t count = STEP;
    for (size_t i = 0; i < STEPS_MAX && count == STEP; i++)
        if (meta_share_prune(f->o.meta, now_us - SHARE_KEPT_DAYS * DAY_US, STEP, &count, e))
            return err_wrap(e, "forget shares");
    return 0;
}
