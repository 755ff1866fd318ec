/* team_file_versions.c -- the tool file_versions: what a file was before, and what changed. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "json/fields.h"

enum {
    DIFF_TEXT_MAX = 40 << 10, /* bytes of a diff that are shown */
    DIFF_CONTENT_MAX = 6 << 10,
};
enum { LIST, DIFF, RESTORE, PIN, UNPIN };

static const char *const actions[] = {"list", "diff", "restore", "pin", "unpin", NULL};

struct versions_args {
    int action;
    const char *path, *cursor, *lock_token, *workspace_id;
    int64_t version, to_version, limit;
};

static const struct json_field fields[] = {
    {JF_CHOICE(struct versions_args, action, actions), .preset = LIST,
     .doc = "restore makes an earlier version the newest; pin keeps one from being thinned out"},
    {JF_TEXT(struct versions_args, path), .required = true, .min = 1, .max = TEAM_PATH_MAX,
     .doc = "'a/b.csv', the same as /mnt/data/a/b.csv"},
    {JF_INT(struct versions_args, version), .min = 1, .max = TEAM_VERSION_MAX, .is_open = true,
     .doc =
         "diff: from which; the one before the newest if left out. restore: required. pin, unpin: "
         "the newest if left out"},
    {JF_INT(struct versions_args, to_version), .min = 1, .max = TEAM_VERSION_MAX, .is_open = true,
     .doc = "diff: up to which; the newest if left out"},
    {JF_TEXT(struct versions_args, lock_token), .min = 1, .max = TEAM_TOKEN_MAX,
     .doc = "restore: from lock_file, if the path is locked by you"},
    {JF_INT(struct versions_args, limit), .min = 1, .max = TEAM_PAGE_MAX, .preset = TEAM_PAGE,
     .doc = "list: how many"},
    {JF_TEXT(struct versions_args, cursor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "list: next_cursor of the page before"},
    {JF_TEXT(struct versions_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "Default: your default workspace"},
    {0},
};

static void name_file(struct native *n, const struct versions_args *in)
{
    native_workspace(n, in->workspace_id);
    native_text(n, "/files/");
    native_path(n, native_clean(in->path));
}

/* ---- list ---- */

static int get_versions(struct mcp_call *m, const struct versions_args *in, struct native *n,
                        uint64_t limit, struct err *e)
{
    name_file(n, in);
    native_query(n, "versions", "true");
    native_query_u64(n, "limit", limit);
    native_query(n, "cursor", in->cursor);
    return team_call(m, n, e);
}

/* A run, or somebody, or whoever had a link. */
static const char *author_of(const struct json_t *row)
{
    const json_t *author = json_object_get(row, "author");
    static const char *const keys[] = {"run_id", "principal_id", "share_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*team_text(author, keys[i]))
            return team_text(author, keys[i]);
    return "-";
}

static void version_row(const struct json_t *row, struct buf *line, struct json_writer *w)
{
    buf_fmt(line, "%" PRIu64 "  ", team_number(row, "version"));
    team_say_time(line, team_text(row, "created_at"));
    buf_fmt(line, "  %s  ", team_text(row, "change"));
    team_say_size(line, team_number(row, "size"));
    buf_fmt(line, "  %s%s", author_of(row), team_true(row, "pinned") ? "  pinned" : "");
    jw_object(w);
    team_copy(w, row, "version");
    team_copy(w, row, "created_at");
    team_copy(w, row, "change");
    team_copy(w, row, "size");
    team_put(w, "by", author_of(row));
    team_put_true(w, "pinned", team_true(row, "pinned"));
    jw_end_object(w);
}

static int list_versions(struct mcp_call *m, const struct versions_args *in, struct err *e)
{
    static const struct team_list list = {.key = "versions",
                                          .empty = "no versions are kept",
                                          .columns = "version  time  change  size  by",
                                          .row = version_row};
    scoped(native_done) struct native n = NATIVE("GET");
    if (get_versions(m, in, &n, (uint64_t)in->limit, e))
        return -1;
    buf_fmt(&m->reply.text, "%s, newest first\n", native_clean(in->path));
    if (team_list(m, &list, n.json) > 1)
        team_next(m,
                  "file_versions action=diff shows what changed, action=restore with version goes "
                  "back, read_file with version reads an old one");
    return 0;
}

/* ---- diff ---- */

/* The one before the newest: what the last change was. */
static int find_before(struct mcp_call *m, const struct versions_args *in, uint64_t *ret,
                       struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    if (get_versions(m, in, &n, /* limit= */ 2, e))
        return -1;
    *ret = team_number(json_array_get(json_object_get(n.json, "data"), 1), "version");
    if (*ret)
        return 0;
    team_hint(m, "read_file shows it.");
    return err_set(e, ERR_INVALID, "there is only one version of '%.100s': nothing to compare with",
                   native_clean(in->path));
}

static void count_lines(struct str diff, uint64_t *ret_added, uint64_t *ret_removed)
{
    const char *at = diff.ptr, *end = diff.ptr + diff.len;
    bool is_head = true; /* the names of the two come before the first @@ */
    *ret_added = *ret_removed = 0;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        is_head = is_head && *at != '@';
        *ret_added += !is_head && *at == '+';
        *ret_removed += !is_head && *at == '-';
        at = eol ? eol + 1 : end;
    }
}

/* Whole lines that fit. */
static size_t fitting(struct str diff, size_t max)
{
    if (diff.len <= max)
        return diff.len;
    const char *eol = memrchr(diff.ptr, '\n', max);
    return eol ? (size_t)(eol - diff.ptr) + 1 : utf8_cut(diff.ptr, max);
}

static void say_diff(struct mcp_call *m, const struct versions_args *in, uint64_t from,
                     struct str diff)
{
    struct mcp_reply *r = &m->reply;
    uint64_t added, removed;
    size_t shown = fitting(diff, DIFF_TEXT_MAX), content = fitting(diff, DIFF_CONTENT_MAX);
    count_lines(diff, &added, &removed);
    buf_fmt(&r->text, "%s: version %" PRIu64 " to ", native_clean(in->path), from);
    if (in->to_version)
        buf_fmt(&r->text, "%" PRId64, in->to_version);
    else
        buf_str(&r->text, "the newest");
    buf_fmt(&r->text, ", %" PRIu64 " lines added, %" PRIu64 " removed\n", added, removed);
    utf8_clean(diff.ptr, shown, &r->text);
    team_put_u64(&r->w, "version", from);
    if (in->to_version)
        team_put_u64(&r->w, "to_version", (uint64_t)in->to_version);
    team_put_u64(&r->w, "added", added);
    team_put_u64(&r->w, "removed", removed);
    jw_key(&r->w, "diff");
    jw_str(&r->w, diff.ptr, content);
    jw_key(&r->w, "truncated");
    jw_bool(&r->w, content < diff.len);
    if (shown < diff.len)
        team_next(m,
                  "%zu of %zu bytes of the diff are shown; read both versions with read_file "
                  "for the rest",
                  shown, diff.len);
}

static int diff_versions(struct mcp_call *m, const struct versions_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    uint64_t from = (uint64_t)in->version;
    if (!from && find_before(m, in, &from, e))
        return -1;
    name_file(&n, in);
    native_query_u64(&n, "diff", from);
    if (in->to_version)
        native_query_u64(&n, "to", (uint64_t)in->to_version);
    if (team_call(m, &n, e)) {
        if (e->code == ERR_UNSUPPORTED || e->code == ERR_TOO_LARGE)
            team_hint(m, "Compare them in run_code, or read both with read_file and version.");
        return -1;
    }
    const struct buf *out = &n.answer.out;
    say_diff(m, in, from, (struct str){.ptr = out->bytes ? out->bytes : "", .len = out->len});
    return 0;
}

/* ---- changing ---- */

static int restore_version(struct mcp_call *m, const struct versions_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    if (!in->version)
        return err_set(e, ERR_INVALID, "version: action restore needs it; action=list shows them");
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/restore");
    team_body_begin(&body);
    team_put(&body.w, "path", native_clean(in->path));
    team_put_u64(&body.w, "version", (uint64_t)in->version);
    team_put(&body.w, "lock_token", in->lock_token);
    if (team_send(m, &n, &body, e))
        return -1;
    buf_fmt(&m->reply.text,
            "%s is as it was at version %" PRId64 "; that is version %" PRIu64 " now\n",
            team_text(n.json, "path"), in->version, team_number(n.json, "version"));
    jw_key(&m->reply.w, "file");
    team_put_file(&m->reply.w, n.json);
    return 0;
}

static int pin_version(struct mcp_call *m, const struct versions_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    bool is_pin = in->action == PIN;
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/pin");
    team_body_begin(&body);
    team_put(&body.w, "path", native_clean(in->path));
    if (in->version)
        team_put_u64(&body.w, "version", (uint64_t)in->version);
    jw_key(&body.w, "pinned");
    jw_bool(&body.w, is_pin);
    if (team_send(m, &n, &body, e))
        return -1;
    buf_fmt(&m->reply.text, "version %" PRIu64 " of %s is %s\n", team_number(n.json, "version"),
            native_clean(in->path), is_pin ? "kept until it is unpinned" : "no longer pinned");
    team_put_u64(&m->reply.w, "version", team_number(n.json, "version"));
    jw_key(&m->reply.w, "pinned");
    jw_bool(&m->reply.w, is_pin);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    static int (*const act[])(struct mcp_call *, const struct versions_args *, struct err *) = {
        [LIST] = list_versions, [DIFF] = diff_versions, [RESTORE] = restore_version,
        [PIN] = pin_version,    [UNPIN] = pin_version,
    };
    const struct versions_args *in = m->in;
    team_action(m, actions[in->action]);
    team_put(&m->reply.w, "path", native_clean(in->path));
    return act[in->action](m, in, e);
}

const struct mcp_tool tool_file_versions = {
    .name = "file_versions",
    .title = "Versions of a file",
    .description =
        "Every write to a file is kept as a version. List them, see what changed between two of them "
        "as a unified diff, make an earlier one the newest again, or pin one so that it is never "
        "thinned out. restore makes a new version and loses nothing.",
    .fields = fields,
    .size = sizeof(struct versions_args),
    .scope = SCOPE_FILES_READ,
    .flags = 0,
    .run = run,
};
