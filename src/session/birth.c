/* birth.c -- from the request for a jail to a kernel that waits for code. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"
#include "session/spawner.h"

/* The ends that go to the spawner; those that are ours are closed when it has them. */
struct far_ends {
    int fds[JAIL_FDS];
};

static void far_ends_done(struct far_ends *far)
{
    for (size_t i = 0; i < JAIL_FD_DATA; i++) {
        fd_closep(&far->fds[i]);
        far->fds[i] = -1;
    }
}

static struct far_ends far_ends_of(const struct jail_data *data, const struct kernel_origin *origin)
{
    struct far_ends far = {{[JAIL_FD_IMAGE] = origin->image_fd,
                            [JAIL_FD_DELTA] = origin->delta_fd,
                            [JAIL_FD_LIBRARIES] = origin->libraries_fd}};
    for (int i = 0; i < JAIL_FD_IMAGE; i++)
        far.fds[i] = -1;
    (void)jail_data_fds(data, far.fds + JAIL_FD_DATA);
    return far;
}

static int make_ends(struct kernel *k, struct far_ends *far, struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        return err_sys(e, errno, "make the jail's handle");
    k->handle = pair[0];
    far->fds[JAIL_FD_HANDLE] = pair[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "make the control socket");
    k->control = pair[0];
    far->fds[JAIL_FD_CONTROL] = pair[1];
    for (int i = 0; i < STREAM_COUNT; i++) {
        if (pipe2(pair, O_CLOEXEC))
            return err_sys(e, errno, "make the output pipes");
        k->stream[i] = pair[0];
        far->fds[JAIL_FD_STDOUT + i] = pair[1];
        if (fd_set_nonblock(pair[0], e))
            return -1;
    }
    k->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return k->wake < 0 ? err_sys(e, errno, "eventfd") : 0;
}

int kernel_open(struct spawner *s, const struct jail_spec *spec, const struct jail_data *data,
                const struct kernel_origin *origin, struct kernel **ret, struct err *e)
{
    struct kernel *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "start a kernel");
    *k = (struct kernel){.limits = spec->limits,
                         .data = data ? *data : JAIL_DATA_PLAIN(-1),
                         .reserve_bytes = spawner_reserve(s),
                         .handle = -1,
                         .control = -1,
                         .stream = {-1, -1},
                         .wake = -1,
                         .out_fd = -1,
                         .counters = COUNTERS_NONE,
                         .is_baked = spec->start == JAIL_IMAGE,
                         .next_state = spec->has_delta ? STATE_WOKEN : STATE_FRESH,
                         .in = FRAME_READER_INIT,
                         .out = BUF_INIT((size_t)CODE_MAX + STDIN_MAX + (1 << 20))};
    struct far_ends far = far_ends_of(&k->data, origin);
    int failed = make_ends(k, &far, e) || spawner_jail(s, spec, far.fds, e);
    /* Or the kernel's death would not close them, and kernel_free would wait for a jail nobody
     * has. */
    far_ends_done(&far);
    if (failed) {
        kernel_free(k);
        return -1;
    }
    *ret = k;
    return 0;
}

/* What comes before the kernel's greeting: only the interpreter's own last words, should it
 * fail. */
struct starting {
    struct kernel *k;
    bool has_greeted;
    char words[160];
    size_t len;
};

static int starting_stream(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                           struct err *e)
{
    struct starting *s = arg;
    (void)stream;
    (void)e;
    size_t room = sizeof s->words - 1 - s->len;
    size_t n = len < room ? len : room;
    memcpy(s->words + s->len, bytes, n);
    s->len += n;
    return 0;
}

static int starting_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct starting *s = arg;
    if (frame->kind != FRAME_HELLO || s->has_greeted)
        return err_set(e, ERR_PROTOCOL, "the kernel began with a frame of kind %d", frame->kind);
    s->has_greeted = true;
    return names_from_frame(&s->k->lost, frame, FIELD_LOST, e);
}

/* A delta that ends its process by itself, or does not fit into its memory, will do so every time. */
static int died(const struct kernel *k, const char *words, struct err *e)
{
    bool is_woken = k->next_state == STATE_WOKEN;
    if (is_woken && k->end.cause == JAIL_OVER_MEMORY)
        return err_set(e, ERR_DAMAGED, "waking took more than its memory limit");
    bool is_own = k->end.cause == JAIL_EXITED || k->end.cause == JAIL_SIGNALLED;
    return err_set(e, is_own && is_woken ? ERR_DAMAGED : ERR_UNAVAILABLE,
                   "the interpreter died while %s%s%s", is_woken ? "waking" : "starting",
                   *words ? ": " : "", words);
}

/* A full disk is no host that cannot: layers are mounted with a directory of their own. */
static int not_set_up(const struct jail_event *end, struct err *e)
{
    if (end->status == ENOSPC || end->status == EDQUOT)
        return err_set(e, ERR_NO_SPACE, "the disk has no room to set up the sandbox: %s",
                       end->step);
    return err_set(e, ERR_UNAVAILABLE, "the sandbox could not be set up: %s%s%s", end->step,
                   end->status ? ": " : "", end->status ? strerror(end->status) : "");
}

static int await_greeting(struct kernel *k, struct err *e)
{
    struct starting s = {.k = k};
    const struct pump_user user = {
        .on_stream = starting_stream, .on_frame = starting_frame, .arg = &s};
    int64_t deadline_us = clock_us() + START_TIMEOUT_MS * 1000;
    while (!s.has_greeted || !k->has_started) {
        if (pump(k, deadline_us, &user, e))
            return -1;
        if (k->end.kind == JAIL_FAILED)
            return not_set_up(&k->end, e);
        if (k->end.kind == JAIL_ENDED)
            return died(k, s.words, e);
        if (clock_us() >= deadline_us)
            return err_set(e, ERR_UNAVAILABLE, "the interpreter did not start within %d s",
                           START_TIMEOUT_MS / 1000);
    }
    return 0;
}

/* Tells a kernel from an image, or one that was parked, what it could not know. Libraries that
 * count the host's cores would start more threads than the session may run. */
static int send_enter(struct kernel *k, struct err *e)
{
    static const char *const threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                          "NUMEXPR_NUM_THREADS", "MKL_NUM_THREADS"};
    size_t mark = frame_begin(&k->out, FRAME_ENTER);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        char text[64];
        int len =
            snprintf(text, sizeof text, "%s=%u", threads[i], (k->limits.cpu_milli + 999) / 1000);
        field_put(&k->out, FIELD_ENV, text, (size_t)len);
    }
    frame_end(&k->out, mark);
    return pump_send(k, e);
}

/* What is there before any run. Of an overlay that is not ours to say: run.h. */
static int look(struct kernel *k, struct err *e)
{
    return k->data.lower_count > 0 ? 0 : snapshot_take(k->data.dir_fd, &k->files, e);
}

/* The last steps of a start, once it is on its way. */
static int settle(struct kernel *k, const struct jail_spec *spec, struct err *e)
{
    if (spec->has_data && look(k, e))
        return -1;
    if (await_greeting(k, e))
        return -1;
    if (!spec->has_data) {
        kernel_enter(k, KERNEL_PARKED);
        return 0;
    }
    if (spec->start == JAIL_IMAGE && !spec->has_delta && send_enter(k, e))
        return -1;
    kernel_enter(k, KERNEL_IDLE);
    return 0;
}

/* What its start and its warming up took is nobody's run. */
static void count_from_here(struct kernel *k)
{
    if (counters_read(&k->counters, &k->used) == 0)
        k->cpu_before_us = k->used.cpu_us;
}

int kernel_start(struct spawner *s, const struct limits *limits, const struct jail_data *data,
                 const struct kernel_origin *origin, struct kernel **ret, struct err *e)
{
    const struct jail_spec spec = {.start = origin->image_fd >= 0 ? JAIL_IMAGE : JAIL_COLD,
                                   .has_data = data != NULL,
                                   .has_delta = origin->delta_fd >= 0,
                                   .has_libraries = origin->libraries_fd >= 0,
                                   .lower_count = data ? (uint32_t)data->lower_count : 0,
                                   .limits = *limits};
    assert(!spec.has_delta || (spec.start == JAIL_IMAGE && spec.has_data));
    assert(!spec.has_libraries || spec.has_delta);
    struct kernel *k;
    if (kernel_open(s, &spec, data, origin, &k, e))
        return -1;
    if (settle(k, &spec, e)) {
        kernel_free(k);
        return -1;
    }
    count_from_here(k);
    *ret = k;
    return 0;
}

/* While the spawner mounts the directory we look into it: no code can before ENTER. */
static int attach(struct kernel *k, const struct jail_data *data, struct err *e)
{
    const struct jail_request request = {.kind = JAIL_ATTACH,
                                         .lower_count = (uint32_t)data->lower_count};
    int fds[JAIL_DATA_FDS];
    size_t count = jail_data_fds(data, fds);
    if (kernel_wish(k, &request, fds, count, e) || look(k, e) || kernel_await(k, JAIL_ATTACHED, e))
        return -1;
    return send_enter(k, e);
}

int kernel_attach(struct kernel *k, const struct jail_data *data, struct err *e)
{
    if (!kernel_is_alive(k) || k->state != KERNEL_PARKED)
        return err_set(e, ERR_CONFLICT, "the kernel is not parked");
    k->data = *data;
    if (attach(k, data, e)) {
        kernel_kill(k, &pump_discard);
        return err_wrap(e, "attach a data directory");
    }
    count_from_here(k);
    kernel_enter(k, KERNEL_IDLE);
    return 0;
}

struct warming {
    struct kernel *k;
    bool is_done;
};

static int warming_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct warming *w = arg;
    if (frame->kind != FRAME_DONE)
        return pump_acknowledge(w->k, frame, e);
    w->is_done = true;
    return 0;
}

int kernel_warm(struct kernel *k, struct err *e)
{
    struct warming w = {.k = k};
    const struct pump_user user = {
        .on_stream = pump_discard.on_stream, .on_frame = warming_frame, .arg = &w};
    if (!kernel_is_alive(k) || k->state != KERNEL_PARKED)
        return err_set(e, ERR_CONFLICT, "the kernel is not parked");
    frame_end(&k->out, frame_begin(&k->out, FRAME_WARM));
    int64_t deadline_us = clock_us() + START_TIMEOUT_MS * 1000;
    if (pump_send(k, e) || pump_until(k, &w.is_done, deadline_us, &user, "warm up", e)) {
        kernel_kill(k, &pump_discard);
        return -1;
    }
    return 0;
}
