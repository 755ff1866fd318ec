/* team_share.c -- the tool share: links for people without a key. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "workspace/passwords.h"
#include "workspace/shares.h"
#include "json/fields.h"

enum { CREATE, LIST, GET, UPDATE, REVOKE };
enum { NOTE_SHOWN = 60 };

static const char *const actions[] = {"create", "list", "get", "update", "revoke", NULL};

struct share_args {
    int action;
    const char *path, *share_id, *note, *workspace_id, *cursor;
    struct str password;
    unsigned rights;
    int64_t version, expires_s, max_downloads, limit;
};

static const struct json_field fields[] = {
    {JF_CHOICE(struct share_args, action, actions), .required = true},
    {JF_TEXT(struct share_args, path), .min = 1, .max = TEAM_PATH_MAX,
     .doc = "create: a file or a directory; '/': the whole workspace"},
    {JF_TEXT(struct share_args, share_id), .min = 1, .max = TEAM_ID_MAX,
     .doc = "get, update, revoke"},
    {JF_FLAGS(struct share_args, rights, share_right_names), .min = 1,
     .preset = SHARE_VIEW | SHARE_DOWNLOAD,
     .doc = "create: upload is for directories; alone it is a drop box that shows nothing"},
    {JF_INT(struct share_args, version), .min = 1, .max = TEAM_VERSION_MAX, .is_open = true,
     .doc = "create: this version for ever; otherwise whatever is newest when it is opened"},
    {JF_INT(struct share_args, expires_s), .min = 0, .max = SHARE_EXPIRES_MAX_S, .preset = -1,
     .is_open = true,
     .doc = "create, update: seconds from now that it works; 0 or left out: until it is revoked"},
    {JF_STR(struct share_args, password), .max = PASSWORD_BYTES_MAX,
     .doc = "create, update: who opens it is asked for it; '' takes it away. Tell it to people by "
            "another way than the link"},
    {JF_INT(struct share_args, max_downloads), .min = 0, .max = SHARE_DOWNLOADS_MAX, .preset = -1,
     .is_open = true, .doc = "create, update: it ends after so many; 0 or left out: any number"},
    {JF_TEXT(struct share_args, note), .max = SHARE_NOTE_MAX,
     .doc = "create, update: for the workspace's members; who has the link does not see it"},
    {JF_INT(struct share_args, limit), .min = 1, .max = TEAM_PAGE_MAX, .preset = TEAM_PAGE,
     .doc = "list: how many"},
    {JF_TEXT(struct share_args, cursor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "list: next_cursor of the page before"},
    {JF_TEXT(struct share_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "Default: your default workspace"},
    {0},
};

/* ---- as text and content ---- */

static void say_rights(struct buf *text, const struct json_t *share)
{
    const json_t *rights = json_object_get(share, "rights");
    for (size_t i = 0; i < json_array_size(rights); i++)
        buf_fmt(text, "%s%s", i ? "+" : "", json_string_value(json_array_get(rights, i)));
}

static const char *path_of(const struct json_t *share)
{
    const char *path = team_text(share, "path");
    return *path ? path : "/";
}

static void put_share(struct json_writer *w, const struct json_t *share)
{
    const json_t *rights = json_object_get(share, "rights");
    jw_object(w);
    team_put(w, "share_id", team_text(share, "id"));
    team_put(w, "path", path_of(share));
    team_copy(w, share, "version");
    jw_key(w, "rights");
    jw_array(w);
    for (size_t i = 0; i < json_array_size(rights); i++)
        jw_text(w, json_string_value(json_array_get(rights, i)));
    jw_end_array(w);
    team_copy(w, share, "state");
    team_copy(w, share, "has_password");
    team_copy(w, share, "expires_at");
    team_copy(w, share, "max_downloads");
    team_copy(w, share, "views");
    team_copy(w, share, "downloads");
    team_copy(w, share, "uploads");
    jw_end_object(w);
}

static void share_row(const struct json_t *share, struct buf *line, struct json_writer *w)
{
    buf_fmt(line, "%s  %s  ", team_text(share, "id"), team_text(share, "state"));
    say_rights(line, share);
    buf_str(line, team_true(share, "has_password") ? " password  " : "  ");
    team_say_time(line, team_text(share, "expires_at"));
    buf_fmt(line, "  %" PRIu64 "/%" PRIu64 "/%" PRIu64 "  %s", team_number(share, "views"),
            team_number(share, "downloads"), team_number(share, "uploads"), path_of(share));
    if (*team_text(share, "note")) {
        buf_str(line, "  # ");
        team_say(line, team_text(share, "note"), NOTE_SHOWN);
    }
    put_share(w, share);
}

static void show_share(struct mcp_call *m, const struct json_t *share)
{
    struct buf *text = &m->reply.text;
    buf_fmt(text, "%s: %s %s, ", team_text(share, "id"), team_text(share, "kind"), path_of(share));
    say_rights(text, share);
    buf_fmt(text, ", %s, ", team_text(share, "state"));
    if (*team_text(share, "expires_at")) {
        buf_str(text, "until ");
        team_say_time(text, team_text(share, "expires_at"));
    } else {
        buf_str(text, "until it is revoked");
    }
    buf_fmt(text, "%s\nviews %" PRIu64 ", downloads %" PRIu64,
            team_true(share, "has_password") ? ", with a password" : "",
            team_number(share, "views"), team_number(share, "downloads"));
    if (team_number(share, "max_downloads"))
        buf_fmt(text, " of %" PRIu64, team_number(share, "max_downloads"));
    buf_fmt(text, ", uploads %" PRIu64 "\n", team_number(share, "uploads"));
    jw_key(&m->reply.w, "share");
    put_share(&m->reply.w, share);
}

/* ---- what is done ---- */

static void name_shares(struct native *n, const struct share_args *in)
{
    native_workspace(n, in->workspace_id);
    native_text(n, "/shares");
    if (in->action == CREATE || in->action == LIST)
        return;
    native_text(n, "/");
    native_piece(n, in->share_id);
}

static void put_rights(struct json_writer *w, unsigned rights)
{
    jw_key(w, "rights");
    jw_array(w);
    for (unsigned i = 0; share_right_names[i]; i++)
        if (rights & 1u << i)
            jw_text(w, share_right_names[i]);
    jw_end_array(w);
}

static void put_or_null(struct json_writer *w, const char *key, int64_t v)
{
    jw_key(w, key);
    if (v)
        jw_i64(w, v);
    else
        jw_null(w);
}

/* What create and update have in common. What was not said, or as null, stays as it is. */
static void put_wishes(struct json_writer *w, const struct share_args *in)
{
    if (in->expires_s >= 0)
        put_or_null(w, "expires_s", in->expires_s);
    if (in->max_downloads >= 0)
        put_or_null(w, "max_downloads", in->max_downloads);
    if (in->password.ptr) {
        jw_key(w, "password");
        if (in->password.len)
            jw_str(w, in->password.ptr, in->password.len);
        else
            jw_null(w);
    }
    team_put(w, "note", in->note);
}

static int create(struct mcp_call *m, const struct share_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    struct str outside = http_header_get(m->c->request, "X-Forwarded-Proto");
    if (!in->path)
        return err_set(e, ERR_INVALID, "path: action create needs it; '/' is the whole workspace");
    name_shares(&n, in);
    native_header(&n, "X-Forwarded-Proto", http_same(outside, "https") ? "https" : NULL);
    team_body_begin(&body);
    team_put(&body.w, "path", native_clean(in->path));
    put_rights(&body.w, in->rights);
    if (in->version)
        team_put_u64(&body.w, "version", (uint64_t)in->version);
    put_wishes(&body.w, in);
    if (team_send(m, &n, &body, e))
        return -1;
    const char *url = team_text(n.json, "url");
    buf_fmt(&m->reply.text, "link: %s\n", url);
    team_put(&m->reply.w, "url", url);
    show_share(m, n.json);
    team_next(m, "give the link to the user now: it is not told again. share action=revoke with "
                 "share_id ends it");
    return 0;
}

static int list_shares(struct mcp_call *m, const struct share_args *in, struct err *e)
{
    static const struct team_list list = {
        .key = "shares",
        .empty = "there are no links",
        .columns = "share_id  state  rights  expires_at  views/downloads/uploads  path",
        .row = share_row};
    scoped(native_done) struct native n = NATIVE("GET");
    name_shares(&n, in);
    native_query_u64(&n, "limit", (uint64_t)in->limit);
    native_query(&n, "cursor", in->cursor);
    if (team_call(m, &n, e))
        return -1;
    (void)team_list(m, &list, n.json);
    return 0;
}

static int get(struct mcp_call *m, const struct share_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    name_shares(&n, in);
    if (team_call(m, &n, e))
        return -1;
    show_share(m, n.json);
    return 0;
}

static int update(struct mcp_call *m, const struct share_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("PATCH");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    name_shares(&n, in);
    team_body_begin(&body);
    put_wishes(&body.w, in);
    if (team_send(m, &n, &body, e))
        return -1;
    show_share(m, n.json);
    return 0;
}

static int revoke_share(struct mcp_call *m, const struct share_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    name_shares(&n, in);
    if (team_call(m, &n, e))
        return -1;
    buf_fmt(&m->reply.text, "revoked %s: the link does not work any more\n", in->share_id);
    team_put(&m->reply.w, "revoked", in->share_id);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    static int (*const act[])(struct mcp_call *, const struct share_args *, struct err *) = {
        [CREATE] = create, [LIST] = list_shares,    [GET] = get,
        [UPDATE] = update, [REVOKE] = revoke_share,
    };
    const struct share_args *in = m->in;
    bool has_subject = in->action != CREATE && in->action != LIST;
    if (has_subject && team_need(in->share_id, "share_id", actions[in->action], e))
        return -1;
    team_action(m, actions[in->action]);
    return act[in->action](m, in, e);
}

const struct mcp_tool tool_share = {
    .name = "share",
    .title = "Share by link",
    .description =
        "Make a link with which anybody, without an account, can look at or download a file or "
        "directory, or upload into a directory; list, change and revoke links. A link can end by "
        "itself (expires_s, max_downloads) and ask for a password. Its address is told only once, by "
        "create. Ask the user before sharing what may be private.",
    .fields = fields,
    .size = sizeof(struct share_args),
    .scope = SCOPE_SHARE,
    .flags = TOOL_DESTROYS | TOOL_OPEN,
    .run = run,
};
