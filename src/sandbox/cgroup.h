/* cgroup.h -- memory, processes and CPU of a session, limited and counted by the kernel.
 *
 * Works with version 1 and version 2 of the interface, also mixed: for each of memory, pids and cpu
 * the hierarchy that has the controller is found by looking. A `struct cgroups` is this process's
 * place in them, a directory "cicada-<pid>-<start time>-<pid namespace>" that holds one directory per
 * session.
 *
 * Directories of a spawner that is gone (no process of this namespace with that pid and start time)
 * are swept by cgroups_open: their processes are killed, the directories removed.
 *
 *     cgroups_open(&all, &support, e)
 *     cgroup_new(all, slot, &limits, &g, e)
 *     clone3(... cgroup = cgroup_clone_fd(g))     version 2: born inside
 *         in the child, first thing: cgroup_join(g)     version 1: moves itself
 *     cgroup_event_fd(g) readable -> cgroup_is_oom(g)
 *     cgroup_kill(g), then cgroup_free(g) until it is true
 *
 * On an OOM kill the spawner ends the session, so one event is enough: cgroup_event_fd becomes
 * readable (v1: an eventfd on memory.oom_control; v2: an epoll on memory.events), then cgroup_is_oom
 * tells whether it was an OOM kill.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct cgroups;
struct cgroup;

struct cgroup_limits {
    uint64_t memory_bytes; /* swap included */
    uint32_t pids;
    uint32_t cpu_milli;
};

/* What is not controlled is 0. */
struct cgroup_usage {
    uint64_t cpu_us;
    uint64_t memory_now;
    uint64_t memory_peak;
};

/* What works: 0, or the errno that says why not. */
struct cgroup_support {
    int memory, pids, cpu;
    int version; /* 0 none, 1, 2: of the memory controller */
};

/* Finds the hierarchies and makes our directory in each. Fails only with ERR_NO_MEMORY:
 * *ret_support says what there is, limits without a controller are simply not set (the caller has
 * other means), and *ret is NULL when there is nothing at all. Blocks on the sweep of leftovers. The
 * mount paths are opened here; nothing is opened by path later. */
int cgroups_open(struct cgroups **ret, struct cgroup_support *ret_support, struct err *e);

/* Removes our directories. NULL is fine. */
void cgroups_close(struct cgroups *all);

/* A group for session number `slot` with its limits set: every one that has a controller, or it
 * fails. */
int cgroup_new(struct cgroups *all, uint32_t slot, const struct cgroup_limits *limits,
               struct cgroup **ret, struct err *e);

/* A descriptor for clone3(CLONE_INTO_CGROUP), or -1 when every controller is version 1. */
int cgroup_clone_fd(const struct cgroup *g);

/* Moves the calling process, which has one thread, into every hierarchy where clone3 did not put it
 * already. Returns 0 or the errno. Async-signal-safe. Some 80 us; being moved by another process would
 * wait for every CPU under version 1, 15 ms on an idle host. */
int cgroup_join(const struct cgroup *g);

/* Becomes readable when memory ran out; -1 when it is not controlled. Ask cgroup_is_oom each time: it
 * may have been reclaimed, or belong to another group. */
int cgroup_event_fd(const struct cgroup *g);
bool cgroup_is_oom(struct cgroup *g); /* drains the event and looks at the counter */

/* How many processes there may be from now on; those beyond stay. 0: no new one begins. Returns 0
 * or the errno; without the pids controller it does nothing. */
int cgroup_set_pids(struct cgroup *g, uint32_t pids);

int cgroup_usage(struct cgroup *g, struct cgroup_usage *ret, struct err *e);

/* The files that count CPU time, memory now and the most memory so far. */
enum { CGROUP_COUNTS_CPU, CGROUP_COUNTS_MEMORY, CGROUP_COUNTS_PEAK, CGROUP_COUNTERS };

/* Opens them for reading: all, or -1 when one is not counted here. The caller owns them. Through them
 * nothing can be changed; when the group is removed they cannot be read any more (ENODEV), and they do
 * not keep it from being removed. */
int cgroup_open_counters(const struct cgroup *g, int ret_fds[CGROUP_COUNTERS]);

/* Kills every process in it and lets no new one begin. Lifts the CPU quota first: a throttled group
 * dies slowly. Does not wait for them to be gone. */
void cgroup_kill(struct cgroup *g);

/* Kills who is left and removes the directories, waiting briefly (20 ms) for the last process to
 * leave. False if they could not be removed in time; the caller tries again later with the same
 * object. On true it is freed. NULL is fine. */
bool cgroup_free(struct cgroup *g);

#endif
