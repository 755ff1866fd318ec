#include "mcp/team_common.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/uri.h"
#include "workspace/paths.h"

enum { NEXT_MAX = 1024 };

/* ---- what came ---- */

const char *team_text(const struct json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t team_number(const struct json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (uint64_t)v : 0;
}

bool team_true(const struct json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

void team_clean(const char *path, char ret[PATH_BYTES_MAX + 1])
{
    if (path_wrong(native_clean(path), ret))
        (void)snprintf(ret, PATH_BYTES_MAX + 1, "%s", native_clean(path));
}

int team_need(const char *value, const char *name, const char *action, struct err *e)
{
    if (value && *value)
        return 0;
    return err_set(e, ERR_INVALID, "%s: action %s needs it", name, action);
}

/* ---- calling ---- */

void team_body_done(struct team_body *b)
{
    buf_done(&b->buf);
}

void team_body_begin(struct team_body *b)
{
    b->w = JSON_WRITER(&b->buf);
    jw_object(&b->w);
}

void team_put(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

void team_put_u64(struct json_writer *w, const char *key, uint64_t value)
{
    jw_key(w, key);
    jw_u64(w, value);
}

void team_put_true(struct json_writer *w, const char *key, bool value)
{
    if (!value)
        return;
    jw_key(w, key);
    jw_bool(w, true);
}

void team_copy(struct json_writer *w, const struct json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    jw_key(w, key);
    if (json_is_string(value))
        jw_str(w, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        jw_i64(w, json_integer_value(value));
    else if (json_is_boolean(value))
        jw_bool(w, json_is_true(value));
    else
        jw_null(w);
}

void team_hint(struct mcp_call *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(m->hint, sizeof m->hint, fmt, args);
    va_end(args);
}

/* Where to look for what was not found, by tool. */
static const struct {
    const struct mcp_tool *tool;
    const char *text;
} places[] = {
    {&tool_manage_file, "list_files shows what there is, manage_file action=list_trash what was "
                        "deleted, and workspace action=list the workspaces."},
    {&tool_file_versions, "list_files shows what there is, manage_file action=list_trash what was "
                          "deleted, and file_versions action=list the versions."},
    {&tool_lock_file, "lock_file action=status shows the locks in force, and workspace action=list "
                      "the workspaces."},
    {&tool_share, "share action=list shows the links, list_files the files, and workspace "
                  "action=list the workspaces."},
    {&tool_workspace,
     "workspace action=list shows the workspaces, and action=members who belongs to "
     "one."},
    {&tool_audit_log, "workspace action=list shows the workspaces."},
};

static void hint_place(struct mcp_call *m)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i].tool == m->tool)
            team_hint(m, "%s", places[i].text);
}

/* What the API hints at is for those who send requests. */
static void translate_hint(struct mcp_call *m, enum err_code code)
{
    switch (code) {
    case ERR_LOCKED:
        team_hint(m, "Pass lock_token if the lock is yours; otherwise wait for it with lock_file "
                     "action=acquire wait_s=30, come back when it ends, or ask an admin of the "
                     "workspace to break it (lock_file action=break).");
        break;
    case ERR_PRECONDITION:
        team_hint(m, "Read it again, see whether your change still makes sense, and repeat it with "
                     "the version that is there now; with a new lock if yours has ended.");
        break;
    case ERR_DENIED:
        team_hint(m, "Ask an admin or the owner of the workspace for that role (workspace "
                     "action=members lists them), or use a key with the scope that is named.");
        break;
    case ERR_NOT_FOUND: hint_place(m); break;
    case ERR_INVALID: team_hint(m, "See the schema of this tool for what it takes."); break;
    case ERR_LIMIT:
    case ERR_OVERLOADED: team_hint(m, "Wait a little and try again, or do less at once."); break;
    default: break;
    }
}

int team_call(struct mcp_call *m, struct native *n, struct err *e)
{
    if (native_call(m, n, e) == 0)
        return 0;
    translate_hint(m, e->code);
    return -1;
}

int team_send(struct mcp_call *m, struct native *n, struct team_body *b, struct err *e)
{
    jw_end_object(&b->w);
    if (buf_check(&b->buf, e))
        return -1;
    n->body = (struct str){.ptr = b->buf.bytes, .len = b->buf.len};
    return team_call(m, n, e);
}

/* ---- what is said ---- */

void team_say(struct buf *out, const char *text, size_t max)
{
    size_t len = strnlen(text, max + 1);
    bool is_cut = len > max;
    if (is_cut)
        len = utf8_cut(text, max);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        buf_add(out, c < ' ' || c == 127 ? " " : text + i, 1);
    }
    if (is_cut)
        buf_str(out, "...");
}

void team_say_size(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    size_t unit = 0;
    if (bytes < 1024) {
        buf_fmt(out, "%" PRIu64 " B", bytes);
        return;
    }
    while (bytes >= 1024 * 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    buf_fmt(out, "%" PRIu64 ".%" PRIu64 " %s", bytes / 1024, bytes % 1024 * 10 / 1024, units[unit]);
}

/* Fractions of a second matter to nobody who reads. */
void team_say_time(struct buf *out, const char *time)
{
    size_t len = strcspn(time, ".");
    if (time[len] == '\0') {
        buf_str(out, *time ? time : "-");
        return;
    }
    buf_add(out, time, len);
    buf_str(out, "Z");
}

void team_action(struct mcp_call *m, const char *action)
{
    team_put(&m->reply.w, "action", action);
}

void team_next(struct mcp_call *m, const char *fmt, ...)
{
    char text[NEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_fmt(&m->reply.text, "next: %s\n", text);
    team_put(&m->reply.w, "next", text);
}

void team_put_file(struct json_writer *w, const struct json_t *file)
{
    scoped(buf_done) struct buf uri = BUF_INIT(16 << 10);
    const char *path = team_text(file, "path");
    uri_write_file(&uri, team_text(file, "workspace_id"), path, /* version= */ 0);
    jw_object(w);
    team_put(w, "path", path);
    team_put(w, "kind", team_text(file, "kind"));
    team_put_u64(w, "version", team_number(file, "version"));
    team_put_u64(w, "size", team_number(file, "size"));
    if (!uri.failed)
        team_put(w, "uri", uri.bytes);
    jw_end_object(w);
}
