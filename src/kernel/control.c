#include "kernel/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"

/* CHUNK is on the stack, every page of which costs a session started from an image. */
enum { CHUNK = 8 << 10, HELD_MAX = 1 << 20, FDS_MAX = 8, LATER_MAX = 512 };

struct waiting {
    enum frame_kind kind;
    struct buf payload;
    int fd;
};

static struct {
    int fd; /* -1 in a forked child */
    bool is_mute;
    pthread_mutex_t sending; /* so that frames of two threads do not mix; guards `later` */
    char later[LATER_MAX];   /* frames that go out with the next one */
    size_t later_len;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_being_read; /* by some thread, which has let go of the lock meanwhile */
    struct frame_reader in;
    int came;             /* a descriptor whose frame is not whole yet, or -1 */
    struct waiting given; /* what control_next gave out last */
    struct waiting queue[CONTROL_REQUESTS_MAX]; /* the oldest first */
    size_t queue_count;
    uint64_t asked, answered;
} control = {.fd = -1, .came = -1};

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

void control_leave(void)
{
    control.fd = -1;
}

static int watch_for_forks(struct err *e)
{
    static bool is_watched; /* handlers cannot be removed, and outlive a control_init */
    int why = is_watched ? 0 : pthread_atfork(NULL, NULL, forget_in_child);
    if (why)
        return err_sys(e, why, "watch for forks");
    is_watched = true;
    return 0;
}

/* Gives back what the state holds. Descriptors in it are numbers of another life: not closed. */
static void empty(void)
{
    frame_reader_done(&control.in);
    buf_done(&control.given.payload);
    for (size_t i = 0; i < control.queue_count; i++)
        buf_done(&control.queue[i].payload);
}

int control_init(int fd, struct err *e)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC))
        return err_sys(e, errno, "control socket %d", fd);
    if (watch_for_forks(e))
        return -1;
    empty();
    memset(&control, 0, sizeof control);
    control.fd = fd;
    control.came = -1;
    control.in = FRAME_READER_INIT;
    int why = pthread_mutex_init(&control.sending, NULL);
    if (!why)
        why = pthread_mutex_init(&control.lock, NULL);
    if (!why)
        why = pthread_cond_init(&control.changed, NULL);
    return why ? err_sys(e, why, "control socket %d", fd) : 0;
}

bool control_is_ours(void)
{
    return control.fd >= 0;
}

int control_fd(void)
{
    return control.fd;
}

void control_mute(bool is_mute)
{
    control.is_mute = is_mute;
}

bool control_is_mute(void)
{
    return control.is_mute;
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

/* With `sending` held: what waited, then these. */
static void send_frames(const struct buf *frames)
{
    size_t held = control.later_len;
    control.later_len = 0;
    if (held > 0 && frames->len <= sizeof control.later - held) {
        memcpy(control.later + held, frames->bytes, frames->len);
        send_all(control.later, held + frames->len);
        return;
    }
    if (held > 0)
        send_all(control.later, held);
    send_all(frames->bytes, frames->len);
}

bool control_tell(const struct buf *frames)
{
    if (!control_is_ours())
        return false;
    if (control.is_mute)
        return true;
    pthread_mutex_lock(&control.sending);
    send_frames(frames);
    pthread_mutex_unlock(&control.sending);
    return true;
}

bool control_tell_later(const struct buf *frames)
{
    if (!control_is_ours() || control.is_mute || frames->len > sizeof control.later)
        return control_tell(frames);
    pthread_mutex_lock(&control.sending);
    if (frames->len <= sizeof control.later - control.later_len) {
        memcpy(control.later + control.later_len, frames->bytes, frames->len);
        control.later_len += frames->len;
    } else {
        send_frames(frames);
    }
    pthread_mutex_unlock(&control.sending);
    return true;
}

/* ---- what arrives */

static bool is_request(enum frame_kind kind)
{
    return kind != FRAME_ACK && kind >= FRAME_RUN && kind <= FRAME_RESEED;
}

static bool has_descriptor(enum frame_kind kind)
{
    return kind == FRAME_SLEEP || kind == FRAME_COPY || kind == FRAME_SAVE || kind == FRAME_RESTORE;
}

/* The descriptor that came with this frame, -1 if none. recvmsg never reads beyond a message with a
 * descriptor, so of the frames read with one, the last that can have it is the one it came with; and
 * the engine does not send two such requests at a time. */
static int descriptor_of(enum frame_kind kind)
{
    return has_descriptor(kind) ? take_fd(&control.came) : -1;
}

static void drop_descriptor(void)
{
    int fd = take_fd(&control.came);
    if (fd >= 0)
        (void)close(fd);
}

/* Files a frame for whoever waits for it. */
static bool take_in(const struct frame *frame)
{
    if (frame->kind == FRAME_ACK) {
        control.answered++;
        return control.answered <= control.asked;
    }
    if (!is_request(frame->kind) || control.queue_count == CONTROL_REQUESTS_MAX)
        return false;
    struct waiting *w = &control.queue[control.queue_count++];
    *w = (struct waiting){.kind = frame->kind,
                          .payload = BUF_INIT(FRAME_PAYLOAD_MAX),
                          .fd = descriptor_of(frame->kind)};
    buf_add(&w->payload, frame->payload, frame->len);
    return !w->payload.failed;
}

/* Keeps the first descriptor of a message. */
static void keep_descriptor(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (i == 0) {
                drop_descriptor();
                control.came = fd;
            } else {
                (void)close(fd);
            }
        }
    }
}

/* Receives bytes, and perhaps descriptors, which wait in `message`. Ends the process when there are
 * none to come. */
static size_t receive(struct msghdr *message)
{
    ssize_t n;
    size_t space = message->msg_controllen;
    do {
        message->msg_controllen = space;
        n = recvmsg(control.fd, message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        lost(n == 0 || errno == ECONNRESET ? 0 : 1);
    return (size_t)n;
}

/* Reads once and files what came. The caller holds the lock, which is let go while this waits. */
static void read_once(void)
{
    char bytes[CHUNK];
    _Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int) * FDS_MAX)];
    size_t room = frame_room(&control.in);
    struct iovec part = {.iov_base = bytes, .iov_len = room < sizeof bytes ? room : sizeof bytes};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    control.is_being_read = true;
    pthread_mutex_unlock(&control.lock);
    size_t len = receive(&message);
    pthread_mutex_lock(&control.lock);
    control.is_being_read = false;
    keep_descriptor(&message);

    struct err e;
    struct frame frame;
    int more = frame_fill(&control.in, bytes, len, &e);
    while (more == 0 && (more = frame_next(&control.in, &frame, &e)) == 1)
        more = take_in(&frame) ? 0 : -1;
    if (more < 0)
        lost(1);
    if (control.in.held.len == control.in.given_len)
        drop_descriptor(); /* its frame was whole and had no use for it */
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
    if (control.is_mute)
        return true;
    pthread_mutex_lock(&control.sending);
    pthread_mutex_lock(&control.lock);
    uint64_t ticket = ++control.asked;
    pthread_mutex_unlock(&control.lock);
    send_frames(frame);
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
    buf_done(&control.given.payload);
    if (control.in.held.cap > HELD_MAX && control.in.held.len == control.in.given_len)
        frame_reader_done(&control.in);
}

struct request control_next(void)
{
    pthread_mutex_lock(&control.lock);
    let_go_of_memory();
    while (control.queue_count == 0)
        read_or_wait();
    control.given = control.queue[0];
    control.queue_count--;
    memmove(control.queue, control.queue + 1, control.queue_count * sizeof *control.queue);
    struct request request = {
        .frame = {.kind = control.given.kind,
                  .payload = (const uint8_t *)control.given.payload.bytes,
                  .len = control.given.payload.len},
        .fd = control.given.fd,
    };
    pthread_mutex_unlock(&control.lock);
    return request;
}

bool control_wait(int ms)
{
    pthread_mutex_lock(&control.lock);
    bool has_request = control.queue_count > 0;
    pthread_mutex_unlock(&control.lock);
    struct pollfd socket_ready = {.fd = control.fd, .events = POLLIN};
    return has_request || poll(&socket_ready, 1, ms) != 0; /* interrupted: look again */
}
