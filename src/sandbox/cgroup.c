#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/cgroup_int.h"

enum {
    FREE_WAIT_US = 20000,
    KILL_ROUNDS = 3,
    SETTLE_TRIES = 20,  /* of a millisecond, each time an OOM event has no kill yet */
    SETTLE_ROUNDS = 50, /* of those, until it must have been for another group */
};

/* The session's directory in one hierarchy. */
struct member {
    const struct hierarchy *in;
    int dir_fd;
    int tasks_fd; /* version 1 */
};

struct cgroup {
    char name[16];
    struct member members[HIERARCHIES_MAX];
    unsigned count;
    const struct cgroup_ops *memory; /* of the hierarchy that limits it; NULL: none does */
    int event_fd, counter_fd;
    unsigned settle_rounds;
    uint64_t memory_peak; /* the most we saw, for kernels that do not remember */
};

static void member_done(struct member *m)
{
    fd_closep(&m->dir_fd);
    fd_closep(&m->tasks_fd);
}

/* Opens the new directory and sets its limits. Returns 0 or the errno; the member is filled as far as
 * it came. */
static int member_init(struct member *m, const struct hierarchy *h, const char *name,
                       const struct cgroup_limits *limits)
{
    *m = (struct member){.in = h, .dir_fd = -1, .tasks_fd = -1};
    m->dir_fd = openat(h->own_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->dir_fd < 0)
        return errno;
    if (h->ops->version == 1) {
        m->tasks_fd = openat(m->dir_fd, "tasks", O_WRONLY | O_CLOEXEC);
        if (m->tasks_fd < 0)
            return errno;
    }
    return h->ops->limit(m->dir_fd, h->controllers, limits);
}

static int fill(struct cgroup *g, const struct cgroups *all, const struct cgroup_limits *limits)
{
    int why = 0;
    for (unsigned i = 0; i < all->count && !why; i++) {
        /* Until it is made it is not ours: cgroup_free must not remove somebody else's. */
        if (mkdirat(all->all[i].own_fd, g->name, 0755))
            return errno;
        struct member *m = &g->members[g->count++];
        why = member_init(m, &all->all[i], g->name, limits);
        if (!why && (m->in->controllers & CGROUP_MEMORY)) {
            g->memory = m->in->ops;
            why = g->memory->watch(m->dir_fd, &g->event_fd, &g->counter_fd);
        }
    }
    return why;
}

int cgroup_new(struct cgroups *all, uint32_t slot, const struct cgroup_limits *limits,
               struct cgroup **ret, struct err *e)
{
    struct cgroup *g = malloc(sizeof *g);
    if (!g)
        return err_set(e, ERR_NO_MEMORY, "control group");
    *g = (struct cgroup){.event_fd = -1, .counter_fd = -1};
    (void)snprintf(g->name, sizeof g->name, "%u", slot);
    int why = fill(g, all, limits);
    if (why) {
        (void)err_sys(e, why, "control group %u", slot);
        (void)cgroup_free(g); /* nobody is in it, so this does not fail */
        return -1;
    }
    *ret = g;
    return 0;
}

int cgroup_clone_fd(const struct cgroup *g)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i].in->ops->version == 2)
            return g->members[i].dir_fd;
    return -1;
}

/* A thread that moves itself cannot exec, fork or exit meanwhile, so the kernel skips the lock that
 * makes cgroup.procs wait for every CPU (Linux 5.6, 9a3284fad42f). "tasks" moves one thread; ours is
 * the only one. */
int cgroup_join(const struct cgroup *g)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i].tasks_fd >= 0 && write(g->members[i].tasks_fd, "0", 1) != 1)
            return errno;
    return 0;
}

int cgroup_event_fd(const struct cgroup *g)
{
    return g->event_fd;
}

bool cgroup_is_oom(struct cgroup *g)
{
    if (!g->memory)
        return false;
    bool is_settling = false, is_quiet;
    if (g->memory->is_oom(g->event_fd, g->counter_fd, &is_settling))
        return true;
    for (int i = 0; is_settling && i < SETTLE_TRIES; i++) {
        (void)poll(NULL, 0, 1); /* nothing tells when the kernel has chosen its victim */
        if (g->memory->is_oom(g->event_fd, g->counter_fd, &is_quiet))
            return true;
    }
    /* A throttled process can take longer to be killed: make the caller ask again. */
    if (is_settling && g->settle_rounds++ < SETTLE_ROUNDS)
        (void)eventfd_write(g->event_fd, 1);
    return false;
}

int cgroup_set_pids(struct cgroup *g, uint32_t pids)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i].in->controllers & CGROUP_PIDS)
            return cgroup_put_u64(g->members[i].dir_fd, "pids.max", pids);
    return 0;
}

int cgroup_usage(struct cgroup *g, struct cgroup_usage *ret, struct err *e)
{
    (void)e; /* what cannot be read is 0 */
    struct cgroup_usage usage = {0};
    for (unsigned i = 0; i < g->count; i++)
        g->members[i].in->ops->usage(g->members[i].dir_fd, g->members[i].in->controllers, &usage);
    if (g->memory_peak < usage.memory_now)
        g->memory_peak = usage.memory_now;
    if (usage.memory_peak < g->memory_peak)
        usage.memory_peak = g->memory_peak;
    *ret = usage;
    return 0;
}

/* The counter in the first hierarchy that has it, or -1. */
static int open_counter(const struct cgroup *g, size_t which)
{
    for (unsigned i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        const struct cgroup_counter *counter = &m->in->ops->counters[which];
        if (counter->controllers && !(m->in->controllers & counter->controllers))
            continue;
        int fd = openat(m->dir_fd, counter->file, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

int cgroup_open_counters(const struct cgroup *g, int ret_fds[CGROUP_COUNTERS])
{
    int fds[CGROUP_COUNTERS];
    for (size_t i = 0; i < CGROUP_COUNTERS; i++) {
        fds[i] = open_counter(g, i);
        if (fds[i] >= 0)
            continue;
        while (i-- > 0)
            (void)close(fds[i]);
        return -1;
    }
    memcpy(ret_fds, fds, sizeof fds);
    return 0;
}

void cgroup_kill(struct cgroup *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        if (m->in->controllers & CGROUP_CPU)
            m->in->ops->unthrottle(m->dir_fd);
        /* No more forks: otherwise killing one by one is a race against them. */
        if (m->in->controllers & CGROUP_PIDS)
            (void)cgroup_put(m->dir_fd, "pids.max", "0");
    }
    bool is_done = false; /* every hierarchy of version 1 has the same members */
    for (unsigned i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        if (m->in->ops->kill_all(m->dir_fd) || is_done)
            continue;
        /* A child that was just being born is not listed yet in the first round. */
        for (int round = 0; round < KILL_ROUNDS && cgroup_kill_members(m->dir_fd); round++) {
        }
        is_done = true;
    }
}

bool cgroup_free(struct cgroup *g)
{
    if (!g)
        return true;
    int64_t deadline_us = clock_us() + FREE_WAIT_US;
    bool is_gone = true;
    for (unsigned i = 0; i < g->count; i++)
        is_gone &=
            cgroup_remove(g->members[i].in->ops, g->members[i].in->own_fd, g->name, deadline_us);
    if (!is_gone)
        return false;
    for (unsigned i = 0; i < g->count; i++)
        member_done(&g->members[i]);
    fd_closep(&g->event_fd);
    fd_closep(&g->counter_fd);
    free(g);
    return true;
}
