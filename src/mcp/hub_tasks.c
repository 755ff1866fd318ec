/* hub_tasks.c -- tasks that an ear wants to hear of: runs, until they are over. See hub_int.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/clock.h"
#include "base/scope.h"
#include "mcp/hub_int.h"

static void stirred(void *arg)
{
    struct hub_task *task = arg;
    struct mcp_hub *h = task->ear->hub;
    pthread_mutex_lock(&h->lock);
    ear_make_due(task->ear, DESK_CLERK);
    pthread_mutex_unlock(&h->lock);
}

/* Whether there is such a run, and they may see it. */
static int look(struct mcp_call *m, const char *id, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, id);
    return native_call(m, &n, e);
}

int ear_add_task(struct mcp_call *m, struct hub_ear *ear, const char *id, struct err *e)
{
    struct err ignored = {0};
    if (strlen(id) >= ID_SIZE)
        return err_set(e, ERR_NOT_FOUND, "there is no such task");
    if (!m->mcp->o.has_fixtures && look(m, id, e))
        return -1;
    struct hub_task *task = calloc(1, sizeof *task);
    if (!task)
        return err_set(e, ERR_NO_MEMORY, "follow a task");
    task->ear = ear;
    (void)snprintf(task->id, sizeof task->id, "%s", id);
    task->is_told = m->mcp->o.has_fixtures; /* by who has them */
    if (!task->is_told)                     /* one that is not in memory is over */
        (void)job_find(m->mcp->o.service, &ear->who, id, &task->job, &ignored);
    task->next = ear->tasks;
    ear->tasks = task;
    return 0;
}

static void drop_job(struct hub_task *task)
{
    if (task->is_watched)
        job_unwatch(task->job, &task->watch);
    task->is_watched = false;
    if (task->job)
        job_unref(take(task->job));
}

void ear_drop_tasks(struct hub_ear *ear)
{
    for (struct hub_task *task; (task = ear->tasks);) {
        ear->tasks = task->next;
        drop_job(task);
        free(task);
    }
}

/* The task as tasks/get would show it now. There is no request: one is made up for the operations. */
static int describe(struct hub_task *task, struct buf *out, struct err *e)
{
    struct hub_ear *ear = task->ear;
    const struct http_request request = {
        .method = str_of("POST"), .path = str_of("/mcp"), .peer = &ear->peer};
    struct call c = {.api = ear->api, .request = &request, .who = ear->who};
    scoped(json_decrefp) json_t *client = json_object();
    struct mcp_call m = {.mcp = ear->hub->mcp,
                         .c = &c,
                         .rpc = &(struct rpc_message){0},
                         .is_modern = true,
                         .version = MCP_VERSION_MODERN,
                         .client = client,
                         .error_data = BUF_INIT(4096)};
    struct json_writer w = JSON_WRITER(out);
    if (id_make("req_", c.id, e))
        return -1;
    ear_begin_note(ear, "notifications/tasks", &w);
    int failed = task_write(&m, task->id, &w, e);
    buf_done(&m.error_data);
    if (failed)
        return -1;
    ear_end_note(&w);
    return buf_check(out, e);
}

static void tell(struct hub_task *task)
{
    struct err e = {0};
    scoped(buf_done) struct buf text = BUF_INIT(HUB_QUEUE_BYTES);
    bool has_text = describe(task, &text, &e) == 0;
    pthread_mutex_lock(&task->ear->hub->lock);
    if (has_text)
        ear_say(task->ear, (struct str){text.bytes, text.len});
    else if (e.code != ERR_NOT_FOUND) /* who may not see it any more is not told */
        ear_end(task->ear);
    pthread_mutex_unlock(&task->ear->hub->lock);
}

void ear_take_tasks(struct hub_ear *ear)
{
    for (struct hub_task *task = ear->tasks; task; task = task->next) {
        if (task->is_told)
            continue;
        if (task->job && !task->is_watched) {
            task->watch = (struct job_watch){.more = stirred, .arg = task};
            task->is_watched = true;
            job_watch(task->job, &task->watch);
        }
        if (task->job && !job_wait(task->job, clock_us()))
            continue;
        task->is_told = true;
        drop_job(task);
        tell(task);
    }
}
