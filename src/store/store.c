#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/db.h"
#include "store/meta_int.h"

struct store {
    int lock_fd;
    struct meta meta;
};

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

static int open_dir(const char *path, int *ret_fd, struct err *e)
{
    if (mkdir(path, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the data directory");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "open the data directory");
    *ret_fd = fd;
    return 0;
}

int store_open(const struct store_options *options, struct store **ret, struct err *e)
{
    scoped(fd_closep) int dir_fd = -1;
    if (open_dir(options->dir, &dir_fd, e))
        return -1;
    struct store *s = malloc(sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "open the store");
    *s = (struct store){.lock_fd = -1};
    packer_init(&s->meta.packer);
    const struct db_options db = {
        .dir = options->dir,
        .migrations = meta_migrations,
        .migration_count = meta_migration_count,
        .on_stop = options->on_stop,
        .on_lost = options->on_lost,
        .arg = options->arg,
    };
    if (lock_data(dir_fd, &s->lock_fd, e) || db_open(&db, &s->meta.db, e)) {
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
    db_close(s->meta.db);
    packer_done(&s->meta.packer);
    fd_closep(&s->lock_fd); /* and with it the lock */
    free(s);
}

struct meta *store_meta(struct store *s)
{
    return &s->meta;
}
