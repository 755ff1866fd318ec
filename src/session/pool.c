/* pool.c -- see pool.h.
 *
 * Theory of operation. The thread looks at what there is and does one thing: ends one that died,
 * has the wrong image or is too many; or makes one; or waits. It waits for a take, for the death of
 * one that is parked, for the end, and for a second to pass while takes of the past still count or
 * kernels wait that another image could make useless. Of a take it hears when the one who took has
 * had time to go on, unless the pool runs low.
 */
#include "session/pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/scope.h"
#include "session/current.h"
#include "session/kernel_int.h"

enum {
    TICK_US = 1000000,
    FADE_S = 10,      /* a take counts a tenth less with every second */
    RETRY_MAX_S = 60, /* after failures, 1 s, 2 s, 4 s ... */
    QUIET_US = 20000, /* after a take: whoever took one should not have to share the CPU and the
                         spawner with the making of the next, while half of them are still there */
};

struct parked {
    struct kernel *kernel;
    char image[HASH_HEX_SIZE];
};

struct pool {
    struct pool_options options;
    pthread_t thread;
    int wake; /* timerfd: something was taken a moment ago, or it ends */

    pthread_mutex_t lock; /* protects all below */
    bool is_closing;
    struct parked ready[POOL_MAX]; /* the one that waits longest first */
    size_t count;
    uint64_t rate_per_ks; /* takes in 1000 seconds, fading */
    int64_t rate_at_us;
    int64_t quiet_until_us;
    struct pool_info info;
};

size_t pool_size(size_t count_min, size_t count_max, uint64_t takes_per_ks,
                 uint64_t available_bytes)
{
    uint64_t ahead = (takes_per_ks * POOL_AHEAD_S + 999) / 1000;
    uint64_t wanted = count_min + (ahead < POOL_MAX ? ahead : POOL_MAX);
    uint64_t affordable = available_bytes / 100 * POOL_MEMORY_PERCENT / POOL_KERNEL_BYTES;
    if (wanted > count_max)
        wanted = count_max;
    return (size_t)(wanted < affordable ? wanted : affordable);
}

/* With the lock held, as all of the following up to `make`. */
static void fade(struct pool *p)
{
    int64_t seconds = (clock_us() - p->rate_at_us) / TICK_US;
    p->rate_at_us += seconds * TICK_US;
    for (; seconds > 0 && p->rate_per_ks > 0; seconds--)
        p->rate_per_ks -= (p->rate_per_ks + FADE_S - 1) / FADE_S;
}

static struct parked take_at(struct pool *p, size_t index)
{
    struct parked it = p->ready[index];
    p->count--;
    memmove(p->ready + index, p->ready + index + 1, (p->count - index) * sizeof *p->ready);
    return it;
}

/* One that has to go: dead, or of an image that is no longer current. False if there is none. */
static bool find_unfit(struct pool *p, struct parked *ret)
{
    for (size_t i = 0; i < p->count; i++) {
        bool is_alive = kernel_is_alive(p->ready[i].kernel);
        if (is_alive && current_is(p->options.current, p->ready[i].image))
            continue;
        p->info.died += !is_alive;
        *ret = take_at(p, i);
        return true;
    }
    return false;
}

/* What is to be done: -1 end *ret, 1 make one, 0 wait. */
static int next_step(struct pool *p, struct parked *ret)
{
    fade(p);
    p->info.wanted =
        pool_size(p->options.count_min, p->options.count_max, p->rate_per_ks, memory_available());
    if (find_unfit(p, ret))
        return -1;
    if (p->count > p->info.wanted) {
        *ret = take_at(p, 0);
        return -1;
    }
    return p->count < p->info.wanted ? 1 : 0;
}

/* When the next one may be made. */
static int64_t quiet_until(const struct pool *p)
{
    return 2 * p->count >= p->info.wanted ? p->quiet_until_us : 0;
}

static int make(struct pool *p)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    struct parked it = {0};
    struct err why = {0}; /* nobody hears it here: a start on the request path says the same */
    if (current_take(p->options.current, &image, &why))
        return -1;
    const struct kernel_origin origin = {.image_fd = image.fd, .delta_fd = -1, .libraries_fd = -1};
    if (kernel_start(p->options.spawner, &p->options.limits, /* data= */ NULL, &origin, &it.kernel,
                     &why))
        return -1;
    if (kernel_warm(it.kernel, &why)) {
        kernel_free(it.kernel);
        return -1;
    }
    memcpy(it.image, image.id, sizeof it.image);
    pthread_mutex_lock(&p->lock);
    p->ready[p->count++] = it;
    p->info.made++;
    pthread_mutex_unlock(&p->lock);
    return 0;
}

/* Waits until something happens that could change what is to be done, or `deadline_us`. */
static void wait_for_change(struct pool *p, int64_t deadline_us)
{
    struct pollfd ready[POOL_MAX + 1] = {{.fd = p->wake, .events = POLLIN}};
    uint64_t count;
    pthread_mutex_lock(&p->lock);
    nfds_t fds = 1 + p->count;
    for (size_t i = 0; i < p->count; i++)
        ready[1 + i] = (struct pollfd){.fd = p->ready[i].kernel->handle, .events = POLLIN};
    pthread_mutex_unlock(&p->lock);
    /* One that is taken meanwhile may be heard of here too: that is a look too many, no more. */
    (void)poll(ready, fds, clock_poll_ms(deadline_us));
    (void)!read(p->wake, &count, sizeof count);
}

/* One thing that had to be done, or nothing: then until when to wait for a change. */
static int64_t do_next(struct pool *p, int *retry_s)
{
    struct parked unfit;
    pthread_mutex_lock(&p->lock);
    int step = next_step(p, &unfit);
    int64_t quiet_us = quiet_until(p);
    bool is_fading = p->rate_per_ks > 0 || p->count > 0;
    pthread_mutex_unlock(&p->lock);
    if (step < 0) {
        kernel_free(unfit.kernel);
        return 0;
    }
    if (step == 0) /* a tick also sees that another image has become current */
        return is_fading ? clock_us() + TICK_US : CLOCK_NEVER;
    if (clock_us() < quiet_us)
        return quiet_us;
    if (make(p) == 0) {
        *retry_s = 0;
        return 0;
    }
    *retry_s = *retry_s == 0 ? 1 : *retry_s < RETRY_MAX_S / 2 ? 2 * *retry_s : RETRY_MAX_S;
    return clock_us() + (int64_t)*retry_s * TICK_US;
}

static bool is_closing(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    bool is_it = p->is_closing;
    pthread_mutex_unlock(&p->lock);
    return is_it;
}

static void *keep_full(void *arg)
{
    struct pool *p = arg;
    int retry_s = 0;
    while (!is_closing(p)) {
        int64_t until_us = do_next(p, &retry_s);
        if (until_us > 0)
            wait_for_change(p, until_us);
    }
    return NULL;
}

static void wake_in(struct pool *p, int64_t us)
{
    const struct itimerspec when = {.it_value.tv_nsec = us > 0 ? us * 1000 : 1};
    (void)timerfd_settime(p->wake, 0, &when, NULL); /* cannot fail with these */
}

int pool_open(const struct pool_options *options, struct pool **ret, struct err *e)
{
    if (options->count_max > POOL_MAX || options->count_min > options->count_max)
        return err_set(e, ERR_INVALID, "a pool of %zu to %zu kernels; at most %d",
                       options->count_min, options->count_max, POOL_MAX);
    struct pool *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "open the pool");
    p->options = *options;
    p->rate_at_us = clock_us();
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail with default attributes */
    p->wake = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int why = p->wake < 0 ? errno : pthread_create(&p->thread, NULL, keep_full, p);
    if (why) {
        fd_closep(&p->wake);
        (void)pthread_mutex_destroy(&p->lock);
        free(p);
        return err_sys(e, why, "open the pool");
    }
    *ret = p;
    return 0;
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_closing = true;
    pthread_mutex_unlock(&p->lock);
    wake_in(p, 0);
    (void)pthread_join(p->thread, NULL);
    for (size_t i = 0; i < p->count; i++)
        kernel_free(p->ready[i].kernel);
    (void)close(p->wake);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

static bool fits(const struct limits *a, const struct limits *b)
{
    return a->memory_bytes == b->memory_bytes && a->disk_bytes == b->disk_bytes &&
           a->file_bytes == b->file_bytes && a->tmp_bytes == b->tmp_bytes &&
           a->cpu_milli == b->cpu_milli && a->pids == b->pids && a->files == b->files &&
           a->open_files == b->open_files;
}

/* The first that can be given away; NULL if none can. With the lock held. */
static struct kernel *take_alive(struct pool *p, char ret_image[HASH_HEX_SIZE])
{
    for (size_t i = 0; i < p->count; i++)
        if (kernel_is_alive(p->ready[i].kernel)) {
            struct parked it = take_at(p, i);
            memcpy(ret_image, it.image, sizeof it.image);
            return it.kernel;
        }
    return NULL;
}

struct kernel *pool_take(struct pool *p, const struct limits *limits, char ret_image[HASH_HEX_SIZE])
{
    if (!fits(&p->options.limits, limits))
        return NULL;
    pthread_mutex_lock(&p->lock);
    fade(p);
    p->rate_per_ks += 1000 / FADE_S;
    struct kernel *k = take_alive(p, ret_image);
    p->info.taken += k != NULL;
    p->quiet_until_us = clock_us() + QUIET_US;
    p->info.missed += k == NULL;
    bool is_low = quiet_until(p) == 0;
    pthread_mutex_unlock(&p->lock);
    wake_in(p, is_low ? 0 : QUIET_US);
    if (k)
        k->limits = *limits;
    return k;
}

void pool_look(struct pool *p, struct pool_info *ret)
{
    pthread_mutex_lock(&p->lock);
    *ret = p->info;
    ret->ready = p->count;
    pthread_mutex_unlock(&p->lock);
}
