#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sandbox/root.h"
#include "spawn/jail_int.h"

/* What a session may reach, where it has a root of its own. A rule on a mount point does not hold for
 * what is mounted on it later: /mnt is named, not /mnt/data, so that it can come later still; the
 * other mounts are there by the time this is used. */
static const struct landlock_rule full_rules[] = {
    {"/", LANDLOCK_LIST, false},         {"/usr", LANDLOCK_READ, false},
    {"/bin", LANDLOCK_READ, true},       {"/sbin", LANDLOCK_READ, true},
    {"/lib", LANDLOCK_READ, true},       {"/lib32", LANDLOCK_READ, true},
    {"/lib64", LANDLOCK_READ, true},     {"/libx32", LANDLOCK_READ, true},
    {"/etc", LANDLOCK_READ, false},      {"/opt", LANDLOCK_READ, false},
    {"/run", LANDLOCK_LIST, false},      {"/var", LANDLOCK_LIST, false},
    {"/proc", LANDLOCK_DEV, false},      {"/dev", LANDLOCK_DEV, false},
    {"/dev/shm", LANDLOCK_WRITE, false}, {"/tmp", LANDLOCK_WRITE, false},
    {"/mnt", LANDLOCK_WRITE, false},
};

/* The kernel's environment. Nothing of ours is inherited. */
enum { VARIABLES_MAX = 24 };

struct environment {
    char *list[VARIABLES_MAX + 1];
    size_t count;
    size_t used;
    char text[6 * PATH_MAX];
};

static void add_variable(struct environment *env, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_variable(struct environment *env, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = sizeof env->text - env->used;
    int len = vsnprintf(env->text + env->used, room, fmt, ap);
    va_end(ap);
    assert(len >= 0 && (size_t)len < room && env->count < VARIABLES_MAX);
    env->list[env->count++] = env->text + env->used;
    env->used += (size_t)len + 1;
}

static void make_environment(struct environment *env, const struct limits *limits, const char *home,
                             int control_at)
{
    static const char *const fixed[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                        "LANG=C.UTF-8",
                                        "LC_ALL=C.UTF-8",
                                        "TZ=UTC",
                                        "USER=user",
                                        "LOGNAME=user",
                                        "SHELL=/bin/sh",
                                        "PYTHONNOUSERSITE=1",
                                        "PYTHONDONTWRITEBYTECODE=1"};
    /* Libraries that count the host's cores would start more threads than the session may run. */
    static const char *const threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                          "NUMEXPR_NUM_THREADS", "MKL_NUM_THREADS"};
    static const char *const places[][2] = {{"HOME", ""},
                                            {"TMPDIR", ""},
                                            {"XDG_CACHE_HOME", "/.cache"},
                                            {"MPLCONFIGDIR", "/.cache/matplotlib"},
                                            {"IPYTHONDIR", "/.ipython"}};
    env->count = env->used = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        add_variable(env, "%s", fixed[i]);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        add_variable(env, "%s=%u", threads[i], (limits->cpu_milli + 999) / 1000);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        add_variable(env, "%s=%s%s", places[i][0], home, places[i][1]);
    add_variable(env, "CICADA_CONTROL_FD=%d", control_at);
    env->list[env->count] = NULL;
}

static int write_proc(pid_t pid, const char *file, const char *text, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return err_sys(e, errno, "write %s", file);
    return 0;
}

uid_t jail_uid(const struct host *host, uint32_t slot)
{
    return host->uid_base + 2 * slot;
}

/* As root: 1000 and 0 inside are two uids nobody else has. As a user: 1000 inside is that user. */
static int write_maps(const struct host *host, const struct jail *j, struct err *e)
{
    char map[64];
    if (host->is_root)
        snprintf(map, sizeof map, "0 %u 1\n1000 %u 1\n", jail_uid(host, j->slot) + 1,
                 jail_uid(host, j->slot));
    else
        snprintf(map, sizeof map, "1000 0 1\n");
    return write_proc(j->init, "uid_map", map, e) || write_proc(j->init, "gid_map", map, e) ? -1
                                                                                            : 0;
}

/* The session's view of its data directory, as a mount that is nowhere yet. */
static int make_data_mount(struct host *host, struct jail *j, int *ret, struct err *e)
{
    struct stat st;
    if (!host->is_root)
        return root_data(&host->root, j->data_fd, -1, ret, e);
    if (fstat(j->data_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    scoped(fd_closep) int map = -1;
    uid_t uid = jail_uid(host, j->slot);
    if (root_idmap(st.st_uid, st.st_gid, uid, uid, &map, e))
        return -1;
    if (root_data(&host->root, j->data_fd, map, ret, e) == 0)
        return 0;
    if (e->code != ERR_UNAVAILABLE)
        return -1;
    /* A file system without id-mapped mounts: then the files change hands for the time being. */
    return jail_hand_over(j, uid, e) || root_data(&host->root, j->data_fd, -1, ret, e) ? -1 : 0;
}

/* The engine says which directory, but not any: it must be open for reading, which an engine without
 * the right to it cannot do; and what a session creates belongs on disk to the directory's owner: if
 * that were root, it could leave set-uid root programs there. */
static int check_data(const struct host *host, int data_fd, struct err *e)
{
    struct stat st;
    int flags = fcntl(data_fd, F_GETFL);
    if (flags < 0 || fstat(data_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    if (!S_ISDIR(st.st_mode) || (flags & O_PATH))
        return err_set(e, ERR_INVALID, "the data directory is not an open directory");
    if (host->is_root && st.st_uid == 0)
        return err_set(e, ERR_DENIED, "the data directory belongs to root");
    return 0;
}

static int make_group(struct host *host, struct jail *j, struct err *e)
{
    const struct cgroup_limits limits = {.memory_bytes = j->limits.memory_bytes,
                                         .pids = j->limits.pids,
                                         .cpu_milli = j->limits.cpu_milli};
    if (!host->cgroups)
        return 0;
    return cgroup_new(host->cgroups, j->slot, &limits, &j->group, e);
}

static pid_t clone_first(const struct host *host, struct jail *j)
{
    struct clone_args args = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_NEWUSER |
                                       CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
                              .pidfd = (uint64_t)(uintptr_t)&j->init_fd,
                              .exit_signal = SIGCHLD};
    if (host->own_network)
        args.flags |= CLONE_NEWNET;
    int group_fd = j->group ? cgroup_clone_fd(j->group) : -1;
    if (group_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)group_fd;
    }
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static int watch(struct jail *j, enum jail_source source, int fd, struct err *e)
{
    j->watch[source] = (struct jail_watch){.jail = j, .source = source};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &j->watch[source]};
    if (fd >= 0 && epoll_ctl(j->epoll_fd, EPOLL_CTL_ADD, fd, &event))
        return err_sys(e, errno, "watch the jail");
    return 0;
}

static int start_full(struct host *host, struct jail *j, struct inside *in, struct err *e)
{
    scoped(fd_closep) int mount_fd = -1;
    in->has_namespaces = true;
    if (make_data_mount(host, j, &mount_fd, e))
        return -1;
    in->data_mount = mount_fd;
    in->uid = host->is_root ? 1000 : (uid_t)-1;
    in->rules = full_rules;
    in->rule_count = sizeof full_rules / sizeof *full_rules;
    in->kernel_path = ROOT_KERNEL;
    j->init = clone_first(host, j);
    if (j->init < 0)
        return err_sys(e, errno, "clone the first process");
    if (j->init == 0)
        inside_first(in);
    return write_maps(host, j, e);
}

static int prepare(struct host *host, struct jail *j, int *ret_report, struct err *e)
{
    int pair[2];
    j->words =
        mmap(NULL, sizeof *j->words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (j->words == MAP_FAILED) {
        j->words = NULL;
        return err_sys(e, errno, "share a page");
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "make the report socket");
    j->report = pair[0];
    *ret_report = pair[1];
    if (check_data(host, j->data_fd, e) || make_group(host, j, e) ||
        usage_new(j->data_fd, &j->usage, e))
        return -1;
    return 0;
}

static int start(struct host *host, struct jail *j, const int fds[JAIL_FDS], struct err *e)
{
    scoped(fd_closep) int report = -1;
    struct environment env;
    char home[PATH_MAX] = "/tmp";
    if (prepare(host, j, &report, e) || (!j->has_namespaces && container_home(j->data_fd, home, e)))
        return -1;
    make_environment(&env, &j->limits, home, host->control_at);
    struct inside in = {.limits = &j->limits,
                        .filter = &host->filter,
                        .env = env.list,
                        .words = j->words,
                        .group = j->group,
                        .report = report,
                        .control = fds[JAIL_FD_CONTROL],
                        .out = fds[JAIL_FD_STDOUT],
                        .err = fds[JAIL_FD_STDERR],
                        .pids = j->limits.pids,
                        .data_mount = -1,
                        .data_dir = j->data_fd,
                        .control_at = host->control_at,
                        .uid = (uid_t)-1};
    if (j->polls_memory)
        in.data_bytes = j->limits.memory_bytes;
    if (host->support.cpu) {
        in.cores = (j->limits.cpu_milli + 999) / 1000;
        in.first_core = j->slot;
    }
    if (j->has_namespaces ? start_full(host, j, &in, e) : start_in_container(host, j, &in, e))
        return -1;
    if (send(j->report, "g", 1, MSG_NOSIGNAL) != 1)
        return err_sys(e, errno, "let the first process go");
    usage_set_init(j->usage, j->init,
                   !j->has_namespaces && host->is_root ? jail_uid(host, j->slot) : 0);
    if (watch(j, SOURCE_HANDLE, j->handle, e) || watch(j, SOURCE_REPORT, j->report, e) ||
        watch(j, SOURCE_INIT, j->init_fd, e) ||
        watch(j, SOURCE_OOM, j->group ? cgroup_event_fd(j->group) : -1, e))
        return -1;
    j->look_us = clock_us();
    return 0;
}

/* A start that failed in the spawner itself. If a first process exists already it is killed, and the
 * rest happens when it is reaped. */
static void give_up(struct jail *j, const struct err *e)
{
    j->failure.why = FAILED_OUTSIDE;
    snprintf(j->failure.step, sizeof j->failure.step, "%.123s", e->text);
    if (j->init > 0) {
        struct err ignored = {0};
        jail_kill(j, JAIL_KILLED);
        (void)watch(j, SOURCE_INIT, j->init_fd, &ignored); /* it may be watched already */
        return;
    }
    jail_fail(j);
}

struct jail *jail_start(struct host *host, uint32_t slot, const struct jail_spec *spec,
                        const int fds[JAIL_FDS])
{
    struct err e = {0};
    struct jail *j = calloc(1, sizeof *j);
    if (!j) {
        for (size_t i = 0; i < JAIL_FDS; i++)
            (void)close(fds[i]);
        return NULL;
    }
    *j = (struct jail){.slot = slot,
                       .life = LIFE_STARTING,
                       .handle = fds[JAIL_FD_HANDLE],
                       .data_fd = fds[JAIL_FD_DATA],
                       .report = -1,
                       .init_fd = -1,
                       .kernel_fd = -1,
                       .limits = spec->limits,
                       .epoll_fd = host->epoll_fd,
                       .has_namespaces = host->hello.tier == TIER_FULL,
                       .polls_memory = host->support.memory != 0};
    if (j->limits.open_files > (uint32_t)host->control_at)
        j->limits.open_files = (uint32_t)host->control_at;
    if (start(host, j, fds, &e))
        give_up(j, &e);
    for (size_t i = JAIL_FD_CONTROL; i <= JAIL_FD_STDERR; i++)
        (void)close(fds[i]);
    return j;
}
