/* team_workspace.c -- the tool workspace: workspaces, and who belongs to them. */
#include <inttypes.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "mcp/team_people.h"
#include "json/fields.h"

enum {
    LIST,
    CREATE,
    GET,
    UPDATE,
    DELETE,
    MEMBERS,
    ADD_MEMBER,
    REMOVE_MEMBER,
    TRANSFER,
    USAGE,
};
enum { UNCHANGED, ON };

static const char *const actions[] = {"list",     "create",  "get",        "update",
                                      "delete",   "members", "add_member", "remove_member",
                                      "transfer", "usage",   NULL};
static const char *const switches[] = {"unchanged", "on", "off", NULL};

static const struct json_field fields[] = {
    {JF_CHOICE(struct workspace_args, action, actions), .preset = LIST,
     .doc = "transfer makes a token with which somebody else becomes the owner"},
    {JF_TEXT(struct workspace_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc =
         "Its id, or the name of one you own. Default: your default workspace; delete and transfer "
         "need it"},
    {JF_TEXT(struct workspace_args, name), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "create, update: unique among yours"},
    {JF_CHOICE(struct workspace_args, intelligence, switches), .preset = UNCHANGED,
     .doc = "update: whether search_files also finds files by what they mean"},
    {JF_TEXT(struct workspace_args, principal_id), .min = 1, .max = TEAM_ID_MAX,
     .doc = "add_member, remove_member: prn_..."},
    {JF_CHOICE(struct workspace_args, role, member_roles), .preset = 0,
     .doc =
         "add_member: viewers read, editors write and run, admins also decide who is a member. A "
         "member gets this role instead of theirs"},
    {JF_BOOL(struct workspace_args, confirm),
     .doc = "delete, remove_member, transfer: true, once the user agreed"},
    {JF_INT(struct workspace_args, limit), .min = 1, .max = TEAM_PAGE_MAX, .preset = TEAM_PAGE,
     .doc = "list: how many"},
    {JF_TEXT(struct workspace_args, cursor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "list: next_cursor of the page before"},
    {0},
};

/* ---- as text and content ---- */

static void say_usage(struct buf *text, const struct json_t *ws)
{
    const json_t *quota = json_object_get(ws, "quota");
    buf_fmt(text, "%" PRIu64 " files, ", team_number(ws, "files"));
    team_say_size(text, team_number(ws, "bytes"));
    buf_str(text, ", with old versions ");
    team_say_size(text, team_number(ws, "kept_bytes"));
    if (team_number(quota, "bytes")) {
        buf_str(text, " of ");
        team_say_size(text, team_number(quota, "bytes"));
    }
}

static void put_usage(struct json_writer *w, const struct json_t *ws)
{
    const json_t *quota = json_object_get(ws, "quota");
    team_copy(w, ws, "files");
    team_copy(w, ws, "bytes");
    team_copy(w, ws, "kept_bytes");
    if (team_number(quota, "bytes"))
        team_put_u64(w, "quota_bytes", team_number(quota, "bytes"));
    if (team_number(quota, "files"))
        team_put_u64(w, "quota_files", team_number(quota, "files"));
}

static void put_workspace(struct json_writer *w, const struct json_t *ws)
{
    jw_object(w);
    team_put(w, "workspace_id", team_text(ws, "id"));
    team_copy(w, ws, "name");
    team_copy(w, ws, "role");
    team_put_true(w, "is_default", team_true(ws, "is_default"));
    team_copy(w, ws, "owner_id");
    team_copy(w, ws, "intelligence");
    put_usage(w, ws);
    jw_end_object(w);
}

static void workspace_row(const struct json_t *ws, struct buf *line, struct json_writer *w)
{
    const char *role = team_text(ws, "role");
    buf_fmt(line, "%s  %s  ", team_text(ws, "id"), *role ? role : "-");
    team_say(line, team_text(ws, "name"), TEAM_NAME_SHOWN);
    buf_str(line, team_true(ws, "is_default") ? " (default)  " : "  ");
    say_usage(line, ws);
    put_workspace(w, ws);
}

static void show_workspace(struct mcp_call *m, const char *done, const struct json_t *ws)
{
    struct buf *text = &m->reply.text;
    buf_str(text, done);
    team_say(text, team_text(ws, "name"), TEAM_NAME_MAX);
    buf_fmt(text, "%s\nworkspace_id: %s\nyour role: %s, owner: %s\nintelligence: %s\n",
            team_true(ws, "is_default") ? " (your default workspace)" : "", team_text(ws, "id"),
            *team_text(ws, "role") ? team_text(ws, "role") : "none", team_text(ws, "owner_id"),
            team_true(ws, "intelligence") ? "on" : "off");
    say_usage(text, ws);
    buf_str(text, "\n");
    jw_key(&m->reply.w, "workspace");
    put_workspace(&m->reply.w, ws);
}

/* ---- workspaces ---- */

int workspace_get(struct mcp_call *m, const struct workspace_args *in, struct native *n,
                  struct err *e)
{
    native_workspace(n, in->workspace_id);
    return team_call(m, n, e);
}

static int list(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    static const struct team_list all = {.key = "workspaces",
                                         .empty = "there are no workspaces",
                                         .columns = "workspace_id  your role  name  what is in it",
                                         .row = workspace_row};
    scoped(native_done) struct native n = NATIVE("GET");
    native_text(&n, "/api/v1/workspaces");
    native_query_u64(&n, "limit", (uint64_t)in->limit);
    native_query(&n, "cursor", in->cursor);
    if (team_call(m, &n, e))
        return -1;
    (void)team_list(m, &all, n.json);
    return 0;
}

static int create(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    if (team_need(in->name, "name", "create", e))
        return -1;
    native_text(&n, "/api/v1/workspaces");
    team_body_begin(&body);
    team_put(&body.w, "name", in->name);
    if (team_send(m, &n, &body, e)) {
        if (e->code == ERR_CONFLICT)
            team_hint(m, "Choose another name, or use the one that is there (action=list).");
        return -1;
    }
    show_workspace(m, "made ", n.json);
    team_next(m, "pass workspace_id to the other tools to work in it");
    return 0;
}

static int get(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    if (workspace_get(m, in, &n, e))
        return -1;
    show_workspace(m, "", n.json);
    return 0;
}

static int update(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("PATCH");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    if (!in->name && in->intelligence == UNCHANGED)
        return err_set(e, ERR_INVALID, "give name or intelligence: action update changes these");
    native_workspace(&n, in->workspace_id);
    team_body_begin(&body);
    team_put(&body.w, "name", in->name);
    if (in->intelligence != UNCHANGED) {
        jw_key(&body.w, "intelligence");
        jw_bool(&body.w, in->intelligence == ON);
    }
    if (team_send(m, &n, &body, e))
        return -1;
    show_workspace(m, "changed ", n.json);
    return 0;
}

static int delete_workspace(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    scoped(native_done) struct native before = NATIVE("GET");
    bool go_on = false;
    if (team_need(in->workspace_id, "workspace_id", "delete", e) ||
        workspace_get(m, in, &before, e) ||
        mcp_confirm(m, in->confirm, &go_on, e,
                    "Delete the workspace \"%.200s\" (%.64s) with all its %" PRIu64
                    " files, their versions and links? It cannot be restored afterwards.",
                    team_text(before.json, "name"), team_text(before.json, "id"),
                    team_number(before.json, "files")))
        return -1;
    if (!go_on)
        return 0;
    native_workspace(&n, team_text(before.json, "id"));
    if (team_call(m, &n, e))
        return -1;
    buf_fmt(&m->reply.text, "deleted %s\n", team_text(before.json, "id"));
    team_put(&m->reply.w, "deleted", team_text(before.json, "id"));
    return 0;
}

static int usage(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/usage");
    if (team_call(m, &n, e))
        return -1;
    buf_fmt(&m->reply.text, "%s: ", team_text(n.json, "workspace_id"));
    say_usage(&m->reply.text, n.json);
    buf_str(&m->reply.text, "\n");
    jw_key(&m->reply.w, "usage");
    jw_object(&m->reply.w);
    put_usage(&m->reply.w, n.json);
    jw_end_object(&m->reply.w);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    static int (*const act[])(struct mcp_call *, const struct workspace_args *, struct err *) = {
        [LIST] = list,
        [CREATE] = create,
        [GET] = get,
        [UPDATE] = update,
        [DELETE] = delete_workspace,
        [MEMBERS] = workspace_members,
        [ADD_MEMBER] = workspace_add_member,
        [REMOVE_MEMBER] = workspace_remove_member,
        [TRANSFER] = workspace_transfer,
        [USAGE] = usage,
    };
    const struct workspace_args *in = m->in;
    team_action(m, actions[in->action]);
    return act[in->action](m, in, e);
}

const struct mcp_tool tool_workspace = {
    .name = "workspace",
    .title = "Workspaces and members",
    .description =
        "List, make, show, rename and delete workspaces, see what they use, and decide who belongs to "
        "them: members lists them, add_member adds or changes one, transfer hands the workspace to "
        "another owner. delete, remove_member and transfer ask the user first (or take confirm=true "
        "once the user agreed).",
    .fields = fields,
    .size = sizeof(struct workspace_args),
    .scope = SCOPE_FILES_READ,
    .flags = TOOL_DESTROYS,
    .run = run,
};
