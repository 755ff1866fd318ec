/* Workspaces: finding them by what people call them, making, renaming, deleting. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "workspace/files.h"
#include "workspace/files_int.h"
#include "workspace/people_int.h"

static int not_there(const char *called, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no workspace %.64s", called);
}

/* 1: found; 0: not; -1. What fails for another reason is told as such. */
static int found_or_not(int failed, const struct err *e)
{
    return !failed ? 1 : e->code == ERR_NOT_FOUND ? 0 : -1;
}

/* 1: found. A name is one that its owner gave. */
static int find(struct files *f, const struct who *who, const char *called,
                struct workspace_row *ret, struct err *e)
{
    int found = found_or_not(meta_workspace_get(f->o.meta, called, ret, e), e);
    if (found)
        return found;
    return found_or_not(meta_workspace_find(f->o.meta, who->principal, called, ret, e), e);
}

int files_workspace(struct files *f, const struct who *who, const char *id_or_name,
                    enum right right, struct workspace_row *ret, struct err *e)
{
    bool is_default = !id_or_name || strcmp(id_or_name, "default") == 0;
    const char *called = is_default ? who->workspace : id_or_name;
    struct workspace_row row;
    int found = find(f, who, called, &row, e);
    if (found < 0)
        return -1;
    if (found == 0)
        return not_there(is_default ? "default" : called, e);
    if (rights_check(f, who, &row, right, e)) {
        workspace_row_done(&row);
        return e->code == ERR_NOT_FOUND ? not_there(called, e) : -1;
    }
    *ret = row;
    return 0;
}

int files_workspace_known(struct files *f, const char *id, struct workspace_row *ret, struct err *e)
{
    if (!meta_workspace_get(f->o.meta, id, ret, e))
        return 0;
    return e->code == ERR_NOT_FOUND ? not_there(id, e) : -1;
}

/* ---- names ---- */

static int check_name(const char *name, struct err *e)
{
    if (check_text("name", str_of(name), e))
        return -1;
    if (strchr(name, '/'))
        return err_set(e, ERR_INVALID, "name: write it without '/'");
    if (strncmp(name, "ws_", 3) == 0)
        return err_set(e, ERR_INVALID, "name: \"ws_\" in front is for ids; choose another");
    if (strcmp(name, "default") == 0)
        return err_set(e, ERR_INVALID, "name: \"default\" is what everybody has; choose another");
    return 0;
}

/* ---- making, changing, deleting ---- */

/* Two who make their last at the same moment may have one more than that. */
static int check_count(struct files *f, const char *owner, enum workspace_kind kind, struct err *e)
{
    uint64_t max = kind == WORKSPACE_PLAIN ? WORKSPACES_MAX : WORKSPACES_HIDDEN_MAX, count;
    if (meta_workspace_count(f->o.meta, owner, kind, &count, e))
        return -1;
    if (count >= max)
        return err_set(e, ERR_LIMIT, "there are %llu workspaces; delete one first",
                       (unsigned long long)max);
    return 0;
}

int files_workspace_create_kind(struct files *f, const struct who *who, const char *name,
                                enum workspace_kind kind, struct workspace_row *ret, struct err *e)
{
    struct workspace_row row = {.name = name, .created_us = clock_wall_us(), .kind = kind};
    memcpy(row.owner, who->principal, ID_SIZE);
    if (check_name(name, e) || check_count(f, row.owner, kind, e) || id_make("ws_", row.id, e) ||
        meta_workspace_insert(f->o.meta, &row, e))
        return -1;
    return meta_workspace_get(f->o.meta, row.id, ret, e);
}

int files_workspace_create(struct files *f, const struct who *who, const char *name,
                           struct workspace_row *ret, struct err *e)
{
    return files_workspace_create_kind(f, who, name, WORKSPACE_PLAIN, ret, e);
}

int files_workspace_list(struct files *f, const struct who *who, enum workspace_kind kind,
                         const struct page *page, struct workspace_rows *ret, struct err *e)
{
    return who->is_admin ? meta_workspace_list(f->o.meta, /* owner= */ NULL, kind, page, ret, e)
                         : meta_workspace_list_for(f->o.meta, who->principal, kind, page, ret, e);
}

int files_workspace_change(struct files *f, const struct who *who, const struct workspace_row *ws,
                           const struct workspace_change *change, struct err *e)
{
    if (rights_check(f, who, ws, RIGHT_ADMIN, e))
        return -1;
    if ((change->files_max != UINT64_MAX || change->bytes_max != UINT64_MAX) && !who->is_admin)
        return err_set(e, ERR_DENIED, "quota: only an admin changes it");
    if (change->name && strcmp(change->name, ws->name) != 0 && check_name(change->name, e))
        return -1;
    if (meta_workspace_update(f->o.meta, ws->id, change, e))
        return -1;
    if (change->intelligence)
        files_tell_change(f, ws->id);
    return 0;
}

int files_workspace_delete(struct files *f, const struct who *who, const struct workspace_row *ws,
                           struct err *e)
{
    if (rights_check(f, who, ws, RIGHT_OWN, e))
        return -1;
    if (meta_workspace_delete(f->o.meta, ws->id, clock_wall_us(), e))
        return -1;
    files_tell_change(f, ws->id);
    return 0;
}
