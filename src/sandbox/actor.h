/* actor.h -- for tests: a child that plays a session, one act at a time.
 *
 *     static void body(struct actor *me) { ...; actor_pause(me); ...; actor_pause(me); }
 *     struct actor a = actor_start(body, dir_fd);     returns when the first act is over
 *     actor_go_on(&a);                                and the next
 *     actor_end(&a);
 */
#ifndef SANDBOX_ACTOR_H
#define SANDBOX_ACTOR_H

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct actor {
    pid_t pid;
    int sock;
    int dir_fd;
};

/* In a child: ends it when its parent ends, also if that has happened already. */
static inline void actor_die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
}

/* In a child that has nothing more to do. */
static inline void actor_wait_for_ever(void)
{
    for (;;)
        pause();
}

/* In the child: the act is over; returns when the next may begin. */
static inline void actor_pause(const struct actor *me)
{
    char byte = 0;
    if (write(me->sock, &byte, 1) != 1 || read(me->sock, &byte, 1) != 1)
        _exit(1);
}

/* In the child: a child of its own, which ends with it. True in that one. */
static inline bool actor_fork(void)
{
    const pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0)
        _exit(1);
    if (child == 0)
        actor_die_with(parent);
    return child == 0;
}

static inline void actor_await(const struct actor *a)
{
    char byte;
    ssize_t n = read(a->sock, &byte, 1);
    assert(n == 1); /* 0: the child failed and has exited */
}

static inline struct actor actor_start(void (*body)(const struct actor *), int dir_fd)
{
    int pair[2];
    int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    assert(made == 0);
    struct actor a = {.sock = pair[1], .dir_fd = dir_fd};
    const pid_t parent = getpid();
    a.pid = fork();
    assert(a.pid >= 0);
    if (a.pid == 0) {
        actor_die_with(parent);
        (void)close(pair[0]);
        body(&a);
        for (;;)
            actor_pause(&a);
    }
    (void)close(pair[1]);
    a.sock = pair[0];
    actor_await(&a);
    return a;
}

static inline void actor_go_on(const struct actor *a)
{
    char byte = 0;
    ssize_t n = write(a->sock, &byte, 1);
    assert(n == 1);
    actor_await(a);
}

static inline void actor_end(const struct actor *a)
{
    (void)close(a->sock);
    (void)kill(a->pid, SIGKILL);
    pid_t reaped = waitpid(a->pid, /* status= */ NULL, 0);
    assert(reaped == a->pid);
}

#endif
