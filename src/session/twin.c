/* twin.c -- copies of a kernel.
 *
 * Theory of operation. COPY carries one end of a new socket. The kernel forks; the copy says HELLO
 * on that socket, and the operating system says with it which process spoke (SCM_CREDENTIALS, which
 * a sandboxed process cannot forge). The original says SLEPT, or REFUSED when it did not fork. The
 * spawner is told the pid, so that it spares the copy when another becomes the kernel. The copy
 * then waits for a byte on its socket; until that comes it leaves the control socket, which it
 * shares with the original, alone. When the spawner has made it the kernel, it gets the byte and
 * greets there.
 */
#include "session/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"
#include "session/rest.h"

enum { COPY_TIMEOUT_MS = 10000, GREETING_MAX = 4096 };

struct copying {
    struct kernel *k;
    struct twin twin;
    bool has_answered, has_greeted, is_done;
    struct frame_reader in; /* from the copy */
    struct rest_report report;
};

void twin_done(struct twin *t)
{
    fd_closep(&t->control);
    *t = TWIN_NONE;
}

static int no_greeting(struct err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "the copy of the kernel did not greet");
}

static int on_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct copying *c = arg;
    if (frame->kind != FRAME_SLEPT && frame->kind != FRAME_REFUSED)
        return pump_acknowledge(c->k, frame, e);
    if (c->has_answered)
        return err_set(e, ERR_PROTOCOL, "a second answer");
    c->has_answered = true;
    c->report.is_refused = frame->kind == FRAME_REFUSED;
    c->is_done = c->has_greeted || c->report.is_refused;
    if (c->report.is_refused)
        return names_from_frame(&c->report.reasons, frame, FIELD_MESSAGE, e);
    return c->twin.control < 0 ? no_greeting(e) : 0;
}

/* Who sent a message; 0 if it does not say. */
static int32_t sender(struct msghdr *msg)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
        struct ucred who;
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&who, CMSG_DATA(head), sizeof who);
        return who.pid;
    }
    return 0;
}

static int greet(struct copying *c, const struct frame *frame, struct err *e)
{
    if (frame->kind != FRAME_HELLO || c->has_greeted)
        return err_set(e, ERR_PROTOCOL, "the copy began with a frame of kind %d", frame->kind);
    c->has_greeted = true;
    c->is_done = c->has_answered;
    return 0;
}

static int on_greeting(void *arg, struct err *e)
{
    struct copying *c = arg;
    char bytes[GREETING_MAX];
    /* Room for credentials only: descriptors sent along are dropped by the operating system. */
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec iov = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(c->twin.control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) { /* no copy, or none any more; the original says which */
        twin_done(&c->twin);
        return c->has_answered ? no_greeting(e) : 0;
    }
    int32_t pid = sender(&msg);
    if (pid <= 0 || (c->twin.pid != 0 && c->twin.pid != pid))
        return no_greeting(e);
    c->twin.pid = pid;
    struct frame frame;
    if (frame_fill(&c->in, bytes, (size_t)n, e))
        return -1;
    int more;
    while ((more = frame_next(&c->in, &frame, e)) == 1)
        if (greet(c, &frame, e))
            return -1;
    return more;
}

static void copying_done(struct copying *c)
{
    twin_done(&c->twin);
    frame_reader_done(&c->in);
    rest_report_done(&c->report);
}

static int make_socket(struct copying *c, int *ret_far, struct err *e)
{
    int pair[2], one = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "make a socket for a copy");
    c->twin.control = pair[0];
    *ret_far = pair[1];
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one))
        return err_sys(e, errno, "make a socket for a copy");
    return 0;
}

static int exchange(struct copying *c, int far, struct err *e)
{
    const struct pump_user user = {
        .on_frame = on_frame, .arg = c, .on_side = on_greeting, .side_fd = &c->twin.control};
    int64_t deadline_us = clock_us() + COPY_TIMEOUT_MS * 1000;
    size_t at = c->k->out.len;
    frame_end(&c->k->out, frame_begin(&c->k->out, FRAME_COPY));
    return pump_send_fd(c->k, at, far, e) ||
                   pump_until(c->k, &c->is_done, deadline_us, &user, "copy itself", e)
               ? -1
               : 0;
}

static int tell_spawner(struct kernel *k, int32_t pid, struct err *e)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    jail_request_put(&(struct jail_request){.kind = JAIL_COPY, .pid = pid}, bytes);
    return fd_send(k->handle, bytes, sizeof bytes, NULL, 0, e);
}

int kernel_copy(struct kernel *k, struct twin *ret, struct rest_report *report, struct err *e)
{
    scoped(copying_done) struct copying c = {
        .k = k, .twin = TWIN_NONE, .in = {.held = BUF_INIT(GREETING_MAX)}};
    scoped(fd_closep) int far = -1;
    int zero = 0;
    if (make_socket(&c, &far, e) || kernel_begin(k, e))
        return -1;
    if (exchange(&c, take_fd(&far), e) ||
        (!c.report.is_refused && tell_spawner(k, c.twin.pid, e))) {
        kernel_kill(k, &pump_discard);
        return -1;
    }
    kernel_enter(k, KERNEL_IDLE);
    *report = c.report;
    c.report = (struct rest_report){0};
    if (report->is_refused)
        return 0;
    (void)setsockopt(c.twin.control, SOL_SOCKET, SO_PASSCRED, &zero, sizeof zero);
    *ret = c.twin;
    c.twin = TWIN_NONE;
    return 0;
}

/* The twin answers on the control socket, which it shares. What its predecessor still had to say,
 * or was still to hear, is nobody's any more. */
static void forget_talk(struct kernel *k)
{
    char bytes[4096];
    while (recv(k->control, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
    fd_closep(&k->out_fd);
    k->out_fd = -1;
    k->out_sent = 0;
    buf_done(&k->out);
    frame_reader_done(&k->in);
    k->in = FRAME_READER_INIT;
    k->replies_owed = 0;
}

struct taking_over {
    struct kernel *k;
    bool has_greeted;
};

static int on_hello(void *arg, const struct frame *frame, struct err *e)
{
    struct taking_over *t = arg;
    if (frame->kind != FRAME_HELLO || t->has_greeted)
        return err_set(e, ERR_PROTOCOL, "the copy began with a frame of kind %d", frame->kind);
    t->has_greeted = true;
    return 0;
}

static int take_over(struct kernel *k, struct twin *to, struct err *e)
{
    struct taking_over t = {.k = k};
    const struct pump_user user = {.on_frame = on_hello, .arg = &t};
    int64_t deadline_us = clock_us() + COPY_TIMEOUT_MS * 1000;
    forget_talk(k);
    if (send(to->control, "g", 1, MSG_NOSIGNAL) != 1)
        return err_sys(e, errno, "let the copy go on");
    return pump_until(k, &t.has_greeted, deadline_us, &user, "go on as its copy", e);
}

int kernel_switch(struct kernel *k, struct twin *to, struct err *e)
{
    const struct jail_request request = {.kind = JAIL_SWITCH, .pid = to->pid};
    if (kernel_begin(k, e))
        return -1;
    if (kernel_demand(k, &request, JAIL_SWITCHED, e))
        goto fail;
    if (k->answer.status) {
        kernel_enter(k, KERNEL_IDLE);
        twin_done(to);
        return err_set(e, ERR_NOT_FOUND, "that copy of the session has ended");
    }
    if (take_over(k, to, e))
        goto fail;
    kernel_enter(k, KERNEL_IDLE);
    twin_done(to);
    return 0;

fail:
    kernel_kill(k, &pump_discard);
    return err_wrap(e, "go back to a copy");
}
