/* Copies of the kernel: processes of a jail that wait, and one of which may take over.
 *
 * Who is one is told by the engine, which knows it from the process itself; here it only has to be
 * a child of the jail's pid 1, held by a pidfd from then on, so that its number cannot come to mean
 * another. Everybody else is killed at a switch: the kernel of before and whatever it has started.
 * What it starts meanwhile is found in the next round; where there is a cgroup, nothing can be
 * started.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/procs.h"
#include "spawn/jail_int.h"

enum {
    SWITCH_AGAIN_US = 1000,  /* between two rounds, unless the old kernel's end begins one */
    SWITCH_MAX_US = 5000000, /* a process this long in dying is stuck in the kernel */
};

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A zombie is dead. */
static bool is_alive(int pidfd)
{
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return poll(&ended, 1, 0) == 0;
}

static void forget(struct jail *j, size_t index)
{
    fd_closep(&j->copies[index].fd);
    j->copies[index] = j->copies[--j->copy_count];
}

static void forget_dead(struct jail *j)
{
    for (size_t i = j->copy_count; i-- > 0;)
        if (!is_alive(j->copies[i].fd))
            forget(j, i);
}

void jail_drop_copies(struct jail *j)
{
    while (j->copy_count > 0)
        forget(j, 0);
    jail_drop(j, &j->old_fd);
}

static struct jail_copy *find(struct jail *j, pid_t pid)
{
    for (size_t i = 0; i < j->copy_count; i++)
        if (j->copies[i].pid == pid)
            return &j->copies[i];
    return NULL;
}

/* The last number of a line of /proc/PID/status; 0 when there is no such line. */
static pid_t last_number(const char *status, const char *name)
{
    char wanted[16];
    (void)snprintf(wanted, sizeof wanted, "\n%s:", name);
    const char *at = strstr(status, wanted);
    if (!at)
        return 0;
    at += strlen(wanted);
    const char *end = at + strcspn(at, "\n"), *begin = end;
    while (begin > at && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    char digits[16] = "";
    if (end > begin && (size_t)(end - begin) < sizeof digits)
        memcpy(digits, begin, (size_t)(end - begin));
    return proc_number(digits);
}

/* What is read of a process by its number is true of the one behind the pidfd if that is still
 * alive afterwards. */
static int open_child(const struct jail *j, pid_t pid, struct jail_copy *ret)
{
    char status[4096];
    scoped(fd_closep) int fd = open_pidfd(pid);
    if (fd < 0 || !proc_read(pid, "status", status, sizeof status) || !is_alive(fd))
        return -1;
    pid_t inner = last_number(status, "NSpid");
    if (last_number(status, "PPid") != j->init || inner <= 0 ||
        inner == __atomic_load_n(&j->words->kernel, __ATOMIC_RELAXED))
        return -1;
    *ret = (struct jail_copy){.pid = pid, .inner = inner, .fd = take_fd(&fd)};
    return 0;
}

void jail_add_copy(struct jail *j, pid_t pid)
{
    struct jail_copy copy;
    forget_dead(j);
    if (j->life != LIFE_LIVE || !j->has_namespaces || j->copy_count == JAIL_COPIES_MAX ||
        find(j, pid) || open_child(j, pid, &copy))
        return; /* a switch to it will say so */
    j->copies[j->copy_count++] = copy;
}

/* The pid namespace of a process, as a name that can be compared. Not everybody's can be asked for:
 * pid 1, for one, hides. */
static bool name_namespace(pid_t pid, char name[64])
{
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    ssize_t len = readlink(path, name, 63);
    name[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* Kills a process that was found in the jail; false when it is dead, or was never there: its number
 * may have come to mean another since, which is told by the namespace. */
static bool kill_one(pid_t pid, const char *own_namespace)
{
    char name[64];
    scoped(fd_closep) int fd = open_pidfd(pid);
    if (fd < 0 || !is_alive(fd))
        return false;
    bool is_known = name_namespace(pid, name);
    if (!is_alive(fd) || (is_known && strcmp(name, own_namespace) != 0))
        return false;
    if (is_known)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    return true; /* still there, or not to be looked at: the next round will show */
}

/* Kills everybody but pid 1, the kernel and the copies. True when nobody of them is left. */
static bool kill_others(struct jail *j)
{
    struct procs procs = {0};
    char own[64];
    bool is_left = !name_namespace(j->kernel, own);
    procs_begin(&procs, j->init);
    for (pid_t pid; procs_next(&procs, &pid);) {
        procs_add_family(&procs, pid);
        if (pid != j->init && pid != j->kernel && !find(j, pid))
            is_left |= kill_one(pid, own);
    }
    procs_done(&procs);
    return !is_left;
}

static int forbid_forks(struct jail *j, bool is_forbidden)
{
    return j->group ? cgroup_set_pids(j->group, is_forbidden ? 0 : j->limits.pids) : 0;
}

/* The session may have stopped the copy. Nobody is left who could do it again, and one that runs is
 * not told anything: it may have a handler. */
static void let_run(const struct jail *j)
{
    char stat[512];
    if (!proc_read(j->kernel, "stat", stat, sizeof stat))
        return;
    const char *name_end = strrchr(stat, ')');
    if (name_end && strncmp(name_end, ") T", 3) == 0)
        (void)syscall(SYS_pidfd_send_signal, j->kernel_fd, SIGCONT, NULL, 0);
}

void jail_go_on_switching(struct jail *j)
{
    if (j->life != LIFE_LIVE || j->old_fd < 0)
        return;
    forget_dead(j);
    if (!is_alive(j->old_fd))
        jail_unwatch(j, j->old_fd); /* it would go on telling */
    if (kill_others(j)) {
        let_run(j);
        int why = forbid_forks(j, false);
        jail_drop(j, &j->old_fd);
        if (why)
            jail_break(j, "switch to a copy: allow new processes", why);
        else
            jail_tell(j, &(struct jail_event){.kind = JAIL_SWITCHED});
        return;
    }
    if (clock_us() > j->switch_until_us)
        jail_break(j, "switch to a copy: processes are left that do not die", 0);
    j->switch_us = clock_us() + SWITCH_AGAIN_US;
}

/* Makes the copy the one whose end pid 1 waits for. Afterwards it must still be alive: pid 1 might
 * have reaped it before it knew. Returns 0, or an errno and nothing has changed. */
static int appoint(struct jail *j, const struct jail_copy *copy)
{
    pid_t before = __atomic_load_n(&j->words->kernel, __ATOMIC_RELAXED);
    __atomic_store_n(&j->words->kernel, copy->inner, __ATOMIC_SEQ_CST);
    if (is_alive(copy->fd))
        return 0;
    __atomic_store_n(&j->words->kernel, before, __ATOMIC_SEQ_CST);
    return ESRCH;
}

static int take_over(struct jail *j, struct jail_copy *copy)
{
    struct err e = {0};
    if (j->life != LIFE_LIVE || j->has != DATA_THERE || j->old_fd >= 0)
        return EBUSY;
    if (!copy)
        return ESRCH;
    int why = appoint(j, copy);
    if (why)
        return why;
    /* From here on there is no way back: the old kernel's end is not the jail's any more. */
    j->old_fd = j->kernel_fd;
    j->kernel_fd = take_fd(&copy->fd);
    j->kernel = copy->pid;
    forget(j, (size_t)(copy - j->copies));
    why = forbid_forks(j, true);
    if (why)
        jail_break(j, "switch to a copy: forbid new processes", why);
    else if (jail_watch(j, SOURCE_OLD, j->old_fd, &e))
        jail_break(j, e.text, 0);
    j->switch_until_us = clock_us() + SWITCH_MAX_US;
    return 0;
}

void jail_switch(struct jail *j, pid_t pid)
{
    forget_dead(j);
    int why = take_over(j, find(j, pid));
    if (why)
        jail_tell(j, &(struct jail_event){.kind = JAIL_SWITCHED, .status = why});
    else
        jail_go_on_switching(j);
}
