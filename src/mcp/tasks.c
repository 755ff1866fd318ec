/* tasks.c -- tasks/get, tasks/update, tasks/cancel: runs of run_code that took longer, as the extension
 * io.modelcontextprotocol/tasks has them. The task's id is the run's, so there is nothing to keep: who may
 * see the run may see the task, and it lives as long as the record of the run. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"

enum { POLL_MS = 2000 };

static bool is_run(const char *id)
{
    return strncmp(id, "run_", 4) == 0;
}

static int no_task(struct mcp_call *m, const char *id, struct err *e)
{
    return mcp_fail(m, RPC_PARAMS, e, "There is no task %.64s.", id);
}

static int id_of(struct mcp_call *m, const char **ret, struct err *e)
{
    *ret = mcp_param(m, "taskId");
    return *ret ? 0 : mcp_fail(m, RPC_PARAMS, e, "taskId has to be the id of a task, as text.");
}

/* What an operation on the run failed with, as the protocol has it. */
static int explain(struct mcp_call *m, const char *id, struct err *e)
{
    return e->code == ERR_NOT_FOUND || e->code == ERR_DENIED ? no_task(m, id, e) : -1;
}

/* ---- get ---- */

/* "2026-01-31T12:00:00.123Z" in microseconds; 0: it is none. */
static int64_t time_of(const json_t *run, const char *key)
{
    struct tm utc = {0};
    const char *text = run_text(run, key);
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    int ms = 0;
    if (!rest)
        return 0;
    for (size_t i = 1; i <= 3 && rest[0] == '.' && rest[i] >= '0' && rest[i] <= '9'; i++)
        ms = ms * 10 + rest[i] - '0';
    return ((int64_t)timegm(&utc) * 1000 + ms) * 1000;
}

static const char *status_of(const json_t *run)
{
    if (!run_is(run, "status", "done"))
        return "working";
    return run_is(run, "end", "cancelled") ? "cancelled" : "completed";
}

static void write_state(struct json_writer *w, const json_t *run)
{
    char message[80];
    int64_t started_us = time_of(run, "started_at"), created_us = time_of(run, "created_at");
    int64_t took_us = (int64_t)(run_number(run, "duration_ms") * 1000);
    bool is_working = !run_is(run, "status", "done");
    if (is_working)
        (void)snprintf(message, sizeof message, "the code is %s", run_text(run, "status"));
    else
        (void)snprintf(message, sizeof message, "ended: %.32s", run_text(run, "end"));
    if (created_us == 0)
        created_us = started_us;
    const struct mcp_task task = {
        .id = run_text(run, "id"),
        .status = status_of(run),
        .message = message,
        .created_us = created_us,
        .updated_us = is_working || started_us == 0 ? created_us : started_us + took_us,
        .poll_ms = POLL_MS};
    mcp_write_task(w, &task);
}

/* What run_code would have answered with. */
static int write_result(struct mcp_call *m, struct json_writer *w, json_t *run, struct err *e)
{
    reply_begin(m);
    int failed = run_reply(m, run, e);
    if (!failed) {
        jw_key(w, "result");
        jw_object(w);
        mcp_write_reply(m, w);
        jw_end_object(w);
    }
    reply_done(m);
    return failed;
}

int task_write(struct mcp_call *m, const char *id, struct json_writer *w, struct err *e)
{
    scoped(json_decrefp) json_t *run = NULL;
    if (!is_run(id))
        return err_set(e, ERR_NOT_FOUND, "there is no task %.64s", id);
    if (run_load(m, id, &run, e))
        return -1;
    write_state(w, run);
    return strcmp(status_of(run), "completed") == 0 ? write_result(m, w, run, e) : 0;
}

static int get(struct mcp_call *m, struct err *e)
{
    const char *id;
    if (id_of(m, &id, e))
        return -1;
    if (m->mcp->o.has_fixtures && !is_run(id))
        return fixture_task_get(m, id, e);
    return task_write(m, id, &m->w, e) ? explain(m, id, e) : 0;
}

/* ---- update and cancel ---- */

/* Code asks nothing of a client, so there is nothing to be answered. */
static int update(struct mcp_call *m, struct err *e)
{
    const char *id;
    json_t *run = NULL;
    if (id_of(m, &id, e))
        return -1;
    if (m->mcp->o.has_fixtures && !is_run(id))
        return fixture_task_update(m, id, e);
    if (!is_run(id))
        return no_task(m, id, e);
    if (run_load(m, id, &run, e))
        return explain(m, id, e);
    json_decref(run);
    return 0;
}

static int cancel(struct mcp_call *m, struct err *e)
{
    const char *id;
    if (id_of(m, &id, e))
        return -1;
    if (m->mcp->o.has_fixtures && !is_run(id))
        return fixture_task_cancel(m, id, e);
    if (!is_run(id))
        return no_task(m, id, e);
    scoped(native_done) struct native n = NATIVE("POST");
    n.max = RUN_JSON_MAX;
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, id);
    native_text(&n, "/cancel");
    return native_call(m, &n, e) ? explain(m, id, e) : 0;
}

static const struct mcp_method items[] = {
    {"tasks/get", METHOD_MODERN | METHOD_TASKS, "taskId", get},
    {"tasks/update", METHOD_MODERN | METHOD_TASKS, "taskId", update},
    {"tasks/cancel", METHOD_MODERN | METHOD_TASKS, "taskId", cancel},
};

const struct mcp_methods methods_tasks = {items, sizeof items / sizeof *items};
