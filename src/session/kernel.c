#include "session/kernel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

enum { KILL_TIMEOUT_MS = 10000, ASK_TIMEOUT_MS = 10000 };

/* The ends that go to the spawner; all closed when it has them. */
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

/* What comes before the kernel's greeting: only the interpreter's own last words, should it fail. */
struct starting {
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
    return 0;
}

static int await_greeting(struct kernel *k, struct err *e)
{
    struct starting s = {0};
    const struct pump_user user = {starting_stream, starting_frame, &s};
    int64_t deadline_us = clock_us() + START_TIMEOUT_MS * 1000;
    while (!s.has_greeted || !k->has_started) {
        if (pump(k, deadline_us, &user, e))
            return -1;
        if (k->end.kind == JAIL_FAILED)
            return err_set(e, ERR_UNAVAILABLE, "the sandbox could not be set up: %s%s%s",
                           k->end.step, k->end.status ? ": " : "",
                           k->end.status ? strerror(k->end.status) : "");
        if (k->end.kind == JAIL_ENDED)
            return err_set(e, ERR_UNAVAILABLE, "the interpreter died while starting%s%s",
                           s.len ? ": " : "", s.words);
        if (clock_us() >= deadline_us)
            return err_set(e, ERR_UNAVAILABLE, "the interpreter did not start within %d s",
                           START_TIMEOUT_MS / 1000);
    }
    return 0;
}

bool kernel_may_enter(enum kernel_state from, enum kernel_state to)
{
    static const bool arrows[KERNEL_STATES][KERNEL_STATES] = {
        [KERNEL_STARTING] = {[KERNEL_IDLE] = true, [KERNEL_DEAD] = true},
        [KERNEL_IDLE] = {[KERNEL_BUSY] = true, [KERNEL_DEAD] = true},
        [KERNEL_BUSY] = {[KERNEL_IDLE] = true, [KERNEL_DEAD] = true},
        [KERNEL_DEAD] = {[KERNEL_DEAD] = true},
    };
    return arrows[from][to];
}

void kernel_enter(struct kernel *k, enum kernel_state to)
{
    assert(kernel_may_enter(k->state, to));
    k->state = to;
}

int kernel_start(struct spawner *s, const struct limits *limits, int data_fd, struct kernel **ret,
                 struct err *e)
{
    struct kernel *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "start a kernel");
    *k = (struct kernel){.limits = *limits,
                         .data_fd = data_fd,
                         .handle = -1,
                         .control = -1,
                         .stream = {-1, -1},
                         .wake = -1,
                         .in = FRAME_READER_INIT,
                         .out = BUF_INIT((size_t)CODE_MAX + STDIN_MAX + (1 << 20))};
    scoped(far_ends_done) struct far_ends far = {{-1, -1, -1, -1, data_fd}};
    const struct jail_spec spec = {.limits = *limits};
    if (make_ends(k, &far, e) || spawner_jail(s, &spec, far.fds, e))
        goto fail;
    far_ends_done(&far); /* or the kernel's death would not close them */
    if (snapshot_take(data_fd, &k->files, e) || await_greeting(k, e))
        goto fail;
    kernel_enter(k, KERNEL_IDLE);
    *ret = k;
    return 0;

fail:
    far_ends_done(&far); /* or kernel_free would wait for the end of a jail that nobody has */
    kernel_free(k);
    return -1;
}

void kernel_request(struct kernel *k, enum jail_request_kind kind)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    jail_request_put(&(struct jail_request){.kind = kind}, bytes);
    if (k->handle >= 0)
        (void)send(k->handle, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void kernel_kill(struct kernel *k, const struct pump_user *user)
{
    struct err ignored = {0};
    int64_t deadline_us = clock_us() + KILL_TIMEOUT_MS * 1000;
    kernel_request(k, JAIL_KILL);
    kernel_enter(k, KERNEL_DEAD);
    if (k->control >= 0)
        (void)close(k->control);
    k->control = -1;
    while (k->end.kind == 0 && clock_us() < deadline_us)
        if (pump(k, deadline_us, user, &ignored))
            break; /* out of memory, say: it dies all the same */
}

/* Output that nobody wants any more. */
static int discard_stream(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                          struct err *e)
{
    (void)arg, (void)stream, (void)bytes, (void)len, (void)e;
    return 0;
}

static int discard_frame(void *arg, const struct frame *frame, struct err *e)
{
    (void)arg, (void)frame, (void)e;
    return 0;
}

void kernel_free(struct kernel *k)
{
    const struct pump_user discard = {discard_stream, discard_frame, NULL};
    if (!k)
        return;
    if (k->handle >= 0 && k->end.kind == 0)
        kernel_kill(k, &discard);
    /* The spawner closes the handle when the last trace of the jail is gone. */
    int64_t deadline_us = clock_us() + KILL_TIMEOUT_MS * 1000;
    while (k->handle >= 0 && clock_us() < deadline_us) {
        struct pollfd ready = {.fd = k->handle, .events = POLLIN};
        (void)poll(&ready, 1, clock_poll_ms(deadline_us));
        kernel_listen(k);
    }
    fd_closep(&k->handle);
    fd_closep(&k->control);
    fd_closep(&k->stream[STREAM_OUT]);
    fd_closep(&k->stream[STREAM_ERR]);
    fd_closep(&k->wake);
    frame_reader_done(&k->in);
    buf_done(&k->out);
    snapshot_done(&k->files);
    free(k);
}

void kernel_cancel(struct kernel *k)
{
    uint64_t one = 1;
    atomic_store_explicit(&k->is_cancelled, true, memory_order_release);
    (void)!write(k->wake, &one, sizeof one); /* full: then it is readable already */
}

bool kernel_is_alive(struct kernel *k)
{
    kernel_listen(k);
    if (k->end.kind && k->state == KERNEL_IDLE)
        kernel_enter(k, KERNEL_DEAD);
    return k->state == KERNEL_IDLE || k->state == KERNEL_BUSY;
}

struct asking {
    struct kernel *k;
    char *reply;
};

static int asking_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct asking *a = arg;
    struct field text;
    if (frame->kind != FRAME_REPLY)
        return pump_acknowledge(a->k, frame, e);
    if (a->reply || !field_find(frame, FIELD_DATA, &text))
        return err_set(e, ERR_PROTOCOL, "a reply nobody asked for");
    a->reply = strndup((const char *)text.bytes, text.len);
    return a->reply ? 0 : err_set(e, ERR_NO_MEMORY, "keep the reply");
}

int kernel_ask(struct kernel *k, const char *topic, const char *code, uint32_t cursor, char **ret,
               struct err *e)
{
    struct asking asking = {.k = k};
    const struct pump_user user = {discard_stream, asking_frame, &asking};
    if (!kernel_is_alive(k) || k->state != KERNEL_IDLE)
        return err_set(e, ERR_CONFLICT, "the kernel is not idle");
    size_t mark = frame_begin(&k->out, FRAME_ASK);
    field_put(&k->out, FIELD_TOPIC, topic, strlen(topic));
    field_put(&k->out, FIELD_CODE, code, strlen(code));
    field_put_u32(&k->out, FIELD_CURSOR, cursor);
    frame_end(&k->out, mark);
    int64_t deadline_us = clock_us() + ASK_TIMEOUT_MS * 1000;
    int failed = pump_send(k, e);
    while (!failed && !asking.reply && k->end.kind == 0 && clock_us() < deadline_us)
        failed = pump(k, deadline_us, &user, e);
    if (asking.reply) {
        *ret = asking.reply;
        return 0;
    }
    if (!failed)
        err_set(e, ERR_UNAVAILABLE, "the kernel did not answer");
    kernel_kill(k, &user);
    return -1;
}
