/* filter.h -- which system calls a session may make.
 *
 * An allow-list: everything not on it fails with EPERM (ENOSYS for clone3 and for numbers above
 * FILTER_NR_MAX), a call through the i386 or x32 entry kills the process. src/sandbox/syscalls.def
 * is the list; tests/seccomp/table is what it comes to for every number and architecture, and a
 * test compares the two.
 *
 * Two programs for a session, loaded one after the other, and two for its pid 1:
 *
 *     outer   before exec. The session's policy, plus the few calls the kernel needs to seal itself.
 *     seal    by the kernel itself, before it reads the first byte of a session: takes those away.
 *     parked  by pid 1 while it waits for the data directory: receiving it, mounting it, and what
 *             comes before init below. Anything else kills it.
 *     init    by pid 1: waitid, exit_group, rt_sigreturn, close_range, and kill(0, ...) for where it
 *             leads a group instead of a namespace. Anything else kills it.
 *
 * filter.c builds the outer program and needs libseccomp; everything that loads is in seal.c, which
 * needs nothing, so that the kernel links only that.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

struct err;

/* The newest call the list was written for (set_mempolicy_home_node). What came later does not exist
 * for a session: libraries probe new calls and fall back on ENOSYS, but not on EPERM. */
enum { FILTER_NR_MAX = 450 };

struct filter {
    struct sock_filter *insns; /* owned */
    unsigned short count;
};

/* What differs by tier. All false is the strictest. */
struct filter_policy {
    bool sockets;    /* AF_UNIX sockets; not in containers, where path sockets cannot be fenced */
    bool new_groups; /* setsid, setpgid; not in containers, where the group is what gets killed */
    bool memfd;      /* memfd_create, large socket buffers; not where memory is polled, which does
                        not see them */
    bool affinity;   /* sched_setaffinity; not where the mask is what limits the CPU */
};

/* Builds the outer program. Costs about a millisecond: do it once. Fails with ERR_UNAVAILABLE. */
int filter_build(const struct filter_policy *policy, struct filter *ret, struct err *e);
void filter_done(struct filter *f);

/* Each loads a program for all threads of this process; no_new_privs must be set. Async-signal-safe:
 * no allocation. Return 0, or the errno. */
int filter_load(const struct filter *f);
int filter_load_seal(void);
int filter_load_parked(void);
int filter_load_init(void);

/* The fixed programs themselves, for tests that interpret them. Not owned. */
struct filter filter_seal(void);
struct filter filter_parked(void);
struct filter filter_init(void);

#endif
