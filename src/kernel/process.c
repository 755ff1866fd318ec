#include "kernel/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "kernel/signals.h"

enum { ABOVE_CODE = PROCESS_CODE_FD + 1, LEFTOVER_TRIES = 200 };

/* What the handler of SIGINT works on; handlers take no argument. */
static struct {
    _Atomic pid_t target; /* a process, or a group if negative; 0: none (yet) */
    atomic_int interrupts;
} running;

static void pass_on(void)
{
    pid_t target = atomic_load(&running.target);
    if (target != 0)
        (void)kill(target, atomic_load(&running.interrupts) > 1 ? SIGKILL : SIGINT);
}

static void on_interrupt(int number)
{
    int before = errno;
    (void)number;
    atomic_fetch_add(&running.interrupts, 1);
    pass_on();
    errno = before;
}

/* ---- what it reads */

static int write_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int process_file(const void *bytes, size_t len)
{
    const char *folder = getenv("TMPDIR");
    scoped(fd_closep) int fd = memfd_create("code", MFD_CLOEXEC);
    if (fd < 0) /* not where memory is polled */
        fd = open(folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || write_all(fd, bytes, len) || lseek(fd, 0, SEEK_SET) < 0)
        return -1;
    /* Out of the way of the numbers it will have, should the session have closed some of 0, 1, 2. */
    return fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_CODE);
}

/* ---- what it shares with Python */

/* The pipes of stdout and stderr must block: asyncio, or a Node that was killed, may have left them
 * otherwise, and who does not expect that loses output. */
struct pipes {
    int flags[2];
};

static void pipes_block(struct pipes *before)
{
    for (int i = 0; i < 2; i++) {
        before->flags[i] = fcntl(STDOUT_FILENO + i, F_GETFL);
        if (before->flags[i] >= 0)
            (void)fcntl(STDOUT_FILENO + i, F_SETFL, before->flags[i] & ~O_NONBLOCK);
    }
}

static void pipes_restore(const struct pipes *before)
{
    for (int i = 0; i < 2; i++)
        if (before->flags[i] >= 0)
            (void)fcntl(STDOUT_FILENO + i, F_SETFL, before->flags[i]);
}

/* The session's handlers, while ours count. */
struct handlers {
    struct sigaction interrupt, child;
};

static void handlers_set(struct handlers *before)
{
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = SA_ONSTACK};
    (void)sigaction(SIGINT, &ours, &before->interrupt);
    /* Ignored, it would make children end without a word. A handler may stay: it finds nothing. */
    (void)sigaction(SIGCHLD, NULL, &before->child);
    if (before->child.sa_handler == SIG_IGN || (before->child.sa_flags & SA_NOCLDWAIT))
        (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static void handlers_restore(const struct handlers *before)
{
    (void)sigaction(SIGINT, &before->interrupt, NULL);
    (void)sigaction(SIGCHLD, &before->child, NULL);
}

/* ---- its life */

/* Fails with an errno, as all of these do. */
static int list_actions(const struct program *p, posix_spawn_file_actions_t *actions)
{
    int why = posix_spawn_file_actions_adddup2(actions, p->stdin_fd, STDIN_FILENO);
    for (int fd = STDOUT_FILENO; !why && fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* the session has closed it */
            why = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
    if (!why)
        why = posix_spawn_file_actions_adddup2(actions, p->code_fd, PROCESS_CODE_FD);
    for (int fd = STDERR_FILENO + 1; !why && fd < PROCESS_CODE_FD; fd++)
        why = posix_spawn_file_actions_addclose(actions, fd);
    if (!why)
        why = posix_spawn_file_actions_addclosefrom_np(actions, ABOVE_CODE);
    if (!why && access(p->directory, X_OK) == 0)
        why = posix_spawn_file_actions_addchdir_np(actions, p->directory);
    return why;
}

/* Signals as a shell would give them: none blocked, none ignored. Python ignores some. */
static int set_attributes(posix_spawnattr_t *attributes, bool is_leader)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    int why = posix_spawnattr_setsigmask(attributes, &none);
    if (!why)
        why = posix_spawnattr_setsigdefault(attributes, &all);
    return why ? why
               : posix_spawnattr_setflags(attributes,
                                          (short)(flags | (is_leader ? POSIX_SPAWN_SETPGROUP : 0)));
}

static int start(const struct program *p, bool is_leader, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int why = posix_spawn_file_actions_init(&actions);
    if (why)
        return why;
    why = posix_spawnattr_init(&attributes);
    if (!why) {
        why = list_actions(p, &actions);
        if (!why)
            why = set_attributes(&attributes, is_leader);
        if (!why)
            why = posix_spawn(ret, p->path, &actions, &attributes, p->argv, p->env);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return why;
}

/* Until it has ended, but still is: its number is nobody else's before we have seen all to its end. */
static void await(pid_t pid)
{
    siginfo_t info;
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &interrupt, &before);
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void take_status(pid_t pid, struct process_end *ret)
{
    siginfo_t info;
    *ret = (struct process_end){0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED))
        ret->is_unknown = true;
    else if (info.si_code == CLD_EXITED)
        ret->status = info.si_status;
    else
        ret->signal = info.si_status;
}

/* They are not our children, so nothing tells when they have ended; but only after that the files of
 * the run are what they will stay. */
static void await_leftovers(pid_t group)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < LEFTOVER_TRIES && kill(-group, SIGKILL) == 0; i++)
        (void)nanosleep(&moment, NULL);
}

static int run(const struct program *p, struct process_end *ret)
{
    pid_t pid;
    bool is_leader = true;
    int why = start(p, is_leader, &pid);
    if (why == EPERM) {
        is_leader = false;
        why = start(p, is_leader, &pid);
    }
    if (why)
        return why;
    atomic_store(&running.target, is_leader ? -pid : pid);
    if (atomic_load(&running.interrupts) > 0)
        pass_on(); /* it came before there was anybody to have it */
    await(pid);
    atomic_store(&running.target, 0);
    if (is_leader)
        (void)kill(-pid, SIGKILL);
    take_status(pid, ret);
    if (is_leader)
        await_leftovers(pid);
    return 0;
}

int process_run(const struct program *program, struct process_end *ret)
{
    struct handlers handlers;
    struct pipes pipes;
    sigset_t before = signals_hold();
    atomic_store(&running.target, 0);
    atomic_store(&running.interrupts, 0);
    handlers_set(&handlers);
    pipes_block(&pipes);
    int why = run(program, ret);
    pipes_restore(&pipes);
    handlers_restore(&handlers);
    signals_let(before);
    return why;
}
