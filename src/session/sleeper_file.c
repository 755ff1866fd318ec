/* sleeper_file.c -- the files of sleeping sessions on disk; see sleeper.h for what survives
 * what. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/sleeper.h"

enum { FILE_NAME_SIZE = ID_SIZE + 32 };

static void file_name(const char *session_id, const char *ending, char ret[FILE_NAME_SIZE])
{
    (void)snprintf(ret, FILE_NAME_SIZE, "%.64s.%.6s", session_id, ending);
}

/* The session's own file, or, of a run that is not 0, the snapshot of before it. */
static void memory_name(const char *session_id, uint64_t before, char ret[FILE_NAME_SIZE])
{
    if (before == 0)
        file_name(session_id, "sleep", ret);
    else
        (void)snprintf(ret, FILE_NAME_SIZE, "%.64s.%llu.snap", session_id,
                       (unsigned long long)before);
}

/* The id before that ending. False if it is not such a name. */
static bool has_ending(const char *name, const char *ending, char ret[ID_SIZE])
{
    const char *dot = strchr(name, '.');
    if (!dot || strcmp(dot, ending) != 0 || !sleeper_is_id(name, (size_t)(dot - name)))
        return false;
    memcpy(ret, name, (size_t)(dot - name));
    ret[dot - name] = '\0';
    return true;
}

bool sleeper_is_named(const char *name, char ret[ID_SIZE])
{
    return has_ending(name, ".sleep", ret);
}

bool sleeper_is_snapshot(const char *name, char ret_id[ID_SIZE], uint64_t *ret_before)
{
    const char *dot = strchr(name, '.');
    size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;
    if (digits == 0 || digits > 18 || dot[1] == '0' || strcmp(dot + 1 + digits, ".snap") != 0 ||
        !sleeper_is_id(name, (size_t)(dot - name)))
        return false;
    memcpy(ret_id, name, (size_t)(dot - name));
    ret_id[dot - name] = '\0';
    *ret_before = 0;
    for (size_t i = 0; i < digits; i++)
        *ret_before = *ret_before * 10 + (uint64_t)(dot[1 + i] - '0');
    return true;
}

void sleeper_sweep(int dir_fd)
{
    struct dir d;
    char id[ID_SIZE];
    int fd = below_open_dir(dir_fd, ".");
    if (fd < 0)
        return; /* whoever reads it for what is in it will say so */
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));)
        if (has_ending(entry->d_name, ".tmp", id))
            (void)unlinkat(dir_fd, entry->d_name, 0);
    dir_done(&d);
}

int sleeper_begin(int dir_fd, const struct sleeper *s, struct sleeper_draft *ret, struct err *e)
{
    char name[FILE_NAME_SIZE];
    struct sleeper_draft d = {.dir_fd = dir_fd, .body_at = SLEEPER_HEAD + names_bytes(&s->lost)};
    if (!sleeper_is_id(s->session_id, strlen(s->session_id)))
        return err_set(e, ERR_INVALID, "not the id of a session");
    memcpy(d.session_id, s->session_id, ID_SIZE);
    file_name(s->session_id, "tmp", name);
    (void)unlinkat(dir_fd, name, 0); /* of one who was killed */
    d.fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d.fd < 0)
        return err_sys(e, errno, "make a file for a sleeping session");
    if (lseek(d.fd, (off_t)d.body_at, SEEK_SET) < 0) {
        int why = errno;
        sleeper_abandon(&d);
        return err_sys(e, why, "make a file for a sleeping session");
    }
    *ret = d;
    return 0;
}

void sleeper_abandon(struct sleeper_draft *d)
{
    char name[FILE_NAME_SIZE];
    if (d->fd < 0)
        return;
    file_name(d->session_id, "tmp", name);
    (void)unlinkat(d->dir_fd, name, 0);
    (void)close(d->fd);
    *d = SLEEPER_DRAFT_NONE;
}

static int write_head(const struct sleeper_draft *d, const struct sleeper *s, struct err *e)
{
    scoped(buf_done) struct buf head = BUF_INIT((size_t)SLEEPER_HEAD + SLEEPER_NAMES_MAX);
    if (sleeper_put(s, &head, e))
        return -1;
    if (head.len != d->body_at)
        return err_set(e, ERR_INTERNAL, "the head of a sleeping session has grown");
    if (lseek(d->fd, 0, SEEK_SET) < 0)
        return err_sys(e, errno, "write the head of a sleeping session");
    return fd_write_all(d->fd, head.bytes, head.len, e);
}

int sleeper_commit_snapshot(struct sleeper_draft *d, const struct sleeper *s, uint64_t *ret_size,
                            struct err *e)
{
    char draft[FILE_NAME_SIZE], name[FILE_NAME_SIZE];
    struct stat st;
    file_name(d->session_id, "tmp", draft);
    memory_name(d->session_id, s->runs + 1, name);
    int failed = write_head(d, s, e);
    if (!failed && (fstat(d->fd, &st) || renameat(d->dir_fd, draft, d->dir_fd, name)))
        failed = err_sys(e, errno, "write a snapshot of a session");
    if (failed) {
        sleeper_abandon(d);
        return -1;
    }
    (void)close(d->fd);
    d->fd = -1;
    *ret_size = (uint64_t)st.st_blocks * 512;
    return 0;
}

int sleeper_commit(struct sleeper_draft *d, const struct sleeper *s, uint64_t *ret_size,
                   struct err *e)
{
    char draft[FILE_NAME_SIZE], name[FILE_NAME_SIZE];
    struct stat st;
    file_name(d->session_id, "tmp", draft);
    file_name(d->session_id, "sleep", name);
    if (write_head(d, s, e)) {
        sleeper_abandon(d);
        return -1;
    }
    if (fdatasync(d->fd) || fstat(d->fd, &st) || renameat(d->dir_fd, draft, d->dir_fd, name)) {
        int why = errno;
        sleeper_abandon(d);
        return err_sys(e, why, "write a sleeping session to disk");
    }
    if (fsync(d->dir_fd)) {
        int why = errno;
        (void)unlinkat(d->dir_fd, name, 0); /* or a session that is awake would be found asleep */
        sleeper_abandon(d);
        return err_sys(e, why, "write a sleeping session to disk");
    }
    (void)close(d->fd);
    d->fd = -1;
    *ret_size = (uint64_t)st.st_blocks * 512;
    return 0;
}

/* Reads the head and the names that follow it. */
static int read_head(int fd, uint64_t file_len, struct sleeper *ret, struct err *e)
{
    uint8_t head[SLEEPER_HEAD];
    size_t len = 0, more = 0;
    if (fd_read_all(fd, head, sizeof head, &len, e))
        return -1;
    size_t names_len = len == sizeof head ? get_u32(head + 56) : 0;
    if (names_len == 0 || names_len > SLEEPER_NAMES_MAX)
        return sleeper_get(head, len, file_len, ret, e);
    scoped(freep) uint8_t *bytes = malloc(sizeof head + names_len);
    if (!bytes)
        return err_set(e, ERR_NO_MEMORY, "read the file of a sleeping session");
    memcpy(bytes, head, sizeof head);
    if (fd_read_all(fd, bytes + sizeof head, names_len, &more, e))
        return -1;
    return sleeper_get(bytes, sizeof head + more, file_len, ret, e);
}

/* Opens the file, or the snapshot of before that run; the descriptor is at the body then. */
static int open_head(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                     struct stat *ret_st, int *ret_fd, struct err *e)
{
    char name[FILE_NAME_SIZE];
    struct sleeper s;
    if (!sleeper_is_id(session_id, strlen(session_id)))
        return err_set(e, ERR_INVALID, "not the id of a session");
    memory_name(session_id, before, name);
    scoped(fd_closep) int fd = below_open(dir_fd, name, O_RDONLY);
    if (fd < 0)
        return err_sys(e, -fd, "open the file of a sleeping session");
    if (fstat(fd, ret_st))
        return err_sys(e, errno, "look at the file of a sleeping session");
    if (!S_ISREG(ret_st->st_mode) || ret_st->st_uid != geteuid() || (ret_st->st_mode & 077))
        return err_set(e, ERR_DENIED, "the file of the sleeping session is not ours alone");
    if (read_head(fd, (uint64_t)ret_st->st_size, &s, e))
        return -1;
    if (strcmp(s.session_id, session_id) != 0) {
        sleeper_done(&s);
        return err_set(e, ERR_DAMAGED, "the file of the sleeping session is another session's");
    }
    if (before > 0 && s.runs + 1 != before) {
        sleeper_done(&s);
        return err_set(e, ERR_DAMAGED, "the snapshot is one of another run");
    }
    s.is_past = before > 0 && !(ret_st->st_mode & 0200);
    *ret = s;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* The same, with the body's hash checked. */
static int open_whole(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                      struct stat *ret_st, int *ret_fd, struct err *e)
{
    struct sleeper s;
    uint8_t digest[HASH_LEN];
    uint64_t len;
    scoped(fd_closep) int fd = -1;
    if (open_head(dir_fd, session_id, before, &s, ret_st, &fd, e))
        return -1;
    off_t body_at = lseek(fd, 0, SEEK_CUR);
    int failed = hash_fd(fd, s.body_len, digest, &len, e);
    if (!failed && (len != s.body_len || memcmp(digest, s.body_sha256, HASH_LEN) != 0))
        failed = err_set(e, ERR_DAMAGED,
                         "the file of the sleeping session is damaged: its hash is wrong");
    if (!failed && lseek(fd, body_at, SEEK_SET) < 0)
        failed = err_sys(e, errno, "read the file of a sleeping session");
    if (failed) {
        sleeper_done(&s);
        return -1;
    }
    *ret = s;
    *ret_fd = take_fd(&fd);
    return 0;
}

int sleeper_open(int dir_fd, const char *session_id, struct sleeper *ret, int *ret_fd,
                 struct err *e)
{
    struct stat st;
    return open_whole(dir_fd, session_id, 0, ret, &st, ret_fd, e);
}

int sleeper_look_snapshot(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                          uint64_t *ret_size, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int fd = -1;
    if (open_head(dir_fd, session_id, before, ret, &st, &fd, e))
        return -1;
    *ret_size = (uint64_t)st.st_blocks * 512;
    return 0;
}

int sleeper_look(int dir_fd, const char *session_id, struct sleeper *ret, uint64_t *ret_size,
                 struct err *e)
{
    return sleeper_look_snapshot(dir_fd, session_id, 0, ret, ret_size, e);
}

bool sleeper_exists(int dir_fd, const char *session_id)
{
    char name[FILE_NAME_SIZE];
    file_name(session_id, "sleep", name);
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* From where both are to the end of the first. Shares the blocks where the file system can. */
static int copy_rest(int from, int to, struct err *e)
{
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "copy a sleeping session");
        if (n == 0)
            return 0;
    }
}

int sleeper_branch(int dir_fd, const char *session_id, const char *branch_id, uint64_t *ret_size,
                   struct err *e)
{
    scoped(sleeper_abandon) struct sleeper_draft d = SLEEPER_DRAFT_NONE;
    scoped(fd_closep) int fd = -1;
    struct sleeper s;
    if (sleeper_open(dir_fd, session_id, &s, &fd, e))
        return -1;
    (void)snprintf(s.session_id, sizeof s.session_id, "%.64s", branch_id);
    s.reseeds = true;
    s.created_wall_us = clock_wall_us();
    int failed = sleeper_begin(dir_fd, &s, &d, e) || copy_rest(fd, d.fd, e) ||
                 sleeper_commit(&d, &s, ret_size, e);
    sleeper_done(&s);
    return failed ? -1 : 0;
}

int sleeper_scratch(int dir_fd, int *ret_fd, struct err *e)
{
    char name[FILE_NAME_SIZE];
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        (void)snprintf(name, sizeof name, "scratch-%d.tmp", (int)gettid());
        fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        (void)unlinkat(dir_fd, name, 0);
    }
    if (fd < 0)
        return err_sys(e, errno, "make a file for a sleeping session");
    *ret_fd = fd;
    return 0;
}

void sleeper_remove(int dir_fd, const char *session_id)
{
    char name[FILE_NAME_SIZE];
    file_name(session_id, "sleep", name);
    (void)unlinkat(dir_fd, name, 0); /* is not there: so much the better */
}

void sleeper_discard(int dir_fd, const char *session_id)
{
    char bad[FILE_NAME_SIZE];
    sleeper_remove(dir_fd, session_id);
    file_name(session_id, "bad", bad);
    (void)unlinkat(dir_fd, bad, 0); /* mostly it is not there */
}

int sleeper_sync(int dir_fd, struct err *e)
{
    return fsync(dir_fd) ? err_sys(e, errno, "write the directory of sleeping sessions") : 0;
}

void sleeper_set_snapshot_aside(int dir_fd, const char *session_id, uint64_t before)
{
    char name[FILE_NAME_SIZE], bad[FILE_NAME_SIZE];
    memory_name(session_id, before, name);
    file_name(session_id, "bad", bad);
    (void)renameat(dir_fd, name, dir_fd, bad); /* or it stays, and is refused again */
}

void sleeper_set_aside(int dir_fd, const char *session_id)
{
    sleeper_set_snapshot_aside(dir_fd, session_id, 0);
}

/* ---- snapshots ---- */

void sleeper_mark_snapshot(int dir_fd, const char *session_id, uint64_t before, bool has_begun)
{
    char name[FILE_NAME_SIZE];
    memory_name(session_id, before, name);
    (void)!fchmodat(dir_fd, name, has_begun ? 0400 : 0600, 0); /* ours, or it is not there */
}

int sleeper_sync_snapshot(int dir_fd, const char *session_id, uint64_t before, struct err *e)
{
    char name[FILE_NAME_SIZE];
    memory_name(session_id, before, name);
    scoped(fd_closep) int fd = below_open(dir_fd, name, O_RDONLY);
    if (fd < 0)
        return err_sys(e, -fd, "open a snapshot of a session");
    return fdatasync(fd) ? err_sys(e, errno, "write a snapshot of a session to disk") : 0;
}

bool sleeper_to_snapshot(int dir_fd, const char *session_id, uint64_t before)
{
    char name[FILE_NAME_SIZE], snapshot[FILE_NAME_SIZE];
    memory_name(session_id, 0, name);
    memory_name(session_id, before, snapshot);
    return renameat(dir_fd, name, dir_fd, snapshot) == 0;
}

/* In place of a file that is there the two change places, so that this can be taken back. */
static int take_place(int dir_fd, const char *snapshot, const char *name)
{
    if (renameat2(dir_fd, snapshot, dir_fd, name, RENAME_EXCHANGE) == 0)
        return 0;
    return renameat(dir_fd, snapshot, dir_fd, name);
}

int sleeper_from_snapshot(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                          uint64_t *ret_size, struct err *e)
{
    char name[FILE_NAME_SIZE], snapshot[FILE_NAME_SIZE];
    struct stat st;
    struct sleeper s;
    scoped(fd_closep) int fd = -1;
    memory_name(session_id, 0, name);
    memory_name(session_id, before, snapshot);
    if (open_whole(dir_fd, session_id, before, &s, &st, &fd, e))
        return -1;
    int why = fchmod(fd, 0600) || fdatasync(fd) || take_place(dir_fd, snapshot, name) ? errno : 0;
    if (!why && fsync(dir_fd)) {
        why = errno;
        (void)take_place(dir_fd, name, snapshot); /* or it is found asleep at the next start */
    }
    if (why) {
        sleeper_done(&s);
        return err_sys(e, why, "go back to a snapshot");
    }
    (void)unlinkat(dir_fd, snapshot, 0); /* what the session's file was, if there was one */
    *ret = s;
    *ret_size = (uint64_t)st.st_blocks * 512;
    return 0;
}

void sleeper_remove_snapshot(int dir_fd, const char *session_id, uint64_t before)
{
    char name[FILE_NAME_SIZE];
    memory_name(session_id, before, name);
    (void)unlinkat(dir_fd, name, 0); /* is not there: so much the better */
}
