/* reserve.h -- what sessions write stops at the reserve of the disk they write to.
 *
 * The reserve (base/disk.h) is the server's: for keeping what runs wrote, for their records, for
 * deleting. No quota of the operating system says "leave so much", so the room on the disk is looked
 * at: the more often the less there is, every 50 ms while the fastest writer could not be through in
 * that time, every 5 ms otherwise. That is one system call, whatever the number of jails.
 *
 * When the disk is down to its reserve, and again each time it lost a little more, an **alarm** makes
 * every jail with data on it due for a look (sandbox/usage.h). What a jail used when there was room is its
 * **mark**. One that has grown beyond it writes into the reserve, at most as much as is gone of that:
 *
 *     by a little     nothing: somebody else needed the room, and small files are what work is made of
 *     by more         the engine hears FULL, and interrupts the run; again when it goes on
 *     by far          the jail is ended: OVER_RESERVE
 *
 * How much that is follows from what is left of the upper half of the reserve: a 64th of it, and a half, at
 * least a 64th of all that is free. So any number of jails together come to the middle and hardly further, but
 * for what they write between two looks; and what the server itself takes of the reserve is not held
 * against them. A jail that does not grow is left alone however full the disk is.
 *
 * Looking at a large tree takes long, and so the mark may be from long before the disk was full. What was written
 * until then is nobody's fault: such a jail gets a new mark by its next look, and is judged from then on.
 *
 * On a full disk the engine says MARK before each run and asks for USAGE after it, and what is used then becomes
 * the mark: what one run wrote does not end the next, nor what the server wrote in between.
 *
 *     reserve_join(&host->reserve, dir_fd)        the disk, or NULL: nothing to watch
 *     reserve_look(&host->reserve, now_us)        when to call again
 *     reserve_judge(disk, &mark, &now)            fine, over, far over
 *     reserve_leave(disk)
 */
#ifndef SPAWN_RESERVE_H
#define SPAWN_RESERVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/disk.h"
#include "sandbox/usage.h"

enum { RESERVE_DISKS_MAX = 4 }; /* with data directories; those beyond are not watched */

struct disk {
    dev_t device;
    unsigned jails; /* with data on it; 0: the place is free */
    int fd;         /* a directory on it */
    struct disk_room room;
    int64_t looked_us;
    int64_t full_us; /* since when it is down to its reserve; CLOCK_NEVER: there is room */
    uint32_t alarms; /* how many there were */
    uint64_t alarmed_bytes, alarmed_inodes; /* what was free at the last one */
};

struct reserve {
    uint64_t bytes; /* 0: nothing is kept in reserve, and nothing watched */
    struct disk disks[RESERVE_DISKS_MAX];
};

/* The disk that this directory is on, watched from now on; NULL when there is no reserve, or too many
 * disks, or it cannot be looked at. */
struct disk *reserve_join(struct reserve *r, int dir_fd);
void reserve_leave(struct disk *d); /* NULL is fine */

/* Looks at the disks that are due, and gives alarms. Returns when the next one is; CLOCK_NEVER without
 * any. */
int64_t reserve_look(struct reserve *r, int64_t now_us);

/* Whether it is down to its reserve, as of a moment ago at most. */
bool reserve_is_reached(struct disk *d);

/* Whether a mark as old as that says what a jail used when there was room; of a disk that is full. */
bool reserve_mark_is_good(const struct disk *d, int64_t marked_us);

/* A jail that uses `now` and used `mark` when there was room. Of bytes and inodes only what the disk has
 * run out of counts. */
enum reserve_verdict { RESERVE_FINE, RESERVE_OVER, RESERVE_FAR_OVER };
enum reserve_verdict reserve_judge(const struct disk *d, const struct usage_total *mark,
                                   const struct usage_total *now);

#endif
