#include "store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/conn_int.h"
#include "store/meta_int.h"
#include "store/packs_int.h"

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, PIECE = 4 << 20, FRESH_S = 2 };
static const char database[] = "meta.db", draft[] = "meta.db.new", pack_draft[] = "pack.new";

/* ---- the database ---- */

/* All pages in one step, inside the read's own snapshot: nothing that is written meanwhile shows. */
static int copy_pages(struct db_conn *from, const char *path, struct err *e)
{
    sqlite3 *to = NULL;
    int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE, NULL);
    if (rc == SQLITE_OK) /* half a copy is none: there is nothing to go back to */
        rc = sqlite3_exec(to, "PRAGMA journal_mode = OFF", NULL, NULL, NULL);
    sqlite3_backup *copy =
        rc == SQLITE_OK ? sqlite3_backup_init(to, "main", from->sqlite, "main") : NULL;
    if (copy) {
        (void)sqlite3_backup_step(copy, -1);
        rc = sqlite3_backup_finish(copy);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(to);
    }
    int why = rc == SQLITE_FULL                             ? ENOSPC
              : rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN ? sqlite3_system_errno(to)
                                                            : 0;
    (void)sqlite3_close(to);
    if (why)
        return err_sys(e, why, "copy the database");
    return rc == SQLITE_OK
               ? 0
               : err_set(e, ERR_UNAVAILABLE, "copy the database: %s", sqlite3_errstr(rc));
}

static int sync_file(int dir_fd, const char *name, uint64_t *ret_len, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fsync(fd) || fstat(fd, &st) || fchmod(fd, 0600))
        return err_sys(e, errno, "write the backup");
    *ret_len = (uint64_t)st.st_size;
    return 0;
}

static void remove_file(int dir_fd, const char *name, const char *suffix)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s%s", name, suffix);
    (void)unlinkat(dir_fd, path, 0); /* mostly it is not there */
}

/* Here, because SQLite would not say why it cannot. */
static int make_file(int dir_fd, const char *name, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(e, errno, "write the backup") : 0;
}

static int copy_database(struct meta *m, int to_fd, struct backup_result *ret, struct err *e)
{
    char path[64];
    scoped(db_read_endp) struct db_conn *from = NULL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", to_fd, draft);
    remove_file(to_fd, draft, ""); /* of one that was interrupted */
    remove_file(to_fd, draft, "-journal");
    if (meta_settle(m, e) || db_read_begin(m->db, &from, e) || make_file(to_fd, draft, e))
        return -1;
    if (copy_pages(from, path, e)) { /* half a copy is in the way where there is no room */
        remove_file(to_fd, draft, "");
        remove_file(to_fd, draft, "-journal");
        return -1;
    }
    return sync_file(to_fd, draft, &ret->database_bytes, e);
}

/* ---- packs ---- */

struct copying {
    struct packs *packs;
    int from_fd, to_fd; /* of packs/ */
    struct backup_result *result;
};

static int pour(int from, int to, uint64_t *ret_len, struct err *e)
{
    scoped(freep) char *piece = malloc(PIECE);
    uint64_t done = 0;
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "copy a pack");
    for (;;) {
        ssize_t len = pread(from, piece, PIECE, (off_t)done);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return err_sys(e, errno, "read a pack");
        if (len == 0)
            break;
        struct iovec one = {.iov_base = piece, .iov_len = (size_t)len};
        int why = write_all(&pack_io_real, to, &one, 1, done);
        if (why)
            return err_sys(e, why, "copy a pack");
        done += (uint64_t)len;
    }
    *ret_len = done;
    return 0;
}

static bool is_same_moment(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_copied(int vault_fd, const char *name, const struct stat *from)
{
    struct stat st;
    return fstatat(vault_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_size == from->st_size && is_same_moment(&st.st_mtim, &from->st_mtim);
}

/* The copy gets the moment at which the pack was last written to. If that was just now, it may be
 * written to again within the same tick of the file system's clock, so then it gets none. */
static int stamp(int fd, const struct stat *from, struct err *e)
{
    struct timespec now, times[2] = {{.tv_nsec = UTIME_OMIT}, from->st_mtim};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec - from->st_mtim.tv_sec < FRESH_S)
        times[1] = (struct timespec){0};
    return futimens(fd, times) ? err_sys(e, errno, "copy a pack") : 0;
}

static int pour_pack(struct copying *c, int from, int vault_fd, const char *name,
                     const struct stat *st, struct err *e)
{
    uint64_t len = 0;
    (void)unlinkat(vault_fd, pack_draft, 0); /* of one that was interrupted */
    scoped(fd_closep) int to =
        openat(vault_fd, pack_draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(e, errno, "copy a pack");
    if (pour(from, to, &len, e) || stamp(to, st, e))
        return -1;
    if (fsync(to) || renameat(vault_fd, pack_draft, vault_fd, name))
        return err_sys(e, errno, "copy a pack");
    c->result->packs_copied++;
    c->result->bytes_copied += len;
    return 0;
}

static int copy_pack(struct copying *c, int vault_fd, const char *vault,
                     const struct pack_info *info, struct err *e)
{
    char path[PACK_PATH_SIZE];
    struct stat st;
    pack_path(path, vault, info->number);
    const char *name = strrchr(path, '/') + 1;
    scoped(fd_closep) int from = openat(c->from_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || fstat(from, &st)) /* before it is read: what comes meanwhile is for the next */
        return err_sys(e, errno, "open a pack");
    c->result->packs++;
    c->result->bytes += (uint64_t)st.st_size;
    return is_copied(vault_fd, name, &st) ? 0 : pour_pack(c, from, vault_fd, name, &st, e);
}

static int open_vault(int to_fd, const char *vault, int *ret_fd, struct err *e)
{
    if (mkdirat(to_fd, vault, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make a vault in the backup");
    int fd = openat(to_fd, vault, OPEN_DIR);
    if (fd < 0)
        return err_sys(e, errno, "open a vault of the backup");
    *ret_fd = fd;
    return 0;
}

static int copy_vault(struct copying *c, const char *vault, struct err *e)
{
    scoped(fd_closep) int vault_fd = -1;
    scoped(freep) struct pack_info *list = NULL;
    size_t count = 0;
    if (open_vault(c->to_fd, vault, &vault_fd, e) || packs_list(c->packs, vault, &list, &count, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (copy_pack(c, vault_fd, vault, &list[i], e))
            return -1;
    return fsync(vault_fd) ? err_sys(e, errno, "write the backup") : 0;
}

/* Names in the backup that are in the store no more. */
static void remove_others(const struct copying *c, const char *vault)
{
    struct dir d;
    int fd = openat(c->to_fd, vault, OPEN_DIR);
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%s", vault, entry->d_name);
        if (faccessat(c->from_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
            (void)unlinkat(d.fd, entry->d_name, 0); /* the next backup tries again */
    }
    dir_done(&d);
}

static int for_each_vault(struct copying *c,
                          int (*visit)(struct copying *, const char *, struct err *), struct err *e)
{
    scoped(freep) char(*vaults)[ID_SIZE] = NULL;
    size_t count = 0;
    if (packs_vaults(c->packs, &vaults, &count, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (visit(c, vaults[i], e))
            return -1;
    return 0;
}

static int tidy_vault(struct copying *c, const char *vault, struct err *e)
{
    (void)e;
    remove_others(c, vault);
    return 0;
}

/* ---- all of it ---- */

/* Empty, or an earlier backup: nobody's files are in it. */
static int check_place(int to_fd, struct err *e)
{
    struct dir d;
    bool is_ours = true;
    int fd = openat(to_fd, ".", OPEN_DIR);
    if (fd < 0)
        return err_sys(e, errno, "open the place of the backup");
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        static const char *const others[] = {"packs", "lock" /* of fsck */, "lost+found"};
        bool is_known = strncmp(entry->d_name, database, strlen(database)) == 0;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            is_known = is_known || strcmp(entry->d_name, others[i]) == 0;
        is_ours = is_ours && is_known;
    }
    dir_done(&d);
    return is_ours ? 0
                   : err_set(e, ERR_CONFLICT,
                             "it holds something else: give backups a directory of their own");
}

/* Whether the directory `fd` is, or lies in, the one called `top`. */
static bool is_within(int fd, const struct stat *top)
{
    enum { DEPTH_MAX = PATH_MAX / 2 };
    struct stat st, above;
    scoped(fd_closep) int at = openat(fd, ".", OPEN_DIR);
    for (int depth = 0; at >= 0 && depth < DEPTH_MAX && fstat(at, &st) == 0; depth++) {
        if (st.st_dev == top->st_dev && st.st_ino == top->st_ino)
            return true;
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up < 0 || fstat(up, &above) ||
            (above.st_dev == st.st_dev && above.st_ino == st.st_ino)) {
            fd_closep(&up);
            return false;
        }
        (void)close(at);
        at = up;
    }
    return false;
}

static int check_apart(int to_fd, int data_fd, bool *ret_is_same_disk, struct err *e)
{
    struct stat to, data;
    if (fstat(to_fd, &to) || fstat(data_fd, &data))
        return err_sys(e, errno, "look at it");
    if (to.st_dev == data.st_dev && to.st_ino == data.st_ino)
        return err_set(e, ERR_CONFLICT, "it is the data directory itself");
    if (is_within(to_fd, &data))
        return err_set(e, ERR_CONFLICT, "it lies in the data directory");
    if (is_within(data_fd, &to))
        return err_set(e, ERR_CONFLICT, "it holds the data directory");
    *ret_is_same_disk = to.st_dev == data.st_dev;
    return 0;
}

/* Why it could not be opened. */
static int tell_unopened(const char *path, int why, struct err *e)
{
    struct stat st;
    if (why == ENOENT)
        return err_set(e, ERR_CONFLICT, "it does not exist: make it, for the service user alone");
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return err_set(e, ERR_CONFLICT, "it is a symbolic link: name where that leads");
    if (why == ENOTDIR)
        return err_set(e, ERR_CONFLICT, "it is not a directory");
    return err_set(e, ERR_CONFLICT, "the service user cannot open it: %s", strerror(why));
}

int backup_open(const char *path, int data_fd, int *ret_fd, bool *ret_is_same_disk, struct err *e)
{
    scoped(fd_closep) int fd = open(path, OPEN_DIR);
    bool is_same_disk = false;
    int failed = 0;
    if (fd < 0)
        failed = tell_unopened(path, errno, e);
    else if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS))
        failed =
            err_set(e, ERR_CONFLICT, "the service user cannot write to it: %s", strerror(errno));
    if (failed || check_apart(fd, data_fd, &is_same_disk, e) || check_place(fd, e))
        return err_wrap(e, "the directory for backups, %.200s", path);
    *ret_fd = take_fd(&fd);
    *ret_is_same_disk = is_same_disk;
    return 0;
}

int backup_run(struct meta *m, struct packs *packs, int from_fd, int to_fd,
               struct backup_result *ret, struct err *e)
{
    struct backup_result result = {0};
    scoped(fd_closep) int packs_fd = -1;
    if (check_place(to_fd, e) || open_vault(to_fd, "packs", &packs_fd, e))
        return -1;
    struct copying c = {.packs = packs, .from_fd = from_fd, .to_fd = packs_fd, .result = &result};
    if (copy_database(m, to_fd, &result, e) || for_each_vault(&c, copy_vault, e))
        return err_wrap(e, "back up");
    /* Whoever looked at the backup before left an empty log, which is not one of the new database. */
    remove_file(to_fd, database, "-wal");
    remove_file(to_fd, database, "-shm");
    if (fsync(packs_fd) || fsync(to_fd) || renameat(to_fd, draft, to_fd, database) || fsync(to_fd))
        return err_sys(e, errno, "back up");
    if (for_each_vault(&c, tidy_vault, e))
        return err_wrap(e, "back up");
    *ret = result;
    return 0;
}
