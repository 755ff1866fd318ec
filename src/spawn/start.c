#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/root.h"
#include "spawn/environment.h"
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

enum { LOADER_DATA = 4 << 20 }; /* what the loader has itself, and a little more */

static int write_proc(pid_t pid, const char *file, const char *text, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return err_sys(e, errno, "write %s", file);
    return 0;
}

/* As root: 1000 and 0 inside are two uids nobody else has. As a user: 1000 inside is that user. */
static int write_maps(const struct host *host, const struct jail *j, struct err *e)
{
    char map[64];
    if (host->is_root)
        snprintf(map, sizeof map, "0 %u 1\n1000 %u 1\n", host_uid(host, j->slot) + 1,
                 host_uid(host, j->slot));
    else
        snprintf(map, sizeof map, "1000 0 1\n");
    return write_proc(j->init, "uid_map", map, e) || write_proc(j->init, "gid_map", map, e) ? -1
                                                                                            : 0;
}

static int make_group(struct jail *j, struct err *e)
{
    struct host *host = j->host;
    const struct cgroup_limits limits = {.memory_bytes = j->limits.memory_bytes,
                                         .pids = j->limits.pids,
                                         .cpu_milli = j->limits.cpu_milli};
    host->habit.is_known = true;
    host->habit.limits = limits;
    return spare_take_group(host, j->slot, &limits, &j->group, e);
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

static int start_full(struct jail *j, struct inside *in, struct err *e)
{
    struct host *host = j->host;
    in->has_namespaces = true;
    in->uid = host->is_root ? 1000 : (uid_t)-1;
    in->rules = full_rules;
    in->rule_count = sizeof full_rules / sizeof *full_rules;
    in->program = in->image < 0 ? ROOT_KERNEL : ROOT_LOADER;
    j->init = clone_first(host, j);
    if (j->init < 0)
        return err_sys(e, errno, "clone the first process");
    if (j->init == 0)
        inside_first(in);
    return write_maps(host, j, e);
}

/* What only namespaces make possible. */
static int check_tier(const struct jail *j, const struct jail_spec *spec, struct err *e)
{
    const struct jail_hello *hello = &j->host->hello;
    int why = hello->failure[MECH_IMAGE];
    if (spec->start != JAIL_COLD && hello->tier != TIER_FULL)
        return err_set(e, ERR_UNAVAILABLE, "a start from an image needs tier full");
    if (spec->start != JAIL_COLD && why)
        return err_sys(e, why, "a start from an image is not possible on this host");
    if (!spec->has_data && hello->tier != TIER_FULL)
        return err_set(e, ERR_UNAVAILABLE, "a parked jail needs tier full");
    return 0;
}

/* An image that a session is started from must be beyond its reach, so not even the descriptor may
 * be good for writing; one that is baked is written. */
static int check_image(const struct jail_spec *spec, int image, uint64_t *ret_bytes, struct err *e)
{
    struct stat st;
    int flags = fcntl(image, F_GETFL);
    if (flags < 0 || fstat(image, &st))
        return err_sys(e, errno, "look at the image");
    bool is_writable = (flags & O_ACCMODE) != O_RDONLY;
    if (!S_ISREG(st.st_mode) || (flags & O_PATH) || is_writable != (spec->start == JAIL_BAKE))
        return err_set(e, ERR_INVALID, "the image is not a file open for %s",
                       spec->start == JAIL_BAKE ? "writing" : "reading only");
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

static int make_sockets(int *ret_ours, int *ret_theirs, struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "make the report socket");
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
    return 0;
}

/* Everything around the first process. The two descriptors are its ends. */
static int prepare(struct jail *j, int *ret_report, int *ret_attach, struct err *e)
{
    j->words =
        mmap(NULL, sizeof *j->words, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (j->words == MAP_FAILED) {
        j->words = NULL;
        return err_sys(e, errno, "share a page");
    }
    if (make_sockets(&j->report, ret_report, e))
        return -1;
    if (j->data.dir_fd < 0 && make_sockets(&j->attach, ret_attach, e))
        return -1;
    if (j->data.dir_fd >= 0 && jail_check_data(j, e))
        return -1;
    return make_group(j, e);
}

static int watch_all(struct jail *j, struct err *e)
{
    const int fds[SOURCE_COUNT] = {
        [SOURCE_HANDLE] = j->handle, [SOURCE_REPORT] = j->report,
        [SOURCE_ATTACH] = j->attach, [SOURCE_INIT] = j->init_fd,
        [SOURCE_OLD] = -1,           [SOURCE_OOM] = j->group ? cgroup_event_fd(j->group) : -1,
        [SOURCE_BRING] = -1};
    for (enum jail_source source = 0; source < SOURCE_COUNT; source++)
        if (jail_watch(j, source, fds[source], e))
            return -1;
    return 0;
}

/* A request that could never be met fails, where a cgroup alone would let it be made and kill who
 * touches what it got. All of an image is mapped writable, which counts as data although next to
 * nothing is written. */
static uint64_t data_limit(const struct jail *j, uint64_t image_bytes)
{
    return j->limits.memory_bytes + image_bytes;
}

/* The same for the loader, which needs some itself, and puts back whatever the session had when it
 * fell asleep: it limits the session when it has done so. */
static uint64_t first_data_limit(const struct jail *j, bool has_delta, uint64_t image_bytes)
{
    if (!has_delta)
        return data_limit(j, image_bytes);
    return j->polls_memory ? data_limit(j, image_bytes) + LOADER_DATA : 0;
}

/* How the program is called; see wire/jail.h. */
struct arguments {
    char number[16], data[24];
    char *list[5];
};

static void arguments_init(struct arguments *args, const struct jail_spec *spec, int control_at,
                           uint64_t data)
{
    char *word = spec->start == JAIL_BAKE ? "bake" : spec->has_delta ? "delta" : "image";
    (void)snprintf(args->number, sizeof args->number, "%d", control_at);
    (void)snprintf(args->data, sizeof args->data, "%llu", (unsigned long long)data);
    args->list[0] = "python3";
    args->list[1] = spec->start == JAIL_COLD ? NULL : args->number;
    args->list[2] = word;
    args->list[3] = spec->has_delta ? args->data : NULL;
    args->list[4] = NULL;
}

/* CPU time where no cgroup gives it. */
static void limit_cores(const struct jail *j, struct inside *in)
{
    if (j->host->support.cpu) {
        in->cores = (j->limits.cpu_milli + 999) / 1000;
        in->first_core = j->slot;
    }
}

static int start(struct jail *j, const struct jail_spec *spec, const int fds[JAIL_FDS],
                 struct err *e)
{
    struct host *host = j->host;
    scoped(fd_closep) int report = -1, attach = -1;
    scoped(libraries_done) struct libraries libraries = LIBRARIES_NONE;
    struct environment env;
    struct arguments args;
    char home[PATH_MAX] = "/tmp";
    uint64_t image_bytes = 0;
    if (host_reserve(host, j->handle, e) || check_tier(j, spec, e) ||
        (spec->start != JAIL_COLD && check_image(spec, fds[JAIL_FD_IMAGE], &image_bytes, e)) ||
        prepare(j, &report, &attach, e) ||
        (spec->has_libraries && libraries_mount(host, fds[JAIL_FD_LIBRARIES], &libraries, e)) ||
        (!j->has_namespaces && container_home(j->data.dir_fd, home, e)))
        return -1;
    environment_init(&env, &j->limits, home, host->control_at);
    arguments_init(&args, spec, host->control_at, data_limit(j, image_bytes));
    struct inside in = {.limits = &j->limits,
                        .filter = &host->filter,
                        .env = env.list,
                        .argv = args.list,
                        .words = j->words,
                        .group = j->group,
                        .report = report,
                        .attach = attach,
                        .control = fds[JAIL_FD_CONTROL],
                        .out = fds[JAIL_FD_STDOUT],
                        .err = fds[JAIL_FD_STDERR],
                        .image = fds[JAIL_FD_IMAGE],
                        .delta = fds[JAIL_FD_DELTA],
                        .has_fixed_layout = spec->start != JAIL_COLD,
                        .pids = j->limits.pids,
                        .data_bytes = first_data_limit(j, spec->has_delta, image_bytes),
                        .data_dir = j->data.dir_fd,
                        .control_at = host->control_at,
                        .uid = (uid_t)-1};
    memcpy(in.libraries, libraries.mounts, sizeof in.libraries);
    limit_cores(j, &in);
    if (j->has_namespaces ? start_full(j, &in, e) : start_in_container(host, j, &in, e))
        return -1;
    if (!j->has_namespaces && jail_count_data(j, e))
        return -1;
    if (send(j->report, "g", 1, MSG_NOSIGNAL) != 1)
        return err_sys(e, errno, "let the first process go");
    /* With namespaces it makes its mounts now and then waits for the one of the data directory,
     * before there is a kernel: until it gets that, nobody can have changed what is in there. */
    if (j->has == DATA_AWAITED)
        jail_expect_data(j);
    else if (j->has_namespaces && (jail_count_data(j, e) || jail_send_data(j, j->report, e)))
        return -1;
    j->look_us = CLOCK_NEVER;
    if (j->usage || j->polls_memory)
        jail_look_soon(j);
    return watch_all(j, e);
}

/* A start that failed in the spawner itself. If a first process exists already it is killed, and the
 * rest happens when it is reaped. */
static void give_up(struct jail *j, const struct err *e)
{
    j->failure.why = e->code == ERR_NO_SPACE ? ENOSPC : FAILED_OUTSIDE;
    snprintf(j->failure.step, sizeof j->failure.step, "%.123s", e->text);
    if (j->init > 0) {
        struct err ignored = {0};
        jail_kill(j, JAIL_KILLED);
        (void)jail_watch(j, SOURCE_INIT, j->init_fd, &ignored); /* it may be watched already */
        return;
    }
    jail_fail(j);
}

static void close_all(int fds[JAIL_FDS], int first)
{
    for (int i = first; i < JAIL_FDS; i++)
        fd_closep(&fds[i]);
}

struct jail *jail_start(struct host *host, uint32_t slot, const struct jail_spec *spec,
                        int fds[JAIL_FDS])
{
    struct err e = {0};
    struct jail *j = calloc(1, sizeof *j);
    if (!j) {
        close_all(fds, JAIL_FD_HANDLE);
        return NULL;
    }
    *j = (struct jail){.slot = slot,
                       .host = host,
                       .life = LIFE_STARTING,
                       .has = spec->has_data ? DATA_THERE : DATA_AWAITED,
                       .handle = fds[JAIL_FD_HANDLE],
                       .data = jail_data_from(fds + JAIL_FD_DATA, spec->lower_count),
                       .image_fd = fds[JAIL_FD_IMAGE],
                       .report = -1,
                       .attach = -1,
                       .init_fd = -1,
                       .kernel_fd = -1,
                       .old_fd = -1,
                       .merged_fd = -1,
                       .lock_fd = -1,
                       .bringing = {.fd = -1, .until_us = CLOCK_NEVER},
                       .map = spare_take_map(host, slot),
                       .limits = spec->limits,
                       .has_namespaces = host->hello.tier == TIER_FULL,
                       .polls_memory = host->support.memory != 0};
    if (j->limits.open_files > (uint32_t)host->control_at)
        j->limits.open_files = (uint32_t)host->control_at;
    if (start(j, spec, fds, &e))
        give_up(j, &e);
    for (int i = JAIL_FD_DATA; i <= JAIL_FD_IMAGE; i++)
        fds[i] = -1; /* the jail's own */
    close_all(fds, JAIL_FD_CONTROL);
    return j;
}
