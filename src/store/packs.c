#include "store/packs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "store/packs_int.h"

int packs_open(const struct packs_options *options, struct packs **ret, struct err *e)
{
    struct packs *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "open the packs");
    p->dir_fd = options->dir_fd;
    p->io = options->io ? options->io : &pack_io_real;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->loaded, NULL);
    *ret = p;
    return 0;
}

void packs_close(struct packs *p)
{
    if (!p)
        return;
    vaults_done(p);
    pthread_cond_destroy(&p->loaded);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void packs_set_owner(struct packs *p, const struct packs_owner *owner)
{
    p->owner = *owner;
}

/* ---- stopping ---- */

bool packs_is_named_from(struct packs *p, const char *vault, uint64_t pack, uint64_t offset)
{
    struct err ignored = {0};
    bool is_named = true;
    if (!p->owner.named)
        return true;
    return p->owner.named(p->owner.arg, vault, pack, offset, &is_named, &ignored) || is_named;
}

bool packs_is_stopped(struct packs *p)
{
    return atomic_load_explicit(&p->is_stopped, memory_order_acquire);
}

int packs_check(struct packs *p, struct err *e)
{
    if (!packs_is_stopped(p))
        return 0;
    return err_set(e, ERR_UNAVAILABLE,
                   "the store is read-only until the server is restarted: the disk has failed");
}

bool is_want_of_room(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

int packs_fail(struct packs *p, int errnum, const char *what, struct err *e)
{
    if (is_want_of_room(errnum))
        return err_set(e, ERR_NO_SPACE, "%s: the disk is full: make room on it", what);
    err_sys(e, errnum, "%s", what);
    e->code = ERR_UNAVAILABLE;
    bool was_stopped = atomic_exchange_explicit(&p->is_stopped, true, memory_order_acq_rel);
    if (!was_stopped && p->owner.on_stop)
        p->owner.on_stop(p->owner.arg, e->text);
    return -1;
}

/* ---- names ---- */

int vault_check_name(const char *vault, struct err *e)
{
    static const char fine[] = "0123456789abcdefghijklmnopqrstuvwxyz_-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t len = strspn(vault, fine);
    if (len == 0 || len >= ID_SIZE || vault[len])
        return err_set(e, ERR_INVALID, "this is no name of a vault");
    return 0;
}

void pack_path(char to[PACK_PATH_SIZE], const char *vault, uint64_t number)
{
    (void)snprintf(to, PACK_PATH_SIZE, "%s/%" PRIu64 ".pk", vault, number);
}

/* The number in "17.pk"; 0: it is something else. */
static uint64_t number_of(const char *name)
{
    char digits[24];
    size_t len = strspn(name, "0123456789");
    struct err e = {0};
    uint64_t number = 0;
    if (len == 0 || len >= sizeof digits || name[0] == '0' || strcmp(name + len, ".pk") != 0)
        return 0;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)len, name);
    return parse_u64(digits, 1, INT64_MAX, &number, &e) ? 0 : number;
}

/* ---- lists ---- */

static int compare_infos(const void *a, const void *b)
{
    const struct pack_info *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* The list with room for one more item; it is full when its count is a power of two, or 0. NULL: no
 * memory, and the list is as it was. */
static void *with_room(void *items, size_t count, size_t item_size)
{
    if (items && (count & (count - 1)))
        return items;
    return realloc(items, (count ? 2 * count : 1) * item_size);
}

static void info_of(uint64_t number, const struct stat *st, struct pack_info *ret)
{
    *ret = (struct pack_info){.number = number,
                              .len = (uint64_t)st->st_size,
                              .changed_us = (int64_t)st->st_mtim.tv_sec * 1000000 +
                                            st->st_mtim.tv_nsec / 1000};
}

int packs_look(struct packs *p, const char *vault, uint64_t pack, struct pack_info *ret,
               struct err *e)
{
    char path[PACK_PATH_SIZE];
    struct stat st;
    if (vault_check_name(vault, e))
        return -1;
    pack_path(path, vault, pack);
    if (fstatat(p->dir_fd, path, &st, AT_SYMLINK_NOFOLLOW))
        return err_sys(e, errno, "look at pack %" PRIu64, pack);
    info_of(pack, &st, ret);
    return 0;
}

static int read_packs(struct dir *d, struct pack_info **items, size_t *count, struct err *e)
{
    for (const struct dirent64 *entry; (entry = dir_next(d));) {
        uint64_t number = number_of(entry->d_name);
        struct stat st;
        if (number == 0 || fstatat(d->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode))
            continue;
        struct pack_info *list = with_room(*items, *count, sizeof *list);
        if (!list)
            return err_set(e, ERR_NO_MEMORY, "list packs");
        *items = list;
        info_of(number, &st, &list[(*count)++]);
    }
    return d->error ? err_sys(e, d->error, "list the packs of a vault") : 0;
}

int packs_list(struct packs *p, const char *vault, struct pack_info **ret, size_t *ret_count,
               struct err *e)
{
    if (vault_check_name(vault, e))
        return -1;
    scoped(freep) struct pack_info *items = NULL;
    size_t count = 0;
    int fd = openat(p->dir_fd, vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "open a vault");
    if (fd >= 0) {
        scoped(dir_done) struct dir d;
        dir_init(&d, fd);
        if (read_packs(&d, &items, &count, e))
            return -1;
    }
    if (count > 0)
        qsort(items, count, sizeof *items, compare_infos);
    *ret = take(items);
    *ret_count = count;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

int packs_vaults(struct packs *p, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e)
{
    int fd = openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "list vaults");
    scoped(dir_done) struct dir d;
    dir_init(&d, fd);
    scoped(freep) char(*items)[ID_SIZE] = NULL;
    size_t count = 0;
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        struct err no_vault = {0};
        if (vault_check_name(entry->d_name, &no_vault))
            continue;
        char(*list)[ID_SIZE] = with_room(items, count, sizeof *list);
        if (!list)
            return err_set(e, ERR_NO_MEMORY, "list vaults");
        items = list;
        (void)snprintf(list[count++], ID_SIZE, "%.*s", ID_SIZE - 1, entry->d_name);
    }
    if (d.error)
        return err_sys(e, d.error, "list vaults");
    if (count > 0)
        qsort(items, count, sizeof *items, compare_names);
    *ret = take(items);
    *ret_count = count;
    return 0;
}

/* ---- reading, removing ---- */

int pack_open_read(struct packs *p, const char *vault, uint64_t number, int *ret_fd, struct err *e)
{
    if (vault_check_name(vault, e))
        return -1;
    char path[PACK_PATH_SIZE];
    pack_path(path, vault, number);
    int fd = openat(p->dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_sys(e, errno, "open pack %" PRIu64, number);
    *ret_fd = fd;
    return 0;
}

int packs_read(struct packs *p, const char *vault, uint64_t pack, uint64_t offset, void *to,
               size_t len, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    if (pack_open_read(p, vault, pack, &fd, e))
        return -1;
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (uint8_t *)to + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_sys(e, errno, "read pack %" PRIu64, pack);
            e->code = ERR_DAMAGED;
            return -1;
        }
        if (n == 0)
            return err_set(e, ERR_DAMAGED, "pack %" PRIu64 " is too short", pack);
        done += (size_t)n;
    }
    return 0;
}

int packs_read_record(struct packs *p, const char *vault, const struct chunk_row *row,
                      struct ZSTD_DCtx_s **ctx, uint8_t *to, struct err *e)
{
    size_t len = RECORD_HEAD + (size_t)row->stored_len;
    scoped(freep) uint8_t *stored = malloc(len);
    if (!stored)
        return err_set(e, ERR_NO_MEMORY, "read a chunk");
    if (packs_read(p, vault, row->pack, row->offset, stored, len, e))
        return -1;
    struct record r;
    if (!record_decode(stored, &r) || r.kind != row->kind || r.stored_len != row->stored_len ||
        r.raw_len != row->raw_len)
        return err_set(e, ERR_DAMAGED, "pack %" PRIu64 " has no such record at %" PRIu64, row->pack,
                       row->offset);
    if (record_unpack(&r, stored + RECORD_HEAD, ctx, to, e))
        return err_wrap(e, "pack %" PRIu64 " at %" PRIu64, row->pack, row->offset);
    const uint8_t *found_by = r.kind == CHUNK_RECIPE ? to : r.sha256;
    if (memcmp(found_by, row->sha256, HASH_LEN) != 0)
        return err_set(e, ERR_DAMAGED, "pack %" PRIu64 " has something else at %" PRIu64, row->pack,
                       row->offset);
    return 0;
}

int packs_retire(struct packs *p, const char *vault, uint64_t pack, struct err *e)
{
    return vault_check_name(vault, e) || vault_forget(p, vault, pack, e) ? -1 : 0;
}

void packs_return(struct packs *p, const char *vault, uint64_t pack)
{
    struct pack_info info;
    struct err gone = {0};
    if (packs_look(p, vault, pack, &info, &gone) == 0 && info.len < PACK_FULL)
        vault_remember(p, vault, pack);
}

/* At the next start the highest number is the one found in the directory: before it goes, an empty pack
 * takes the next one. */
static int pass_number_on(struct packs *p, const char *vault, uint64_t pack, struct err *e)
{
    scoped(freep) struct pack_info *list = NULL;
    size_t count = 0;
    char path[PACK_PATH_SIZE];
    if (packs_list(p, vault, &list, &count, e))
        return -1;
    if (count > 0 && list[count - 1].number > pack)
        return 0;
    uint64_t next = vault_next(p, vault);
    pack_path(path, vault, next);
    scoped(fd_closep) int fd =
        p->io->openat(p->dir_fd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "make a pack");
    if (sync_dir(p, vault, e))
        return -1;
    vault_remember(p, vault, next);
    return 0;
}

int packs_remove(struct packs *p, const char *vault, uint64_t pack, struct err *e)
{
    struct pack_info info;
    if (packs_check(p, e) || packs_look(p, vault, pack, &info, e) ||
        packs_retire(p, vault, pack, e) || pass_number_on(p, vault, pack, e))
        return -1;
    char path[PACK_PATH_SIZE];
    pack_path(path, vault, pack);
    /* Should the name come back after a crash, then as a pack that no row names. */
    if (p->io->unlinkat(p->dir_fd, path, 0))
        return err_sys(e, errno, "remove pack %" PRIu64, pack);
    return 0;
}
