#include "kernel/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

enum { CHUNK = 64 << 10, HELD_MAX = 1 << 20 };

static struct {
    int fd;                  /* -1 in a forked child */
    pthread_mutex_t sending; /* so that frames of two threads do not mix */
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t changed;
    bool is_being_read; /* by some thread, which has let go of the lock meanwhile */
    struct frame_reader in;
    struct buf request; /* payload of the RUN or ASK that waits for control_next */
    enum frame_kind request_kind;
    bool has_request;
    uint64_t asked, answered;
} control = {
    .fd = -1,
    .sending = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .request = BUF_INIT(FRAME_PAYLOAD_MAX),
};

/* The engine hung up, or nothing it says can be understood any more. */
static _Noreturn void lost(int status)
{
    _exit(status);
}

static void forget_in_child(void)
{
    if (control.fd >= 0)
        (void)close(control.fd);
    control.fd = -1;
}

int control_init(int fd, struct err *e)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC))
        return err_sys(e, errno, "control socket %d", fd);
    int why = pthread_atfork(NULL, NULL, forget_in_child);
    if (why)
        return err_sys(e, why, "watch for forks");
    control.fd = fd;
    frame_reader_done(&control.in);
    control.in = FRAME_READER_INIT;
    control.asked = control.answered = 0;
    return 0;
}

bool control_is_ours(void)
{
    return control.fd >= 0;
}

static void send_all(const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = send(control.fd, at, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            lost(errno == EPIPE || errno == ECONNRESET ? 0 : 1);
        at += n;
        len -= (size_t)n;
    }
}

bool control_tell(const struct buf *frames)
{
    if (!control_is_ours())
        return false;
    pthread_mutex_lock(&control.sending);
    send_all(frames->bytes, frames->len);
    pthread_mutex_unlock(&control.sending);
    return true;
}

/* Files a frame for whoever waits for it. */
static bool take_in(const struct frame *frame)
{
    if (frame->kind == FRAME_ACK) {
        control.answered++;
        return control.answered <= control.asked;
    }
    if ((frame->kind != FRAME_RUN && frame->kind != FRAME_ASK) || control.has_request)
        return false;
    buf_done(&control.request);
    buf_add(&control.request, frame->payload, frame->len);
    control.request_kind = frame->kind;
    control.has_request = true;
    return !control.request.failed;
}

/* Reads once and files what came. The caller holds the lock, which is let go while this waits. */
static void read_once(void)
{
    char bytes[CHUNK];
    control.is_being_read = true;
    size_t room = frame_room(&control.in);
    pthread_mutex_unlock(&control.lock);
    ssize_t n;
    do
        n = recv(control.fd, bytes, room < sizeof bytes ? room : sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    pthread_mutex_lock(&control.lock);
    control.is_being_read = false;
    if (n <= 0)
        lost(n == 0 || errno == ECONNRESET ? 0 : 1);

    struct err e;
    struct frame frame;
    int more = frame_fill(&control.in, bytes, (size_t)n, &e);
    while (more == 0 && (more = frame_next(&control.in, &frame, &e)) == 1)
        more = take_in(&frame) ? 0 : -1;
    if (more < 0)
        lost(1);
    pthread_cond_broadcast(&control.changed);
}

static void read_or_wait(void)
{
    if (control.is_being_read)
        pthread_cond_wait(&control.changed, &control.lock);
    else
        read_once();
}

bool control_ask(const struct buf *frame)
{
    if (!control_is_ours())
        return false;
    pthread_mutex_lock(&control.sending);
    pthread_mutex_lock(&control.lock);
    uint64_t ticket = ++control.asked;
    pthread_mutex_unlock(&control.lock);
    send_all(frame->bytes, frame->len);
    pthread_mutex_unlock(&control.sending);

    pthread_mutex_lock(&control.lock);
    while (control.answered < ticket)
        read_or_wait();
    pthread_mutex_unlock(&control.lock);
    return true;
}

bool control_sync(void)
{
    char head[FRAME_HEAD + 1] = {[4] = FRAME_SYNC};
    const struct buf frame = {.bytes = head, .len = FRAME_HEAD, .cap = sizeof head};
    return control_ask(&frame);
}

/* One large RUN must not cost its size for the rest of the session. */
static void let_go_of_memory(void)
{
    if (control.in.held.cap > HELD_MAX && control.in.held.len == control.in.given_len)
        frame_reader_done(&control.in);
}

struct frame control_next(void)
{
    pthread_mutex_lock(&control.lock);
    let_go_of_memory();
    while (!control.has_request)
        read_or_wait();
    control.has_request = false;
    struct frame frame = {.kind = control.request_kind,
                          .payload = (const uint8_t *)control.request.bytes,
                          .len = control.request.len};
    pthread_mutex_unlock(&control.lock);
    return frame;
}
