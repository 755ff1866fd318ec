#include "spawn/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

enum {
    PAUSE_MIN_US = 5000,
    PAUSE_MAX_US = 50000,
    FRESH_US = 1000,        /* a look that recent is as good as another */
    BYTES_PER_US = 8 << 10, /* 8 GB/s: no group of writers is faster */
    US_PER_INODE = 1,
    ALARM_SHARE = 512, /* of the reserve: each time so much more is gone */
    OVER_SHARE = 64,   /* of what is left of the upper half */
    FAR_SHARE = 2,
    MARK_US = 500000, /* who has not been looked at for so long before may have grown much */
    FAR_LEAST = 64,   /* but so much of all that is free: who is told first may stop */
};

struct disk *reserve_join(struct reserve *r, int dir_fd)
{
    struct stat st;
    struct disk *free_one = NULL;
    if (r->bytes == 0 || fstat(dir_fd, &st))
        return NULL;
    for (size_t i = 0; i < RESERVE_DISKS_MAX; i++) {
        struct disk *d = &r->disks[i];
        if (d->jails > 0 && d->device == st.st_dev) {
            d->jails++;
            return d;
        }
        if (d->jails == 0)
            free_one = d;
    }
    if (!free_one)
        return NULL;
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return NULL;
    *free_one =
        (struct disk){.device = st.st_dev,
                      .jails = 1,
                      .fd = fd,
                      .full_us = CLOCK_NEVER,
                      .room = {.bytes = UINT64_MAX, .inodes = UINT64_MAX, .kept_bytes = r->bytes},
                      .alarmed_bytes = UINT64_MAX,
                      .alarmed_inodes = UINT64_MAX};
    return free_one;
}

void reserve_leave(struct disk *d)
{
    if (d && --d->jails == 0)
        (void)close(d->fd);
}

/* As long as it takes the fastest writer to come to the reserve. */
static int64_t pause_of(const struct disk *d)
{
    uint64_t us = d->room.bytes / BYTES_PER_US;
    if (us > d->room.inodes * US_PER_INODE)
        us = d->room.inodes * US_PER_INODE;
    return us > PAUSE_MAX_US ? PAUSE_MAX_US : us < PAUSE_MIN_US ? PAUSE_MIN_US : (int64_t)us;
}

static bool is_down_to_reserve(const struct disk *d)
{
    return d->room.bytes == 0 || d->room.inodes == 0;
}

/* Whether more than `step` is gone since the last time that this was so. */
static bool has_lost(uint64_t *before, uint64_t now, uint64_t step)
{
    bool is_less = now<*before && * before - now> step;
    if (is_less || now > *before)
        *before = now;
    return is_less;
}

static void alarm_if_less(struct disk *d)
{
    const struct disk_room *room = &d->room;
    if (!is_down_to_reserve(d)) {
        d->alarmed_bytes = d->alarmed_inodes = UINT64_MAX;
        return;
    }
    bool is_less = has_lost(&d->alarmed_bytes, room->free_bytes, room->kept_bytes / ALARM_SHARE);
    is_less |= has_lost(&d->alarmed_inodes, room->free_inodes, room->kept_inodes / ALARM_SHARE);
    d->alarms += is_less;
}

/* A disk that cannot be looked at keeps what it was: the next look may work. */
static void look(struct disk *d, int64_t now_us)
{
    struct err ignored = {0};
    (void)disk_look(d->fd, d->room.kept_bytes, &d->room, &ignored);
    d->looked_us = now_us;
    if (!is_down_to_reserve(d))
        d->full_us = CLOCK_NEVER;
    else if (d->full_us == CLOCK_NEVER)
        d->full_us = now_us;
    alarm_if_less(d);
}

int64_t reserve_look(struct reserve *r, int64_t now_us)
{
    int64_t next_us = CLOCK_NEVER;
    for (size_t i = 0; i < RESERVE_DISKS_MAX; i++) {
        struct disk *d = &r->disks[i];
        if (d->jails == 0)
            continue;
        if (d->looked_us + pause_of(d) <= now_us)
            look(d, now_us);
        int64_t due_us = d->looked_us + pause_of(d);
        if (due_us < next_us)
            next_us = due_us;
    }
    return next_us;
}

bool reserve_is_reached(struct disk *d)
{
    int64_t now_us = clock_us();
    if (now_us - d->looked_us > FRESH_US)
        look(d, now_us);
    return is_down_to_reserve(d);
}

bool reserve_mark_is_good(const struct disk *d, int64_t marked_us)
{
    return d->full_us == CLOCK_NEVER || marked_us >= d->full_us - MARK_US;
}

/* It has not written more into the reserve than is gone of it. */
static enum reserve_verdict judge(uint64_t mark, uint64_t now, uint64_t free, uint64_t kept)
{
    uint64_t gone = free < kept ? kept - free : 0;
    uint64_t grown = now > mark ? now - mark : 0;
    uint64_t left = free > kept / 2 ? free - kept / 2 : 0; /* of the upper half */
    uint64_t far = left / FAR_SHARE > free / FAR_LEAST ? left / FAR_SHARE : free / FAR_LEAST;
    if (grown > gone)
        grown = gone;
    return grown > far ? RESERVE_FAR_OVER : grown > left / OVER_SHARE ? RESERVE_OVER : RESERVE_FINE;
}

enum reserve_verdict reserve_judge(const struct disk *d, const struct usage_total *mark,
                                   const struct usage_total *now)
{
    const struct disk_room *r = &d->room;
    enum reserve_verdict of_bytes = RESERVE_FINE, of_inodes = RESERVE_FINE;
    if (r->bytes == 0)
        of_bytes = judge(mark->bytes, now->bytes, r->free_bytes, r->kept_bytes);
    if (r->inodes == 0)
        of_inodes = judge(mark->files, now->files, r->free_inodes, r->kept_inodes);
    return of_bytes > of_inodes ? of_bytes : of_inodes;
}
