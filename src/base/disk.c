#include "base/disk.h"

#include <errno.h>

#include "base/err.h"

enum {
    BYTES_PER_INODE = 16 << 10,
    INODES_SHARE = 20, /* of all inodes, at most this part is kept in reserve */
};

static uint64_t above(uint64_t free, uint64_t reserve)
{
    return free > reserve ? free - reserve : 0;
}

struct disk_room disk_room_of(const struct statvfs *fs, uint64_t reserve_bytes)
{
    uint64_t inodes = reserve_bytes / BYTES_PER_INODE;
    if (inodes > fs->f_files / INODES_SHARE)
        inodes = fs->f_files / INODES_SHARE;
    struct disk_room room = {
        .free_bytes = (uint64_t)fs->f_bavail * fs->f_frsize,
        .free_inodes = fs->f_files > 0 ? fs->f_favail : UINT64_MAX,
        .kept_bytes = reserve_bytes,
        .kept_inodes = inodes,
    };
    room.bytes = above(room.free_bytes, reserve_bytes);
    room.inodes = fs->f_files > 0 ? above(room.free_inodes, inodes) : UINT64_MAX;
    room.is_full = room.free_bytes < reserve_bytes || room.free_inodes < inodes;
    return room;
}

int disk_look(int fd, uint64_t reserve_bytes, struct disk_room *ret, struct err *e)
{
    struct statvfs fs;
    int failed;
    do
        failed = fstatvfs(fd, &fs);
    while (failed && errno == EINTR);
    if (failed)
        return err_sys(e, errno, "look at the disk");
    *ret = disk_room_of(&fs, reserve_bytes);
    return 0;
}
