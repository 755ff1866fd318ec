/* team_audit_log.c -- the tool audit_log: who did what. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "json/fields.h"

enum { ENTRIES = 50, ENTRIES_MAX = 200, EVENT_MAX = 128, TIME_MAX = 64 };
enum { ANY };

static const char *const results[] = {"any", "ok", "denied", "error", NULL};

struct audit_args {
    const char *workspace_id, *path, *actor, *event, *since, *until, *cursor;
    int result;
    bool changes, server;
    int64_t limit;
};

static const struct json_field fields[] = {
    {JF_TEXT(struct audit_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "Default: your default workspace"},
    {JF_TEXT(struct audit_args, path), .min = 1, .max = TEAM_PATH_MAX,
     .doc = "This file or directory, and what is below"},
    {JF_TEXT(struct audit_args, actor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "Only of this principal: prn_..."},
    {JF_TEXT(struct audit_args, event), .min = 1, .max = EVENT_MAX,
     .doc =
         "Only this operation: putFile, deleteFile, createShare, breakLock, saveFiles (what a run "
         "wrote), ..."},
    {JF_TEXT(struct audit_args, since), .min = 1, .max = TIME_MAX,
     .doc = "Not before: 2026-01-31 or 2026-01-31T12:00:00Z"},
    {JF_TEXT(struct audit_args, until), .min = 1, .max = TIME_MAX, .doc = "Before"},
    {JF_CHOICE(struct audit_args, result, results), .preset = ANY},
    {JF_BOOL(struct audit_args, changes), .doc = "Only what changed something, no reads"},
    {JF_BOOL(struct audit_args, server),
     .doc = "Everything on this server, for its admins; with workspace_id: what happened in it"},
    {JF_INT(struct audit_args, limit), .min = 1, .max = ENTRIES_MAX, .preset = ENTRIES},
    {JF_TEXT(struct audit_args, cursor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "next_cursor of the page before"},
    {0},
};

/* ---- one entry ---- */

static const struct json_t *first_change(const struct json_t *entry)
{
    const json_t *changes = json_object_get(json_object_get(entry, "detail"), "changes");
    return json_array_get(changes, 0);
}

/* What it was done to: a path, otherwise an id. */
static const char *object_of(const struct json_t *entry)
{
    static const char *const keys[] = {"path", "object", "run", "session", "workspace"};
    if (!*team_text(entry, "path") && *team_text(first_change(entry), "path"))
        return team_text(first_change(entry), "path");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*team_text(entry, keys[i]))
            return team_text(entry, keys[i]);
    return "-";
}

/* Files of the same act beside the one that is named. */
static uint64_t further_of(const struct json_t *entry)
{
    const json_t *detail = json_object_get(entry, "detail");
    size_t count = json_array_size(json_object_get(detail, "changes"));
    return (count ? count - 1 : 0) + team_number(detail, "more");
}

static const char *actor_of(const struct json_t *entry)
{
    return *team_text(entry, "principal") ? team_text(entry, "principal") : "-";
}

static void put_entry(struct json_writer *w, const struct json_t *entry)
{
    jw_object(w);
    team_copy(w, entry, "seq");
    team_copy(w, entry, "time");
    team_put(w, "actor", actor_of(entry));
    team_copy(w, entry, "event");
    team_put(w, "object", object_of(entry));
    team_copy(w, entry, "result");
    if (*team_text(entry, "reason"))
        team_copy(w, entry, "reason");
    if (*team_text(entry, "via"))
        team_copy(w, entry, "via");
    jw_end_object(w);
}

static void entry_row(const struct json_t *entry, struct buf *line, struct json_writer *w)
{
    team_say_time(line, team_text(entry, "time"));
    buf_fmt(line, "  %s  ", actor_of(entry));
    team_say(line, team_text(entry, "event"), EVENT_MAX);
    buf_str(line, "  ");
    team_say(line, object_of(entry), TEAM_PATH_MAX);
    if (further_of(entry))
        buf_fmt(line, " and %" PRIu64 " more", further_of(entry));
    buf_fmt(line, "  %s", team_text(entry, "result"));
    if (*team_text(entry, "reason"))
        buf_fmt(line, " (%s)", team_text(entry, "reason"));
    buf_fmt(line, "  %s", *team_text(entry, "via") ? team_text(entry, "via") : "-");
    put_entry(w, entry);
}

/* ---- asking ---- */

static void name_audit(struct native *n, const struct audit_args *in)
{
    if (in->server) {
        native_text(n, "/api/v1/audit");
        native_query(n, "workspace", in->workspace_id);
        return;
    }
    native_workspace(n, in->workspace_id);
    native_text(n, "/audit");
}

static int run(struct mcp_call *m, struct err *e)
{
    static const struct team_list list = {.key = "entries",
                                          .empty = "nothing like that is in the audit",
                                          .columns = "time  actor  event  object  result  via",
                                          .number = "seq",
                                          .row = entry_row};
    const struct audit_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    name_audit(&n, in);
    native_query(&n, "path", in->path ? native_clean(in->path) : NULL);
    native_query(&n, "principal", in->actor);
    native_query(&n, "event", in->event);
    native_query(&n, "from", in->since);
    native_query(&n, "until", in->until);
    native_query(&n, "result", in->result == ANY ? NULL : results[in->result]);
    native_query(&n, "changes", in->changes ? "true" : NULL);
    native_query_u64(&n, "limit", (uint64_t)in->limit);
    native_query(&n, "cursor", in->cursor);
    if (team_call(m, &n, e))
        return -1;
    (void)team_list(m, &list, n.json);
    return 0;
}

const struct mcp_tool tool_audit_log = {
    .name = "audit_log",
    .title = "Audit log",
    .description =
        "Who did what in a workspace, the newest first: time, actor, event, object, result and the "
        "door it came through (mcp, rest, cli, sandbox, share). Reads and refusals are in it too; "
        "changes=true leaves out the reads. For admins and the owner of the workspace.",
    .fields = fields,
    .size = sizeof(struct audit_args),
    .scope = SCOPE_AUDIT,
    .flags = TOOL_READS,
    .run = run,
};
