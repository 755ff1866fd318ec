/* Appending: see packs.h for what is promised. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/packs_int.h"

/* ---- opening one ---- */

int sync_dir(struct packs *p, const char *path, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(p->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_sys(e, errno, "open a directory of packs");
    if (p->io->fsync(fd))
        return packs_fail(p, errno, "sync a directory of packs", e);
    return 0;
}

/* The names of a pack and of its vault reach the disk. Those that were found there too: who made them
 * may have been killed before. */
static int sync_names(struct lease *l, struct err *e)
{
    struct vault *v = l->vault;
    if (!atomic_load_explicit(&v->is_named, memory_order_acquire)) {
        if (sync_dir(l->packs, ".", e))
            return -1;
        atomic_store_explicit(&v->is_named, true, memory_order_release);
    }
    if (!l->pack.is_named && sync_dir(l->packs, v->name, e))
        return -1;
    l->pack.is_named = true;
    return 0;
}

static int fail_making(const char *what, struct err *e)
{
    int errnum = errno;
    err_sys(e, errnum, "%s", what);
    if (is_want_of_room(errnum))
        e->code = ERR_NO_SPACE;
    return -1;
}

static int make_pack(struct lease *l, struct err *e)
{
    struct packs *p = l->packs;
    char path[PACK_PATH_SIZE];
    pack_path(path, l->vault->name, l->pack.number);
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    l->fd = p->io->openat(p->dir_fd, path, flags, 0600);
    if (l->fd < 0 && errno == ENOENT) {
        if (p->io->mkdirat(p->dir_fd, l->vault->name, 0700) && errno != EEXIST)
            return fail_making("make a vault", e);
        l->fd = p->io->openat(p->dir_fd, path, flags, 0600);
    }
    if (l->fd < 0)
        return fail_making("make a pack", e);
    l->pack.is_made = true;
    return 0;
}

/* Where the records of a pack begin. */
struct places {
    uint64_t *offsets;
    size_t count;
};

static int note_place(void *arg, const struct chunk_row *row, struct err *e)
{
    struct places *all = arg;
    if (all->count == PACK_RECORDS_MAX)
        return err_set(e, ERR_LIMIT, "a pack of too many records");
    all->offsets[all->count++] = row->offset;
    return 0;
}

static int is_named_from(const struct lease *l, uint64_t offset, bool *ret, struct err *e)
{
    const struct packs_owner *owner = &l->packs->owner;
    *ret = false;
    return owner->named ? owner->named(owner->arg, l->vault->name, l->pack.number, offset, ret, e)
                        : 0;
}

/* Records at the end that nobody names were never acknowledged: a crash may have left their headers
 * without their payloads. They go, so that what is in a pack is what was written to it. */
static int drop_unnamed(struct lease *l, const struct places *all, struct pack_walked *walked,
                        struct err *e)
{
    size_t low = 0, high = all->count; /* from `high` on none is named */
    if (!l->packs->owner.named)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_named;
        if (is_named_from(l, all->offsets[middle], &is_named, e))
            return -1;
        if (is_named)
            low = middle + 1;
        else
            high = middle;
    }
    if (high < all->count)
        walked->end = all->offsets[high];
    walked->records = high;
    return 0;
}

/* What was found on the disk: cut behind its last whole record that somebody names. False: it is not to be
 * written to. */
static bool check_pack(struct lease *l)
{
    scoped(freep) uint64_t *offsets = malloc(PACK_RECORDS_MAX * sizeof *offsets);
    struct places all = {.offsets = offsets};
    struct packs *p = l->packs;
    struct pack_walked walked;
    struct stat st;
    struct err e = {0}; /* whatever it is, another pack does as well */
    if (!offsets || pack_walk_fd(l->fd, l->pack.number, note_place, &all, &walked, &e) ||
        fstat(l->fd, &st))
        return false;
    if (walked.is_sealed || walked.damaged > 0 || walked.end >= PACK_FULL ||
        walked.records >= PACK_RECORDS_MAX)
        return false;
    bool is_named;
    if (is_named_from(l, walked.end, &is_named, &e) || is_named ||
        drop_unnamed(l, &all, &walked, &e))
        return false;
    if ((uint64_t)st.st_size > walked.end && p->io->ftruncate(l->fd, (off_t)walked.end))
        return false;
    l->pack.end = walked.end;
    l->pack.records = walked.records;
    l->pack.is_known = true;
    return true;
}

/* 1: opened, 0: this one is not to be used. */
static int open_pack(struct lease *l, struct err *e)
{
    if (!l->pack.is_made)
        return make_pack(l, e) ? -1 : 1;
    char path[PACK_PATH_SIZE];
    pack_path(path, l->vault->name, l->pack.number);
    l->fd = l->packs->io->openat(l->packs->dir_fd, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (l->fd < 0 && errno == EMFILE)
        return err_sys(e, errno, "open a pack");
    return l->fd >= 0 && (l->pack.is_known || check_pack(l));
}

static int take_pack(struct lease *l, const char *vault, struct err *e)
{
    for (;;) {
        if (vault_take(l->packs, vault, &l->vault, &l->pack, e))
            return -1;
        int opened = open_pack(l, e);
        if (opened > 0)
            return 0;
        bool has_room = opened < 0 && l->pack.is_made && l->fd < 0;
        fd_closep(&l->fd);
        l->fd = -1;
        vault_give(l->packs, l->vault, &l->pack, has_room);
        if (opened < 0)
            return -1;
    }
}

int packs_lease(struct packs *p, const char *vault, struct lease **ret, struct err *e)
{
    if (vault_check_name(vault, e) || packs_check(p, e))
        return -1;
    struct lease *l = malloc(sizeof *l);
    if (!l)
        return err_set(e, ERR_NO_MEMORY, "lease a pack");
    *l = (struct lease){.packs = p, .fd = -1, .waiting = malloc(PACK_WRITE)};
    if (!l->waiting)
        err_set(e, ERR_NO_MEMORY, "lease a pack");
    if (!l->waiting || take_pack(l, vault, e)) {
        free(l->waiting);
        free(l);
        return -1;
    }
    l->written = l->synced = l->pack.end;
    l->synced_records = l->pack.records;
    *ret = l;
    return 0;
}

/* ---- appending ---- */

uint64_t lease_pack(const struct lease *l)
{
    return l->pack.number;
}

bool lease_is_full(const struct lease *l)
{
    return l->pack.end >= PACK_FULL || l->pack.records >= PACK_RECORDS_MAX;
}

int write_all(const struct pack_io *io, int fd, struct iovec *pieces, int count, uint64_t offset)
{
    while (count > 0) {
        if (pieces->iov_len == 0) {
            pieces++;
            count--;
            continue;
        }
        ssize_t n = io->pwritev(fd, pieces, count, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        offset += (uint64_t)n;
        for (size_t left = (size_t)n; left > 0;) {
            size_t step = left < pieces->iov_len ? left : pieces->iov_len;
            pieces->iov_base = (uint8_t *)pieces->iov_base + step;
            pieces->iov_len -= step;
            left -= step;
            if (pieces->iov_len == 0) {
                pieces++;
                count--;
            }
        }
    }
    return 0;
}

/* Writes what waits, and `more` behind it. */
static int write_out(struct lease *l, const uint8_t *more, size_t more_len, struct err *e)
{
    struct iovec pieces[2] = {{l->waiting, l->waiting_len}, {(void *)(uintptr_t)more, more_len}};
    size_t len = l->waiting_len + more_len;
    int errnum = write_all(l->packs->io, l->fd, pieces, 2, l->written);
    if (errnum) {
        l->is_failed = true;
        return packs_fail(l->packs, errnum, "write to a pack", e);
    }
    /* The disk begins now, so that little is left to wait for at the sync. */
    if (len >= PACK_WRITE / 2)
        (void)l->packs->io->sync_file_range(l->fd, (off_t)l->written, (off_t)len,
                                            SYNC_FILE_RANGE_WRITE);
    l->written += len;
    l->waiting_len = 0;
    return 0;
}

static int check_lease(struct lease *l, struct err *e)
{
    if (l->is_failed)
        return err_set(e, packs_is_stopped(l->packs) ? ERR_UNAVAILABLE : ERR_NO_SPACE,
                       "this could not be written before");
    return packs_check(l->packs, e);
}

int lease_append(struct lease *l, const struct record *r, const uint8_t *payload,
                 uint64_t *ret_offset, struct err *e)
{
    if (check_lease(l, e))
        return -1;
    if (l->waiting_len + RECORD_HEAD > PACK_WRITE && write_out(l, NULL, 0, e))
        return -1;
    record_encode(r, l->waiting + l->waiting_len);
    l->waiting_len += RECORD_HEAD;
    if (r->stored_len <= PACK_WRITE - l->waiting_len) {
        memcpy(l->waiting + l->waiting_len, payload, r->stored_len);
        l->waiting_len += r->stored_len;
    } else if (write_out(l, payload, r->stored_len, e)) {
        return -1;
    }
    *ret_offset = l->pack.end;
    l->pack.end += (uint64_t)RECORD_HEAD + r->stored_len;
    l->pack.records++;
    return 0;
}

int lease_sync(struct lease *l, struct err *e)
{
    if (check_lease(l, e))
        return -1;
    if (l->waiting_len > 0 && write_out(l, NULL, 0, e))
        return -1;
    if (l->synced == l->pack.end && l->pack.is_named)
        return 0;
    if (l->packs->io->fdatasync(l->fd)) {
        l->is_failed = true;
        return packs_fail(l->packs, errno, "sync a pack", e);
    }
    if (sync_names(l, e)) {
        l->is_failed = true;
        return -1;
    }
    l->synced = l->pack.end;
    l->synced_records = l->pack.records;
    return 0;
}

/* ---- the end ---- */

/* Nobody can have named what was never synced: it goes. True: the pack ends where it should, and is
 * fit for more. */
static bool take_back(struct lease *l)
{
    bool is_longer = l->is_failed || l->written != l->synced;
    l->waiting_len = 0;
    l->pack.end = l->written = l->synced;
    l->pack.records = l->synced_records;
    if (is_longer && l->packs->io->ftruncate(l->fd, (off_t)l->synced))
        return false;
    return !l->is_failed;
}

void lease_release(struct lease *l)
{
    if (!l)
        return;
    bool has_room = !packs_is_stopped(l->packs) && take_back(l);
    if (has_room && lease_is_full(l)) {
        lease_seal(l);
        has_room = false;
    }
    fd_closep(&l->fd);
    vault_give(l->packs, l->vault, &l->pack, has_room);
    free(l->waiting);
    free(l);
}
