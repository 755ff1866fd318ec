/* clearing.c -- room on the disk of DATA when the server starts: what can be made anew goes, and of
 * the rest it is said what may go, and what that costs. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/footprint.h"
#include "base/scope.h"
#include "base/tree.h"
#include "daemon/serve_int.h"
#include "store/ballast.h"
#include "store/store.h"

/* In the order in which one would part with them. */
static const struct {
    const char *name, *costs;
} parts[] = {
    {"images",
     "nothing; but sleepers/images has links to the image and to what sessions asleep need, and what is "
     "linked there comes free only with sleepers"},
    {"search.db",
     "nothing that lasts: the index of words is made again, and until then search finds "
     "little; remove search.db-wal and search.db-shm with it"},
    {"uploads", "uploads in pieces that were begun: they have to be sent again"},
    {"sleepers", "the variables of all sessions asleep; their files stay"},
    {"live", "what sessions have written and could not be kept, as their runs say (not_saved)"},
};

static uint64_t reserve_of(const struct server *s)
{
    return (uint64_t)s->config->store.reserve_mb << 20;
}

static bool is_short(const struct server *s, struct disk_room *ret)
{
    struct err ignored = {0}; /* a disk that does not say is not full */
    return disk_look(s->data.fd, reserve_of(s), ret, &ignored) == 0 &&
           (ret->is_full || ret->free_bytes == 0 || ret->free_inodes == 0);
}

void clearing_sweep(void *server)
{
    const struct server *s = server;
    struct disk_room room;
    struct err ignored = {0}; /* what stays is tried again at the next start */
    data_sweep(&s->data);
    if (!is_short(s, &room))
        return;
    scoped(fd_closep) int fd = below_open_dir(s->data.fd, "checkouts");
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
}

void clearing_give(struct server *s)
{
    enum { INODES = 8, BYTES = 1 << 20 };
    struct disk_room room;
    struct err ignored = {0};
    if (disk_look(s->data.fd, /* reserve_bytes= */ 0, &room, &ignored) == 0 &&
        (room.free_inodes < INODES || room.free_bytes < BYTES))
        (void)ballast_give(store_ballast(s->store));
}

/* ---- what may go ---- */

static uint64_t weight_of(const struct server *s, const char *name)
{
    scoped(footprint_done) struct footprint f = {0};
    struct err ignored = {0};
    struct stat st;
    uint64_t bytes = 0;
    if (fstatat(s->data.fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return 0;
    scoped(fd_closep) int fd = S_ISDIR(st.st_mode) ? below_open_dir(s->data.fd, name) : -1;
    if (fd < 0 || footprint_add(&f, fd, &bytes, &ignored))
        return (uint64_t)st.st_blocks * 512;
    return bytes;
}

void clearing_tell(struct server *s)
{
    struct disk_room room;
    if (!is_short(s, &room))
        return;
    log_line(&s->log, LOG_WARNING, "the disk of the data directory is full",
             LOG_U64("free_bytes", room.free_bytes), LOG_U64("free_inodes", room.free_inodes),
             LOG_U64("reserve_bytes", reserve_of(s)),
             LOG_STR("todo", "delete and purge files or close sessions, then `cicada gc --now`; or "
                             "make room on that disk; or stop the server and remove one of these"));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t bytes = weight_of(s, parts[i].name);
        if (bytes > 0)
            log_line(&s->log, LOG_WARNING, "may be removed while no server runs",
                     LOG_STR("what", parts[i].name), LOG_U64("bytes", bytes),
                     LOG_STR("costs", parts[i].costs));
    }
}
