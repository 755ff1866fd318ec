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
#include <sys/mman.h>
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
    BRINGING_MAX = 32,   /* at a time, for all jails together */
    BRING_MS = 55000,    /* how long it may take; then it ends by itself, with what it has done */
    BRING_END_MS = 5000, /* how long that may take; then it is killed */
    BRING_CPU_S = 60,
    BRING_FILES = 256,     /* descriptors */
    BRING_DATA = 64 << 20, /* bytes, beside what we have ourselves */

    /* Where the child has its descriptors. */
    AT_TARGET = 3,
    AT_CHANGES,
};

/* Shared with the child: how far it has come, whatever becomes of it. It is believed only in what
 * concerns its own session. */
struct bring_report {
    bool has_ended;
    int why;                    /* 0: graft ran to its end */
    int64_t until_us;           /* ours */
    struct graft_result result; /* at any time */
};

static int place(int target, int changes)
{
    const int kept[] = {AT_TARGET, AT_CHANGES};
    /* Out of the way first: one of them may have the number of another. */
    int high[2] = {fcntl(target, F_DUPFD_CLOEXEC, 16), fcntl(changes, F_DUPFD_CLOEXEC, 16)};
    for (int i = 0; i < 2; i++)
        if (high[i] < 0 || dup3(high[i], kept[i], O_CLOEXEC) < 0)
            return errno;
    return confine_descriptors(kept, 2);
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

static _Noreturn void bring(const struct jail *j, pid_t spawner, int changes)
{
    struct bring_report *report = j->bringing.report;
    struct err e = {0};
    int why = place(j->merged_fd >= 0 ? j->merged_fd : j->data.dir_fd, changes);
    if (!why)
        why = give_up_everything(j);
    if (!why && getppid() != spawner)
        _exit(1);
    if (!why &&
        graft_until(AT_CHANGES, AT_TARGET, GRAFT_UNLINK, &report->until_us, &report->result, &e))
        why = e.code == ERR_NO_MEMORY ? ENOMEM : EIO;
    report->why = why;
    report->has_ended = true;
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

static void drop_report(struct jail *j)
{
    if (j->bringing.report)
        (void)munmap(j->bringing.report, sizeof *j->bringing.report);
    j->bringing.report = NULL;
}

static int make_report(struct jail *j)
{
    struct bring_report *report =
        mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return errno;
    report->until_us = clock_us() + BRING_MS * 1000;
    j->bringing.report = report;
    return 0;
}

static int fork_child(struct jail *j, int changes)
{
    pid_t spawner = getpid(), pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        bring(j, spawner, changes);
    struct err ignored = {0};
    j->bringing.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (j->bringing.fd < 0 || jail_watch(j, SOURCE_BRING, j->bringing.fd, &ignored)) {
        (void)kill(pid, SIGKILL); /* our child, not reaped yet */
        (void)waitpid(pid, NULL, 0);
        fd_closep(&j->bringing.fd);
        j->bringing.fd = -1;
        return EAGAIN;
    }
    return 0;
}

static int start_child(struct jail *j, int changes)
{
    int why = make_report(j);
    if (!why)
        why = fork_child(j, changes);
    if (why) {
        drop_report(j);
        return why;
    }
    j->bringing.until_us = j->bringing.report->until_us + BRING_END_MS * 1000;
    j->bringing.why = ETIME;
    j->bringing.settled = (struct usage_total){0};
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

/* What others made is not the session's growth, however far the child came. What it failed to put was there
 * when somebody looked, maybe: that counts for nobody until the next look is complete. */
static void grant(struct jail *j, const struct bring_report *r)
{
    uint64_t bytes = r->has_ended ? r->result.bytes : r->result.begun_bytes;
    uint64_t files = r->result.put + !r->has_ended; /* a file that has no name yet */
    jail_grant(j, bytes, files);
    j->bringing.lost = (struct usage_total){.bytes = r->result.begun_bytes - bytes,
                                            .files = r->has_ended ? r->result.failed : 0};
    jail_look_anew(j);
}

struct usage_total jail_brought(const struct jail *j)
{
    const struct bring_report *r = j->bringing.report;
    if (!r)
        return j->bringing.lost;
    return (struct usage_total){
        .bytes = __atomic_load_n(&r->result.begun_bytes, __ATOMIC_RELAXED) + j->bringing.lost.bytes,
        .files = __atomic_load_n(&r->result.put, __ATOMIC_RELAXED) +
                 __atomic_load_n(&r->result.failed, __ATOMIC_RELAXED) + 1 + j->bringing.lost.files};
}

struct usage_total jail_brought_for_sure(const struct jail *j)
{
    const struct bring_report *r = j->bringing.report;
    if (!r)
        return (struct usage_total){0};
    return (struct usage_total){.bytes = __atomic_load_n(&r->result.bytes, __ATOMIC_RELAXED),
                                .files = __atomic_load_n(&r->result.put, __ATOMIC_RELAXED)};
}

void jail_stop_bringing(struct jail *j, int why)
{
    int64_t now_us = clock_us();
    struct bring_report *r = j->bringing.report;
    if (!r || r->until_us <= now_us)
        return;
    j->bringing.why = why;
    j->bringing.until_us = now_us + BRING_END_MS * 1000;
    __atomic_store_n(&r->until_us, 0, __ATOMIC_RELAXED);
}

static void tell(struct jail *j)
{
    struct bring_report r = *j->bringing.report;
    struct jail_event event = {0};
    drop_report(j);
    if (j->usage)
        grant(j, &r);
    if (!r.has_ended) {
        refuse(j, j->bringing.is_late ? j->bringing.why : ECHILD);
        return;
    }
    event.status = r.why;
    event.brought_put = narrow(r.result.put);
    event.brought_removed = narrow(r.result.removed);
    event.brought_failed = narrow(r.result.failed);
    event.brought_errno = r.result.first_errno == ETIME ? j->bringing.why : r.result.first_errno;
    r.result.first_failed[sizeof r.result.first_failed - 1] = '\0';
    snprintf(event.step, sizeof event.step, "%.127s", r.result.first_failed);
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
        tell(j);
    j->bringing.is_late = false;
    drop_report(j);
}

bool jail_end_bringing(struct jail *j)
{
    if (j->bringing.fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, j->bringing.fd, SIGKILL, NULL, 0);
    if (!is_over(j))
        return false;
    drop_report(j);
    return true;
}
