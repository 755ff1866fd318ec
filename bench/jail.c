/* jail.c -- what the jail alone costs.
 *
 *     bench-jail SPAWN NOTHING
 *
 * Starts the program NOTHING in turn by fork and exec, as the kernel of a jail, and as the loader
 * of one that starts from an image. Each time two times are taken: until its first byte arrives,
 * and until nothing of it is left. Of a parked jail a third is taken: from ATTACH to ATTACHED.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sample.h"
#include "session/spawner.h"
#include "session/workdir.h"
#include "wire/jail.h"

enum { PLAIN_CONTROL_FD = 100 };

struct bench {
    struct spawner *spawner;
    const char *nothing;
    int data_fd;
    int image; /* not that anybody looks into it */
};

struct pair {
    int ours, theirs;
};

static void pair_done(struct pair *p)
{
    fd_closep(&p->ours);
    fd_closep(&p->theirs);
}

static int pair_open(struct pair *p, int type, struct err *e)
{
    int fds[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds))
        return err_sys(e, errno, "socketpair");
    *p = (struct pair){fds[0], fds[1]};
    return 0;
}

static int pair_pipe(struct pair *p, struct err *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC))
        return err_sys(e, errno, "pipe");
    *p = (struct pair){fds[0], fds[1]};
    return 0;
}

static int await_greeting(int fd, struct err *e)
{
    char byte;
    size_t got = 0;
    if (fd_read_all(fd, &byte, 1, &got, e))
        return -1;
    return got == 1 ? 0 : err_set(e, ERR_PROTOCOL, "the program said nothing");
}

static int measure_plain(struct bench *b, struct err *e)
{
    scoped(pair_done) struct pair control = {-1, -1};
    if (pair_open(&control, SOCK_STREAM, e))
        return -1;

    char *argv[] = {"nothing", NULL};
    char *envp[] = {"CICADA_CONTROL_FD=100", NULL};
    double start = sample_now_us();
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(e, errno, "fork");
    if (pid == 0) {
        if (dup2(control.theirs, PLAIN_CONTROL_FD) >= 0)
            execve(b->nothing, argv, envp);
        _exit(127);
    }
    close(take_fd(&control.theirs));
    int greeted = await_greeting(control.ours, e);
    if (!greeted)
        sample_print("plain.ready", start);
    close(take_fd(&control.ours));

    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        return err_sys(e, errno, "waitpid");
    if (greeted || status)
        return err_set(e, ERR_INTERNAL, "plain start: status %d", status);
    sample_print("plain.gone", start);
    return 0;
}

/* Reads events until one of `kind`; the jail must not fail on the way. */
static int await_event(int handle, enum jail_event_kind kind, struct jail_event *ret, struct err *e)
{
    do {
        uint8_t bytes[JAIL_EVENT_SIZE];
        size_t len = 0, fd_count = 0;
        int counters[JAIL_COUNTERS]; /* come with STARTED, and are of no use here */
        if (fd_recv(handle, bytes, sizeof bytes, &len, counters, JAIL_COUNTERS, &fd_count, e))
            return -1;
        while (fd_count > 0)
            (void)close(counters[--fd_count]);
        if (len == 0)
            return err_set(e, ERR_PROTOCOL, "the spawner hung up");
        if (jail_event_get(bytes, len, ret, e))
            return -1;
        if (ret->kind == JAIL_FAILED)
            return err_sys(e, ret->status, "jail: %s", ret->step);
    } while (ret->kind != kind);
    return 0;
}

/* One way to start a jail, and what its times are called. */
struct way {
    const char *ready, *gone, *attached;
    struct jail_spec spec;
};

/* A parked jail is given its directory. */
static int attach(struct bench *b, int handle, const char *series, struct err *e)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    struct jail_event event;
    jail_request_put(&(struct jail_request){.kind = JAIL_ATTACH}, bytes);
    double start = sample_now_us();
    if (fd_send(handle, bytes, sizeof bytes, &b->data_fd, 1, e) ||
        await_event(handle, JAIL_ATTACHED, &event, e))
        return -1;
    sample_print(series, start);
    return 0;
}

static int measure_jail(struct bench *b, const struct way *way, struct err *e)
{
    scoped(pair_done) struct pair handle = {-1, -1};
    scoped(pair_done) struct pair control = {-1, -1};
    scoped(pair_done) struct pair out = {-1, -1};
    if (pair_open(&handle, SOCK_SEQPACKET, e) || pair_open(&control, SOCK_STREAM, e) ||
        pair_pipe(&out, e))
        return -1;

    const int fds[JAIL_FDS] = {
        [JAIL_FD_HANDLE] = handle.theirs, [JAIL_FD_CONTROL] = control.theirs,
        [JAIL_FD_STDOUT] = out.theirs,    [JAIL_FD_STDERR] = out.theirs,
        [JAIL_FD_DATA] = b->data_fd,      [JAIL_FD_IMAGE] = b->image,
    };
    double start = sample_now_us();
    if (spawner_jail(b->spawner, &way->spec, fds, e))
        return -1;
    close(take_fd(&handle.theirs));
    close(take_fd(&control.theirs));
    struct jail_event event;
    if (await_greeting(control.ours, e)) {
        (void)await_event(handle.ours, JAIL_ENDED, &event, e); /* knows better what failed */
        return -1;
    }
    sample_print(way->ready, start);
    if (way->attached && (await_event(handle.ours, JAIL_STARTED, &event, e) ||
                          attach(b, handle.ours, way->attached, e)))
        return -1;
    close(take_fd(&control.ours));
    if (await_event(handle.ours, JAIL_ENDED, &event, e))
        return -1;
    if (event.cause != JAIL_EXITED || event.status)
        return err_set(e, ERR_INTERNAL, "the jail ended by %d, status %d", event.cause,
                       event.status);
    if (way->gone)
        sample_print(way->gone, start);
    return 0;
}

static int measure_all(void *arg, uint64_t count, struct err *e)
{
    static const struct way ways[] = {
        {"jail.ready", "jail.gone", NULL, {JAIL_COLD, true, false, false, 0, LIMITS_DEFAULT}},
        {"image.ready", "image.gone", NULL, {JAIL_IMAGE, true, false, false, 0, LIMITS_DEFAULT}},
        {"parked.ready",
         NULL,
         "parked.attached",
         {JAIL_IMAGE, false, false, false, 0, LIMITS_DEFAULT}},
    };
    for (uint64_t i = 0; i < count; i++) {
        if (measure_plain(arg, e))
            return -1;
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            if (measure_jail(arg, &ways[k], e))
                return -1;
    }
    return 0;
}

static const struct command commands[] = {{"jail", measure_all}, {0}};

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench-jail SPAWN NOTHING\n");
        return 2;
    }
    struct err e = {0};
    struct bench b = {.nothing = argv[2], .image = open(argv[2], O_RDONLY | O_CLOEXEC)};
    struct workdir *dir = NULL;
    if (workdir_new("/var/tmp", &dir, &e) ||
        spawner_open(argv[1], argv[2], argv[2], &b.spawner, &e)) {
        fprintf(stderr, "bench-jail: %s\n", e.text);
        workdir_free(dir);
        return 1;
    }
    b.data_fd = workdir_fd(dir);
    int status = sample_serve(commands, &b);
    spawner_close(b.spawner);
    workdir_free(dir);
    return status;
}
