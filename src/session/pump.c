#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"

enum {
    CHUNK = 64 << 10,
    /* A pipe holds at most this much, so having read it all that was written before is read. */
    PIPE_MAX = (1 << 20) + CHUNK,
    LAST_WORDS_MS = 1000,
};

/* Passes on what a stream holds now. What is written while we read may come along, but a writer
 * that never stops does not keep us here. */
static int drain(struct kernel *k, enum kernel_stream stream, const struct pump_user *user,
                 struct err *e)
{
    char bytes[CHUNK];
    for (size_t total = 0; user->on_stream && k->stream[stream] >= 0 && total < PIPE_MAX;) {
        ssize_t n = read(k->stream[stream], bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0; /* EAGAIN: empty */
        if (n == 0) {
            (void)close(k->stream[stream]);
            k->stream[stream] = -1;
            return 0;
        }
        total += (size_t)n;
        if (user->on_stream(user->arg, stream, bytes, (size_t)n, e))
            return -1;
        if ((size_t)n < sizeof bytes)
            return 0;
    }
    return 0;
}

static int drain_both(struct kernel *k, const struct pump_user *user, struct err *e)
{
    return drain(k, STREAM_OUT, user, e) || drain(k, STREAM_ERR, user, e) ? -1 : 0;
}

/* Sends some of what is queued. A descriptor goes with its byte: what is before it is sent
 * before. */
static ssize_t send_some(struct kernel *k)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    bool is_before = k->out_fd >= 0 && k->out_sent < k->out_fd_at;
    bool is_there = k->out_fd >= 0 && k->out_sent == k->out_fd_at;
    size_t end = is_before ? k->out_fd_at : k->out.len;
    struct iovec iov = {.iov_base = k->out.bytes + k->out_sent, .iov_len = end - k->out_sent};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (is_there) {
        msg.msg_control = control;
        msg.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
        *head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &k->out_fd, sizeof(int));
    }
    ssize_t n = sendmsg(k->control, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0 && is_there) {
        (void)close(k->out_fd);
        k->out_fd = -1;
    }
    return n;
}

static int flush(struct kernel *k, struct err *e)
{
    while (k->control >= 0 && k->out_sent < k->out.len) {
        ssize_t n = send_some(k);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n < 0) { /* it is gone; the handle will say why */
            (void)close(k->control);
            k->control = -1;
            break;
        }
        k->out_sent += (size_t)n;
    }
    if (k->out_sent == k->out.len || k->control < 0) {
        k->out_sent = 0;
        buf_done(&k->out);
        fd_closep(&k->out_fd); /* still there only if the kernel is gone */
        k->out_fd = -1;
    }
    return buf_check(&k->out, e);
}

int pump_send(struct kernel *k, struct err *e)
{
    if (buf_check(&k->out, e)) {
        e->code = ERR_PROTOCOL;
        return err_wrap(e, "the kernel does not read");
    }
    return flush(k, e);
}

int pump_send_fd(struct kernel *k, size_t at, int fd, struct err *e)
{
    assert(k->out_fd < 0);
    k->out_fd = fd;
    k->out_fd_at = at;
    return pump_send(k, e);
}

int pump_acknowledge(struct kernel *k, const struct frame *frame, struct err *e)
{
    if (frame->kind != FRAME_SYNC && frame->kind != FRAME_DISPLAY && frame->kind != FRAME_CLEAR)
        return err_set(e, ERR_PROTOCOL, "a frame of kind %d where none is due", frame->kind);
    frame_end(&k->out, frame_begin(&k->out, FRAME_ACK));
    return pump_send(k, e);
}

static int read_control(struct kernel *k, struct err *e)
{
    char bytes[CHUNK];
    size_t room = frame_room(&k->in);
    /* No control buffer: descriptors sent along are dropped by the operating system. */
    ssize_t n = recv(k->control, bytes, room < sizeof bytes ? room : sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n <= 0) {
        (void)close(k->control);
        k->control = -1;
        return 0;
    }
    return frame_fill(&k->in, bytes, (size_t)n, e);
}

/* What was written before a frame was sent is in the streams when the frame has come, so it is enough
 * to look once for all frames that came together. */
static int pass_frames(struct kernel *k, const struct pump_user *user, struct err *e)
{
    struct frame frame;
    int more = frame_next(&k->in, &frame, e);
    if (more == 1 && drain_both(k, user, e))
        return -1;
    for (; more == 1; more = frame_next(&k->in, &frame, e)) {
        bool is_late = frame.kind == FRAME_REPLY && k->replies_owed > 0;
        if (is_late)
            k->replies_owed--;
        else if (user->on_frame(user->arg, &frame, e))
            return -1;
    }
    return more;
}

static void hear(struct kernel *k, const struct jail_event *event)
{
    if (event->kind == JAIL_STARTED)
        k->has_started = true;
    if (event->kind == JAIL_FULL)
        k->is_full = true;
    if (event->kind == JAIL_ATTACHED || event->kind == JAIL_SWITCHED || event->kind == JAIL_BROUGHT)
        k->answer = *event;
    if (event->kind == JAIL_USED || event->kind == JAIL_ENDED) {
        k->used = *event;
        k->has_usage = true;
    }
    if (event->kind == JAIL_ENDED || event->kind == JAIL_FAILED)
        k->end = *event;
}

/* The next event; false when there is none yet, or the handle has been closed. */
static bool hear_next(struct kernel *k)
{
    uint8_t bytes[JAIL_EVENT_SIZE];
    struct jail_event event;
    struct counters came = COUNTERS_NONE;
    struct err e = {0};
    size_t len = 0, fd_count = 0;
    int got = fd_recv(k->handle, bytes, sizeof bytes, &len, came.fds, JAIL_COUNTERS, &fd_count, &e);
    if (got && e.code == ERR_UNAVAILABLE)
        return false;
    if (got)
        came = COUNTERS_NONE; /* what came with it is closed */
    if (!got && fd_count == JAIL_COUNTERS && k->counters.fds[0] < 0) {
        k->counters = came;
        came = COUNTERS_NONE;
    }
    counters_done(&came);
    if (!got && len > 0 && jail_event_get(bytes, len, &event, &e) == 0) {
        hear(k, &event);
        return true;
    }
    (void)close(k->handle);
    k->handle = -1;
    if (k->end.kind == 0) { /* the spawner itself is gone */
        k->end = (struct jail_event){.kind = JAIL_ENDED, .cause = JAIL_KILLED};
        k->is_orphaned = true;
    }
    return false;
}

void kernel_listen(struct kernel *k)
{
    while (k->handle >= 0 && hear_next(k)) {
    }
}

int pump(struct kernel *k, int64_t deadline_us, const struct pump_user *user, struct err *e)
{
    enum { CONTROL, OUT, ERR, HANDLE, WAKE, SIDE, COUNT };
    bool wants_streams = user->on_stream;
    struct pollfd ready[COUNT] = {
        [CONTROL] = {.fd = k->control, .events = POLLIN},
        [OUT] = {.fd = wants_streams ? k->stream[STREAM_OUT] : -1, .events = POLLIN},
        [ERR] = {.fd = wants_streams ? k->stream[STREAM_ERR] : -1, .events = POLLIN},
        [HANDLE] = {.fd = k->handle, .events = POLLIN},
        [WAKE] = {.fd = k->wake, .events = POLLIN},
        [SIDE] = {.fd = user->on_side ? *user->side_fd : -1, .events = POLLIN},
    };
    if (k->out_sent < k->out.len)
        ready[CONTROL].events |= POLLOUT;
    if (poll(ready, COUNT, clock_poll_ms(deadline_us)) < 0 && errno != EINTR)
        return err_sys(e, errno, "wait for the kernel");

    if (ready[WAKE].revents) {
        uint64_t count;
        (void)!read(k->wake, &count, sizeof count); /* the flag says it all */
    }
    if ((ready[CONTROL].revents & POLLOUT) && flush(k, e))
        return -1;
    if (ready[SIDE].revents && user->on_side(user->arg, e))
        return -1;
    if (ready[CONTROL].revents & (POLLIN | POLLHUP | POLLERR))
        if (read_control(k, e) || pass_frames(k, user, e))
            return -1;
    if (ready[HANDLE].revents)
        kernel_listen(k);
    if ((ready[OUT].revents || ready[ERR].revents || k->end.kind) && drain_both(k, user, e))
        return -1;
    return 0;
}

static bool is_open(const struct kernel *k, const struct pump_user *user)
{
    return k->control >= 0 || (user->on_side && *user->side_fd >= 0);
}

int pump_until(struct kernel *k, const bool *is_done, int64_t deadline_us,
               const struct pump_user *user, const char *what, struct err *e)
{
    while (!*is_done && k->end.kind == 0) {
        if (pump(k, deadline_us, user, e))
            return -1;
        if (!*is_done && clock_us() >= deadline_us)
            return err_set(e, ERR_UNAVAILABLE, "the kernel did not %s in time", what);
    }
    /* It may have answered just before it ended: all of that is there now, and ends. */
    int64_t last_us = clock_us() + LAST_WORDS_MS * 1000;
    while (!*is_done && is_open(k, user) && clock_us() < last_us)
        if (pump(k, last_us, user, e))
            return -1;
    if (!*is_done)
        return err_set(e, ERR_UNAVAILABLE, "the kernel died where it was to %s", what);
    return 0;
}

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

const struct pump_user pump_discard = {.on_stream = discard_stream, .on_frame = discard_frame};
