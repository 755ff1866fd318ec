#include "spawn/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "sandbox/landlock.h"
#include "spawn/trial.h"
#include "spawn/userns.h"

enum {
    /* Sessions' uids lie between these: above the ranges of users, containers and systemd's
     * allocations that are common, below 2^31, which some programs take for negative. */
    UID_FIRST = 1000000000,
    UID_BLOCK = 2 * HOST_SLOTS,
    UID_BLOCKS = 65536,
    UID_TRIES = 256,

    CONTROL_AT = 4100, /* above any descriptor number a session may use (limits: open_files) */
    PLACED = 3,        /* numbers from there on: control socket, image, delta */
    FILES_MIN = 64,    /* descriptors without which nothing works */
};

/* A block of uids no other spawner on this host uses. The claim is a name in the kernel that
 * disappears with us: an abstract socket, bound in the host's network namespace. */
static int claim_uids(struct host *h, struct err *e)
{
    scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(e, errno, "claim uids");
    for (unsigned i = 0; i < UID_TRIES; i++) {
        unsigned block = ((unsigned)getpid() + i) % UID_BLOCKS;
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "cicada-uids-%u", block);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
        if (bind(fd, (struct sockaddr *)&name, size) == 0) {
            h->uid_base = UID_FIRST + block * UID_BLOCK;
            h->uid_claim = take_fd(&fd);
            return 0;
        }
        if (errno != EADDRINUSE)
            return err_sys(e, errno, "claim uids");
    }
    return err_set(e, ERR_LIMIT, "too many spawners on this host: no uids left for sessions");
}

static bool has_namespaces(const struct jail_hello *hello)
{
    return !hello->failure[MECH_USER_NS] && !hello->failure[MECH_MOUNT_NS] &&
           !hello->failure[MECH_PID_NS] && !hello->failure[MECH_IPC_NS] &&
           !hello->failure[MECH_NET_NS];
}

static enum tier choose_tier(const struct jail_hello *hello)
{
    if (hello->failure[MECH_SECCOMP] || hello->failure[MECH_LANDLOCK] || hello->failure[MECH_PIDFD])
        return TIER_NONE;
    if (has_namespaces(hello))
        return TIER_FULL;
    if (!hello->failure[MECH_UNIQUE_UID])
        return TIER_CONTAINER_ROOT;
    /* All sessions have one uid then: only Landlock's scopes keep them from killing each other. */
    return hello->landlock_abi >= LANDLOCK_ABI_SCOPES ? TIER_CONTAINER_USER : TIER_NONE;
}

/* Sessions have other uids than the loader's owner, and one that may not read the program it runs
 * may not look at its own memory either, which it must to fall asleep. */
static int find_loader(const struct host *h)
{
    struct stat st;
    if (!h->loader_path)
        return ENOENT;
    if (stat(h->loader_path, &st) || access(h->loader_path, R_OK | X_OK))
        return errno;
    return h->is_root && (st.st_mode & 0005) != 0005 ? EACCES : 0;
}

/* The loader is there for every jail or for none, whatever else an image may lack. */
static int find_image(struct host *h)
{
    int why = find_loader(h);
    if (why)
        h->loader_path = NULL;
    if (h->hello.tier != TIER_FULL)
        return EOPNOTSUPP;
    return why ? why : trial_image();
}

static void find_out(struct host *h)
{
    struct jail_hello *hello = &h->hello;
    trial_namespaces(h->is_root, hello->failure);
    hello->failure[MECH_SECCOMP] = trial_seccomp();
    hello->failure[MECH_PIDFD] = trial_pidfd();
    hello->landlock_abi = (uint32_t)landlock_abi();
    hello->failure[MECH_LANDLOCK] = hello->landlock_abi ? 0 : ENOSYS;
    hello->failure[MECH_UNIQUE_UID] = h->is_root ? 0 : EPERM;
    hello->failure[MECH_IDMAP] = h->is_root && has_namespaces(hello) ? 0 : EPERM;
    hello->failure[MECH_CG_MEMORY] = h->support.memory;
    hello->failure[MECH_CG_PIDS] = h->support.pids;
    hello->failure[MECH_CG_CPU] = h->support.cpu;
    hello->cgroup = (uint32_t)h->support.version;
    hello->tier = choose_tier(hello);
    hello->failure[MECH_IMAGE] = find_image(h);
    hello->failure[MECH_OVERLAY] =
        hello->tier == TIER_FULL ? trial_overlay(h->is_root) : EOPNOTSUPP;
}

/* In a container the first process cannot be born in its group, and a group it is not in would only
 * pretend to limit it. There the spawner looks instead. */
static void forget_cgroups(struct host *h)
{
    struct jail_hello *hello = &h->hello;
    cgroups_close(h->cgroups);
    h->cgroups = NULL;
    h->support = (struct cgroup_support){EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, 0};
    hello->failure[MECH_CG_MEMORY] = hello->failure[MECH_CG_PIDS] = EOPNOTSUPP;
    hello->failure[MECH_CG_CPU] = EOPNOTSUPP;
    hello->cgroup = 0;
}

/* The numbers are above every descriptor a session may have, if the host lets us go that far. */
static int raise_descriptors(struct host *h, struct err *e)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return err_sys(e, errno, "read the limit of descriptors");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files))
        return err_sys(e, errno, "raise the limit of descriptors");
    if (files.rlim_max < FILES_MIN)
        return err_set(e, ERR_UNAVAILABLE, "no more than %u descriptors may be open",
                       (unsigned)files.rlim_max);
    h->control_at =
        files.rlim_max >= CONTROL_AT + PLACED ? CONTROL_AT : (int)files.rlim_max - PLACED;
    return h->control_at < CONTROL_AT ? host_reserve(h, h->control_at, e) : 0;
}

int host_reserve(struct host *h, int highest_fd, struct err *e)
{
    if (h->is_reserved || highest_fd < h->control_at / 2)
        return 0;
    scoped(fd_closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < PLACED; i++)
        if (null < 0 || dup3(null, h->control_at + i, O_CLOEXEC) < 0)
            return err_sys(e, errno, "reserve the control socket's number");
    h->is_reserved = true;
    return 0;
}

static int move_in(struct host *h, struct err *e)
{
    int why = h->is_root ? 0 : userns_enter(CLONE_NEWNS);
    if (why)
        return err_sys(e, why, "enter a user namespace");
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS))
        return err_sys(e, errno, "unshare network, ipc and uts namespaces");
    return root_build(h->kernel_path, h->loader_path, h->is_root, &h->root, e);
}

/* Without pid namespaces what a session leaves behind becomes ours to reap. */
static int adopt_orphans(struct err *e)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
        return err_sys(e, errno, "become a subreaper");
    return 0;
}

int host_open(const struct spawn_options *options, struct host *ret, struct err *e)
{
    struct host h = {.uid_claim = -1,
                     .epoll_fd = -1,
                     .root = {-1, -1},
                     .kernel_path = options->kernel_path,
                     .loader_path = options->loader_path,
                     .data_uid = options->data_uid,
                     .reserve = {.bytes = options->reserve_bytes}};
    h.is_root = geteuid() == 0;
    if (access(h.kernel_path, X_OK))
        return err_sys(e, errno, "find the kernel program");
    if (raise_descriptors(&h, e) || cgroups_open(&h.cgroups, &h.support, e))
        goto fail;
    find_out(&h);
    if (h.hello.tier != TIER_FULL)
        forget_cgroups(&h);

    const struct filter_policy policy = {.sockets = h.hello.tier == TIER_FULL,
                                         .new_groups = h.hello.tier == TIER_FULL,
                                         .memfd = h.support.memory == 0,
                                         .affinity = h.support.cpu == 0};
    if (h.hello.tier == TIER_NONE)
        goto done;
    if (filter_build(&policy, &h.filter, e))
        goto fail;
    if (h.is_root && claim_uids(&h, e))
        goto fail;
    /* From then on Landlock keeps abstract sockets of different sessions apart. */
    h.own_network = h.hello.landlock_abi < LANDLOCK_ABI_SCOPES;
    if (h.hello.tier == TIER_FULL ? move_in(&h, e) : adopt_orphans(e))
        goto fail;
done:
    *ret = h;
    return 0;

fail:
    host_close(&h);
    return -1;
}

uid_t host_uid(const struct host *h, uint32_t slot)
{
    return h->uid_base + 2 * slot;
}

void host_close(struct host *h)
{
    spare_done(&h->spare);
    cgroups_close(h->cgroups);
    filter_done(&h->filter);
    root_done(&h->root);
    fd_closep(&h->uid_claim);
    h->cgroups = NULL;
}
