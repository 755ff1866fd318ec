#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/ballast.h"
#include "store/contents.h"
#include "store/db.h"
#include "store/meta_int.h"
#include "store/packs.h"

struct store {
    int lock_fd;
    struct ballast *ballast;
    struct meta meta;
    int packs_fd;
    struct packs *packs;
    struct contents *contents;
    void (*on_stop)(void *arg, const char *why);
    void (*on_lost)(void *arg, const char *why);
    void (*on_commit)(void *arg);
    void *arg;
    _Atomic bool has_told; /* that it has stopped: rows and packs may both fail */
};

static void tell_stop(void *arg, const char *why)
{
    struct store *s = arg;
    bool has_told = atomic_exchange_explicit(&s->has_told, true, memory_order_acq_rel);
    if (!has_told && s->on_stop)
        s->on_stop(s->arg, why);
}

static void tell_lost(void *arg, const char *why)
{
    struct store *s = arg;
    if (s->on_lost)
        s->on_lost(s->arg, why);
}

static bool make_room(void *arg)
{
    const struct store *s = arg;
    return ballast_give(s->ballast);
}

static void tell_commit(void *arg)
{
    struct store *s = arg;
    if (s->on_commit)
        s->on_commit(s->arg);
}

/* Who has the lock: what they wrote into the file, or nothing. */
static int fail_locked(int fd, struct err *e)
{
    char who[32] = "";
    ssize_t len = pread(fd, who, sizeof who - 1, 0);
    who[len > 0 ? strspn(who, "0123456789") : 0] = '\0';
    return err_set(e, ERR_CONFLICT,
                   "another server%s%s uses this data directory: stop it, or choose another "
                   "directory with --data",
                   *who ? ", process " : "", who);
}

static int lock_data(int dir_fd, int *ret_fd, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "open the lock of the data directory");
    if (flock(fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? fail_locked(fd, e)
                                    : err_sys(e, errno, "lock the data directory");
    char who[32];
    int len = snprintf(who, sizeof who, "%ld\n", (long)getpid());
    /* The name is for people; without it the lock is just as good. */
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, who, (size_t)len, 0);
    *ret_fd = take_fd(&fd);
    return 0;
}

static int open_dir(const char *path, bool is_check, int *ret_fd, struct err *e)
{
    if (!is_check && mkdir(path, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the data directory");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "open the data directory");
    *ret_fd = fd;
    return 0;
}

static int open_db(struct store *s, const struct store_options *o, struct err *e)
{
    const struct db_options db = {
        .dir = o->dir,
        .is_check = o->is_check,
        .migrations = meta_migrations,
        .migration_count = meta_migration_count,
        .on_stop = tell_stop,
        .on_lost = tell_lost,
        .on_commit = tell_commit,
        .make_room = make_room,
        .has_log_room = o->ballast_bytes > 0,
        .arg = s,
    };
    if (db_open(&db, &s->meta.db, e) == 0)
        return 0;
    if (e->code != ERR_NO_SPACE || !(make_room(s) || db_give_log_room(o->dir)))
        return -1;
    *e = (struct err){0};
    return db_open(&db, &s->meta.db, e);
}

static int open_packs(struct store *s, int dir_fd, bool is_check, struct err *e)
{
    if (!is_check && mkdirat(dir_fd, "packs", 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the directory of packs");
    s->packs_fd = openat(dir_fd, "packs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (s->packs_fd < 0)
        return err_sys(e, errno, "open the directory of packs");
    /* Also when it was there: who made it may have been killed before its name was on the disk. */
    if (fsync(dir_fd))
        return err_sys(e, errno, "sync the data directory");
    const struct packs_options packs = {.dir_fd = s->packs_fd};
    return packs_open(&packs, &s->packs, e);
}

static int open_contents(struct store *s, struct err *e)
{
    const struct contents_options contents = {
        .packs = s->packs, .meta = &s->meta, .on_stop = tell_stop, .arg = s};
    return contents_open(&contents, &s->contents, e);
}

static int open_ballast(struct store *s, const struct store_options *o, int dir_fd, struct err *e)
{
    const struct ballast_options ballast = {
        .data_fd = dir_fd, .bytes = o->ballast_bytes, .leave_bytes = o->ballast_leave_bytes};
    return o->is_check || o->is_packs_alone ? 0 : ballast_open(&ballast, &s->ballast, e);
}

static int open_all(struct store *s, const struct store_options *o, int dir_fd, struct err *e)
{
    if (lock_data(dir_fd, &s->lock_fd, e))
        return -1;
    if (o->on_locked)
        o->on_locked(o->arg);
    if (open_ballast(s, o, dir_fd, e) || open_packs(s, dir_fd, o->is_check, e))
        return -1;
    if (o->is_packs_alone)
        return 0;
    if (open_db(s, o, e) || open_contents(s, e))
        return -1;
    ballast_tend(s->ballast);
    return 0;
}

int store_open(const struct store_options *options, struct store **ret, struct err *e)
{
    scoped(fd_closep) int dir_fd = -1;
    if (open_dir(options->dir, options->is_check, &dir_fd, e))
        return -1;
    struct store *s = malloc(sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "open the store");
    *s = (struct store){.lock_fd = -1,
                        .packs_fd = -1,
                        .on_stop = options->on_stop,
                        .on_lost = options->on_lost,
                        .on_commit = options->on_commit,
                        .arg = options->arg};
    packer_init(&s->meta.packer);
    if (open_all(s, options, dir_fd, e)) {
        store_close(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    contents_close(s->contents);
    packs_close(s->packs);
    fd_closep(&s->packs_fd);
    db_close(s->meta.db);
    packer_done(&s->meta.packer);
    ballast_close(s->ballast);
    fd_closep(&s->lock_fd); /* and with it the lock */
    free(s);
}

struct meta *store_meta(struct store *s)
{
    return s->meta.db ? &s->meta : NULL;
}

struct contents *store_contents(struct store *s)
{
    return s->contents;
}

struct packs *store_packs(struct store *s)
{
    return s->packs;
}

struct ballast *store_ballast(struct store *s)
{
    return s->ballast;
}
