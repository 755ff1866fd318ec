#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/scope.h"
#include "sandbox/cgroup_int.h"

/* A group that has controllers for its children may have no processes itself (except the root of all),
 * so those that are in the way move here. */
#define LEAF "cicada-leaf"

enum { CPU_PERIOD_US = 50000, MOVE_ROUNDS = 8 };

static const unsigned wanted = CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU;

static unsigned read_controllers(int dir_fd, const char *file)
{
    char text[512];
    return cgroup_get(dir_fd, file, text, sizeof text) ? 0
                                                       : cgroup_controllers(text, " \n") & wanted;
}

/* One by one: that one cannot be had is no reason to go without the others. */
static int enable(int dir_fd, unsigned controllers)
{
    static const struct {
        unsigned bit;
        const char *text;
    } each[] = {{CGROUP_MEMORY, "+memory"}, {CGROUP_PIDS, "+pids"}, {CGROUP_CPU, "+cpu"}};
    unsigned missing = controllers & ~read_controllers(dir_fd, "cgroup.subtree_control");
    int why = 0;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (missing & each[i].bit) {
            int failed = cgroup_put(dir_fd, "cgroup.subtree_control", each[i].text);
            why = failed ? failed : why;
        }
    return why;
}

/* systemd marks groups whose inside is not its business. */
static bool is_delegated(int dir_fd)
{
    char mark[4] = {0};
    return (fgetxattr(dir_fd, "user.delegate", mark, sizeof mark) > 0 && mark[0] == '1') ||
           (fgetxattr(dir_fd, "trusted.delegate", mark, sizeof mark) > 0 && mark[0] == '1');
}

static bool is_ours(pid_t pid, void *arg)
{
    (void)arg;
    return pid == getpid() || pid == getppid();
}

/* May everybody in the group be moved down one level? In one that was given to us, in the topmost of a
 * container when we are root there, and where we and our parent are alone. */
static bool may_move(int dir_fd, const struct cgroup_place *place)
{
    return is_delegated(dir_fd) || (geteuid() == 0 && strcmp(place->own, place->top) == 0) ||
           cgroup_each_member(dir_fd, is_ours, NULL);
}

static bool move_one(pid_t pid, void *arg)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", (int)pid);
    (void)cgroup_put(*(int *)arg, "cgroup.procs", text); /* make_room looks who stayed */
    return true;
}

static int move_down(int dir_fd)
{
    if (mkdirat(dir_fd, LEAF, 0755) && errno != EEXIST)
        return errno;
    scoped(fd_closep) int leaf = openat(dir_fd, LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (leaf < 0)
        return errno;
    for (int round = 0; round < MOVE_ROUNDS; round++)
        (void)cgroup_each_member(dir_fd, move_one, &leaf);
    return 0;
}

static bool stop_at(pid_t pid, void *arg)
{
    (void)pid;
    (void)arg;
    return false;
}

static bool is_empty(int dir_fd)
{
    return cgroup_each_member(dir_fd, stop_at, NULL);
}

/* Only the root of all, which has no type, gives controllers to children beside its own processes. In
 * another group with processes the kernel would refuse memory but grant pids and cpu, because threads
 * can share those, and from then on no process could be put into any child. */
static int make_room(int dir_fd, const struct cgroup_place *place)
{
    if (is_empty(dir_fd) || faccessat(dir_fd, "cgroup.type", F_OK, 0))
        return 0;
    int why = may_move(dir_fd, place) ? move_down(dir_fd) : EBUSY;
    return why || is_empty(dir_fd) ? why : EBUSY;
}

static int try_base(const char *path, const struct cgroup_place *place, struct hierarchy *ret)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || faccessat(fd, ".", W_OK, AT_EACCESS))
        return errno;
    unsigned available = read_controllers(fd, "cgroup.controllers");
    if (!available)
        return ENODEV;
    int why = make_room(fd, place);
    if (why)
        return why;
    why = enable(fd, available);
    unsigned enabled = read_controllers(fd, "cgroup.subtree_control");
    if (!enabled)
        return why ? why : ENODEV;
    *ret = (struct hierarchy){
        .ops = &cgroup_v2, .controllers = enabled, .parent_fd = take_fd(&fd), .own_fd = -1};
    return 0;
}

/* A process that was moved down before us, by a spawner of the same group, is in the leaf. */
static void leave_leaf(char *path)
{
    size_t len = strlen(path), leaf = strlen("/" LEAF);
    if (len > leaf && strcmp(path + len - leaf, "/" LEAF) == 0)
        path[len - leaf] = '\0';
}

static bool is_path_delegated(const char *path)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && is_delegated(fd);
}

/* Our own group if it was given to us with its inside; as root the top, which always works on a plain
 * host; else our own if that happens to be possible. */
static int find(const struct cgroup_place *place, struct hierarchy *ret)
{
    struct cgroup_place here = *place;
    leave_leaf(here.own);
    const char *paths[3];
    size_t count = 0;
    if (is_path_delegated(here.own))
        paths[count++] = here.own;
    if (geteuid() == 0)
        paths[count++] = here.top;
    paths[count++] = here.own;
    int why = ENODEV;
    for (size_t i = 0; i < count && why; i++)
        why = try_base(paths[i], &here, ret);
    return why;
}

static int limit_memory(int dir_fd, uint64_t bytes)
{
    int why = cgroup_put_u64(dir_fd, "memory.max", bytes);
    if (why)
        return why;
    why = cgroup_put(dir_fd, "memory.swap.max", "0");
    if (why && why != ENOENT) /* a kernel without swap */
        return why;
    return cgroup_put(dir_fd, "memory.oom.group", "1");
}

/* The kernel takes no quota under a millisecond, so a small share needs a longer period. */
static int limit_cpu(int dir_fd, uint64_t milli)
{
    char text[64];
    uint64_t period_us = milli < 20 ? 4 * CPU_PERIOD_US : CPU_PERIOD_US;
    (void)snprintf(text, sizeof text, "%llu %llu", (unsigned long long)(milli * period_us / 1000),
                   (unsigned long long)period_us);
    return cgroup_put(dir_fd, "cpu.max", text);
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

/* A changed memory.events is POLLPRI on a descriptor that was read before the change. POLLIN is
 * always set on such files, so an epoll that waits for POLLPRI alone stands between. inotify would
 * need a path, and the spawner has none left. */
static int watch(int dir_fd, int *ret_event_fd, int *ret_counter_fd)
{
    scoped(fd_closep) int counter = openat(dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);
    scoped(fd_closep) int event = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event changed = {.events = EPOLLPRI};
    char text[512];
    if (counter < 0 || event < 0 || pread(counter, text, sizeof text, 0) < 0 ||
        epoll_ctl(event, EPOLL_CTL_ADD, counter, &changed))
        return errno;
    *ret_event_fd = take_fd(&event);
    *ret_counter_fd = take_fd(&counter);
    return 0;
}

static bool is_oom(int event_fd, int counter_fd, bool *ret_is_settling)
{
    (void)event_fd;
    char text[512];
    uint64_t kills = 0;
    ssize_t n = pread(counter_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    (void)cgroup_find_key(text, "oom_kill", &kills);
    *ret_is_settling = false; /* the counter's own change is an event */
    return kills > 0;
}

static void usage(int dir_fd, unsigned controllers, struct cgroup_usage *ret)
{
    char text[1024];
    if (!cgroup_get(dir_fd, "cpu.stat", text, sizeof text))
        (void)cgroup_find_key(text, "usage_usec", &ret->cpu_us);
    if (controllers & CGROUP_MEMORY) {
        (void)cgroup_get_u64(dir_fd, "memory.current", &ret->memory_now);
        (void)cgroup_get_u64(dir_fd, "memory.peak", &ret->memory_peak); /* since 5.19 */
    }
}

static void unthrottle(int dir_fd)
{
    (void)cgroup_put(dir_fd, "cpu.max", "max"); /* at worst they die more slowly */
}

static bool kill_all(int dir_fd)
{
    return cgroup_put(dir_fd, "cgroup.kill", "1") == 0; /* since 5.14 */
}

static void wait_for_exit(int dir_fd, int wait_ms)
{
    scoped(fd_closep) int fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    char text[256];
    uint64_t populated = 1;
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    (void)cgroup_find_key(text, "populated", &populated);
    struct pollfd changed = {.fd = fd, .events = POLLPRI};
    if (populated)
        (void)poll(&changed, 1, wait_ms);
}

const struct cgroup_ops cgroup_v2 = {.version = 2,
                                     .find = find,
                                     .prepare = enable,
                                     .limit = limit,
                                     .watch = watch,
                                     .is_oom = is_oom,
                                     .usage = usage,
                                     .counters = {{"cpu.stat", 0},
                                                  {"memory.current", CGROUP_MEMORY},
                                                  {"memory.peak", CGROUP_MEMORY}}, /* 5.19 */
                                     .unthrottle = unthrottle,
                                     .kill_all = kill_all,
                                     .wait_for_exit = wait_for_exit};
