/* desk_undo_file.c -- what runs changed, as it was before, on disk: so that a rollback brings files back after
 * the session has slept, and after the server has ended.
 *
 *     DATA/live/SES/undo/before     what was changed since the last run that can be undone
 *     DATA/live/SES/undo/7.12       what run number 12 changed; 7 counts up: the order they were kept in
 *
 * Such a file names contents, which the store keeps; it holds none:
 *
 *      offset  bytes
 *           0      8   "CICAUND1"
 *           8      4   how many paths
 *          12      4   zero
 *          16          for each path: u64 size, 32 bytes SHA-256, i64 changed (wall clock, microseconds),
 *                      u64 revision at which the workspace had that there, or 0; u16 flags: 1 it was
 *                      there; u16 length of the path, and the path
 *          end    32   SHA-256 of all of the above
 *
 * Numbers are little-endian. `before` is written in front of the commit that changes those paths, and gets
 * its number when the run is over; both are one rename. They are synced when the session rests. What
 * cannot be written costs no more than that the files of that run stay as they are when it is undone after
 * a sleep: that is logged. A file that is not what it should be is removed, and logged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/desk_int.h"
#include "service/service_int.h"

enum {
    HEAD = 16,
    PATH_HEAD = 8 + HASH_LEN + 8 + 8 + 2 + 2,
    FILE_MAX = 64 << 20,
    NAME_SIZE = 48,
    FLAG_WAS_THERE = 1,
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
};

static const char magic[8] = {'C', 'I', 'C', 'A', 'U', 'N', 'D', '1'};
static const char dir_name[] = "undo", before_name[] = "before", draft_name[] = "draft";

static void warn(const struct desk *d, const char *what, const char *why)
{
    log_line(d->service->o.log, LOG_WARNING, what, LOG_STR("session", d->session),
             LOG_STR("why", why));
}

static void number_name(const struct undone *u, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, "%llu.%llu", (unsigned long long)u->place,
                   (unsigned long long)u->run);
}

static int open_undo_dir(const struct desk *d)
{
    return openat(d->dir_fd, dir_name, OPEN_DIR);
}

/* ---- writing ---- */

static int put_undone(const struct undone *u, struct buf *out, struct err *e)
{
    uint8_t head[HEAD] = {0}, digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    memcpy(head, magic, sizeof magic);
    put_u32(head + 8, (uint32_t)u->count);
    buf_add(out, head, sizeof head);
    for (size_t i = 0; i < u->count; i++) {
        const struct undone_path *p = &u->paths[i];
        uint8_t one[PATH_HEAD];
        size_t len = strlen(p->path);
        if (len > UINT16_MAX)
            return err_set(e, ERR_LIMIT, "a path is too long");
        put_u64(one, p->content.size);
        memcpy(one + 8, p->content.sha256, HASH_LEN);
        put_u64(one + 8 + HASH_LEN, (uint64_t)p->changed_us);
        put_u64(one + 16 + HASH_LEN, p->rev);
        put_u16(one + 24 + HASH_LEN, p->was_there ? FLAG_WAS_THERE : 0);
        put_u16(one + 26 + HASH_LEN, (uint16_t)len);
        buf_add(out, one, sizeof one);
        buf_add(out, p->path, len);
    }
    if (buf_check(out, e) || hash_init(&h, e) || hash_add(&h, out->bytes, out->len, e) ||
        hash_end(&h, digest, e))
        return -1;
    buf_add(out, digest, sizeof digest);
    return buf_check(out, e);
}

static int write_before(struct desk *d, struct err *e)
{
    scoped(buf_done) struct buf bytes = BUF_INIT(FILE_MAX);
    if (put_undone(&d->before, &bytes, e))
        return -1;
    if (mkdirat(d->dir_fd, dir_name, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make a directory");
    scoped(fd_closep) int dir_fd = open_undo_dir(d);
    scoped(fd_closep) int fd =
        dir_fd < 0 ? -1
                   : openat(dir_fd, draft_name,
                            O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "make a file");
    if (fd_write_all(fd, bytes.bytes, bytes.len, e))
        return -1;
    return renameat(dir_fd, draft_name, dir_fd, before_name) ? err_sys(e, errno, "name a file") : 0;
}

void desk_save_before(struct desk *d)
{
    struct err e = {0};
    if (d->undo_max == 0 || d->before.count == d->before_saved)
        return;
    if (write_before(d, &e))
        warn(d, "what a run changed is not kept for rollback", e.text);
    else
        d->before_saved = d->before.count;
}

void desk_number_before(struct desk *d, uint64_t run)
{
    char name[NAME_SIZE];
    desk_save_before(d);
    d->before.run = run;
    if (d->before_saved == 0)
        return;
    scoped(fd_closep) int dir_fd = open_undo_dir(d);
    d->before.place = ++d->undo_places;
    number_name(&d->before, name);
    if (dir_fd < 0 || renameat(dir_fd, before_name, dir_fd, name)) {
        warn(d, "what a run changed is not kept for rollback", strerror(errno));
        d->before.place = 0;
    }
    d->before_saved = 0;
}

void desk_drop_undone(struct desk *d, struct undone *u)
{
    char name[NAME_SIZE];
    scoped(fd_closep) int dir_fd = u->place ? open_undo_dir(d) : -1;
    number_name(u, name);
    if (dir_fd >= 0)
        (void)unlinkat(dir_fd, name, 0); /* or its number says that it is too old */
    undone_done(u);
    *u = (struct undone){0};
}

void desk_drop_before(struct desk *d)
{
    scoped(fd_closep) int dir_fd = d->before_saved ? open_undo_dir(d) : -1;
    if (dir_fd >= 0)
        (void)unlinkat(dir_fd, before_name, 0);
    undone_done(&d->before);
    d->before = (struct undone){0};
    d->before_saved = 0;
}

void desk_sync_undo(struct desk *d)
{
    struct dir dir;
    int fd = below_open_dir(d->dir_fd, dir_name);
    if (fd < 0)
        return; /* nothing was changed yet */
    dir_init(&dir, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&dir));) {
        scoped(fd_closep) int one = below_open(fd, entry->d_name, O_RDONLY);
        if (one < 0 || fdatasync(one))
            warn(d, "what a run changed may not survive a power cut", strerror(errno));
    }
    if (fsync(fd))
        warn(d, "what a run changed may not survive a power cut", strerror(errno));
    dir_done(&dir);
}

/* ---- reading ---- */

static bool is_whole(const uint8_t *bytes, size_t len)
{
    uint8_t digest[HASH_LEN];
    struct err ignored = {0};
    scoped(hash_done) struct hash h = {0};
    return len >= HEAD + HASH_LEN && memcmp(bytes, magic, sizeof magic) == 0 &&
           hash_init(&h, &ignored) == 0 && hash_add(&h, bytes, len - HASH_LEN, &ignored) == 0 &&
           hash_end(&h, digest, &ignored) == 0 &&
           memcmp(digest, bytes + len - HASH_LEN, HASH_LEN) == 0;
}

/* True with all of it; what is wrong in a file that is whole was written so. */
static bool get_undone(const uint8_t *bytes, size_t len, struct undone *ret)
{
    struct undone u = {0};
    if (!is_whole(bytes, len))
        return false;
    size_t count = get_u32(bytes + 8);
    const uint8_t *at = bytes + HEAD, *end = bytes + len - HASH_LEN;
    if (count > len / PATH_HEAD || !(u.paths = calloc(count + 1, sizeof *u.paths)))
        return false;
    while (u.count < count && (size_t)(end - at) >= PATH_HEAD) {
        struct undone_path *p = &u.paths[u.count];
        size_t path_len = get_u16(at + 26 + HASH_LEN);
        if ((size_t)(end - at) - PATH_HEAD < path_len)
            break;
        p->content.size = get_u64(at);
        memcpy(p->content.sha256, at + 8, HASH_LEN);
        p->changed_us = (int64_t)get_u64(at + 8 + HASH_LEN);
        p->rev = get_u64(at + 16 + HASH_LEN);
        p->was_there = get_u16(at + 24 + HASH_LEN) & FLAG_WAS_THERE;
        p->path = strndup((const char *)at + PATH_HEAD, path_len);
        if (!p->path)
            break;
        at += PATH_HEAD + path_len;
        u.count++;
    }
    if (u.count == count && at == end) {
        *ret = u;
        return true;
    }
    undone_done(&u);
    return false;
}

static bool read_undone(int dir_fd, const char *name, struct undone *ret)
{
    struct stat st;
    struct err ignored = {0};
    size_t len = 0;
    scoped(fd_closep) int fd = below_open(dir_fd, name, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return false;
    scoped(freep) uint8_t *bytes = malloc((size_t)st.st_size + 1);
    return bytes && fd_read_all(fd, bytes, (size_t)st.st_size, &len, &ignored) == 0 &&
           get_undone(bytes, len, ret);
}

static bool read_number(const char **at, uint64_t *ret)
{
    size_t digits = strspn(*at, "0123456789");
    *ret = 0;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret * 10 + (uint64_t)((*at)[i] - '0');
    *at += digits;
    return digits > 0 && digits <= 18;
}

/* "7.12". */
static bool is_numbered(const char *name, uint64_t *ret_place, uint64_t *ret_run)
{
    return read_number(&name, ret_place) && *name++ == '.' && read_number(&name, ret_run) &&
           !*name && *ret_place > 0;
}

/* In the order they were kept in; of more than there may be the oldest go. */
static void insert(struct desk *d, struct undone *u)
{
    size_t at = d->undo_count;
    while (at > 0 && d->undo[at - 1].place > u->place)
        at--;
    if (d->undo_count > d->undo_max) {
        if (at == 0) {
            desk_drop_undone(d, u);
            return;
        }
        desk_drop_undone(d, &d->undo[0]);
        memmove(d->undo, d->undo + 1, --d->undo_count * sizeof *d->undo);
        at--;
    }
    memmove(d->undo + at + 1, d->undo + at, (d->undo_count - at) * sizeof *d->undo);
    d->undo[at] = *u;
    d->undo_count++;
}

static void load_one(struct desk *d, int dir_fd, const char *name)
{
    struct undone u = {0};
    bool is_before = strcmp(name, before_name) == 0;
    uint64_t place = 0, run = 0;
    if ((!is_before && !is_numbered(name, &place, &run)) || !read_undone(dir_fd, name, &u)) {
        if (strcmp(name, draft_name) != 0)
            warn(d, "a list of what a run changed is damaged; its files cannot be rolled back",
                 name);
        (void)unlinkat(dir_fd, name, 0);
        return;
    }
    u.place = place;
    u.run = run;
    if (place > d->undo_places)
        d->undo_places = place;
    if (is_before) {
        d->before = u;
        d->before_saved = u.count;
    } else {
        insert(d, &u);
    }
}

static void load_all(struct desk *d)
{
    struct dir dir;
    int fd = d->undo_max > 0 ? below_open_dir(d->dir_fd, dir_name) : -ENOENT;
    if (fd < 0)
        return;
    if (!d->undo && !(d->undo = calloc(d->undo_max + 2, sizeof *d->undo))) {
        warn(d, "what earlier runs changed cannot be rolled back", "out of memory");
        (void)close(fd);
        return;
    }
    dir_init(&dir, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&dir));)
        load_one(d, fd, entry->d_name);
    dir_done(&dir);
}

static void bound_runs(struct desk *d, uint64_t runs)
{
    while (runs == 0 && d->undo_count > 0)
        desk_drop_undone(d, &d->undo[--d->undo_count]);
    if (runs == 0)
        desk_drop_before(d);
    scoped(fd_closep) int dir_fd = open_undo_dir(d);
    for (size_t i = 0; i < d->undo_count; i++) {
        char name[NAME_SIZE], renamed[NAME_SIZE];
        if (d->undo[i].run <= runs)
            continue;
        number_name(&d->undo[i], name);
        d->undo[i].run = runs;
        number_name(&d->undo[i], renamed);
        if (dir_fd >= 0)
            (void)renameat(dir_fd, name, dir_fd, renamed); /* or that is found out again */
    }
}

void desk_hold(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
}

void desk_load_undo(struct desk *d, uint64_t runs)
{
    load_all(d);
    bound_runs(d, runs);
}

void desk_release(struct desk *d)
{
    pthread_mutex_unlock(&d->lock);
}
