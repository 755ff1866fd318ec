/* hub.c -- the herald and the clerk, and what others tell the hub. See hub_int.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "mcp/hub_int.h"

/* ---- who is due ---- */

/* With the lock held, as all of these. */
static struct hub_ear *take_due(struct mcp_hub *h, enum hub_desk desk)
{
    struct hub_line *line = &h->lines[desk];
    struct hub_ear *ear = line->due;
    if (!ear)
        return NULL;
    line->due = ear->next_due[desk];
    if (!line->due)
        line->last_due = &line->due;
    ear->is_due[desk] = false;
    return ear;
}

static void leave_line(struct hub_ear *ear, enum hub_desk desk)
{
    struct hub_line *line = &ear->hub->lines[desk];
    struct hub_ear **at = &line->due;
    if (!ear->is_due[desk])
        return;
    while (*at != ear)
        at = &(*at)->next_due[desk];
    *at = ear->next_due[desk];
    if (!*at)
        line->last_due = at;
    ear->is_due[desk] = false;
}

static void unlink_ear(struct mcp_hub *h, struct hub_ear *ear)
{
    if (ear->prev)
        ear->prev->next = ear->next;
    else
        h->ears = ear->next;
    if (ear->next)
        ear->next->prev = ear->prev;
    h->ear_count--;
}

/* ---- the herald ---- */

/* With the lock held, which is given up meanwhile. Nobody finds it any more, and what it listens with
 * wakes it at most until that is gone. */
static void bury(struct mcp_hub *h, struct hub_ear *ear)
{
    unlink_ear(h, ear);
    pthread_mutex_unlock(&h->lock);
    ear_drop_watches(ear);
    ear_drop_tasks(ear);
    pthread_mutex_lock(&h->lock);
    leave_line(ear, DESK_HERALD);
    leave_line(ear, DESK_CLERK);
    ear_free(ear);
}

/* Likewise. One that the clerk is busy with comes again when it is not. */
static void serve(struct mcp_hub *h, struct hub_ear *ear)
{
    bool is_changed = ear->is_changed;
    if (ear->is_dead) {
        leave_line(ear, DESK_CLERK);
        if (!ear->streams && ear->pins == 0 && !ear->is_busy[DESK_CLERK])
            bury(h, ear);
        return;
    }
    ear->is_changed = false;
    pthread_mutex_unlock(&h->lock);
    if (is_changed)
        ear_fit_watches(ear);
    ear_take_events(ear);
    pthread_mutex_lock(&h->lock);
}

/* Tells those whose second is over, and finds out when the next is. With the lock held. */
static void tell_lists(struct mcp_hub *h, int64_t now_us)
{
    if (now_us < h->list_due_us)
        return;
    h->list_due_us = CLOCK_NEVER;
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next) {
        if (ear->list_due_us <= now_us) {
            ear->list_due_us = CLOCK_NEVER;
            ear->list_us = now_us;
            ear->is_pending[HUB_RESOURCES] = true;
            ear_wake(ear);
        } else if (ear->list_due_us < h->list_due_us) {
            h->list_due_us = ear->list_due_us;
        }
    }
}

static void wait_for_work(struct mcp_hub *h)
{
    struct hub_line *line = &h->lines[DESK_HERALD];
    if (h->list_due_us == CLOCK_NEVER) {
        pthread_cond_wait(&line->wake, &h->lock);
        return;
    }
    const struct timespec until = {.tv_sec = h->list_due_us / 1000000,
                                   .tv_nsec = h->list_due_us % 1000000 * 1000};
    (void)pthread_cond_timedwait(&line->wake, &h->lock, &until);
}

static void *herald_main(void *arg)
{
    struct mcp_hub *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->is_closing) {
        tell_lists(h, clock_us());
        struct hub_ear *ear = take_due(h, DESK_HERALD);
        if (ear)
            serve(h, ear);
        else if (clock_us() < h->list_due_us)
            wait_for_work(h);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- the clerk ---- */

static void *clerk_main(void *arg)
{
    struct mcp_hub *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->is_closing) {
        struct hub_ear *ear = take_due(h, DESK_CLERK);
        if (!ear) {
            pthread_cond_wait(&h->lines[DESK_CLERK].wake, &h->lock);
            continue;
        }
        if (ear->is_dead)
            continue; /* the herald's alone */
        ear->is_busy[DESK_CLERK] = true;
        pthread_mutex_unlock(&h->lock);
        ear_take_tasks(ear);
        pthread_mutex_lock(&h->lock);
        ear->is_busy[DESK_CLERK] = false;
        if (ear->is_dead)
            ear_make_due(ear, DESK_HERALD);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- its life ---- */

static void close_lines(struct mcp_hub *h, size_t count)
{
    pthread_mutex_lock(&h->lock);
    h->is_closing = true;
    for (size_t i = 0; i < count; i++)
        pthread_cond_signal(&h->lines[i].wake);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(h->lines[i].thread, NULL);
}

static void free_hub(struct mcp_hub *h)
{
    for (size_t i = 0; i < HUB_DESKS; i++)
        (void)pthread_cond_destroy(&h->lines[i].wake);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

int hub_open(struct mcp *mcp, struct mcp_hub **ret, struct err *e)
{
    static void *(*const mains[HUB_DESKS])(void *) = {herald_main, clerk_main};
    struct mcp_hub *h = calloc(1, sizeof *h);
    pthread_condattr_t a;
    if (!h)
        return err_set(e, ERR_NO_MEMORY, "tell of changes");
    h->mcp = mcp;
    h->list_due_us = CLOCK_NEVER;
    (void)pthread_mutex_init(&h->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&a);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    for (size_t i = 0; i < HUB_DESKS; i++) {
        h->lines[i].last_due = &h->lines[i].due;
        (void)pthread_cond_init(&h->lines[i].wake, &a);
    }
    (void)pthread_condattr_destroy(&a);
    for (size_t i = 0; i < HUB_DESKS; i++) {
        int why = pthread_create(&h->lines[i].thread, NULL, mains[i], h);
        if (why) {
            close_lines(h, i);
            free_hub(h);
            return err_sys(e, why, "tell of changes");
        }
    }
    *ret = h;
    return 0;
}

void hub_stop(struct mcp_hub *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->is_stopping = true;
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next)
        ear_end(ear);
    pthread_mutex_unlock(&h->lock);
}

/* No stream is left. */
void hub_close(struct mcp_hub *h)
{
    if (!h)
        return;
    close_lines(h, HUB_DESKS);
    for (struct hub_ear *ear; (ear = h->ears);) {
        unlink_ear(h, ear);
        ear_drop_watches(ear);
        ear_drop_tasks(ear);
        ear_free(ear);
    }
    free_hub(h);
}

/* ---- what others tell ---- */

void hub_list_changed(struct mcp_hub *h, enum hub_kind kind)
{
    pthread_mutex_lock(&h->lock);
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next) {
        if (!ear->wants[kind])
            continue;
        ear->is_pending[kind] = true;
        ear_wake(ear);
    }
    pthread_mutex_unlock(&h->lock);
}

static void say_task(struct hub_ear *ear, struct str task)
{
    scoped(buf_done) struct buf text = BUF_INIT(task.len + 4096);
    struct json_writer w = JSON_WRITER(&text);
    if (task.len < 3)
        return;
    ear_begin_note(ear, "notifications/tasks", &w);
    buf_str(&text, ","); /* its members, without the braces, follow _meta */
    buf_add(&text, task.ptr + 1, task.len - 2);
    ear_end_note(&w);
    if (!text.failed)
        ear_say(ear, (struct str){text.bytes, text.len});
}

void hub_task_changed(struct mcp_hub *h, const char *task_id, struct str task)
{
    pthread_mutex_lock(&h->lock);
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next)
        for (const struct hub_task *t = ear->tasks; t; t = t->next)
            if (strcmp(t->id, task_id) == 0)
                say_task(ear, task);
    pthread_mutex_unlock(&h->lock);
}

void hub_forget_session(struct mcp_hub *h, const char *session_id)
{
    pthread_mutex_lock(&h->lock);
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next)
        if (*session_id && strcmp(ear->session, session_id) == 0) {
            ear->is_dead = true;
            ear_end(ear);
            ear_make_due(ear, DESK_HERALD);
        }
    pthread_mutex_unlock(&h->lock);
}
