/* disk.h -- how much room a disk still has, and how much of it is above a reserve.
 *
 * A reserve is what uploads and the code of sessions leave free, so that the server can go on: record
 * runs, keep what was written, delete. It counts in bytes and in inodes: a file system without inodes is
 * as full as one without bytes. The inodes follow from the bytes, one for each 16 KiB as ext4 makes them
 * (32768 for 512 MiB), and are at most a twentieth of all that the file system has. One that makes inodes
 * as it goes (btrfs) does not count them: there they never run out.
 *
 *     struct disk_room room;
 *     if (disk_look(fd, reserve_bytes, &room, e) == 0 && room.is_full) ...
 *
 * To ask how much there is above a part of the reserve, look with that part.
 */
#ifndef BASE_DISK_H
#define BASE_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct err;

struct disk_room {
    uint64_t bytes, inodes;           /* above the reserve; inodes UINT64_MAX: not counted */
    uint64_t free_bytes, free_inodes; /* altogether, for who is not root */
    uint64_t kept_bytes, kept_inodes; /* the reserve */
    bool is_full;                     /* less is free than the reserve, of one or of the other */
};

/* The file system that `fd` is on. With a reserve of 0 it is never full. Fails with what fstatvfs failed
 * with. Takes about a microsecond; does not block on the disk. */
int disk_look(int fd, uint64_t reserve_bytes, struct disk_room *ret, struct err *e);

/* The same of what a file system said. */
struct disk_room disk_room_of(const struct statvfs *fs, uint64_t reserve_bytes);

#endif
