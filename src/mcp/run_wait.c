/* run_wait.c -- waiting for a run, while its client hears that it goes on. Nothing is polled: the
 * journal of the run wakes whoever waits. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "service/job.h"
#include "json/read.h"

enum {
    ALIVE_US = 5 * 1000000, /* between signs of life */
    TELL_US = 100 * 1000,   /* between messages with output */
    PENDING_MAX = 1 << 20,  /* bytes of notes that have not been told yet; older ones go */
    MESSAGE_MAX = 2000,     /* bytes of a message: the newest lines */
};

struct wait {
    struct mcp_call *m;
    struct job *job;
    bool wants_output; /* the client gave a token for progress */
    int64_t begun_us, alive_us, told_us;
    uint64_t seen;      /* of the journal */
    struct buf pending; /* notes with output, one on a line */
    struct buf text;    /* their text, whole lines and the beginning of the next */

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    bool has_more, is_cancelled;
};

/* ---- from other threads ---- */

static void more(void *arg)
{
    struct wait *w = arg;
    pthread_mutex_lock(&w->lock);
    w->has_more = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void end_run(void *arg)
{
    struct wait *w = arg;
    job_cancel(w->job);
}

static void end_wait(void *arg)
{
    struct wait *w = arg;
    pthread_mutex_lock(&w->lock);
    w->is_cancelled = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* ---- output ---- */

static bool keep_note(void *arg, const struct note *n)
{
    struct wait *w = arg;
    w->seen = n->id;
    if (!w->wants_output || (n->kind != NOTE_STDOUT && n->kind != NOTE_STDERR))
        return true;
    if (w->pending.len + n->len >= PENDING_MAX)
        buf_done(&w->pending);
    if (n->len < PENDING_MAX) {
        buf_add(&w->pending, n->text, n->len);
        buf_str(&w->pending, "\n");
    }
    return true;
}

/* The text of the notes, after what was left of those before. */
static void read_pending(struct wait *w)
{
    const char *at = w->pending.bytes;
    for (const char *end; at && (end = strchr(at, '\n')); at = end + 1) {
        struct err ignored = {0}; /* a message less */
        json_t *note = NULL;
        if (json_read(at, (size_t)(end - at), &note, &ignored) == 0) {
            struct str text = run_str(note, "text");
            buf_add(&w->text, text.ptr, text.len);
        }
        json_decref(note);
    }
    buf_done(&w->pending);
}

/* Where the last line that has ended ends; a bar of progress ends it with a carriage return. */
static size_t lines_end(const struct buf *text)
{
    size_t at = text->len;
    while (at > 0 && text->bytes[at - 1] != '\n' && text->bytes[at - 1] != '\r')
        at--;
    return at;
}

/* Forgets the first `len` bytes; what is left of a line waits for its end, unless it is very long. */
static void drop_told(struct buf *text, size_t len)
{
    if (text->len - len > MESSAGE_MAX)
        len = text->len - MESSAGE_MAX;
    if (len == 0)
        return;
    memmove(text->bytes, text->bytes + len, text->len - len + 1);
    text->len -= len;
}

/* Whole lines, the newest of them that fit. */
static void tell_output(struct wait *w, int64_t now_us)
{
    read_pending(w);
    w->told_us = now_us;
    size_t len = lines_end(&w->text), from = len > MESSAGE_MAX ? len - MESSAGE_MAX : 0;
    const char *line = from ? memchr(w->text.bytes + from, '\n', len - from - 1) : NULL;
    from = line ? (size_t)(line + 1 - w->text.bytes) : from;
    scoped(buf_done) struct buf message = BUF_INIT(MESSAGE_MAX + 1);
    if (len > 0)
        text_plain(&message, (struct str){w->text.bytes + from, len - from});
    while (message.len > 0 && message.bytes[message.len - 1] == '\n')
        message.bytes[--message.len] = '\0';
    if (message.len > 0) {
        mcp_progress(w->m, (double)(now_us - w->begun_us) / 1e6, 0, message.bytes);
        w->alive_us = now_us;
    }
    drop_told(&w->text, len);
}

/* ---- the wait ---- */

static bool has_output(const struct wait *w)
{
    return w->pending.len > 0;
}

static void tell(struct wait *w)
{
    int64_t now_us = clock_us();
    if (has_output(w) && now_us - w->told_us >= TELL_US)
        tell_output(w, now_us);
    if (now_us - w->alive_us < ALIVE_US)
        return;
    char text[64];
    int64_t seconds = (now_us - w->begun_us) / 1000000;
    (void)snprintf(text, sizeof text, "running for %lld s", (long long)seconds);
    mcp_progress(w->m, (double)(now_us - w->begun_us) / 1e6, 0, text);
    mcp_keep_alive(w->m);
    w->alive_us = now_us;
}

/* Until there is more, something is to be told, or `deadline_us`. False: the wait was called off. */
static bool sleep_until_more(struct wait *w, int64_t deadline_us)
{
    int64_t until_us = w->alive_us + ALIVE_US;
    if (has_output(w) && w->told_us + TELL_US < until_us)
        until_us = w->told_us + TELL_US;
    if (deadline_us < until_us)
        until_us = deadline_us;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    int why = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->has_more && !w->is_cancelled && why == 0)
        why = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    w->has_more = false;
    bool goes_on = !w->is_cancelled;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

static void wait_init(struct wait *w, struct mcp_call *m, struct job *job)
{
    pthread_condattr_t attr;
    *w = (struct wait){.m = m,
                       .job = job,
                       .wants_output =
                           m->rpc->meta && json_object_get(m->rpc->meta, "progressToken"),
                       .pending = BUF_INIT(PENDING_MAX + 1),
                       .text = BUF_INIT(2 * PENDING_MAX)};
    w->begun_us = w->alive_us = clock_us();
    w->told_us = w->begun_us - TELL_US;
    (void)pthread_mutex_init(&w->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static void wait_done(struct wait *w)
{
    buf_done(&w->pending);
    buf_done(&w->text);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
}

bool run_wait(struct mcp_call *m, struct job *job, int64_t deadline_us, bool ends_it)
{
    struct wait w;
    wait_init(&w, m, job);
    /* Most runs are over before anything could be told: who hears nothing of output is not woken for it. */
    struct job_watch watch = {.more = more, .arg = &w, .is_for_end = !w.wants_output};
    job_watch(job, &watch);
    mcp_on_cancel(m, ends_it ? end_run : end_wait, &w);
    bool is_over, goes_on = true;
    while (!(is_over = job_read(job, w.seen, keep_note, &w)) && goes_on &&
           clock_us() < deadline_us) {
        tell(&w);
        goes_on = sleep_until_more(&w, deadline_us);
    }
    mcp_on_cancel(m, NULL, NULL);
    job_unwatch(job, &watch);
    wait_done(&w);
    return is_over;
}
