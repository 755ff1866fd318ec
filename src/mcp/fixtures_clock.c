#include "mcp/fixtures_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/stream.h"

enum { ALIVE_MS = 5000 };

/* ---- the passing of time ---- */

/* The only way into another status. Under the lock. */
void fixture_become(struct mcp_fixtures *f, struct fixture_task *t, enum task_status status,
                    int64_t due_us)
{
    t->status = status;
    t->due_us = due_us;
    t->updated_us = clock_wall_us();
    (void)pthread_cond_broadcast(&f->changed);
}

static void go_on(struct mcp_fixtures *f, struct fixture_task *t)
{
    if (t->open)
        fixture_become(f, t, TASK_ASKING, CLOCK_NEVER);
    else
        fixture_become(f, t, t->job.ending == ENDS_IN_PROTOCOL_ERROR ? TASK_BROKEN : TASK_WELL,
                       CLOCK_NEVER);
}

/* Does one thing that is due and copies it; false: nothing is, and *ret_next_us is when something will
 * be. Under the lock. */
static bool next_due(struct mcp_fixtures *f, struct fixture_task *ret_task,
                     struct fixture_left *ret_left, int64_t *ret_next_us)
{
    int64_t now_us = clock_us(), next_us = CLOCK_NEVER;
    *ret_task = (struct fixture_task){0};
    *ret_left = (struct fixture_left){0};
    for (size_t i = 0; i < FIXTURE_LEFT_MAX; i++) {
        struct fixture_left *left = &f->lefts[i];
        if (left->stream && (left->due_us <= now_us || f->is_stopping)) {
            *ret_left = *left;
            *left = (struct fixture_left){0};
            return true;
        }
        if (left->stream && left->due_us < next_us)
            next_us = left->due_us;
    }
    for (size_t i = 0; i < FIXTURE_TASKS_MAX && !f->is_stopping; i++) {
        struct fixture_task *t = &f->tasks[i];
        if (*t->id && t->due_us <= now_us) {
            go_on(f, t);
            *ret_task = *t;
            return true;
        }
        if (*t->id && t->due_us < next_us)
            next_us = t->due_us;
    }
    *ret_next_us = next_us;
    return false;
}

/* Until something changes, or that time. Under the lock. */
static void nap(struct mcp_fixtures *f, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    if (until_us == CLOCK_NEVER)
        (void)pthread_cond_wait(&f->changed, &f->lock);
    else
        (void)pthread_cond_timedwait(&f->changed, &f->lock, &until);
}

static void *pass_time(void *arg)
{
    struct mcp_fixtures *f = arg;
    struct fixture_task task;
    struct fixture_left left;
    int64_t next_us = 0;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        if (!next_due(f, &task, &left, &next_us)) {
            if (f->is_stopping)
                break;
            nap(f, next_us);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        if (left.stream)
            mcp_stream_answer(left.stream, str_of(left.result));
        if (*task.id)
            fixture_tell(f, &task);
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* ---- for the tools ---- */

int fixture_begin(struct mcp_call *m, const struct fixture_job *job, struct err *e)
{
    struct mcp_fixtures *f = m->mcp->fixtures;
    struct fixture_task made = {.job = *job, .open = (1U << job->question_count) - 1};
    if (id_make("task_", made.id, e))
        return -1;
    (void)snprintf(made.text, sizeof made.text, "%s", job->text);
    made.created_us = made.updated_us = clock_wall_us();
    made.due_us = clock_us() + job->work_ms * 1000;
    pthread_mutex_lock(&f->lock);
    f->tasks[f->count++ % FIXTURE_TASKS_MAX] = made;
    (void)pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    const struct mcp_task card = fixture_card(&made);
    mcp_answer_task(m, &card);
    return 0;
}

struct sleeper {
    struct mcp_fixtures *f;
    bool is_cancelled; /* protected by the lock of f */
};

static void wake(void *arg)
{
    struct sleeper *s = arg;
    pthread_mutex_lock(&s->f->lock);
    s->is_cancelled = true;
    (void)pthread_cond_broadcast(&s->f->changed);
    pthread_mutex_unlock(&s->f->lock);
}

int fixture_wait(struct mcp_call *m, int64_t ms, struct err *e)
{
    struct mcp_fixtures *f = m->mcp->fixtures;
    struct sleeper self = {.f = f};
    int64_t until_us = clock_us() + ms * 1000, alive_us = clock_us() + ALIVE_MS * 1000;
    bool is_over = false;
    mcp_on_cancel(m, wake, &self);
    pthread_mutex_lock(&f->lock);
    while (!(is_over = f->is_stopping || self.is_cancelled) && clock_us() < until_us) {
        nap(f, until_us < alive_us ? until_us : alive_us);
        if (clock_us() < alive_us)
            continue;
        pthread_mutex_unlock(&f->lock);
        mcp_keep_alive(m);
        alive_us = clock_us() + ALIVE_MS * 1000;
        pthread_mutex_lock(&f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    mcp_on_cancel(m, NULL, NULL);
    return is_over ? err_set(e, ERR_GONE, "it was cancelled") : 0;
}

void fixture_answer_after(struct mcp_fixtures *f, struct mcp_stream *s, int64_t ms,
                          const char *result)
{
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < FIXTURE_LEFT_MAX && s && !f->is_stopping; i++)
        if (!f->lefts[i].stream) {
            f->lefts[i] = (struct fixture_left){take(s), result, clock_us() + ms * 1000};
            (void)pthread_cond_broadcast(&f->changed);
        }
    pthread_mutex_unlock(&f->lock);
    if (s)
        mcp_stream_answer(s, str_of(result)); /* at once: too many wait already */
}

/* ---- life ---- */

int fixtures_open(struct mcp_hub *hub, struct mcp_fixtures **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct mcp_fixtures *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NO_MEMORY, "make the fixtures");
    f->hub = hub;
    (void)pthread_mutex_init(&f->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&f->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    int why = pthread_create(&f->thread, NULL, pass_time, f);
    f->has_thread = !why;
    if (why) {
        fixtures_close(f);
        return err_sys(e, why, "let the time of the fixtures pass");
    }
    *ret = f;
    return 0;
}

void fixtures_stop(struct mcp_fixtures *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    f->is_stopping = true;
    (void)pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

void fixtures_close(struct mcp_fixtures *f)
{
    if (!f)
        return;
    fixtures_stop(f);
    if (f->has_thread)
        (void)pthread_join(f->thread, NULL);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}
