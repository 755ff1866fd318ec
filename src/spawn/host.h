/* host.h -- what this host offers for jails, and the spawner's place on it.
 *
 * Found out once at start: which mechanisms work (namespaces by trying them in a child that is thrown
 * away), which tier follows from that, then the spawner moves to where jails are made: its own user
 * namespace if it is not root, an empty network namespace, the template root (sandbox/root.h).
 *
 *   full              namespaces work. As root each session also gets a uid of its own.
 *   container-root    they do not, but we are root: uid per session, Landlock, seccomp, rlimits.
 *   container-user    neither: Landlock, seccomp, rlimits.
 *   none              Landlock or seccomp is missing too: sessions could not be told apart. Refused.
 */
#ifndef SPAWN_HOST_H
#define SPAWN_HOST_H

#include <stdbool.h>

#include "sandbox/cgroup.h"
#include "sandbox/filter.h"
#include "sandbox/root.h"
#include "wire/jail.h"

enum { HOST_SLOTS = 8192 }; /* jails at a time, each with two uids */

struct host {
    struct jail_hello hello;
    struct cgroups *cgroups; /* NULL: none */
    struct cgroup_support support;
    struct filter filter;
    struct root root;        /* tier full */
    bool is_root;            /* really, not in a user namespace of our own */
    bool own_network;        /* each jail needs a network namespace of its own */
    uid_t uid_base;          /* of the block of uids that is ours, as root */
    int uid_claim;           /* held while the block is ours */
    const char *kernel_path; /* the kernel program, on the host */
    int epoll_fd;            /* the loop's */
    int control_at;          /* descriptor number for the kernel's control socket */
};

/* Fails with ERR_UNAVAILABLE only when a step fails that worked in the trial. A tier of none is not a
 * failure here: the hello says so and the engine refuses. Blocks for some milliseconds. */
int host_open(const char *kernel_path, struct host *ret, struct err *e);
void host_close(struct host *h);

#endif
