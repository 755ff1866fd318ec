/* native_workspaces.c -- /api/v1/workspaces. */
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/file_object.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

static const char *const kinds[] = {"plain", "container", "files", NULL}; /* enum workspace_kind */

struct create_args {
    const char *name;
    int kind;
};

static const struct json_field create_fields[] = {
    {JF_TEXT(struct create_args, name), .required = true, .min = 1, .max = PEOPLE_NAME_MAX,
     .doc = "unique among yours; can be used instead of the id"},
    {JF_CHOICE(struct create_args, kind, kinds),
     .doc = "what it is for; all but plain ones are left out of lists"},
    {0},
};

struct page_args {
    const char *cursor;
    int64_t limit;
    int kind;
};

static const struct json_field page_fields[] = {
    {JF_TEXT(struct page_args, cursor), .max = 128, .doc = "next_cursor of the page before"},
    {JF_INT(struct page_args, limit), .min = 1, .max = PAGE_MAX, .preset = 100},
    {JF_CHOICE(struct page_args, kind, kinds),
     .doc = "which ones: those of containers and of files are hidden otherwise"},
    {0},
};

struct quota_args {
    int64_t bytes, files;
};

static const struct json_field quota_fields[] = {
    {JF_INT(struct quota_args, bytes), .min = 0, .max = INT64_MAX, .preset = -1, .is_open = true,
     .doc = "of all versions that are kept; 0: the server's default"},
    {JF_INT(struct quota_args, files), .min = 0, .max = INT64_MAX, .preset = -1, .is_open = true,
     .doc = "0: the server's default"},
    {0},
};

struct change_args {
    const char *name;
    bool intelligence, has_intelligence;
    struct quota_args quota;
};

static const struct json_field change_fields[] = {
    {JF_TEXT(struct change_args, name), .min = 1, .max = PEOPLE_NAME_MAX},
    {JF_BOOL(struct change_args, intelligence), .is_open = true,
     .has_at = JF_HAS(struct change_args, has_intelligence),
     .doc = "whether its files are also found by what they mean"},
    {JF_OBJECT(struct change_args, quota, quota_fields), .doc = "only for admins"},
    {0},
};

/* ---- what they do ---- */

/* Whether it is its owner's default one. Of one's own that is known. */
static int is_default(struct call *c, const struct workspace_row *ws, bool *ret, struct err *e)
{
    struct principal_row owner;
    if (strcmp(ws->owner, c->who.principal) == 0) {
        *ret = strcmp(ws->id, c->who.workspace) == 0;
        return 0;
    }
    if (meta_principal_get(files_meta(c->api->o.files), ws->owner, &owner, e))
        return -1;
    *ret = strcmp(ws->id, owner.workspace) == 0;
    principal_row_done(&owner);
    return 0;
}

static int put_workspace(struct call *c, struct json_writer *w, const struct workspace_row *ws,
                         struct err *e)
{
    bool is_first;
    enum role role;
    if (is_default(c, ws, &is_first, e) || rights_role(c->api->o.files, &c->who, ws, &role, e))
        return -1;
    object_workspace(w, ws, role == ROLE_NONE ? NULL : role_names[role - 1], is_first);
    return 0;
}

static int show(struct call *c, const struct workspace_row *ws, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    return put_workspace(c, &w, ws, e);
}

static int create(struct call *c, struct err *e)
{
    const struct create_args *in = c->in;
    scoped(workspace_row_done) struct workspace_row ws = {0};
    if (c->once.state == ONCE_AGAIN)
        return named_workspace(c, c->once.subject, RIGHT_READ, &ws, e) || show(c, &ws, e) ? -1 : 0;
    if (files_workspace_create_kind(c->api->o.files, &c->who, in->name,
                                    (enum workspace_kind)in->kind, &ws, e))
        return -1;
    once_made(&c->once, ws.id);
    return show(c, &ws, e);
}

static int list(struct call *c, struct err *e)
{
    const struct page_args *in = c->query;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    struct json_writer w = JSON_WRITER(&c->out);
    struct workspace_rows rows;
    int failed = 0;
    if (files_workspace_list(c->api->o.files, &c->who, (enum workspace_kind)in->kind, &page, &rows,
                             e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count && !failed; i++)
        failed = put_workspace(c, &w, &rows.items[i], e);
    end_list(&w, rows.has_more, rows.next);
    workspace_rows_done(&rows);
    return failed;
}

static int get(struct call *c, struct err *e)
{
    return show(c, &c->ws, e);
}

static int change(struct call *c, struct err *e)
{
    const struct change_args *in = c->in;
    scoped(workspace_row_done) struct workspace_row after = {0};
    const struct workspace_change changes = {
        .name = in->name,
        .files_max = in->quota.files < 0 ? UINT64_MAX : (uint64_t)in->quota.files,
        .bytes_max = in->quota.bytes < 0 ? UINT64_MAX : (uint64_t)in->quota.bytes,
        .intelligence = !in->has_intelligence ? 0
                        : in->intelligence    ? 1
                                              : -1};
    if (files_workspace_change(c->api->o.files, &c->who, &c->ws, &changes, e) ||
        files_workspace_known(c->api->o.files, c->ws.id, &after, e))
        return -1;
    return show(c, &after, e);
}

static int delete (struct call *c, struct err *e)
{
    return files_workspace_delete(c->api->o.files, &c->who, &c->ws, e);
}

static int usage(struct call *c, struct err *e)
{
    (void)e;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "workspace_id");
    jw_text(&w, c->ws.id);
    object_usage(&w, &c->ws);
    jw_end_object(&w);
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define WS "/api/v1/workspaces"

static const struct op ops[] = {
    {.method = "POST",
     .path = WS,
     .name = "createWorkspace",
     .summary = "Make a workspace: a tree of files whose versions are kept.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_FILES_WRITE,
     .flags = OP_CREATES,
     BODY(create_args, create_fields),
     .status = 201,
     .answer = "Workspace",
     .run = create},
    {.method = "GET",
     .path = WS,
     .name = "listWorkspaces",
     .summary = "List workspaces, newest first.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_FILES_READ,
     QUERY(page_args, page_fields),
     .status = 200,
     .answer = "WorkspaceList",
     .run = list},
    {.method = "GET",
     .path = WS "/{ws}",
     .name = "getWorkspace",
     .summary = "Show a workspace, by id or name; `default` is your own.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .status = 200,
     .answer = "Workspace",
     .run = get},
    {.method = "PATCH",
     .path = WS "/{ws}",
     .name = "changeWorkspace",
     .summary = "Rename a workspace, switch intelligence on or off; as an admin, change its quota.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_FILES_WRITE,
     BODY(change_args, change_fields),
     .status = 200,
     .answer = "Workspace",
     .run = change},
    {.method = "DELETE",
     .path = WS "/{ws}",
     .name = "deleteWorkspace",
     .summary = "Delete a workspace with everything in it.",
     .needs = NEEDS_OWN,
     .scope = SCOPE_FILES_WRITE,
     .status = 204,
     .run = delete},
    {.method = "GET",
     .path = WS "/{ws}/usage",
     .name = "getUsage",
     .summary = "How much is in a workspace, and how much may be.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .status = 200,
     .answer = "Usage",
     .run = usage},
};

const struct op_table native_workspaces = {ops, sizeof ops / sizeof *ops};
