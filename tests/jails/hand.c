#include "hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"
#include "session/spawner.h"

/* Both ends of a pair; ours does not wait for ever. */
static int make_pair(int type, int *ret_ours, int *ret_theirs, struct err *e)
{
    const struct timeval patience = {.tv_sec = HAND_WAIT_S};
    int pair[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "socketpair");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience))
        return err_sys(e, errno, "limit the wait");
    return 0;
}

int hand_make_control(struct hand *h, int *ret_theirs, struct err *e)
{
    const int yes = 1;
    if (make_pair(SOCK_STREAM, &h->control, ret_theirs, e))
        return -1;
    if (setsockopt(h->control, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes))
        return err_sys(e, errno, "ask for credentials");
    return 0;
}

int hand_ask(struct hand *h, struct spawner *s, const struct jail_spec *spec,
             const struct hand_parts *parts, struct err *e)
{
    scoped(fd_closep) int handle = -1, control = -1, out = -1;
    int pipe_ends[2];
    *h = (struct hand)HAND_NONE;
    if (hand_make_control(h, &control, e) || make_pair(SOCK_SEQPACKET, &h->handle, &handle, e))
        return -1;
    if (pipe2(pipe_ends, O_CLOEXEC))
        return err_sys(e, errno, "pipe");
    h->out = pipe_ends[0];
    out = pipe_ends[1];
    int fds[JAIL_FDS] = {[JAIL_FD_HANDLE] = handle,      [JAIL_FD_CONTROL] = control,
                         [JAIL_FD_STDOUT] = out,         [JAIL_FD_STDERR] = out,
                         [JAIL_FD_DATA] = parts->data,   [JAIL_FD_IMAGE] = parts->image,
                         [JAIL_FD_DELTA] = parts->delta, [JAIL_FD_LIBRARIES] = parts->libraries};
    if (spec->lower_count > 0)
        (void)jail_data_fds(parts->layers, fds + JAIL_FD_DATA);
    return spawner_jail(s, spec, fds, e);
}

void hand_done(struct hand *h)
{
    fd_closep(&h->handle);
    fd_closep(&h->control);
    fd_closep(&h->out);
    h->handle = h->control = h->out = -1;
    while (h->counter_count > 0)
        (void)close(h->counters[--h->counter_count]);
}

/* Keeps what came with STARTED; nothing comes with the others. */
static int keep_counters(struct hand *h, const int *fds, size_t count, enum jail_event_kind kind,
                         struct err *e)
{
    if (count == 0)
        return 0;
    if (kind == JAIL_STARTED && count == JAIL_COUNTERS && h->counter_count == 0) {
        memcpy(h->counters, fds, count * sizeof *fds);
        h->counter_count = count;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
    return err_set(e, ERR_PROTOCOL, "%zu descriptors with an event of kind %d", count, kind);
}

int hand_event(struct hand *h, struct jail_event *ret, struct err *e)
{
    do {
        uint8_t bytes[JAIL_EVENT_SIZE];
        int fds[JAIL_COUNTERS];
        size_t len = 0, count = 0;
        if (fd_recv(h->handle, bytes, sizeof bytes, &len, fds, JAIL_COUNTERS, &count, e))
            return err_wrap(e, "wait for an event");
        if (len == 0)
            return err_set(e, ERR_PROTOCOL, "the spawner hung up");
        if (jail_event_get(bytes, len, ret, e) || keep_counters(h, fds, count, ret->kind, e))
            return -1;
    } while (ret->kind == JAIL_USED);
    return 0;
}

int hand_attach(struct hand *h, const struct jail_data *data, struct err *e)
{
    const struct jail_request request = {.kind = JAIL_ATTACH,
                                         .lower_count = (uint32_t)data->lower_count};
    uint8_t bytes[JAIL_REQUEST_SIZE];
    int fds[JAIL_DATA_FDS];
    jail_request_put(&request, bytes);
    size_t count = jail_data_fds(data, fds);
    return fd_send(h->handle, bytes, sizeof bytes, fds, count, e);
}

int hand_request(struct hand *h, enum jail_request_kind kind, pid_t pid, int fd, struct err *e)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    jail_request_put(&(struct jail_request){.kind = kind, .pid = pid}, bytes);
    return fd_send(h->handle, bytes, sizeof bytes, &fd, fd >= 0, e);
}

/* One line, and who sent it: the first byte comes with its credentials. */
static int hear_line(struct hand *h, char line[HAND_LINE], pid_t *ret_pid, struct err *e)
{
    size_t len = 0;
    for (; len < HAND_LINE - 1; len++) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
        struct iovec iov = {line + len, 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
        ssize_t n = recvmsg(h->control, &msg, MSG_CMSG_CLOEXEC);
        if (n <= 0)
            return err_sys(e, n < 0 ? errno : EPIPE, "hear the player");
        const struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
        if (head && head->cmsg_type == SCM_CREDENTIALS && ret_pid) {
            struct ucred who;
            memcpy(&who, CMSG_DATA(head), sizeof who);
            *ret_pid = who.pid;
        }
        if (line[len] == '\n')
            break;
    }
    line[len] = '\0';
    return 0;
}

int hand_hear_greeting(struct hand *h, struct err *e)
{
    char line[HAND_LINE];
    if (hear_line(h, line, &h->player, e))
        return -1;
    if (sscanf(line, "hello %15s", h->word) != 1)
        return err_set(e, ERR_PROTOCOL, "the player began with %s", line);
    return 0;
}

int hand_greet(struct hand *h, struct err *e)
{
    struct jail_event event;
    if (hand_event(h, &event, e))
        return -1;
    if (event.kind == JAIL_FAILED)
        return err_set(e, ERR_UNAVAILABLE, "FAILED: %s: %d", event.step, event.status);
    if (event.kind != JAIL_STARTED)
        return err_set(e, ERR_PROTOCOL, "began with event %d: %s", event.kind, event.step);
    return hand_hear_greeting(h, e);
}

int hand_tell(struct hand *h, const char *line, int fd, struct err *e)
{
    char sent[HAND_LINE];
    int n = snprintf(sent, sizeof sent, "%s\n", line);
    return fd_send(h->control, sent, (size_t)n, &fd, fd >= 0, e);
}

int hand_say(struct hand *h, const char *line, int fd, char answer[HAND_LINE], struct err *e)
{
    if (hand_tell(h, line, fd, e) || hear_line(h, answer, NULL, e))
        return err_wrap(e, "%s", line);
    return 0;
}

int hand_expect(struct hand *h, const char *line, const char *wanted, struct err *e)
{
    char answer[HAND_LINE];
    if (hand_say(h, line, -1, answer, e))
        return -1;
    if (strcmp(answer, wanted) != 0)
        return err_set(e, ERR_INTERNAL, "%s: '%s', not '%s'", line, answer, wanted);
    return 0;
}

void hand_status(pid_t pid, const char *field, char value[HAND_LINE])
{
    char path[64], text[4096], wanted[32];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    (void)snprintf(wanted, sizeof wanted, "\n%s:\t", field);
    value[0] = '\0';
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, wanted);
    if (!at)
        return;
    at += strlen(wanted);
    (void)snprintf(value, HAND_LINE, "%.*s", (int)strcspn(at, "\n"), at);
}

pid_t hand_parent(pid_t pid)
{
    char value[HAND_LINE];
    hand_status(pid, "PPid", value);
    uint64_t parent = 0;
    struct err e = {0};
    return parse_u64(value, 1, INT32_MAX, &parent, &e) ? 0 : (pid_t)parent;
}
