#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/fixtures_clock.h"

enum { TASK_TEXT_MAX = 8 << 10 };

static const char *const status_names[] = {"working", "input_required", "completed", "failed",
                                           "cancelled"};

/* ---- a task as the client sees it ---- */

struct mcp_task fixture_card(const struct fixture_task *t)
{
    return (struct mcp_task){.id = t->id,
                             .status = status_names[t->status],
                             .created_us = t->created_us,
                             .updated_us = t->updated_us,
                             .ttl_ms = TASK_TTL_MS,
                             .poll_ms = TASK_POLL_MS};
}

static void write_questions(struct json_writer *w, const struct fixture_task *t)
{
    jw_key(w, "inputRequests");
    jw_object(w);
    for (size_t i = 0; i < t->job.question_count; i++) {
        const struct mcp_question *q = &t->job.questions[i];
        if (!(t->open & 1U << i))
            continue;
        jw_key(w, q->key);
        jw_object(w);
        jw_key(w, "method");
        jw_text(w, q->method);
        jw_key(w, "params");
        jw_raw(w, q->params, strlen(q->params));
        jw_end_object(w);
    }
    jw_end_object(w);
}

static void write_result(struct json_writer *w, const struct fixture_task *t)
{
    jw_key(w, "result");
    jw_object(w);
    jw_key(w, "resultType");
    jw_text(w, "complete");
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_key(w, "type");
    jw_text(w, "text");
    jw_key(w, "text");
    jw_text(w, t->text);
    jw_end_object(w);
    jw_end_array(w);
    if (t->job.ending == ENDS_IN_TOOL_ERROR) {
        jw_key(w, "isError");
        jw_bool(w, true);
    }
    jw_end_object(w);
}

/* The members of a DetailedTask. */
static void write_task(struct json_writer *w, const struct fixture_task *t)
{
    const struct mcp_task task = fixture_card(t);
    mcp_write_task(w, &task);
    if (t->status == TASK_ASKING)
        write_questions(w, t);
    if (t->status == TASK_WELL)
        write_result(w, t);
    if (t->status == TASK_BROKEN) {
        jw_key(w, "error");
        jw_object(w);
        jw_key(w, "code");
        jw_i64(w, RPC_INTERNAL);
        jw_key(w, "message");
        jw_text(w, t->text);
        jw_end_object(w);
    }
}

/* Tells whoever listens; without the lock. */
void fixture_tell(struct mcp_fixtures *f, const struct fixture_task *t)
{
    scoped(buf_done) struct buf text = BUF_INIT(TASK_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&text);
    jw_object(&w);
    write_task(&w, t);
    jw_end_object(&w);
    if (!text.failed)
        hub_task_changed(f->hub, t->id, (struct str){text.bytes, text.len});
}

/* ---- tasks/get, tasks/update, tasks/cancel ---- */

/* Under the lock, which is left when it fails. */
static struct fixture_task *find(struct mcp_call *m, const char *id, struct err *e)
{
    struct mcp_fixtures *f = m->mcp->fixtures;
    for (size_t i = 0; i < FIXTURE_TASKS_MAX; i++)
        if (*f->tasks[i].id && strcmp(f->tasks[i].id, id) == 0)
            return &f->tasks[i];
    pthread_mutex_unlock(&f->lock);
    mcp_fail(m, RPC_PARAMS, e, "there is no task %.80s", id);
    return NULL;
}

int fixture_task_get(struct mcp_call *m, const char *id, struct err *e)
{
    pthread_mutex_lock(&m->mcp->fixtures->lock);
    struct fixture_task *t = find(m, id, e);
    if (!t)
        return -1;
    write_task(&m->w, t);
    pthread_mutex_unlock(&m->mcp->fixtures->lock);
    return 0;
}

int fixture_task_update(struct mcp_call *m, const char *id, struct err *e)
{
    struct mcp_fixtures *f = m->mcp->fixtures;
    json_t *answers = json_object_get(m->params, "inputResponses");
    if (!json_is_object(answers))
        return mcp_fail(m, RPC_PARAMS, e, "inputResponses has to be an object");
    pthread_mutex_lock(&f->lock);
    struct fixture_task *t = find(m, id, e), copy;
    if (!t)
        return -1;
    unsigned before = t->open;
    for (size_t i = 0; i < t->job.question_count && t->status == TASK_ASKING; i++)
        if (json_is_object(json_object_get(answers, t->job.questions[i].key)))
            t->open &= ~(1U << i);
    bool is_changed = t->open != before;
    if (is_changed)
        fixture_become(f, t, t->open ? TASK_ASKING : TASK_WORKING,
                       t->open ? CLOCK_NEVER : clock_us());
    copy = *t;
    pthread_mutex_unlock(&f->lock);
    if (is_changed)
        fixture_tell(f, &copy);
    return 0;
}

int fixture_task_cancel(struct mcp_call *m, const char *id, struct err *e)
{
    struct mcp_fixtures *f = m->mcp->fixtures;
    pthread_mutex_lock(&f->lock);
    struct fixture_task *t = find(m, id, e), copy;
    if (!t)
        return -1;
    bool is_changed = t->status == TASK_WORKING || t->status == TASK_ASKING;
    if (is_changed)
        fixture_become(f, t, TASK_CANCELLED, CLOCK_NEVER);
    copy = *t;
    pthread_mutex_unlock(&f->lock);
    if (is_changed)
        fixture_tell(f, &copy);
    return 0;
}
