/* cgroup_int.h -- what the files of the cgroup module share.
 *
 *     cgroup_layout.c   texts of /proc to places
 *     cgroup_open.c     places to hierarchies: our directory in each
 *     cgroup_sweep.c    killing members, removing directories, leftovers of others
 *     cgroup_v1.c, v2   what the two versions do differently, behind one table
 *     cgroup.c          one session's group
 */
#ifndef SANDBOX_CGROUP_INT_H
#define SANDBOX_CGROUP_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_layout.h"

/* memory, pids, cpu and cpuacct may each be a hierarchy of version 1; there is one of version 2. */
enum { HIERARCHIES_MAX = 5, CGROUP_NAME_SIZE = 80 };

struct hierarchy;

struct cgroup_counter {
    const char *file;
    unsigned controllers; /* one of which the hierarchy must have; 0: it is in every one */
};

/* What the versions do differently. Functions that return int return 0 or the errno. */
struct cgroup_ops {
    int version;
    /* Opens the directory ours is to be made in and says which controllers it can give. */
    int (*find)(const struct cgroup_place *place, struct hierarchy *ret);
    int (*prepare)(int own_fd, unsigned controllers); /* our directory for sessions' ones */
    int (*limit)(int dir_fd, unsigned controllers, const struct cgroup_limits *limits);
    /* Makes the descriptor that becomes readable, and opens the file that has the counter. */
    int (*watch)(int dir_fd, int *ret_event_fd, int *ret_counter_fd);
    /* Reads the counter, which quiets the event. *ret_is_settling: there was an event but no kill yet;
     * ask again in a moment. Then event_fd is an eventfd. */
    bool (*is_oom)(int event_fd, int counter_fd, bool *ret_is_settling);
    void (*usage)(int dir_fd, unsigned controllers, struct cgroup_usage *ret);
    struct cgroup_counter counters[CGROUP_COUNTERS];
    void (*unthrottle)(int dir_fd);
    bool (*kill_all)(int dir_fd); /* false: there is no such thing, kill one by one */
    void (*wait_for_exit)(int dir_fd, int wait_ms);
};

extern const struct cgroup_ops cgroup_v1, cgroup_v2;

struct hierarchy {
    const struct cgroup_ops *ops;
    unsigned controllers;
    int parent_fd; /* the directory ours is in */
    int own_fd;    /* ours */
};

struct cgroups {
    struct hierarchy all[HIERARCHIES_MAX];
    unsigned count;
    char name[CGROUP_NAME_SIZE]; /* of our directory */
};

/* Files of a directory. Return 0 or the errno. */
int cgroup_put(int dir_fd, const char *file, const char *text);
int cgroup_put_u64(int dir_fd, const char *file, uint64_t value);
int cgroup_get(int dir_fd, const char *file, char *ret, size_t size);
int cgroup_get_u64(int dir_fd, const char *file, uint64_t *ret);
bool cgroup_find_key(const char *text, const char *key, uint64_t *ret); /* "key value" lines */

/* Sends SIGKILL to every member but ourselves and returns how many there were. */
unsigned cgroup_kill_members(int dir_fd);

/* Calls `each` with every member's pid. Stops when it returns false; false then. */
bool cgroup_each_member(int dir_fd, bool (*each)(pid_t pid, void *arg), void *arg);

/* Kills who is in it and removes it. False: somebody is still there at the deadline. */
bool cgroup_remove(const struct cgroup_ops *ops, int parent_fd, const char *name,
                   int64_t deadline_us);

/* The same for a spawner's directory and the sessions' in it. */
void cgroup_remove_tree(const struct cgroup_ops *ops, int parent_fd, const char *name,
                        int64_t deadline_us);

/* The name of a spawner's directory, and whether it is one left behind by a spawner that is gone. */
int cgroup_own_name(char ret[CGROUP_NAME_SIZE]);
bool cgroup_is_leftover(const char *name);

/* Removes the leftovers in a directory. Blocks for at most a second. */
void cgroup_sweep(const struct cgroup_ops *ops, int parent_fd);

#endif
