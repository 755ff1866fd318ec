/* native_members.c -- /api/v1/workspaces/{ws}/members. */
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/object.h"
#include "workspace/members.h"
#include "json/fields.h"
#include "json/write.h"

static const char *const kinds[] = {"human", "agent"};
static const char *const roles[] = {"viewer", "editor", "admin", NULL};

struct set_args {
    int role; /* one below enum role */
};

static const struct json_field set_fields[] = {
    {JF_CHOICE(struct set_args, role, roles), .required = true,
     .doc = "viewers read, editors write and run, admins also decide who is a member"},
    {0},
};

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_member(struct json_writer *w, const struct member_row *m)
{
    jw_object(w);
    put_text(w, "principal_id", m->principal);
    put_text(w, "name", m->name ? m->name : "");
    put_text(w, "kind", kinds[m->kind == PRINCIPAL_AGENT]);
    put_text(w, "role", role_names[m->role - 1]);
    put_text(w, "added_by", *m->added_by ? m->added_by : NULL);
    object_time(w, "created_at", m->created_us);
    jw_end_object(w);
}

static int list(struct call *c, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct member_rows rows;
    if (members_list(c->api->o.files, &c->ws, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        put_member(&w, &rows.items[i]);
    end_list(&w, /* has_more= */ false, NULL);
    member_rows_done(&rows);
    return 0;
}

static int show(struct call *c, const char *principal, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct member_rows rows;
    if (members_list(c->api->o.files, &c->ws, &rows, e))
        return -1;
    const struct member_row *found = NULL;
    for (size_t i = 0; i < rows.count && !found; i++)
        if (strcmp(rows.items[i].principal, principal) == 0)
            found = &rows.items[i];
    if (found)
        put_member(&w, found);
    member_rows_done(&rows);
    return found ? 0 : err_set(e, ERR_NOT_FOUND, "%.64s is no member", principal);
}

static int get(struct call *c, struct err *e)
{
    return show(c, c->param[1], e);
}

static int set(struct call *c, struct err *e)
{
    const struct set_args *in = c->in;
    if (members_set(c->api->o.files, &c->who, &c->ws, c->param[1], (enum role)(in->role + 1), e))
        return -1;
    return show(c, c->param[1], e);
}

/* Anybody may leave. */
static void remove_demands(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    (void)ret_scope;
    if (strcmp(c->param[1], c->who.principal) != 0)
        *ret_needs = NEEDS_ADMIN;
}

static int remove_member(struct call *c, struct err *e)
{
    return members_remove(c->api->o.files, &c->who, &c->ws, c->param[1], e);
}

#define MEMBERS "/api/v1/workspaces/{ws}/members"

static const struct op ops[] = {
    {.method = "GET",
     .path = MEMBERS,
     .name = "listMembers",
     .summary = "Who belongs to a workspace: its owner, then its members.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .status = 200,
     .answer = "MemberList",
     .run = list},
    {.method = "GET",
     .path = MEMBERS "/{principal}",
     .name = "getMember",
     .summary = "The role of one.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .status = 200,
     .answer = "Member",
     .run = get},
    {.method = "PUT",
     .path = MEMBERS "/{principal}",
     .name = "setMember",
     .summary = "Make somebody a member, or give a member another role.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .body = set_fields,
     .body_size = sizeof(struct set_args),
     .status = 200,
     .answer = "Member",
     .run = set},
    {.method = "DELETE",
     .path = MEMBERS "/{principal}",
     .name = "removeMember",
     .summary = "Remove a member; needs an admin, unless it is yourself.",
     .needs = NEEDS_READ,
     .scope = SCOPE_SHARE,
     .status = 204,
     .demand = remove_demands,
     .run = remove_member},
};

const struct op_table native_members = {ops, sizeof ops / sizeof *ops};
