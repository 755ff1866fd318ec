/* ballast.h -- room on the disk that the store holds, and gives up when there is none left.
 *
 *     DATA/ballast/0 .. 15      files that hold nothing, allocated for real: bytes and inodes
 *
 * Removing something has to write, too: a row that says so, an entry of the audit. On a disk of
 * which another program took the last byte that would fail, and what would make room could not be
 * removed. So the store takes some room while there is plenty, and whoever writes what has to be
 * written gives it up:
 *
 *     if (no room && ballast_give(b)) try once more
 *
 * ballast_tend takes it again when there is room. It is opened under the lock of DATA, after a
 * start on whatever disk: what is there then can be given up at once, and what is missing is not
 * taken before the first ballast_tend.
 *
 * Any number of threads. All block on disk.
 */
#ifndef STORE_BALLAST_H
#define STORE_BALLAST_H

#include <stdbool.h>
#include <stdint.h>

struct ballast;
struct err;

enum { BALLAST_PIECES = 16 };

struct ballast_options {
    int data_fd;    /* of DATA; borrowed during the call */
    uint64_t bytes; /* of all pieces; below BALLAST_PIECES: none is taken, and what is there goes */
    /* Room that stays to others when it is taken, with the inodes that belong to it
     * (base/disk.h). */
    uint64_t leave_bytes;
};

/* Finds what an earlier server has taken. Fails with ERR_NO_MEMORY, or with what the disk fails
 * with; a directory that is missing and cannot be made is no failure. */
int ballast_open(const struct ballast_options *options, struct ballast **ret, struct err *e);
void ballast_close(struct ballast *b); /* it stays on the disk; NULL is fine */

/* Gives up all of it. True: there was some, so what did not fit may fit now. NULL is fine:
 * false. */
bool ballast_give(struct ballast *b);

/* Takes what is missing, all or none of it, as soon as there is room. NULL is fine. */
void ballast_tend(struct ballast *b);

/* What is held now. NULL is fine: 0. */
uint64_t ballast_bytes(struct ballast *b);

#endif
