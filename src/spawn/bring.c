/* Changes that come to the data directory of a jail from outside.
 *
 * They are applied through what the session sees: of an overlay nobody may touch the layers while it
 * is mounted; and the session's code, which may do with that tree what it likes at the same time, must
 * not be able to lead whoever applies them anywhere else. So it is done by a child of ours that can
 * do no more than the session: its uid, no privileges, limits, two directories that it has
 * descriptors of, and Landlock around those. It sees none of the session's processes, nor they it.
 * What is brought is the engine's to bound: how large a file of the session's own may be, and how much it may
 * grow, say nothing about files of others.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/graft.h"
#include "base/scope.h"
#include "sandbox/confine.h"
#include "sandbox/landlock.h"
#include "spawn/jail_int.h"

enum {
    BRINGING_MAX = 32, /* at a time, for all jails together */
    BRING_MS = 60000,  /* how long it may take */
    BRING_CPU_S = 60,
    BRING_FILES = 256,     /* descriptors */
    BRING_DATA = 64 << 20, /* bytes, beside what we have ourselves */

    /* Where the child has its descriptors. */
    AT_TARGET = 3,
    AT_CHANGES,
    AT_REPORT,
};

/* What the child says at its end; it is believed only in what concerns its own session. */
struct bring_report {
    int why; /* 0: graft ran to its end */
    struct graft_result result;
};

static int place(int target, int changes, int report)
{
    const int kept[] = {AT_TARGET, AT_CHANGES, AT_REPORT};
    /* Out of the way first: one of them may have the number of another. */
    int high[3] = {fcntl(target, F_DUPFD_CLOEXEC, 16), fcntl(changes, F_DUPFD_CLOEXEC, 16),
                   fcntl(report, F_DUPFD_CLOEXEC, 16)};
    for (int i = 0; i < 3; i++)
        if (high[i] < 0 || dup3(high[i], kept[i], O_CLOEXEC) < 0)
            return errno;
    return confine_descriptors(kept, 3);
}

static int fence(void)
{
    char target[32], changes[32];
    const char *path;
    snprintf(target, sizeof target, "/proc/self/fd/%d", AT_TARGET);
    snprintf(changes, sizeof changes, "/proc/self/fd/%d", AT_CHANGES);
    const struct landlock_rule rules[] = {{target, LANDLOCK_WRITE, false},
                                          {changes, LANDLOCK_READ, false}};
    return landlock_restrict(rules, 2, &path);
}

/* What counts for RLIMIT_DATA so far; 0 when that cannot be told. */
static uint64_t data_bytes(void)
{
    unsigned long pages = 0;
    char text[128];
    scoped(fd_closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Each step or the first errno. */
static int give_up_everything(const struct jail *j)
{
    const struct confine_limits limits = {.file_bytes = RLIM_INFINITY,
                                          .open_files = BRING_FILES,
                                          .pids = 1,
                                          .data_bytes = data_bytes() + BRING_DATA,
                                          .cpu_s = BRING_CPU_S};
    uid_t uid = j->host->is_root ? host_uid(j->host, j->slot) : (uid_t)-1;
    int why = confine_signals();
    if (!why)
        why = confine_rlimits(&limits);
    if (!why)
        why = confine_bounding_set();
    if (!why && uid != (uid_t)-1)
        why = confine_identity(uid, (gid_t)uid);
    if (!why)
        why = confine_capabilities();
    if (!why)
        why = confine_parent_death();
    if (!why && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        why = errno;
    if (!why)
        why = confine_no_new_privs();
    return why ? why : fence();
}

static _Noreturn void bring(const struct jail *j, pid_t spawner, int changes, int report_fd)
{
    struct bring_report report = {0};
    struct err e = {0};
    report.why = place(j->merged_fd >= 0 ? j->merged_fd : j->data.dir_fd, changes, report_fd);
    if (report.why) /* then nobody can be told */
        _exit(1);
    report.why = give_up_everything(j);
    if (!report.why && getppid() != spawner)
        _exit(1);
    if (!report.why && graft(AT_CHANGES, AT_TARGET, GRAFT_UNLINK, &report.result, &e))
        report.why = e.code == ERR_NO_MEMORY ? ENOMEM : EIO;
    (void)!write(AT_REPORT, &report, sizeof report);
    _exit(0);
}

static void answer(struct jail *j, const struct jail_event *event)
{
    struct jail_event brought = *event;
    brought.kind = JAIL_BROUGHT;
    jail_tell(j, &brought);
}

static void refuse(struct jail *j, int why)
{
    answer(j, &(struct jail_event){.status = why});
}

static int start_child(struct jail *j, int changes)
{
    int pair[2];
    pid_t spawner = getpid();
    if (pipe2(pair, O_CLOEXEC | O_NONBLOCK))
        return errno;
    scoped(fd_closep) int ours = pair[0], theirs = pair[1];
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        bring(j, spawner, changes, theirs);
    struct err ignored = {0};
    j->bringing.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (j->bringing.fd < 0 || jail_watch(j, SOURCE_BRING, j->bringing.fd, &ignored)) {
        (void)kill(pid, SIGKILL); /* our child, not reaped yet */
        (void)waitpid(pid, NULL, 0);
        fd_closep(&j->bringing.fd);
        j->bringing.fd = -1;
        return EAGAIN;
    }
    j->bringing.report = take_fd(&ours);
    j->bringing.until_us = clock_us() + BRING_MS * 1000;
    j->host->bringing++;
    return 0;
}

void jail_bring(struct jail *j, int changes_fd)
{
    scoped(fd_closep) int changes = changes_fd;
    int why = 0;
    if (j->life != LIFE_LIVE)
        return; /* its end follows */
    if ((j->merged_fd < 0 && j->has_namespaces) || j->has != DATA_THERE)
        why = EINVAL;
    else if (j->bringing.fd >= 0 || j->host->bringing >= BRINGING_MAX)
        why = EBUSY;
    else
        why = start_child(j, changes);
    if (why)
        refuse(j, why);
}

/* Reaps the child if it has ended. */
static bool is_over(struct jail *j)
{
    siginfo_t info = {0};
    if (j->bringing.fd < 0)
        return true;
    if (waitid(P_PIDFD, (id_t)j->bringing.fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return false;
    jail_drop(j, &j->bringing.fd);
    j->bringing.until_us = CLOCK_NEVER;
    j->host->bringing--;
    return true;
}

static uint32_t narrow(size_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void tell(struct jail *j, bool is_late)
{
    struct bring_report r = {0};
    struct jail_event event = {0};
    ssize_t n = read(j->bringing.report, &r, sizeof r);
    if (n != (ssize_t)sizeof r) {
        refuse(j, is_late ? ETIME : ECHILD);
        return;
    }
    event.status = r.why;
    event.brought_put = narrow(r.result.put);
    event.brought_removed = narrow(r.result.removed);
    event.brought_failed = narrow(r.result.failed);
    event.brought_errno = r.result.first_errno;
    r.result.first_failed[sizeof r.result.first_failed - 1] = '\0';
    snprintf(event.step, sizeof event.step, "%.127s", r.result.first_failed);
    if (j->usage) /* what others made is not the session's growth */
        jail_grant(j, r.result.bytes, r.result.put);
    answer(j, &event);
}

void jail_on_bring(struct jail *j)
{
    bool is_late = clock_us() >= j->bringing.until_us;
    if (j->bringing.fd < 0)
        return;
    if (is_late) {
        (void)syscall(SYS_pidfd_send_signal, j->bringing.fd, SIGKILL, NULL, 0);
        j->bringing.until_us = CLOCK_NEVER; /* its end will be seen */
        j->bringing.is_late = true;
    }
    if (!is_over(j))
        return;
    if (j->life == LIFE_LIVE)
        tell(j, j->bringing.is_late);
    j->bringing.is_late = false;
    fd_closep(&j->bringing.report);
    j->bringing.report = -1;
}

bool jail_end_bringing(struct jail *j)
{
    if (j->bringing.fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, j->bringing.fd, SIGKILL, NULL, 0);
    if (!is_over(j))
        return false;
    fd_closep(&j->bringing.report);
    j->bringing.report = -1;
    return true;
}
