/* rest.c -- a kernel writes itself, or its variables, into a pipe; here they go on into a file.
 *
 * Theory of operation. The request carries the write end of a pipe; this thread keeps none of it,
 * so the pipe ends when the kernel closes its own, or dies. What comes is counted, hashed and
 * written. Should the file fail (a full disk), the rest is read and thrown away: the kernel never
 * notices, and lives on.
 */
#include "session/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"

enum {
    CHUNK = 64 << 10,
    PIPE_SIZE = 1 << 20, /* wished for; a smaller one is only slower */
    BOOKKEEPING = 16 << 20,
};

struct resting {
    struct kernel *k;
    enum frame_kind wanted; /* SLEPT or SAVED */
    bool has_answered;
    bool is_done; /* it answered, and its pipe ended if it has one */
    int out_fd;
    int pipe_fd; /* -1: ended, or there is none */
    uint64_t len_max;
    struct hash hash;
    struct err failure; /* of the file; code 0: none */
    struct rest_report report;
};

void rest_report_done(struct rest_report *r)
{
    names_done(&r->reasons);
    names_done(&r->saved);
    names_done(&r->lost);
    *r = (struct rest_report){0};
}

/* What sessions write when they fall asleep stops where what they write to /mnt/data does. */
static bool is_disk_used_up(const struct resting *r)
{
    struct disk_room room;
    struct err ignored = {0};
    return disk_look(r->out_fd, r->k->reserve_bytes / 2, &room, &ignored) == 0 && room.is_full;
}

static void keep(struct resting *r, const char *bytes, size_t len)
{
    r->report.len += len;
    if (r->failure.code)
        return;
    if (r->report.len > r->len_max)
        (void)err_set(&r->failure, ERR_LIMIT, "it wrote more than %llu bytes",
                      (unsigned long long)r->len_max);
    else if (is_disk_used_up(r))
        (void)err_set(&r->failure, ERR_NO_SPACE, "half of the disk's reserve is used up");
    else if (hash_add(&r->hash, bytes, len, &r->failure) == 0)
        (void)fd_write_all(r->out_fd, bytes, len, &r->failure);
}

static int on_pipe(void *arg, struct err *e)
{
    struct resting *r = arg;
    char bytes[CHUNK];
    for (int i = 0; i < PIPE_SIZE / CHUNK; i++) {
        ssize_t n = read(r->pipe_fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n < 0)
            return err_sys(e, errno, "read what the kernel writes");
        if (n == 0) {
            (void)close(r->pipe_fd);
            r->pipe_fd = -1;
            r->is_done = r->has_answered;
            return 0;
        }
        keep(r, bytes, (size_t)n);
    }
    return 0;
}

static int on_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct resting *r = arg;
    if (frame->kind != r->wanted && frame->kind != FRAME_REFUSED)
        return pump_acknowledge(r->k, frame, e);
    if (r->has_answered)
        return err_set(e, ERR_PROTOCOL, "a second answer");
    r->has_answered = true;
    r->report.is_refused = frame->kind == FRAME_REFUSED;
    r->is_done = r->pipe_fd < 0 || r->report.is_refused;
    if (r->report.is_refused)
        return names_from_frame(&r->report.reasons, frame, FIELD_MESSAGE, e);
    if (frame->kind == FRAME_SLEPT)
        return 0;
    return names_from_frame(&r->report.saved, frame, FIELD_NAME, e) ||
                   names_from_frame(&r->report.lost, frame, FIELD_LOST, e)
               ? -1
               : 0;
}

/* Sends the request and waits for what comes of it; the kernel is BUSY and stays so, or is dead. */
static int exchange(struct resting *r, size_t at, int fd, const char *what, struct err *e)
{
    const struct pump_user user = {
        .on_frame = on_frame, .arg = r, .on_side = on_pipe, .side_fd = &r->pipe_fd};
    int timeout_ms = r->wanted == FRAME_SLEPT ? SLEEP_TIMEOUT_MS : SAVE_TIMEOUT_MS;
    int64_t deadline_us = clock_us() + (int64_t)timeout_ms * 1000;
    if (pump_send_fd(r->k, at, fd, e) ||
        pump_until(r->k, &r->is_done, deadline_us, &user, what, e)) {
        kernel_kill(r->k, &pump_discard);
        return -1;
    }
    return 0;
}

/* Makes the pipe; *ret_far is the end that goes to the kernel. */
static int make_pipe(struct resting *r, int *ret_far, struct err *e)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC))
        return err_sys(e, errno, "make a pipe");
    r->pipe_fd = pair[0];
    *ret_far = pair[1];
    (void)fcntl(pair[0], F_SETPIPE_SZ, PIPE_SIZE); /* beyond one's allowance it stays as it is */
    return fd_set_nonblock(pair[0], e) || hash_init(&r->hash, e) ? -1 : 0;
}

static void resting_done(struct resting *r)
{
    fd_closep(&r->pipe_fd);
    hash_done(&r->hash);
    rest_report_done(&r->report);
}

/* Ends a good exchange: the report is the caller's unless the file failed. */
static int conclude(struct resting *r, struct rest_report *ret, struct err *e)
{
    if (r->failure.code && !r->report.is_refused) {
        *e = r->failure;
        return err_wrap(e, "write down a kernel");
    }
    if (r->hash.ctx && hash_end(&r->hash, r->report.sha256, e))
        return -1;
    *ret = r->report;
    r->report = (struct rest_report){0};
    return 0;
}

static struct resting resting_new(struct kernel *k, enum frame_kind wanted, int out_fd)
{
    /* What a kernel writes of its memory is compressed; what does not compress grows a little. */
    uint64_t memory = k->limits.memory_bytes;
    return (struct resting){.k = k,
                            .wanted = wanted,
                            .out_fd = out_fd,
                            .pipe_fd = -1,
                            .len_max = memory + memory / 64 + BOOKKEEPING};
}

int kernel_sleep(struct kernel *k, enum sleep_way way, int out_fd, struct rest_report *ret,
                 struct err *e)
{
    scoped(resting_done) struct resting r = resting_new(k, FRAME_SLEPT, out_fd);
    scoped(fd_closep) int far = -1;
    if (make_pipe(&r, &far, e) || kernel_begin(k, e))
        return -1;
    size_t at = k->out.len, mark = frame_begin(&k->out, FRAME_SLEEP);
    field_put_u32(&k->out, FIELD_STAYS, way == SLEEP_STAYS);
    frame_end(&k->out, mark);
    if (exchange(&r, at, take_fd(&far), "write itself down", e))
        return -1;
    bool lives = way == SLEEP_STAYS || r.report.is_refused;
    kernel_enter(k, lives ? KERNEL_IDLE : KERNEL_DEAD);
    return conclude(&r, ret, e);
}

int kernel_save(struct kernel *k, int out_fd, struct rest_report *ret, struct err *e)
{
    scoped(resting_done) struct resting r = resting_new(k, FRAME_SAVED, out_fd);
    scoped(fd_closep) int far = -1;
    if (make_pipe(&r, &far, e) || kernel_begin(k, e))
        return -1;
    size_t at = k->out.len;
    frame_end(&k->out, frame_begin(&k->out, FRAME_SAVE));
    if (exchange(&r, at, take_fd(&far), "save its variables", e))
        return -1;
    kernel_enter(k, KERNEL_IDLE);
    return conclude(&r, ret, e);
}

int kernel_restore(struct kernel *k, int in_fd, struct rest_report *ret, struct err *e)
{
    scoped(resting_done) struct resting r = resting_new(k, FRAME_SAVED, -1);
    scoped(fd_closep) int fd = fcntl(in_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, errno, "restore variables");
    if (kernel_begin(k, e))
        return -1;
    size_t at = k->out.len;
    frame_end(&k->out, frame_begin(&k->out, FRAME_RESTORE));
    if (exchange(&r, at, take_fd(&fd), "restore its variables", e))
        return -1;
    kernel_enter(k, KERNEL_IDLE);
    return conclude(&r, ret, e);
}
