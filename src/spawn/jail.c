#include "spawn/jail.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "spawn/jail_int.h"

enum {
    LOOK_FIRST_US = 10000,   /* the first look at the disk, and the pause while it grows */
    LOOK_MAX_US = 50000,     /* the longest pause: bounds by how much a limit can be overshot */
    LOOK_ENTRIES = 512,      /* of a directory tree between two events */
    QUIET_US = 20000,        /* a counter of CPU time that stands still so long tells of no run */
    LOOK_SHARE = 4,          /* pauses are this many times what a look costs */
    LOOK_MEMORY_US = 1000,   /* of asking for memory between two events */
    USAGE_ANSWER_US = 20000, /* and when the engine wants to know; else it hears older numbers */
};

void jail_tell(struct jail *j, const struct jail_event *event)
{
    uint8_t bytes[JAIL_EVENT_SIZE];
    jail_event_put(event, bytes);
    /* An engine that does not read, or is gone, will find out by the handle closing. */
    if (j->handle >= 0)
        (void)send(j->handle, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void tell_failed(struct jail *j)
{
    struct jail_event event = {.kind = JAIL_FAILED};
    event.status = j->failure.why == FAILED_OUTSIDE ? 0 : j->failure.why;
    snprintf(event.step, sizeof event.step, "%s",
             *j->failure.step ? j->failure.step : "the first process died");
    jail_tell(j, &event);
}

static void measure(struct jail *j, struct jail_event *event)
{
    struct cgroup_usage used = {0};
    struct err e = {0};
    if (j->group && cgroup_usage(j->group, &used, &e) == 0) {
        event->cpu_us = used.cpu_us;
        event->memory_now = used.memory_now;
        event->memory_peak = used.memory_peak;
    }
    if (event->cpu_us == 0)
        event->cpu_us = j->cpu_us;
    if (event->memory_peak == 0)
        event->memory_peak = j->memory_peak;
    if (event->memory_now == 0)
        event->memory_now = j->memory_now;
    if (j->usage) {
        event->disk_bytes = usage_disk(j->usage);
        event->disk_files = usage_files(j->usage);
    }
}

void jail_kill(struct jail *j, enum jail_cause cause)
{
    if (!life_step(&j->life, LIFE_KILL))
        return;
    j->cause = cause;
    (void)jail_end_bringing(j);
    /* Pid 1 takes its namespace with it. The group comes too: it is faster with many processes, and
     * in a container it is all there is. */
    (void)syscall(SYS_pidfd_send_signal, j->init_fd, SIGKILL, NULL, 0);
    if (j->group)
        cgroup_kill(j->group);
    if (!j->has_namespaces)
        (void)kill(-j->init, SIGKILL);
}

void jail_break(struct jail *j, const char *what, int why)
{
    if (j->life == LIFE_STARTING && j->failure.why == 0) {
        j->failure.why = why ? why : FAILED_OUTSIDE;
        snprintf(j->failure.step, sizeof j->failure.step, "%.123s", what);
    } else if (j->life == LIFE_LIVE) {
        snprintf(j->step, sizeof j->step, "%.90s%s%.30s", what, why ? ": " : "",
                 why ? strerror(why) : "");
    }
    jail_kill(j, JAIL_KILLED);
}

/* Goes on with the scan until it is complete or `budget_us` is over. True: complete. */
static bool scan_memory(struct jail *j, int64_t budget_us)
{
    int64_t begun_us = clock_us();
    if (!j->is_scanning)
        memory_begin(&j->memory, j->init);
    j->is_scanning = true;
    while (!memory_step(&j->memory))
        if (clock_us() - begun_us > budget_us)
            return false;
    j->is_scanning = false;
    if (!j->memory.is_there)
        return true;
    j->memory_now = j->memory.bytes;
    if (j->memory_peak < j->memory_now)
        j->memory_peak = j->memory_now;
    if (j->cpu_us < j->memory.cpu_us)
        j->cpu_us = j->memory.cpu_us;
    return true;
}

static void tell_usage(struct jail *j)
{
    struct jail_event used = {.kind = JAIL_USED};
    j->owes_usage = false;
    if (j->life == LIFE_LIVE && j->polls_memory)
        (void)scan_memory(j, USAGE_ANSWER_US);
    measure(j, &used);
    jail_tell(j, &used);
}

void jail_look_anew(struct jail *j)
{
    usage_restart(j->usage);
    j->has_seen_disk = false;
    j->look_begun_us = clock_us();
    j->bringing.settled = jail_brought_for_sure(j);
}

/* USAGE and MARK: on a full disk what was used until now counts. */
static void on_usage(struct jail *j, bool is_marking)
{
    if (j->life != LIFE_LIVE || !j->usage || !j->disk || !reserve_is_reached(j->disk)) {
        tell_usage(j);
        return;
    }
    jail_look_anew(j);
    j->owes_usage = j->is_looking = true;
    j->is_marking = is_marking;
    j->look_us = 0;
}

/* How many descriptors come with it. */
static size_t descriptors_of(const struct jail_request *request)
{
    switch (request->kind) {
    case JAIL_ATTACH: return request->lower_count > 0 ? 2 + request->lower_count : 1;
    case JAIL_BRING: return 1;
    default: return 0;
    }
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

void jail_on_handle(struct jail *j)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    size_t len = 0, fd_count = 0;
    int fds[JAIL_DATA_FDS];
    struct jail_request request;
    struct err e = {0};
    int got = fd_recv(j->handle, bytes, sizeof bytes, &len, fds, JAIL_DATA_FDS, &fd_count, &e);
    if (got && e.code == ERR_UNAVAILABLE)
        return;
    if (got)
        fd_count = 0; /* what came with it is closed */
    if (got || len == 0 || jail_request_get(bytes, len, &request, &e) ||
        fd_count != descriptors_of(&request)) {
        close_all(fds, fd_count);
        jail_kill(j, JAIL_KILLED); /* closed, or not speaking our language any more */
        jail_drop(j, &j->handle);
        return;
    }
    struct jail_data data;
    switch (request.kind) {
    case JAIL_INTERRUPT: jail_interrupt(j); break;
    case JAIL_KILL: jail_kill(j, JAIL_KILLED); break;
    case JAIL_USAGE:
    case JAIL_MARK: on_usage(j, request.kind == JAIL_MARK); break;
    case JAIL_ATTACH:
        data = jail_data_from(fds, request.lower_count);
        jail_attach(j, &data);
        break;
    case JAIL_BRING: jail_bring(j, fds[0]); break;
    case JAIL_COPY: jail_add_copy(j, request.pid); break;
    case JAIL_SWITCH: jail_switch(j, request.pid); break;
    }
}

size_t jail_hear(int sock, char bytes[sizeof(struct inside_failure)], int *ret_fd)
{
    for (int i = 0; i < 2; i++) {
        size_t len = 0, count = 0;
        struct err e = {0};
        int fd = -1;
        if (fd_recv(sock, bytes, sizeof(struct inside_failure), &len, &fd, 1, &count, &e) == 0) {
            *ret_fd = fd;
            return len;
        }
        if (e.code == ERR_PROTOCOL)
            break;
    }
    return 0;
}

_Static_assert((int)CGROUP_COUNTS_CPU == JAIL_COUNTER_CPU &&
                   (int)CGROUP_COUNTS_MEMORY == JAIL_COUNTER_MEMORY &&
                   (int)CGROUP_COUNTS_PEAK == JAIL_COUNTER_PEAK &&
                   (int)CGROUP_COUNTERS == JAIL_COUNTERS,
               "the engine gets the counters as they are");

static void tell_started(struct jail *j)
{
    const struct jail_event started = {.kind = JAIL_STARTED};
    uint8_t bytes[JAIL_EVENT_SIZE];
    int fds[JAIL_COUNTERS];
    struct err ignored = {0};
    if (!j->group || cgroup_open_counters(j->group, fds)) {
        jail_tell(j, &started); /* then it will ask */
        return;
    }
    jail_event_put(&started, bytes);
    if (fd_send(j->handle, bytes, sizeof bytes, fds, JAIL_COUNTERS, &ignored))
        jail_tell(j, &started);
    for (size_t i = 0; i < JAIL_COUNTERS; i++)
        (void)close(fds[i]);
}

void jail_on_report(struct jail *j)
{
    char bytes[sizeof(struct inside_failure)];
    scoped(fd_closep) int fd = -1;
    size_t len = jail_hear(j->report, bytes, &fd);
    if (len == sizeof j->failure && j->failure.why == 0) {
        memcpy(&j->failure, bytes, sizeof j->failure);
        j->failure.step[sizeof j->failure.step - 1] = '\0';
        jail_kill(j, JAIL_KILLED);
    } else if (len == 1 && fd >= 0 && j->kernel_fd < 0) {
        j->kernel_fd = take_fd(&fd);
    } else if (len == 0) {
        jail_drop(j, &j->report);
        if (j->kernel_fd >= 0 && life_step(&j->life, LIFE_EXECUTED))
            tell_started(j);
    }
}

void jail_on_oom(struct jail *j)
{
    if (j->life != LIFE_DYING && cgroup_is_oom(j->group))
        jail_kill(j, JAIL_OVER_MEMORY);
}

/* Looks more often the closer the limit is and the less a look costs. */
static int64_t next_pause(const struct jail *j, bool grew)
{
    int64_t pause = grew ? LOOK_FIRST_US : j->pause_us * 2;
    int64_t cost = j->usage ? usage_round_us(j->usage) * LOOK_SHARE : 0;
    if (pause > LOOK_MAX_US)
        pause = LOOK_MAX_US;
    return pause < cost ? cost : pause;
}

/* True when none of its processes ran since the last look, or an earlier one: then nothing can have been
 * written. The counter moves with the clock's ticks, so over a short time it says nothing. */
static bool has_slept(struct jail *j)
{
    struct cgroup_usage used = {0};
    struct err ignored = {0};
    if (!j->group || cgroup_usage(j->group, &used, &ignored) || used.cpu_us == 0)
        return false;
    int64_t now_us = clock_us();
    if (used.cpu_us == j->cpu_looked_us)
        return now_us - j->cpu_since_us >= QUIET_US;
    j->cpu_looked_us = used.cpu_us;
    j->cpu_since_us = now_us;
    return false;
}

static void look_again_in(struct jail *j, int64_t pause_us)
{
    j->pause_us = pause_us;
    j->look_us = clock_us() + pause_us;
}

void jail_look_soon(struct jail *j)
{
    look_again_in(j, LOOK_FIRST_US);
}

/* Disk and files together: whether they change. */
static uint64_t disk_now(const struct jail *j)
{
    return j->usage ? usage_disk(j->usage) + usage_files(j->usage) : 0;
}

/* Goes on with the look at the disk. True: it is complete. */
static bool look_at_disk(struct jail *j)
{
    if (!j->usage)
        return true;
    if (!j->has_seen_disk) {
        j->has_seen_disk = usage_step(j->usage, LOOK_ENTRIES);
        if (j->has_seen_disk && !j->bringing.report)
            j->bringing.lost = (struct usage_total){0}; /* it began after that: jail_look_anew */
    }
    struct usage_total brought = jail_brought(j); /* after what was counted */
    if (usage_disk(j->usage) > j->limits.disk_bytes + brought.bytes ||
        usage_files(j->usage) > j->limits.files + brought.files)
        jail_kill(j, JAIL_OVER_DISK);
    return j->has_seen_disk;
}

static struct usage_total without(const struct usage_total *all, const struct usage_total *part)
{
    return (struct usage_total){.bytes = all->bytes > part->bytes ? all->bytes - part->bytes : 0,
                                .files = all->files > part->files ? all->files - part->files : 0};
}

static void set_mark(struct jail *j, const struct usage_total *used, int64_t as_of_us)
{
    j->mark = j->told = *used;
    j->marked_us = as_of_us;
    j->is_marking = false;
}

/* What it uses now is known: whether it writes into the reserve of its disk. */
static void mind_reserve(struct jail *j)
{
    if (!j->usage || !j->disk || j->life != LIFE_LIVE)
        return;
    /* While something is brought, what is the session's own is known from and to. */
    struct usage_total brought = jail_brought(j), all = usage_total(j->usage);
    struct usage_total least = without(&all, &brought), most = without(&all, &j->bringing.settled);
    if (!reserve_is_reached(j->disk)) {
        set_mark(j, &most, j->look_begun_us);
        return;
    }
    if (j->is_marking || !reserve_mark_is_good(j->disk, j->marked_us)) {
        set_mark(j, &most, clock_us());
        return;
    }
    if (reserve_judge(j->disk, &j->mark, &all) == RESERVE_FAR_OVER)
        jail_stop_bringing(j, ENOSPC);
    if (reserve_judge(j->disk, &j->mark, &least) == RESERVE_FAR_OVER) {
        jail_kill(j, JAIL_OVER_RESERVE);
    } else if (reserve_judge(j->disk, &j->told, &least) != RESERVE_FINE) {
        j->told = most;
        jail_tell(j, &(struct jail_event){.kind = JAIL_FULL});
    }
    if (j->owes_usage) /* a run is over, and what it did has been said */
        set_mark(j, &most, clock_us());
}

int64_t jail_look_due(const struct jail *j)
{
    return j->disk && j->disk->alarms != j->alarms ? 0 : j->look_us;
}

void jail_look(struct jail *j)
{
    if (!j->is_looking && j->disk) {
        j->look_us = jail_look_due(j);
        j->alarms = j->disk->alarms;
    }
    if (!j->is_looking && has_slept(j)) {
        look_again_in(j, LOOK_MAX_US);
        return;
    }
    if (!j->is_looking) {
        j->look_begun_us = clock_us();
        j->used_before = disk_now(j);
        j->bringing.settled = jail_brought_for_sure(j);
    }
    j->is_looking = true;
    if (!look_at_disk(j))
        return; /* goes on in the next slice */
    if (j->polls_memory && !scan_memory(j, LOOK_MEMORY_US))
        return;
    if (j->polls_memory && j->memory_now > j->limits.memory_bytes)
        jail_kill(j, JAIL_OVER_MEMORY);
    mind_reserve(j);
    j->is_looking = j->has_seen_disk = false;
    if (j->owes_usage)
        tell_usage(j);
    look_again_in(j, next_pause(j, disk_now(j) != j->used_before));
}

/* What the end was, as far as nobody decided it before. */
static void find_cause(struct jail *j, struct jail_event *event)
{
    int code = __atomic_load_n(&j->words->cause, __ATOMIC_ACQUIRE);
    event->cause = j->cause;
    event->status = SIGKILL;
    if (code != 0)
        event->status = j->words->status;
    if (event->cause == 0 && j->group && cgroup_is_oom(j->group))
        event->cause = JAIL_OVER_MEMORY;
    if (event->cause == 0)
        event->cause = code == CLD_EXITED ? JAIL_EXITED : JAIL_SIGNALLED;
    if (j->cpu_us == 0 && code != 0)
        j->cpu_us = (uint64_t)j->words->used.ru_utime.tv_sec * 1000000 +
                    (uint64_t)j->words->used.ru_utime.tv_usec +
                    (uint64_t)j->words->used.ru_stime.tv_sec * 1000000 +
                    (uint64_t)j->words->used.ru_stime.tv_usec;
    if (j->memory_peak == 0 && code != 0)
        j->memory_peak = (uint64_t)j->words->used.ru_maxrss * 1024;
}

static void let_go(struct jail *j)
{
    (void)life_step(&j->life, LIFE_REAPED);
    if (j->is_handed_over)
        jail_take_back(j);
    jail_drop(j, &j->init_fd);
    jail_drop(j, &j->kernel_fd);
    jail_drop_copies(j);
    fd_closep(&j->map.fd);
    j->map.fd = -1;
    fd_closep(&j->image_fd);
    j->image_fd = -1;
    usage_free(take(j->usage));
    reserve_leave(take(j->disk));
    jail_end_overlay(j);
    jail_data_close(&j->data);
}

void jail_fail(struct jail *j)
{
    let_go(j);
    tell_failed(j);
}

void jail_reap(struct jail *j)
{
    siginfo_t info = {0};
    int flags = WEXITED | WNOHANG;
    if (waitid(P_PIDFD, (id_t)j->init_fd, &info, flags | WNOWAIT) || info.si_pid == 0)
        return;
    if (!jail_end_bringing(j))
        return; /* in a moment: it was killed */
    /* While the leader is a zombie the number of its group cannot mean another one. */
    if (!j->has_namespaces)
        container_sweep(j);
    (void)waitid(P_PIDFD, (id_t)j->init_fd, &info, flags); /* or the sweep has reaped it */
    /* Reports that are still in the socket come first: they say why a start failed. */
    while (j->report >= 0)
        jail_on_report(j);
    while (j->attach >= 0)
        jail_on_attach(j);
    bool had_started = j->failure.why == 0 && j->kernel_fd >= 0;
    struct jail_event event = {.kind = JAIL_ENDED};
    find_cause(j, &event);
    if (event.cause == JAIL_KILLED)
        memcpy(event.step, j->step, sizeof event.step);
    measure(j, &event);
    let_go(j);
    if (had_started)
        jail_tell(j, &event);
    else
        tell_failed(j);
}

bool jail_free(struct jail *j)
{
    assert(j->life == LIFE_SWEPT);
    /* Its descriptor goes with the group, and a process that was just cloned may hold a copy. */
    if (j->group && cgroup_event_fd(j->group) >= 0)
        (void)epoll_ctl(j->host->epoll_fd, EPOLL_CTL_DEL, cgroup_event_fd(j->group), NULL);
    if (j->group && !cgroup_free(j->group))
        return false;
    jail_drop(j, &j->handle);
    jail_drop(j, &j->report);
    jail_drop(j, &j->attach);
    memory_done(&j->memory);
    if (j->words)
        (void)munmap(j->words, sizeof *j->words);
    free(j);
    return true;
}
