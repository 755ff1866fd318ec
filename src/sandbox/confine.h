/* confine.h -- what a process gives up about itself: privileges, resources, descriptors.
 *
 * Each step is one call that either did all it says, and has looked that it took, or names the errno.
 * They run between clone and exec, so none allocates or logs, and they change only the calling thread
 * (raw system calls, not libc's, which tell all threads). Order matters and is the caller's: see
 * spawn/README.md. In short: bounding set while still privileged, then identity, then capabilities
 * (the securebits keep them through the change of identity), then parent death.
 */
#ifndef SANDBOX_CONFINE_H
#define SANDBOX_CONFINE_H

#include <stdint.h>
#include <sys/types.h>

/* A limit that is already lower stays as it is. */
struct confine_limits {
    uint64_t file_bytes;
    uint32_t open_files;
    uint32_t pids;       /* RLIMIT_NPROC; 0: as it is, where others share the uid */
    uint64_t data_bytes; /* RLIMIT_DATA; 0: unlimited */
    uint64_t cpu_s;      /* RLIMIT_CPU; 0: unlimited */
};

/* All return 0 or the errno. */
int confine_rlimits(const struct confine_limits *limits);

/* Drops every capability from the bounding set and locks the securebits. A process without any
 * capability may not do that and does not need to: with no_new_privs it cannot gain one. */
int confine_bounding_set(void);
int confine_identity(uid_t uid, gid_t gid); /* no groups, gid, uid */
int confine_capabilities(void); /* permitted, effective, inheritable, ambient: all empty */
int confine_to_mounting(void);  /* the same, but CAP_SYS_ADMIN stays permitted and effective */

/* SIGKILL when the parent dies; after the last credential change, which clears it. A parent that died
 * before goes unnoticed: wait for a word from it afterwards. */
int confine_parent_death(void);
int confine_no_new_privs(void);
int confine_signals(void); /* default dispositions, empty mask */

/* What is executed from now on finds stack, heap and mappings at the same addresses every time. */
int confine_fixed_layout(void);

/* Closes every descriptor except the `count` listed, which are open and in ascending order. */
int confine_descriptors(const int *keep, unsigned count);

#endif
