#include "workspace/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "store/ballast.h"
#include "store/contents.h"
#include "store/meta_files.h"
#include "store/packs.h"

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    STEP_US = 1000000,
    GC_EVERY_S = 6 * 3600,
    GC_FIRST_S = 600,          /* after the start */
    SCRUB_EVERY_S = 24 * 3600, /* from the end of a round to the next */
    MEASURE_EVERY_S = 300,
};

struct upkeep {
    struct upkeep_options o;
    struct scrub *scrub; /* the thread's own */
    atomic_bool stops;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* protects what is below */
    pthread_cond_t wake;
    bool is_busy; /* a gc or a backup goes on */
    struct scrub_state scrubbed;
    struct gc_result last_gc;
    uint64_t swept, bytes_freed;
    int64_t gc_at_us, backup_at_us;
    uint64_t places[PLACE_COUNT];
    int64_t measured_at_us, measured_us; /* wall clock; monotonic */

    pthread_mutex_t measuring; /* held by who measures; taken before the other */
};

/* ---- one at a time ---- */

static int begin(struct upkeep *u, struct err *e)
{
    pthread_mutex_lock(&u->lock);
    bool was_busy = u->is_busy;
    u->is_busy = true;
    pthread_mutex_unlock(&u->lock);
    return was_busy ? err_set(e, ERR_BUSY, "the store is being tidied or backed up already") : 0;
}

static void end(struct upkeep *u)
{
    pthread_mutex_lock(&u->lock);
    u->is_busy = false;
    pthread_mutex_unlock(&u->lock);
}

/* What a round finds for the first time only the next one may remove: who does not want to wait for it
 * gets two. */
static int collect_twice(struct gc_options *o, struct gc_result *ret, struct err *e)
{
    struct gc_result first;
    if (gc_run(o, &first, e)) {
        *ret = first;
        return -1;
    }
    int64_t now_us = clock_wall_us();
    o->now_us = now_us > o->now_us ? now_us : o->now_us + 1;
    int failed = gc_run(o, ret, e);
    ret->swept += first.swept;
    ret->packs_removed += first.packs_removed;
    ret->packs_copied += first.packs_copied;
    ret->bytes_freed += first.bytes_freed;
    return failed;
}

int upkeep_gc(struct upkeep *u, bool is_now, struct gc_result *ret, struct err *e)
{
    struct gc_options options = {
        .contents = u->o.contents,
        .grace_us = is_now ? 0 : (int64_t)GC_GRACE_S * 1000000,
        .settle_us = is_now ? 0 : (int64_t)GC_SETTLE_S * 1000000,
        .now_us = clock_wall_us(),
        .ballast = u->o.ballast,
        .stops = &u->stops,
    };
    struct disk_room room;
    struct err ignored = {0}; /* a disk that does not say is not full */
    if (begin(u, e))
        return -1;
    bool is_full =
        disk_look(u->o.data_fd, u->o.reserve_bytes, &room, &ignored) == 0 && room.is_full;
    options.is_thorough = is_now || is_full;
    int failed = is_now ? collect_twice(&options, ret, e) : gc_run(&options, ret, e);
    pthread_mutex_lock(&u->lock);
    u->last_gc = *ret;
    u->swept += ret->swept;
    u->bytes_freed += ret->bytes_freed;
    u->gc_at_us = options.now_us;
    pthread_mutex_unlock(&u->lock);
    end(u);
    return failed;
}

static int back_up(struct upkeep *u, struct backup_result *ret, struct err *e)
{
    scoped(fd_closep) int from = openat(u->o.data_fd, "packs", OPEN_DIR);
    scoped(fd_closep) int to = -1;
    bool is_same_disk;
    if (from < 0)
        return err_sys(e, errno, "open the packs");
    if (backup_open(u->o.backup_dir, u->o.data_fd, &to, &is_same_disk, e))
        return -1;
    if (backup_run(u->o.meta, u->o.packs, from, to, ret, e))
        return err_wrap(e, "back up to %.200s", u->o.backup_dir);
    return 0;
}

/* What would only be found out when a backup is wanted, or needed. */
static void check_backups(const struct upkeep *u)
{
    scoped(fd_closep) int to = -1;
    bool is_same_disk = false;
    struct err e = {0};
    if (!u->o.backup_dir)
        return;
    if (backup_open(u->o.backup_dir, u->o.data_fd, &to, &is_same_disk, &e))
        log_line(u->o.log, LOG_WARNING, "backups cannot be made", LOG_STR("why", e.text));
    else if (is_same_disk)
        log_line(u->o.log, LOG_WARNING,
                 "backups are on the disk of the data directory, and lost with it",
                 LOG_STR("dir", u->o.backup_dir));
}

int upkeep_backup(struct upkeep *u, struct backup_result *ret, struct err *e)
{
    if (!u->o.backup_dir)
        return err_set(e, ERR_CONFLICT,
                       "no directory for backups is configured: set backup_dir in "
                       "[store] and start the server again");
    if (begin(u, e))
        return -1;
    int failed = back_up(u, ret, e);
    if (failed) {
        log_line(u->o.log, LOG_ERROR, "a backup failed", LOG_STR("why", e->text));
    } else {
        pthread_mutex_lock(&u->lock);
        u->backup_at_us = clock_wall_us();
        pthread_mutex_unlock(&u->lock);
    }
    end(u);
    return failed;
}

int upkeep_measure(struct upkeep *u, int64_t age_us, struct err *e)
{
    uint64_t places[PLACE_COUNT];
    int failed = 0;
    pthread_mutex_lock(&u->measuring);
    pthread_mutex_lock(&u->lock);
    bool is_known = u->measured_at_us && clock_us() - u->measured_us < age_us;
    pthread_mutex_unlock(&u->lock);
    if (!is_known)
        failed = places_measure(u->o.data_fd, u->o.images_path, &u->stops, places, e);
    if (!is_known && !failed) {
        pthread_mutex_lock(&u->lock);
        memcpy(u->places, places, sizeof places);
        u->measured_at_us = clock_wall_us();
        u->measured_us = clock_us();
        pthread_mutex_unlock(&u->lock);
    }
    pthread_mutex_unlock(&u->measuring);
    return failed;
}

/* ---- the thread ---- */

static void on_damage(void *arg, const char *what)
{
    const struct upkeep *u = arg;
    log_line(u->o.log, LOG_ERROR, "the disk has damaged a pack", LOG_STR("what", what));
}

static void scrub(struct upkeep *u)
{
    struct err e = {0};
    struct scrub_state state;
    int64_t now_us = clock_wall_us();
    scrub_look(u->scrub, &state);
    if (u->o.scrub_bytes_s == 0 ||
        (state.rounds > 0 && now_us - state.round_at_us < (int64_t)SCRUB_EVERY_S * 1000000))
        return;
    if (scrub_step(u->scrub, u->o.scrub_bytes_s, now_us, on_damage, u, &e))
        log_line(u->o.log, LOG_WARNING, "scrub", LOG_STR("why", e.text));
    scrub_look(u->scrub, &state);
    pthread_mutex_lock(&u->lock);
    u->scrubbed = state;
    pthread_mutex_unlock(&u->lock);
}

static void collect(struct upkeep *u)
{
    struct err e = {0};
    struct gc_result result;
    if (upkeep_gc(u, /* is_now= */ false, &result, &e)) {
        if (e.code != ERR_BUSY)
            log_line(u->o.log, LOG_WARNING, "gc", LOG_STR("why", e.text));
        return;
    }
    log_line(u->o.log, LOG_INFO, "gc", LOG_U64("swept", result.swept),
             LOG_U64("packs", result.packs_removed), LOG_U64("bytes", result.bytes_freed));
}

static bool nap(struct upkeep *u, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    pthread_mutex_lock(&u->lock);
    if (!u->stops)
        (void)pthread_cond_timedwait(&u->wake, &u->lock, &until);
    pthread_mutex_unlock(&u->lock);
    return !u->stops;
}

static void *keep_up(void *arg)
{
    struct upkeep *u = arg;
    int64_t gc_us = clock_us() + (int64_t)GC_FIRST_S * 1000000;
    while (nap(u, clock_us() + STEP_US)) {
        struct err ignored = {0}; /* the figures stay as they were */
        ballast_tend(u->o.ballast);
        scrub(u);
        (void)upkeep_measure(u, (int64_t)MEASURE_EVERY_S * 1000000, &ignored);
        if (clock_us() >= gc_us) {
            collect(u);
            gc_us = clock_us() + (int64_t)GC_EVERY_S * 1000000;
        }
    }
    return NULL;
}

int upkeep_open(const struct upkeep_options *options, struct upkeep **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct upkeep *u = calloc(1, sizeof *u);
    if (!u)
        return err_set(e, ERR_NO_MEMORY, "keep the store up");
    u->o = *options;
    (void)pthread_mutex_init(&u->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_mutex_init(&u->measuring, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&u->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (scrub_new(u->o.packs, &u->scrub, e)) {
        upkeep_close(u);
        return -1;
    }
    int why = pthread_create(&u->thread, NULL, keep_up, u);
    if (why) {
        upkeep_close(u);
        return err_sys(e, why, "keep the store up");
    }
    u->has_thread = true;
    check_backups(u);
    *ret = u;
    return 0;
}

void upkeep_stop(struct upkeep *u)
{
    pthread_mutex_lock(&u->lock);
    atomic_store(&u->stops, true);
    pthread_cond_broadcast(&u->wake);
    pthread_mutex_unlock(&u->lock);
}

void upkeep_close(struct upkeep *u)
{
    if (!u)
        return;
    upkeep_stop(u);
    if (u->has_thread)
        (void)pthread_join(u->thread, NULL);
    scrub_free(u->scrub);
    (void)pthread_cond_destroy(&u->wake);
    (void)pthread_mutex_destroy(&u->measuring);
    (void)pthread_mutex_destroy(&u->lock);
    free(u);
}

/* ---- figures ---- */

static int count_packs(struct upkeep *u, struct upkeep_stats *ret, struct err *e)
{
    scoped(freep) char(*vaults)[ID_SIZE] = NULL;
    size_t count = 0;
    if (packs_vaults(u->o.packs, &vaults, &count, e))
        return -1;
    ret->vaults = count;
    for (size_t i = 0; i < count; i++) {
        scoped(freep) struct pack_info *packs = NULL;
        size_t pack_count = 0;
        if (packs_list(u->o.packs, vaults[i], &packs, &pack_count, e))
            return -1;
        ret->packs += pack_count;
        for (size_t k = 0; k < pack_count; k++)
            ret->pack_bytes += packs[k].len;
    }
    return 0;
}

static int count_workspaces(struct upkeep *u, struct upkeep_stats *ret, struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    for (bool has_more = true; has_more;) {
        struct workspace_rows rows;
        const struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        if (meta_workspace_list(u->o.meta, /* owner= */ NULL, WORKSPACE_ANY, &page, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count; i++) {
            ret->workspaces++;
            ret->files += rows.items[i].files;
            ret->bytes += rows.items[i].bytes;
            ret->kept_bytes += rows.items[i].kept_bytes;
        }
        has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        workspace_rows_done(&rows);
    }
    return 0;
}

int upkeep_look(struct upkeep *u, struct upkeep_stats *ret, struct err *e)
{
    struct upkeep_stats stats = {0};
    struct disk_room room;
    if (count_packs(u, &stats, e) || count_workspaces(u, &stats, e))
        return -1;
    struct err ignored = {0};
    if (disk_look(u->o.data_fd, u->o.reserve_bytes, &room, &ignored) == 0) {
        stats.disk_free = room.free_bytes;
        stats.inodes_free = room.free_inodes;
        stats.is_full = room.is_full;
    }
    stats.ballast_bytes = ballast_bytes(u->o.ballast);
    stats.is_stopped = contents_is_stopped(u->o.contents);
    pthread_mutex_lock(&u->lock);
    stats.scrub = u->scrubbed;
    stats.last_gc = u->last_gc;
    stats.swept = u->swept;
    stats.bytes_freed = u->bytes_freed;
    stats.gc_at_us = u->gc_at_us;
    stats.backup_at_us = u->backup_at_us;
    memcpy(stats.places, u->places, sizeof stats.places);
    stats.measured_at_us = u->measured_at_us;
    pthread_mutex_unlock(&u->lock);
    *ret = stats;
    return 0;
}
