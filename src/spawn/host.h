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
#include "spawn/reserve.h"
#include "spawn/spare.h"
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
    uid_t data_uid; /* as root: whose directories may be mounted; 0: anybody's but root's */
    const char *loader_path; /* NULL: none that could be used */
    struct spare spare;      /* for the next jail */
    struct habit habit;
    struct reserve reserve; /* of the disks with data directories */
    unsigned bringing;      /* children of ours that bring changes to jails */
    int epoll_fd;           /* the loop's */
    int control_at; /* descriptor number for the kernel's control socket; image and delta follow */
    bool is_reserved; /* those numbers are taken */
};

/* What the engine says when it starts us. */
struct spawn_options {
    const char *kernel_path; /* the program each jail runs */
    const char *loader_path; /* the loader that starts it from an image; NULL: there is none */
    uid_t
        data_uid; /* see struct host. A server that has given up root names itself, so that it cannot
                       have somebody else's directory mounted should it be taken over */
    uint64_t reserve_bytes; /* that sessions leave free on the disk of their files; 0: none */
};

/* Fails with ERR_UNAVAILABLE only when a step fails that worked in the trial. A tier of none is not
 * a failure here: the hello says so and the engine refuses; nor is a missing loader (`loader_path`
 * NULL or not to be found): then nothing starts from an image. Blocks for some milliseconds. */
int host_open(const struct spawn_options *options, struct host *ret, struct err *e);
void host_close(struct host *h);

/* Takes the numbers that descriptors are placed at, once ours have come half way there, so that
 * none of ours ever has one of them. Not before: every clone copies the table of descriptors up to
 * the highest number, which costs 50 us per jail. */
int host_reserve(struct host *h, int highest_fd, struct err *e);

/* As root: the uid of the session in that slot; the next one is its pid 1's. */
uid_t host_uid(const struct host *h, uint32_t slot);

#endif
