/* run_code.c -- run_code: code in a session, or in one of its own. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "service/job.h"
#include "service/service.h"
#include "json/fields.h"
#include "json/write.h"

enum { NAME_SIZE = 129, CODE_BYTES_MAX = 1 << 20, OUTPUT_BYTES = 8 << 20, POLL_MS = 2000 };

const char *const run_images_names[] = {"inline", "link", "none", NULL};
static const char *const languages[] = {"python", "bash", "javascript", NULL};

static const struct json_field fields[] = {
    {JF_STR(struct run_args, code), .required = true, .max = CODE_BYTES_MAX,
     .doc = "Source to run. Show plots with plt.show(); save files under /mnt/data."},
    {JF_CHOICE(struct run_args, language, languages),
     .doc = "bash and javascript run beside the session's Python, with the same files."},
    {JF_TEXT(struct run_args, session_id), .max = NAME_SIZE - 1,
     .doc = "Go on in this session, with its variables. Left out: a fresh one."},
    {JF_TEXT(struct run_args, workspace_id), .max = 256,
     .doc = "Workspace that is /mnt/data of a fresh session. Left out: your default one."},
    {JF_INT(struct run_args, timeout_s), .min = 1, .max = RUN_TIMEOUT_MAX_S, .is_open = true,
     .doc = "Seconds until the run is ended. Left out: 60, if the server does not say otherwise."},
    {JF_CHOICE(struct run_args, images, run_images_names),
     .doc = "How plots come: made small and shown, as links, or only counted."},
    {JF_BOOL(struct run_args, stateless),
     .doc = "Run in a session of its own that ends with it. Files are kept."},
    {0},
};

/* ---- the session ---- */

static int get(struct mcp_call *m, struct native *n, const char *where, const char *id,
               struct err *e)
{
    native_text(n, where);
    native_piece(n, id);
    return native_call(m, n, e);
}

/* Whether the session works in the workspace, which may be named by name. */
static int check_workspace(struct mcp_call *m, const char *session, const char *workspace,
                           bool *ret_is_same, struct err *e)
{
    scoped(native_done) struct native s = NATIVE("GET"), w = NATIVE("GET");
    if (get(m, &s, "/api/v1/sessions/", session, e))
        return e->code == ERR_NOT_FOUND ? run_session_gone(m, session, e) : -1;
    if (get(m, &w, "/api/v1/workspaces/", workspace, e))
        return -1;
    *ret_is_same = strcmp(run_text(s.json, "workspace_id"), run_text(w.json, "id")) == 0;
    return 0;
}

/* Models print without knowing how much: a session keeps more of it than others do, so that the file has
 * it all (run_output.c). */
static void put_limits(const struct mcp_call *m, struct json_writer *w)
{
    uint64_t max = service_limits_max(m->mcp->o.service)->output_bytes;
    jw_key(w, "limits");
    jw_object(w);
    jw_key(w, "output_bytes");
    jw_u64(w, max < OUTPUT_BYTES ? max : OUTPUT_BYTES);
    jw_end_object(w);
}

static int create_session(struct mcp_call *m, const char *workspace, char ret[ID_SIZE],
                          struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(buf_done) struct buf body = BUF_INIT(4 << 10);
    struct json_writer w = JSON_WRITER(&body);
    jw_object(&w);
    put_limits(m, &w);
    if (workspace) {
        jw_key(&w, "workspace");
        jw_text(&w, workspace);
    }
    jw_end_object(&w);
    native_text(&n, "/api/v1/sessions");
    n.body = (struct str){body.bytes, body.len};
    if (native_call(m, &n, e)) {
        if (e->code == ERR_LIMIT)
            (void)snprintf(m->hint, sizeof m->hint,
                           "Pass the session_id of an open session, or close some: manage_session "
                           "with action list, then close.");
        return -1;
    }
    (void)snprintf(ret, ID_SIZE, "%s", run_text(n.json, "id"));
    return 0;
}

/* Makes one that the client goes on in. Of several calls that come at once all go on in the same: who
 * finds that another was faster closes its own. `workspace` NULL: the default one. */
static int begin_session(struct mcp_call *m, const char *workspace, const char *before,
                         char ret[NAME_SIZE], struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    struct err ignored = {0}; /* one session more, which falls asleep */
    char own[ID_SIZE];
    if (create_session(m, workspace ? workspace : m->workspace, own, e))
        return -1;
    (void)snprintf(ret, NAME_SIZE, "%s", mcp_default_session(m));
    if (!*ret || workspace || strcmp(ret, before) == 0) {
        (void)snprintf(ret, NAME_SIZE, "%s", own);
        mcp_set_default_session(m, own);
        return 0;
    }
    (void)get(m, &n, "/api/v1/sessions/", own, &ignored);
    return 0;
}

/* The one that is named, the client's, or a new one. */
static int choose_session(struct mcp_call *m, const struct run_args *in, char ret[NAME_SIZE],
                          struct err *e)
{
    const char *named = in->session_id && *in->session_id ? in->session_id : NULL;
    const char *workspace = in->workspace_id && *in->workspace_id ? in->workspace_id : NULL;
    char before[NAME_SIZE];
    bool is_same = true;
    (void)snprintf(before, sizeof before, "%s", named ? named : mcp_default_session(m));
    (void)snprintf(ret, NAME_SIZE, "%s", before);
    if (*ret && workspace && check_workspace(m, ret, workspace, &is_same, e)) {
        if (named)
            return -1;
        is_same = false; /* what is wrong with the workspace, the next says */
    }
    if (*ret && is_same)
        return 0;
    if (named) {
        (void)snprintf(m->hint, sizeof m->hint,
                       "Leave out workspace_id to go on in the session, or session_id to begin one "
                       "in that workspace.");
        return err_set(e, ERR_INVALID, "session %.64s works in another workspace", named);
    }
    *e = (struct err){0};
    return begin_session(m, workspace, before, ret, e);
}

/* ---- the run ---- */

static void write_body(struct buf *out, const struct mcp_call *m, const struct run_args *in)
{
    const char *workspace = in->workspace_id && *in->workspace_id ? in->workspace_id : m->workspace;
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "code");
    jw_str(&w, in->code.ptr, in->code.len);
    jw_key(&w, "language");
    jw_text(&w, languages[in->language]);
    jw_key(&w, "background");
    jw_bool(&w, true);
    if (in->timeout_s > 0) {
        jw_key(&w, "timeout_s");
        jw_i64(&w, in->timeout_s);
    }
    if (in->stateless)
        put_limits(m, &w);
    if (in->stateless && workspace) {
        jw_key(&w, "workspace");
        jw_text(&w, workspace);
    }
    jw_end_object(&w);
}

/* `session` "": one of its own. */
static int start(struct mcp_call *m, const char *session, char ret[ID_SIZE], struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(buf_done) struct buf body = BUF_INIT(6 * CODE_BYTES_MAX + (4 << 10));
    write_body(&body, m, m->in);
    if (buf_check(&body, e))
        return -1;
    n.body = (struct str){body.bytes, body.len};
    native_text(&n, *session ? "/api/v1/sessions/" : "/api/v1/runs");
    native_piece(&n, session);
    native_text(&n, *session ? "/runs" : "");
    if (native_call(m, &n, e))
        return -1;
    (void)snprintf(ret, ID_SIZE, "%s", run_text(n.json, "id"));
    return 0;
}

/* A session of the client's that has gone meanwhile is replaced, one that was named is not. */
static int start_somewhere(struct mcp_call *m, char run[ID_SIZE], bool *ret_is_replaced,
                           struct err *e)
{
    const struct run_args *in = m->in;
    char session[NAME_SIZE] = "", gone[NAME_SIZE];
    if (in->stateless && in->session_id && *in->session_id)
        return err_set(e, ERR_INVALID,
                       "a stateless run has a session of its own: leave out "
                       "session_id, or stateless");
    if (in->stateless)
        return start(m, session, run, e);
    if (choose_session(m, in, session, e))
        return -1;
    if (start(m, session, run, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    if (in->session_id && *in->session_id)
        return run_session_gone(m, in->session_id, e);
    *e = (struct err){0};
    *ret_is_replaced = true;
    memcpy(gone, session, sizeof gone);
    const char *workspace = in->workspace_id && *in->workspace_id ? in->workspace_id : NULL;
    return begin_session(m, workspace, gone, session, e) || start(m, session, run, e) ? -1 : 0;
}

static int answer_task(struct mcp_call *m, struct job *job, struct err *e)
{
    if (job_record(job, e))
        return -1;
    const struct mcp_task task = {.id = job_id(job),
                                  .status = "working",
                                  .message = "the code is running",
                                  .created_us = job_created_us(job),
                                  .updated_us = job_created_us(job),
                                  .poll_ms = POLL_MS};
    mcp_answer_task(m, &task);
    return 0;
}

/* It goes on: get_execution has the rest. */
static int answer_open(struct mcp_call *m, struct job *job, struct err *e)
{
    scoped(json_decrefp) json_t *object = NULL;
    if (job_record(job, e) || run_load(m, job_id(job), &object, e))
        return -1;
    return run_reply_open(m, object, job, RUN_OPEN_TAIL, e);
}

/* Waits for its end. *ret NULL: it goes on, and that was told. */
static int finish(struct mcp_call *m, const char *id, struct json_t **ret, struct err *e)
{
    scoped(job_unrefp) struct job *job = NULL;
    struct err gone = {0};
    if (job_find(m->mcp->o.service, &m->c->who, id, &job, &gone))
        return run_load(m, id, ret, e); /* over, and forgotten already */
    bool takes_tasks = mcp_takes_tasks(m);
    int64_t deadline_us = takes_tasks             ? clock_us() + RUN_TASK_AFTER_US
                          : mcp_hears_progress(m) ? CLOCK_NEVER
                                                  : clock_us() + RUN_OPEN_AFTER_US;
    if (run_wait(m, job, deadline_us, /* ends_it= */ true))
        return run_load_job(job, ret, e);
    return takes_tasks ? answer_task(m, job, e) : answer_open(m, job, e);
}

static int run(struct mcp_call *m, struct err *e)
{
    char id[ID_SIZE] = "";
    bool is_replaced = false;
    json_t *object = NULL;
    if (start_somewhere(m, id, &is_replaced, e) || finish(m, id, &object, e))
        return -1;
    int failed = object ? run_reply(m, object, e) : 0;
    json_decref(object);
    if (!failed && is_replaced)
        buf_str(&m->reply.text, "note: the session before was closed: this is a new one, without "
                                "its variables\n");
    return failed;
}

const struct mcp_tool tool_run_code = {
    .name = "run_code",
    .title = "Run code",
    .description =
        "Run Python (or bash, or JavaScript) in a sandbox; returns output, the value of the last "
        "expression, plots and the files that changed. Variables and imports stay in the session: "
        "pass the session_id of the reply to go on. /mnt/data is the workspace: what is written "
        "there is kept and versioned, and what others put there can be read. No internet. "
        "Installed: numpy, pandas, matplotlib, seaborn, scipy, scikit-learn, statsmodels, sympy, "
        "networkx, Pillow, openpyxl, pypdf, python-docx, lxml. `!cmd` and %magics work. An idle "
        "session sleeps and wakes with its variables; it is closed after weeks without use.",
    .fields = fields,
    .size = sizeof(struct run_args),
    .scope = SCOPE_RUN,
    .flags = TOOL_CORE | TOOL_DESTROYS,
    .run = run,
};
