/* run_session.c -- manage_session: which sessions there are, and what can be done with one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "json/fields.h"

enum { LISTED = 50, REPR_MAX = 120, NAMES_SHOWN = 100, TEXT_ROOM = 16 << 10 };
enum { LIST, VARIABLES, INTERRUPT, RESTART, FORK, CLOSE };
static const char *const actions[] = {"list", "variables", "interrupt", "restart",
                                      "fork", "close",     NULL};

struct session_args {
    int action;
    const char *session_id;
    bool wake;
};

static const struct json_field fields[] = {
    {JF_CHOICE(struct session_args, action, actions), .required = true,
     .doc = "list: your open sessions; variables: names, types and values; interrupt: end the run "
            "that goes on, variables stay; restart: forget all variables; fork: a second session "
            "with the same variables and files; close: end it."},
    {JF_TEXT(struct session_args, session_id), .max = 128,
     .doc = "All but list need it, unless run_code was used without one before."},
    {JF_BOOL(struct session_args, wake),
     .doc =
         "With variables: wake a session that sleeps, to ask it. Otherwise the list is what it was."},
    {0},
};

int run_session_gone(struct mcp_call *m, const char *id, struct err *e)
{
    (void)snprintf(m->hint, sizeof m->hint,
                   "Call run_code without session_id to begin a new one: files in /mnt/data are "
                   "still there, variables are not. manage_session with action list shows what is "
                   "open.");
    return err_set(e, ERR_NOT_FOUND,
                   "session %.64s is not there: it was closed, has expired, or is not yours", id);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

/* ---- the list ---- */

static void put_session(struct mcp_call *m, const json_t *s)
{
    struct json_writer *w = &m->reply.w;
    const char *name = run_text(s, "name"), *id = run_text(s, "id");
    const char *parent = run_text(json_object_get(s, "parent"), "session_id");
    bool is_default = strcmp(id, mcp_default_session(m)) == 0;
    buf_fmt(&m->reply.text, "- %s%s%.100s%s: %s, %.0f runs, last used %s, workspace %s%s%s%s\n", id,
            *name ? " (" : "", name, *name ? ")" : "", run_text(s, "status"), run_number(s, "runs"),
            run_text(s, "last_used_at"), run_text(s, "workspace_id"),
            *parent ? ", forked from " : "", parent,
            is_default ? " (used when session_id is left out)" : "");
    jw_object(w);
    put_text(w, "session_id", id);
    if (*name)
        put_text(w, "name", name);
    put_text(w, "status", run_text(s, "status"));
    put_text(w, "workspace_id", run_text(s, "workspace_id"));
    put_text(w, "last_used_at", run_text(s, "last_used_at"));
    if (*parent)
        put_text(w, "parent_session_id", parent);
    jw_end_object(w);
}

static int list(struct mcp_call *m, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    size_t i, shown = 0;
    json_t *session;
    native_text(&n, "/api/v1/sessions");
    native_query(&n, "status", "open");
    native_query_u64(&n, "limit", LISTED);
    if (native_call(m, &n, e))
        return -1;
    const json_t *all = json_object_get(n.json, "data");
    bool has_more = json_is_true(json_object_get(n.json, "has_more"));
    buf_fmt(&m->reply.text, "open sessions: %zu%s\n", json_array_size(all),
            has_more ? ", and more that were used longer ago" : "");
    jw_key(&m->reply.w, "sessions");
    jw_array(&m->reply.w);
    json_array_foreach(all, i, session)
    {
        if (m->reply.structured.len > REPLY_STRUCTURED_MAX - 1024)
            break;
        put_session(m, session);
        shown++;
    }
    jw_end_array(&m->reply.w);
    if (shown < json_array_size(all))
        buf_fmt(&m->reply.text, "- and %zu more\n", json_array_size(all) - shown);
    return 0;
}

/* ---- variables ---- */

static void put_variable(struct mcp_call *m, const json_t *v)
{
    struct json_writer *w = &m->reply.w;
    scoped(buf_done) struct buf repr = BUF_INIT(REPR_MAX + TEXT_NOTICE_MAX);
    struct str text = run_str(v, "repr"), name = run_str(v, "name"), type = run_str(v, "type");
    struct str why = run_str(v, "gave_up");
    size_t next;
    struct str piece = text_window(text, 0, REPR_MAX, &next);
    for (size_t i = 0; i < piece.len; i++)
        buf_add(&repr, piece.ptr[i] == '\n' ? " " : piece.ptr + i, 1);
    if (next < text.len)
        buf_str(&repr, " ...");
    buf_fmt(&m->reply.text, "%.200s: %.200s", name.ptr, type.ptr);
    if (repr.len > 0)
        buf_fmt(&m->reply.text, " = %s", repr.bytes);
    if (why.len > 0)
        buf_fmt(&m->reply.text, " (%.200s)", why.ptr);
    buf_str(&m->reply.text, "\n");
    if (m->reply.structured.len + 6 * (repr.len + name.len + type.len + why.len) >
        REPLY_STRUCTURED_MAX - 512)
        return;
    jw_object(w);
    put_text(w, "name", name.ptr);
    put_text(w, "type", type.ptr);
    put_text(w, "repr", repr.bytes ? repr.bytes : "");
    if (why.len > 0)
        put_text(w, "gave_up", why.ptr);
    jw_end_object(w);
}

/* Of a session that was not asked: what the list is instead. */
static void tell_state(struct mcp_call *m, const json_t *answer)
{
    const char *status = run_text(answer, "status"), *as_of = run_text(answer, "as_of");
    bool is_current = json_is_true(json_object_get(answer, "is_current"));
    put_text(&m->reply.w, "status", status);
    jw_key(&m->reply.w, "is_current");
    jw_bool(&m->reply.w, is_current);
    if (is_current)
        return;
    if (*as_of)
        put_text(&m->reply.w, "as_of", as_of);
    buf_fmt(&m->reply.text, "The session is %s and was not asked: this is %s%s.%s\n", status,
            *as_of ? "what it had at " : "not what it has, which is not known", as_of,
            strcmp(status, "asleep") == 0 ? " Pass wake: true to wake it and ask." : "");
}

static int variables(struct mcp_call *m, const char *id, bool wakes, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    size_t i;
    json_t *variable;
    native_text(&n, "/api/v1/sessions/");
    native_piece(&n, id);
    native_text(&n, "/variables");
    native_query(&n, "wake", wakes ? "true" : NULL);
    if (native_call(m, &n, e))
        return -1;
    const json_t *all = json_object_get(n.json, "variables");
    size_t count = json_array_size(all);
    buf_fmt(&m->reply.text, "session_id: %s\nvariables: %zu\n", id, count);
    put_text(&m->reply.w, "session_id", id);
    tell_state(m, n.json);
    jw_key(&m->reply.w, "count");
    jw_u64(&m->reply.w, count);
    jw_key(&m->reply.w, "variables");
    jw_array(&m->reply.w);
    json_array_foreach(all, i, variable)
    {
        if (i == NAMES_SHOWN || m->reply.text.len > TEXT_ROOM) {
            buf_fmt(&m->reply.text, "and %zu more\n", count - i);
            break;
        }
        put_variable(m, variable);
    }
    jw_end_array(&m->reply.w);
    return 0;
}

/* ---- what changes one ---- */

static const struct act {
    const char *method, *where, *told;
} acts[] = {
    [INTERRUPT] = {"POST", "/interrupt",
                   "The run that went on, if any, is ended. Variables are "
                   "kept."},
    [RESTART] = {"POST", "/restart",
                 "Restarted: all variables are gone, files in /mnt/data are "
                 "kept."},
    [FORK] = {"POST", "/fork",
              "A new session with the same variables and files: pass this "
              "session_id to use it. The other one is as it was."},
    [CLOSE] = {"DELETE", "",
               "Closed. Files in /mnt/data are kept. run_code without session_id "
               "begins a new session."},
};

static int change(struct mcp_call *m, int action, const char *id, struct err *e)
{
    scoped(native_done) struct native n = NATIVE(acts[action].method);
    bool was_default = strcmp(id, mcp_default_session(m)) == 0;
    native_text(&n, "/api/v1/sessions/");
    native_piece(&n, id);
    native_text(&n, acts[action].where);
    if (native_call(m, &n, e)) {
        if (action == FORK && e->code == ERR_CONFLICT)
            (void)snprintf(m->hint, sizeof m->hint,
                           "Begin another one with run_code without session_id, and run there what "
                           "makes the variables.");
        return -1;
    }
    const char *shown = action == CLOSE ? id : run_text(n.json, "id");
    buf_fmt(&m->reply.text, "session_id: %s\n%s\n", shown, acts[action].told);
    put_text(&m->reply.w, "session_id", shown);
    put_text(&m->reply.w, "status", action == CLOSE ? "closed" : run_text(n.json, "status"));
    if (action == CLOSE && was_default)
        mcp_set_default_session(m, "");
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct session_args *in = m->in;
    char id[128 + 1];
    jw_key(&m->reply.w, "action");
    jw_text(&m->reply.w, actions[in->action]);
    if (in->action == LIST)
        return list(m, e);
    const char *named = in->session_id && *in->session_id ? in->session_id : NULL;
    (void)snprintf(id, sizeof id, "%s", named ? named : mcp_default_session(m));
    if (!*id) {
        (void)snprintf(m->hint, sizeof m->hint,
                       "Pass the session_id that run_code answered with; action list shows all.");
        return err_set(e, ERR_INVALID, "session_id is needed");
    }
    int failed =
        in->action == VARIABLES ? variables(m, id, in->wake, e) : change(m, in->action, id, e);
    return failed && e->code == ERR_NOT_FOUND ? run_session_gone(m, id, e) : failed;
}

const struct mcp_tool tool_manage_session = {
    .name = "manage_session",
    .title = "Manage sessions",
    .description =
        "The sessions of run_code: list them, see the variables of one, end what runs in "
        "it, begin anew, branch it, close it. Files are kept in all cases.",
    .fields = fields,
    .size = sizeof(struct session_args),
    .scope = SCOPE_RUN,
    .flags = TOOL_CORE | TOOL_DESTROYS,
    .run = run,
};
