/* team_people.c -- who belongs to a workspace and who owns it, for the tool workspace. */
#include "mcp/team_people.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"

const char *const member_roles[] = {"viewer", "editor", "admin", NULL};

static void put_member(struct json_writer *w, const struct json_t *member)
{
    jw_object(w);
    team_copy(w, member, "principal_id");
    team_copy(w, member, "name");
    team_copy(w, member, "kind");
    team_copy(w, member, "role");
    jw_end_object(w);
}

static void member_row(const struct json_t *member, struct buf *line, struct json_writer *w)
{
    buf_fmt(line, "%s  %s  %s  ", team_text(member, "principal_id"), team_text(member, "role"),
            team_text(member, "kind"));
    team_say(line, team_text(member, "name"), TEAM_NAME_SHOWN);
    put_member(w, member);
}

int workspace_members(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    static const struct team_list all = {.key = "members",
                                         .empty = "nobody",
                                         .columns = "principal_id  role  kind  name",
                                         .row = member_row};
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/members");
    if (team_call(m, &n, e))
        return -1;
    (void)team_list(m, &all, n.json);
    return 0;
}

static void name_member(struct native *n, const struct workspace_args *in)
{
    native_workspace(n, in->workspace_id);
    native_text(n, "/members/");
    native_piece(n, in->principal_id);
}

int workspace_add_member(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("PUT");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    struct buf *text = &m->reply.text;
    if (team_need(in->principal_id, "principal_id", "add_member", e))
        return -1;
    name_member(&n, in);
    team_body_begin(&body);
    team_put(&body.w, "role", member_roles[in->role]);
    if (team_send(m, &n, &body, e))
        return -1;
    team_say(text, team_text(n.json, "name"), TEAM_NAME_SHOWN);
    buf_fmt(text, " (%s) is %s now\n", in->principal_id, team_text(n.json, "role"));
    jw_key(&m->reply.w, "member");
    put_member(&m->reply.w, n.json);
    return 0;
}

int workspace_remove_member(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    scoped(native_done) struct native before = NATIVE("GET");
    bool go_on = false;
    if (team_need(in->principal_id, "principal_id", "remove_member", e))
        return -1;
    name_member(&before, in);
    if (team_call(m, &before, e) ||
        mcp_confirm(
            m, in->confirm, &go_on, e,
            "Remove \"%.200s\" (%.128s, %.16s) from the workspace %.200s? They lose access to "
            "its files, and the links they made stop working.",
            team_text(before.json, "name"), in->principal_id, team_text(before.json, "role"),
            in->workspace_id ? in->workspace_id : "default"))
        return -1;
    if (!go_on)
        return 0;
    name_member(&n, in);
    if (team_call(m, &n, e))
        return -1;
    buf_fmt(&m->reply.text, "removed %s\n", in->principal_id);
    team_put(&m->reply.w, "removed", in->principal_id);
    return 0;
}

static void show_claim(struct mcp_call *m, const struct json_t *claim)
{
    struct mcp_reply *r = &m->reply;
    buf_fmt(&r->text, "claim_token: %s\nclaim_id: %s\nworks once, until ",
            team_text(claim, "token"), team_text(claim, "id"));
    team_say_time(&r->text, team_text(claim, "expires_at"));
    buf_str(&r->text, "\n");
    jw_key(&r->w, "claim");
    jw_object(&r->w);
    team_put(&r->w, "claim_id", team_text(claim, "id"));
    team_put(&r->w, "claim_token", team_text(claim, "token"));
    team_copy(&r->w, claim, "workspace_id");
    team_copy(&r->w, claim, "expires_at");
    jw_end_object(&r->w);
    team_next(m,
              "give the token to the new owner now: it is not told again. They take the workspace "
              "with `cicada claim take TOKEN` or POST /api/v1/claims; you stay one of its admins");
}

int workspace_transfer(struct mcp_call *m, const struct workspace_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(native_done) struct native before = NATIVE("GET");
    bool go_on = false;
    if (team_need(in->workspace_id, "workspace_id", "transfer", e) ||
        workspace_get(m, in, &before, e) ||
        mcp_confirm(m, in->confirm, &go_on, e,
                    "Make a token with which whoever has it becomes the owner of the workspace "
                    "\"%.200s\" (%.64s), within 72 hours? You stay one of its admins.",
                    team_text(before.json, "name"), team_text(before.json, "id")))
        return -1;
    if (!go_on)
        return 0;
    native_workspace(&n, team_text(before.json, "id"));
    native_text(&n, "/claims");
    if (team_call(m, &n, e))
        return -1;
    show_claim(m, n.json);
    return 0;
}
