#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange_int.h"

struct worker {
    struct http_server *server;
    pthread_cond_t has_job;
    struct conn *job;    /* protected by workers.lock */
    struct worker *next; /* likewise */
    struct http_exchange x;
};

static void init_cond(pthread_cond_t *c)
{
    pthread_condattr_t a;
    (void)pthread_condattr_init(&a);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    (void)pthread_cond_init(c, &a);
    (void)pthread_condattr_destroy(&a);
}

int workers_init(struct workers *w, struct err *e)
{
    int failed = pthread_mutex_init(&w->lock, NULL);
    if (failed)
        return err_sys(e, failed, "make a lock");
    init_cond(&w->all_gone);
    return 0;
}

/* ---- one connection after the other ---- */

static void give_back(struct worker *w, struct conn *c, enum verdict verdict)
{
    struct inbox *in = &w->x.in;
    size_t len = in->end - in->at;
    if (len && verdict != VERDICT_CLOSE && verdict != VERDICT_LINGER) {
        c->in = malloc(len);
        if (c->in) {
            memcpy(c->in, in->bytes + in->at, len);
            c->in_len = len;
        } else {
            verdict = VERDICT_CLOSE;
        }
    }
    mail_return(&w->server->mail, c, verdict);
}

static void take_over(struct worker *w, struct conn *c)
{
    struct inbox *in = &w->x.in;
    in->at = 0;
    in->end = c->in_len;
    memcpy(in->bytes, c->in, c->in_len);
    free(take(c->in));
    c->in_len = 0;
    w->x.conn = c;
}

/* The next request of the same client, if it comes within a moment and nobody else needs this thread.
 * Returns its length; 0: there is none, and *ret says what becomes of the connection. */
static size_t next_head(struct worker *w, struct conn *c, enum verdict *ret)
{
    struct inbox *in = &w->x.in;
    memmove(in->bytes, in->bytes + in->at, in->end - in->at);
    in->end -= in->at;
    in->at = in->head_end = 0;
    c->scan = (struct head_scan){0};

    bool has_waited = false;
    for (;;) {
        size_t head_len = 0;
        struct head_fault fault;
        if (head_scan(&c->scan, in->bytes, in->end, &head_len, &fault)) {
            conn_refuse(c, fault.status, fault.reason);
            *ret = VERDICT_LINGER;
            return 0;
        }
        if (head_len)
            return head_len;
        *ret = VERDICT_KEEP;
        if (has_waited && in->end)
            return 0; /* slow: the listener's business */
        ssize_t n = transport_read(&c->io, in->bytes + in->end, INBOX_SIZE - in->end);
        if (n == TRANSPORT_AGAIN && !has_waited && workers_have_spare(w->server)) {
            has_waited = true;
            if (transport_wait(&c->io, POLLIN, clock_us() + HOLD_MS * 1000))
                continue;
        }
        if (n == TRANSPORT_AGAIN)
            return 0;
        *ret = VERDICT_CLOSE;
        if (n <= 0)
            return 0;
        in->end += (size_t)n;
    }
}

static void serve(struct worker *w, struct conn *c)
{
    enum verdict verdict = VERDICT_KEEP;
    size_t head_len = c->head_len;
    take_over(w, c);
    while (head_len) {
        verdict = exchange_run(&w->x, head_len);
        if (verdict != VERDICT_KEEP)
            break;
        head_len = next_head(w, c, &verdict);
    }
    give_back(w, c, verdict);
}

/* ---- threads ---- */

/* Waits for work for a while. NULL: the thread shall end, and is no longer among the workers. */
static struct conn *next_job(struct worker *w)
{
    struct workers *all = &w->server->workers;
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WORKER_IDLE_MS / 1000;

    pthread_mutex_lock(&all->lock);
    all->busy--;
    w->next = all->idle;
    all->idle = w;
    int late = 0;
    while (!w->job && !late && !all->is_closing)
        late = pthread_cond_timedwait(&w->has_job, &all->lock, &until);
    struct conn *c = take(w->job);
    if (!c) {
        struct worker **at = &all->idle;
        while (*at != w)
            at = &(*at)->next;
        *at = w->next;
    }
    pthread_mutex_unlock(&all->lock);
    return c;
}

static void worker_free(struct worker *w)
{
    exchange_done(&w->x);
    (void)pthread_cond_destroy(&w->has_job);
    free(w);
}

/* The last thing a thread does. Threads are joined by the next that ends: a chain, whose last link
 * workers_done joins. */
static void leave(struct workers *all, pthread_t self)
{
    pthread_mutex_lock(&all->lock);
    bool has_before = all->has_ended;
    pthread_t before = all->last_ended;
    all->last_ended = self;
    all->has_ended = true;
    if (--all->count == 0)
        pthread_cond_signal(&all->all_gone);
    pthread_mutex_unlock(&all->lock);
    if (has_before)
        (void)pthread_join(before, NULL);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct workers *all = &w->server->workers;
    struct conn *c = w->job;
    w->job = NULL;
    do
        serve(w, c);
    while ((c = next_job(w)));
    worker_free(w);
    leave(all, pthread_self());
    return NULL;
}

static int start_thread(struct worker *w)
{
    pthread_t thread; /* nobody's: the thread knows itself */
    pthread_attr_t a;
    sigset_t every;
    sigfillset(
        &every); /* signals are for the thread that waits for them; sendfile may raise SIGPIPE */
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setstacksize(&a, WORKER_STACK);
    (void)pthread_attr_setsigmask_np(&a, &every);
    int failed = pthread_create(&thread, &a, work, w);
    (void)pthread_attr_destroy(&a);
    return failed;
}

static bool start(struct http_server *s, struct conn *c)
{
    struct err e;
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return false;
    w->server = s;
    w->job = c;
    init_cond(&w->has_job);
    if (!exchange_init(&w->x, s, &e) && !start_thread(w))
        return true;
    worker_free(w);
    return false;
}

bool workers_give(struct http_server *s, struct conn *c)
{
    struct workers *all = &s->workers;
    pthread_mutex_lock(&all->lock);
    struct worker *w = all->idle;
    bool may_start = !w && all->count < s->limits.workers_max;
    if (w) {
        all->idle = w->next;
        w->job = c;
        pthread_cond_signal(&w->has_job);
    }
    all->count += may_start;
    all->busy += w || may_start;
    pthread_mutex_unlock(&all->lock);
    if (!may_start || start(s, c))
        return w || may_start;

    pthread_mutex_lock(&all->lock);
    all->count--;
    all->busy--;
    pthread_mutex_unlock(&all->lock);
    return false;
}

bool workers_have_spare(struct http_server *s)
{
    if (atomic_load_explicit(&s->is_draining, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&s->workers.lock);
    bool has_spare = s->workers.busy <= s->limits.workers_max / 2;
    pthread_mutex_unlock(&s->workers.lock);
    return has_spare;
}

void workers_done(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_closing = true;
    for (struct worker *it = w->idle; it; it = it->next)
        pthread_cond_signal(&it->has_job);
    while (w->count)
        pthread_cond_wait(&w->all_gone, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (w->has_ended)
        (void)pthread_join(w->last_ended, NULL);
    (void)pthread_cond_destroy(&w->all_gone);
    (void)pthread_mutex_destroy(&w->lock);
}
