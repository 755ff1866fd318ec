#include "session/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"

enum {
    ENGINE_SOCKET = 3, /* where cicada-spawn expects its end */
    CLOSE_TIMEOUT_MS = 15000,
};

struct spawner {
    int sock;
    pid_t pid;
    struct jail_hello hello;
    uint64_t reserve_bytes;
};

/* Executes the program with our socket at its place and nothing else of ours. */
static int execute(const char *path, char *const argv[], int sock, pid_t *ret, struct err *e)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t all, none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions))
        return err_set(e, ERR_NO_MEMORY, "start the spawner");
    (void)posix_spawnattr_init(&attr); /* these cannot fail in glibc */
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    char *env[] = {"PATH=/usr/bin:/bin", NULL};
    int why = posix_spawn_file_actions_adddup2(&actions, sock, ENGINE_SOCKET);
    if (!why)
        why = posix_spawn_file_actions_addclosefrom_np(&actions, ENGINE_SOCKET + 1);
    if (!why)
        why = posix_spawn(ret, path, &actions, &attr, argv, env);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (why)
        return err_sys(e, why, "start cicada-spawn");
    return 0;
}

/* The greeting, or the reason why there is none. */
static int hear(struct spawner *s, struct err *e)
{
    uint8_t bytes[JAIL_EVENT_SIZE > JAIL_HELLO_SIZE ? JAIL_EVENT_SIZE : JAIL_HELLO_SIZE];
    size_t len = 0, fd_count = 0;
    struct pollfd ready = {.fd = s->sock, .events = POLLIN};
    int64_t deadline_us = clock_us() + START_TIMEOUT_MS * 1000;
    int n;
    do
        n = poll(&ready, 1, clock_poll_ms(deadline_us));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return err_set(e, ERR_UNAVAILABLE, "the spawner did not answer in time");
    if (fd_recv(s->sock, bytes, sizeof bytes, &len, NULL, 0, &fd_count, e))
        return err_wrap(e, "hear the spawner");
    if (len == 0)
        return err_set(e, ERR_UNAVAILABLE, "the spawner died while starting");
    struct jail_event event;
    struct err no_event = {0}; /* what is none should be the greeting */
    if (jail_event_get(bytes, len, &event, &no_event) == 0)
        return err_set(e, ERR_UNAVAILABLE, "this host cannot hold a sandbox: %s", event.step);
    return jail_hello_get(bytes, len, &s->hello, e);
}

int spawner_open(const char *spawn_path, const char *kernel_path, const char *loader_path,
                 struct spawner **ret, struct err *e)
{
    return spawner_open_for(spawn_path, kernel_path, loader_path, 0, /* reserve_bytes= */ 0, ret,
                            e);
}

int spawner_open_for(const char *spawn_path, const char *kernel_path, const char *loader_path,
                     uid_t data_uid, uint64_t reserve_bytes, struct spawner **ret, struct err *e)
{
    char uid[16], reserve[24];
    (void)snprintf(uid, sizeof uid, "%u", data_uid);
    (void)snprintf(reserve, sizeof reserve, "%llu", (unsigned long long)reserve_bytes);
    char *const argv[] = {"cicada-spawn",
                          (char *)kernel_path,
                          loader_path ? (char *)loader_path : "-",
                          uid,
                          reserve,
                          NULL};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "socketpair");
    scoped(fd_closep) int theirs = pair[1];
    struct spawner *s = malloc(sizeof *s);
    if (!s) {
        (void)close(pair[0]);
        return err_set(e, ERR_NO_MEMORY, "start the spawner");
    }
    *s = (struct spawner){.sock = pair[0], .reserve_bytes = reserve_bytes};
    if (execute(spawn_path, argv, theirs, &s->pid, e))
        goto fail;
    fd_closep(&theirs); /* or its death would not be seen */
    theirs = -1;
    if (hear(s, e))
        goto fail;
    *ret = s;
    return 0;

fail:
    spawner_close(s);
    return -1;
}

/* It ends by itself when the socket closes and every jail is gone. One that hangs is killed: then pid
 * namespaces take its jails, and the next spawner sweeps. */
static void await_end(pid_t pid)
{
    scoped(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    int64_t deadline_us = clock_us() + CLOSE_TIMEOUT_MS * 1000;
    while (fd >= 0 && poll(&ended, 1, clock_poll_ms(deadline_us)) < 0 && errno == EINTR) {
    }
    bool is_stuck = fd >= 0 && ended.revents == 0;
    if (is_stuck && kill(pid, SIGKILL) && errno == EPERM) /* our child, not reaped yet: the same */
        return; /* it is root and we no longer are: whoever is will see to it */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void spawner_close(struct spawner *s)
{
    if (!s)
        return;
    (void)close(s->sock);
    if (s->pid > 0)
        await_end(s->pid);
    free(s);
}

const struct jail_hello *spawner_hello(const struct spawner *s)
{
    return &s->hello;
}

int spawner_pid(const struct spawner *s)
{
    return s->pid;
}

uint64_t spawner_reserve(const struct spawner *s)
{
    return s->reserve_bytes;
}

int spawner_jail(struct spawner *s, const struct jail_spec *spec, const int fds[JAIL_FDS],
                 struct err *e)
{
    uint8_t bytes[JAIL_SPEC_SIZE];
    if (s->hello.tier == TIER_NONE)
        return err_set(e, ERR_UNAVAILABLE,
                       "this host is too weak for a sandbox; `cicada doctor` says what is missing");
    if (limits_check(&spec->limits, e))
        return -1;
    int which[JAIL_FDS], sent[JAIL_FDS];
    size_t count = jail_spec_fds(spec, which);
    for (size_t i = 0; i < count; i++)
        sent[i] = fds[which[i]];
    jail_spec_put(spec, bytes);
    if (fd_send(s->sock, bytes, sizeof bytes, sent, count, e))
        return err_set(
            e, ERR_UNAVAILABLE,
            "the process that makes the sandboxes died, so the code did not run; try again "
            "when the server has started again");
    return 0;
}
