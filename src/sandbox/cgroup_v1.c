#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/scope.h"
#include "sandbox/cgroup_int.h"

/* Below our own group, so that what limits us limits the sessions too; where that is not ours to
 * write or not visible, at the top of what is mounted. */
static int find(const struct cgroup_place *place, struct hierarchy *ret)
{
    const char *const paths[] = {place->own, place->top};
    int why = ENOENT;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && faccessat(fd, ".", W_OK, AT_EACCESS) == 0) {
            *ret = (struct hierarchy){.ops = &cgroup_v1,
                                      .controllers = place->controllers,
                                      .parent_fd = fd,
                                      .own_fd = -1};
            return 0;
        }
        why = errno;
        fd_closep(&fd);
    }
    return why;
}

static int prepare(int own_fd, unsigned controllers)
{
    (void)own_fd;
    (void)controllers;
    return 0;
}

/* The limit with swap can only be set when it is not below the one without, so second. Where swap is
 * not counted at all, at least nothing of the session is put there. */
static int limit_memory(int dir_fd, uint64_t bytes)
{
    int why = cgroup_put_u64(dir_fd, "memory.limit_in_bytes", bytes);
    if (why)
        return why;
    why = cgroup_put_u64(dir_fd, "memory.memsw.limit_in_bytes", bytes);
    if (why == ENOENT)
        why = cgroup_put(dir_fd, "memory.swappiness", "0");
    return why == ENOENT ? 0 : why;
}

/* The kernel takes no quota under a millisecond, so a small share needs a longer period. EINVAL means
 * that a group above has less than is asked for here: then that one is the limit. */
static int limit_cpu(int dir_fd, uint64_t milli)
{
    uint64_t period_us = milli < 20 ? 200000 : 50000;
    int why = cgroup_put_u64(dir_fd, "cpu.cfs_period_us", period_us);
    if (why)
        return why;
    why = cgroup_put_u64(dir_fd, "cpu.cfs_quota_us", milli * period_us / 1000);
    return why == EINVAL ? 0 : why;
}

static int limit(int dir_fd, unsigned controllers, const struct cgroup_limits *limits)
{
    int why = 0;
    if (controllers & CGROUP_MEMORY)
        why = limit_memory(dir_fd, limits->memory_bytes);
    if (!why && (controllers & CGROUP_PIDS))
        why = cgroup_put_u64(dir_fd, "pids.max", limits->pids);
    if (!why && (controllers & CGROUP_CPU))
        why = limit_cpu(dir_fd, limits->cpu_milli);
    return why;
}

static int watch(int dir_fd, int *ret_event_fd, int *ret_counter_fd)
{
    scoped(fd_closep) int counter = openat(dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
    scoped(fd_closep) int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (counter < 0 || event < 0)
        return errno;
    char line[32];
    (void)snprintf(line, sizeof line, "%d %d", event, counter);
    int why = cgroup_put(dir_fd, "cgroup.event_control", line);
    if (why)
        return why;
    *ret_event_fd = take_fd(&event);
    *ret_counter_fd = take_fd(&counter);
    return 0;
}

/* The event comes when the kernel begins to look for a victim, here or in a group above us; the
 * counter moves when it took one of ours. Nothing tells that it is about to: under_oom is set and
 * cleared again before. */
static bool is_oom(int event_fd, int counter_fd, bool *ret_is_settling)
{
    uint64_t events, kills = 0;
    bool is_event = read(event_fd, &events, sizeof events) == sizeof events;
    char text[256];
    ssize_t n = pread(counter_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    (void)cgroup_find_key(text, "oom_kill", &kills);
    *ret_is_settling = kills == 0 && is_event;
    return kills > 0;
}

static void usage(int dir_fd, unsigned controllers, struct cgroup_usage *ret)
{
    uint64_t cpu_ns = 0;
    if ((controllers & CGROUP_CPUACCT) && !cgroup_get_u64(dir_fd, "cpuacct.usage", &cpu_ns))
        ret->cpu_us = cpu_ns / 1000;
    if (controllers & CGROUP_MEMORY) {
        (void)cgroup_get_u64(dir_fd, "memory.usage_in_bytes", &ret->memory_now);
        (void)cgroup_get_u64(dir_fd, "memory.max_usage_in_bytes", &ret->memory_peak);
    }
}

static void unthrottle(int dir_fd)
{
    (void)cgroup_put(dir_fd, "cpu.cfs_quota_us", "-1"); /* at worst they die more slowly */
}

static bool kill_all(int dir_fd)
{
    (void)dir_fd;
    return false;
}

/* Nothing in version 1 tells that a group became empty (release_agent is one for the whole host), so
 * this is a wait and the caller tries again. */
static void wait_for_exit(int dir_fd, int wait_ms)
{
    (void)dir_fd;
    (void)poll(NULL, 0, wait_ms < 1 ? wait_ms : 1);
}

const struct cgroup_ops cgroup_v1 = {.version = 1,
                                     .find = find,
                                     .prepare = prepare,
                                     .limit = limit,
                                     .watch = watch,
                                     .is_oom = is_oom,
                                     .usage = usage,
                                     .counters = {{"cpuacct.usage", CGROUP_CPUACCT},
                                                  {"memory.usage_in_bytes", CGROUP_MEMORY},
                                                  {"memory.max_usage_in_bytes", CGROUP_MEMORY}},
                                     .unthrottle = unthrottle,
                                     .kill_all = kill_all,
                                     .wait_for_exit = wait_for_exit};
