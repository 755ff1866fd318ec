/* native_tickets.c -- invitations and claims of a workspace; signing in. */
#include <string.h>

#include "api/api_int.h"
#include "api/join.h"
#include "api/native.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/file_object.h"
#include "service/object.h"
#include "workspace/passwords.h"
#include "workspace/tickets.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

static const char *const roles[] = {"viewer", "editor", "admin", NULL};

struct invite_args {
    const char *name;
    int role;
    int64_t expires_s;
};

static const struct json_field invite_fields[] = {
    {JF_CHOICE(struct invite_args, role, roles), .preset = 0},
    {JF_TEXT(struct invite_args, name), .min = 1, .max = PEOPLE_NAME_MAX,
     .doc = "for whom it is, to tell them apart"},
    {JF_INT(struct invite_args, expires_s), .min = 60, .max = INVITE_EXPIRES_MAX_S,
     .preset = INVITE_EXPIRES_S, .doc = "seconds it works"},
    {0},
};

struct page_args {
    const char *cursor;
    int64_t limit;
};

static const struct json_field page_fields[] = {
    {JF_TEXT(struct page_args, cursor), .max = 128},
    {JF_INT(struct page_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

struct token_args {
    const char *token;
};

static const struct json_field token_fields[] = {
    {JF_TEXT(struct token_args, token), .required = true, .min = 1, .max = 128},
    {0},
};

struct accept_args {
    const char *token, *login, *password, *name;
};

static const struct json_field accept_fields[] = {
    {JF_TEXT(struct accept_args, token), .required = true, .min = 1, .max = 128},
    {JF_TEXT(struct accept_args, login), .required = true, .min = 1, .max = LOGIN_NAME_MAX,
     .doc = "by which you will sign in"},
    {JF_TEXT(struct accept_args, password), .required = true, .min = 1, .max = PASSWORD_BYTES_MAX,
     .doc = "at least 10 bytes"},
    {JF_TEXT(struct accept_args, name), .min = 1, .max = PEOPLE_NAME_MAX,
     .doc = "by which others know you; the login if left out"},
    {0},
};

struct sign_in_args {
    const char *login, *password;
    int64_t expires_s;
};

static const struct json_field sign_in_fields[] = {
    {JF_TEXT(struct sign_in_args, login), .required = true, .min = 1, .max = LOGIN_NAME_MAX},
    {JF_TEXT(struct sign_in_args, password), .required = true, .min = 1, .max = PASSWORD_BYTES_MAX},
    {JF_INT(struct sign_in_args, expires_s), .min = 60, .max = SIGN_IN_EXPIRES_MAX_S,
     .preset = SIGN_IN_EXPIRES_S, .doc = "seconds the key works"},
    {0},
};

struct password_args {
    const char *old, *fresh;
};

static const struct json_field password_fields[] = {
    {JF_TEXT(struct password_args, old), .required = true, .min = 1, .max = PASSWORD_BYTES_MAX},
    {JF_KEY("new", JF_KIND_TEXT, const char *, struct password_args, fresh), .required = true,
     .min = 1, .max = PASSWORD_BYTES_MAX},
    {0},
};

/* ---- as JSON ---- */

static struct files *files_of(const struct call *c)
{
    return c->api->o.files;
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text && *text ? text : NULL);
}

static void put_ticket(struct json_writer *w, const struct ticket_row *t, const char *token)
{
    scoped(buf_done) struct buf url = BUF_INIT(512);
    if (token)
        join_url(&url, token);
    jw_object(w);
    put_text(w, "id", t->id);
    put_text(w, "workspace_id", t->workspace);
    if (t->kind == TICKET_INVITE) {
        put_text(w, "role", role_names[t->role - 1]);
        put_text(w, "name", t->name);
    }
    put_text(w, "made_by", t->made_by);
    put_text(w, "used_by", t->used_by);
    object_time(w, "created_at", t->created_us);
    object_time(w, "expires_at", t->expires_us);
    object_time(w, "used_at", t->used_us);
    object_time(w, "revoked_at", t->revoked_us);
    if (token)
        put_text(w, "token", token);
    if (token && t->kind == TICKET_INVITE)
        put_text(w, "url", url.bytes);
    jw_end_object(w);
}

/* ---- tickets ---- */

static int create(struct call *c, enum ticket_kind kind, const struct ticket_wishes *wishes,
                  struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct ticket_row row;
    char token[TICKET_TOKEN_SIZE];
    if (tickets_create(files_of(c), &c->who, &c->ws, kind, wishes, &row, token, e))
        return -1;
    put_ticket(&w, &row, token);
    explicit_bzero(token, sizeof token);
    ticket_row_done(&row);
    return 0;
}

static int list(struct call *c, enum ticket_kind kind, struct err *e)
{
    const struct page_args *in = c->query;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    struct json_writer w = JSON_WRITER(&c->out);
    struct ticket_rows rows;
    if (tickets_list(files_of(c), &c->ws, kind, &page, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        put_ticket(&w, &rows.items[i], /* token= */ NULL);
    end_list(&w, rows.has_more, rows.next);
    ticket_rows_done(&rows);
    return 0;
}

static int create_invite(struct call *c, struct err *e)
{
    const struct invite_args *in = c->in;
    const struct ticket_wishes wishes = {
        .role = in->role + ROLE_VIEWER, .name = in->name, .expires_s = in->expires_s};
    return create(c, TICKET_INVITE, &wishes, e);
}

static int create_claim(struct call *c, struct err *e)
{
    const struct ticket_wishes wishes = {0};
    return create(c, TICKET_CLAIM, &wishes, e);
}

static int list_invites(struct call *c, struct err *e)
{
    return list(c, TICKET_INVITE, e);
}

static int list_claims(struct call *c, struct err *e)
{
    return list(c, TICKET_CLAIM, e);
}

static int revoke_invite(struct call *c, struct err *e)
{
    return tickets_revoke(files_of(c), &c->ws, TICKET_INVITE, c->param[1], e);
}

static int revoke_claim(struct call *c, struct err *e)
{
    return tickets_revoke(files_of(c), &c->ws, TICKET_CLAIM, c->param[1], e);
}

/* ---- using them ---- */

static int show_workspace(struct call *c, struct workspace_row *ws)
{
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    put_text(&w, "workspace_id", ws->id);
    put_text(&w, "name", ws->name);
    put_text(&w, "owner", ws->owner);
    jw_end_object(&w);
    workspace_row_done(ws);
    return 0;
}

static const char ask_for_another[] = "Ask whoever gave it to you for a new one.";

static int join_workspace(struct call *c, struct err *e)
{
    c->hint = ask_for_another;
    const struct token_args *in = c->in;
    struct workspace_row ws;
    return invite_join(files_of(c), &c->who, in->token, &ws, e) ? -1 : show_workspace(c, &ws);
}

static int take_claim(struct call *c, struct err *e)
{
    c->hint = ask_for_another;
    const struct token_args *in = c->in;
    struct workspace_row ws;
    return claim_take(files_of(c), &c->who, in->token, &ws, e) ? -1 : show_workspace(c, &ws);
}

static void show_signed_in(struct call *c, struct signed_in *s, const char *workspace)
{
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    put_text(&w, "principal_id", s->key.principal);
    if (workspace)
        put_text(&w, "workspace_id", workspace);
    jw_key(&w, "key");
    native_put_key(&w, &s->key, s->secret);
    jw_end_object(&w);
    signed_in_done(s);
}

static int accept_invite(struct call *c, struct err *e)
{
    const struct accept_args *in = c->in;
    const struct newcomer newcomer = {.passwords = c->api->o.passwords,
                                      .token = in->token,
                                      .login = in->login,
                                      .name = in->name,
                                      .password = str_of(in->password)};
    char workspace[ID_SIZE];
    struct signed_in s;
    int64_t wait_ms = 0;
    const char *address = c->request->peer->address;
    if (rates_peer(c->api->o.rates, address, &wait_ms, e)) {
        c->retry_after_s = (uint32_t)(wait_ms / 1000 + 1);
        return -1;
    }
    if (invite_accept(files_of(c), &newcomer, &s, workspace, e)) {
        if (e->code == ERR_NOT_FOUND)
            rates_peer_failed(c->api->o.rates, address);
        return -1;
    }
    show_signed_in(c, &s, workspace);
    return 0;
}

static int do_sign_in(struct call *c, struct err *e)
{
    const struct sign_in_args *in = c->in;
    const struct sign_in attempt = {.passwords = c->api->o.passwords,
                                    .login = in->login,
                                    .address = c->request->peer->address,
                                    .password = str_of(in->password),
                                    .expires_s = in->expires_s};
    struct signed_in s;
    int64_t wait_ms = 0;
    if (sign_in(files_of(c), &attempt, &s, &wait_ms, e)) {
        c->retry_after_s = wait_ms ? (uint32_t)(wait_ms / 1000 + 1) : 0;
        c->hint =
            "Check the name and the password, or ask an admin of the workspace for an invitation.";
        return -1;
    }
    show_signed_in(c, &s, /* workspace= */ NULL);
    return 0;
}

static int set_password(struct call *c, struct err *e)
{
    const struct password_args *in = c->in;
    const struct sign_in old = {.passwords = c->api->o.passwords,
                                .address = c->request->peer->address,
                                .password = str_of(in->old)};
    int64_t wait_ms = 0;
    if (change_password(files_of(c), &c->who, &old, str_of(in->fresh), &wait_ms, e)) {
        c->retry_after_s = wait_ms ? (uint32_t)(wait_ms / 1000 + 1) : 0;
        if (e->code == ERR_UNAUTHORIZED) /* the key is fine */
            return err_set(e, ERR_DENIED, "the old password is wrong");
        return -1;
    }
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define WS "/api/v1/workspaces/{ws}"

static const struct op ops[] = {
    {.method = "POST",
     .path = WS "/invites",
     .name = "createInvite",
     .summary = "Invite somebody to the workspace. The token is shown once and works once.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_RUN | SCOPE_FILES_READ | SCOPE_FILES_WRITE | SCOPE_SHARE, /* what people have */
     BODY(invite_args, invite_fields),
     .body_is_optional = true,
     .status = 201,
     .answer = "Invite",
     .run = create_invite},
    {.method = "GET",
     .path = WS "/invites",
     .name = "listInvites",
     .summary = "List invitations, those that are over too.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     QUERY(page_args, page_fields),
     .status = 200,
     .answer = "InviteList",
     .run = list_invites},
    {.method = "DELETE",
     .path = WS "/invites/{id}",
     .name = "revokeInvite",
     .summary = "Revoke an invitation that was not used.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .status = 204,
     .run = revoke_invite},
    {.method = "POST",
     .path = WS "/claims",
     .name = "createClaim",
     .summary = "Make a token for whoever shall own the workspace; you stay one of its admins.",
     .needs = NEEDS_OWN,
     .scope = SCOPE_SHARE,
     .status = 201,
     .answer = "Claim",
     .run = create_claim},
    {.method = "GET",
     .path = WS "/claims",
     .name = "listClaims",
     .summary = "List claims, those that are over too.",
     .needs = NEEDS_OWN,
     .scope = SCOPE_SHARE,
     QUERY(page_args, page_fields),
     .status = 200,
     .answer = "ClaimList",
     .run = list_claims},
    {.method = "DELETE",
     .path = WS "/claims/{id}",
     .name = "revokeClaim",
     .summary = "Revoke a claim that was not used.",
     .needs = NEEDS_OWN,
     .scope = SCOPE_SHARE,
     .status = 204,
     .run = revoke_claim},
    {.method = "POST",
     .path = "/api/v1/invites/accept",
     .name = "acceptInvite",
     .summary = "Come by an invitation: choose a name and a password, and get a key.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     BODY(accept_args, accept_fields),
     .status = 201,
     .answer = "SignedIn",
     .run = accept_invite},
    {.method = "POST",
     .path = "/api/v1/invites/join",
     .name = "joinWorkspace",
     .summary = "Use an invitation as who you are.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_FILES_READ,
     BODY(token_args, token_fields),
     .status = 200,
     .answer = "Joined",
     .run = join_workspace},
    {.method = "POST",
     .path = "/api/v1/claims",
     .name = "takeClaim",
     .summary = "Become the owner of a workspace by a token that its owner made.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_SHARE,
     BODY(token_args, token_fields),
     .status = 200,
     .answer = "Joined",
     .run = take_claim},
    {.method = "POST",
     .path = "/api/v1/signin",
     .name = "signIn",
     .summary = "Get a key by name and password.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     BODY(sign_in_args, sign_in_fields),
     .status = 201,
     .answer = "SignedIn",
     .run = do_sign_in},
    {.method = "POST",
     .path = "/api/v1/password",
     .name = "changePassword",
     .summary = "Change the password you sign in with.",
     .needs = NEEDS_NOTHING,
     BODY(password_args, password_fields),
     .status = 204,
     .run = set_password},
};

const struct op_table native_tickets = {ops, sizeof ops / sizeof *ops};
