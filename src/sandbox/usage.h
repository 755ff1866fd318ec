/* usage.h -- how much disk and memory a session uses, where no quota or cgroup counts it.
 *
 * A walker over /mnt/data and over the session's processes that can be stopped and continued: the
 * spawner gives it a slice between two events, so that a hostile tree of any shape delays nobody.
 *
 *     usage_new(data_fd, &u, e)              remembers what is there: only growth counts
 *     usage_step(u, 256)                     looks at up to 256 entries; true: a round is complete
 *     usage_disk(u), usage_files(u)          of the last complete round
 *
 * Disk counts blocks, not sizes, each inode once, directories included, and regular files that are
 * deleted but still open or mapped by one of the session's processes (sandbox/held.h). Only the
 * file system of /mnt/data counts.
 *
 * What is hidden stays charged. There are places that cannot be looked at: directories without
 * permissions when we are not root, deep directories that are moved about while we are in them,
 * processes that do not let us look, descriptors in the queue of a socket. As long as there is such
 * a place, a file that was seen before and is not seen any more is taken to be there.
 */
#ifndef SANDBOX_USAGE_H
#define SANDBOX_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct usage;

enum { USAGE_HELD_SHARE = 2048 };

/* Takes a copy of the descriptor. Walks once to the end to know the start value: blocks on disk. */
int usage_new(int data_fd, struct usage **ret, struct err *e);
void usage_free(struct usage *u);

/* The session's pid 1 as seen from here, once it exists; its descendants are the session. Their open
 * files are looked at as user `as`: root in a container may not look into others' processes, but
 * their own user may. 0: as who we are. */
void usage_set_init(struct usage *u, pid_t init, uid_t as);

/* A file that the session's processes have open or mapped, but that is not theirs (the image they
 * came from): it does not count, even when it is deleted. Takes a copy of the descriptor, and with it
 * the inode's number, which then cannot come to mean a file of the session. One only. */
int usage_ignore(struct usage *u, int fd, struct err *e);

/* Files that processes have open or mapped count on that device too: an overlay is another device than
 * the layers it is made of. */
void usage_also(struct usage *u, dev_t device);

/* So much more counts as having been there from the beginning: it was brought, not made. */
void usage_grant(struct usage *u, uint64_t bytes, uint64_t files);

/* Continues the round by at most `entries` entries. True when that completed it: then the numbers
 * below are new, and the next call begins another round. A round is all of the tree and as many of
 * the processes' files as USAGE_HELD_SHARE steps reach; where there are more, the following rounds
 * go on from there, and until they are through, the numbers from the time before hold. */
bool usage_step(struct usage *u, uint32_t entries);

/* Begins the round anew: what usage_step completes next was seen after this call. */
void usage_restart(struct usage *u);

/* Of the last complete round, or of the one under way once that has found more: a limit that is passed
 * is seen before the walk is through. */
uint64_t usage_disk(const struct usage *u);  /* bytes grown by; 0 when it shrank */
uint64_t usage_files(const struct usage *u); /* files and directories grown by */

/* What is there, not what it grew by: what the session deleted shows, too. */
struct usage_total {
    uint64_t bytes, files;
};
struct usage_total usage_total(const struct usage *u);

int64_t usage_round_us(const struct usage *u); /* what the last round cost: time spent in steps */

#endif
