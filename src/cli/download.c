/* Fetching one version of a file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/fileref.h"
#include "cli/outlet.h"
#include "cli/remote.h"
#include "cli/resume.h"
#include "cli/stop.h"
#include "cli/transfer.h"

enum { KEPT_FROM = 1 << 20, NAME_SIZE = 300 }; /* bytes that are worth being gone on with */

/* What comes in, and where it goes. */
struct intake {
    struct haul *haul;
    int fd;
    bool is_stream; /* cannot be begun anew */
    struct hash hash;
};

static void intake_done(struct intake *in)
{
    hash_done(&in->hash);
}

/* The server begins somewhere else than where we are: from the beginning, then. */
static int take_begin(void *arg, uint64_t from, struct err *e)
{
    struct intake *in = arg;
    struct haul *h = in->haul;
    if (from == h->at)
        return 0;
    if (from != 0 || in->is_stream)
        return err_set(e, ERR_PROTOCOL, "the server sent another part of the file than was asked");
    if (ftruncate(in->fd, 0) || lseek(in->fd, 0, SEEK_SET))
        return err_sys(e, errno, "begin anew");
    progress_undone(&h->progress, h->at);
    h->at = 0;
    return hash_init(&in->hash, e);
}

static int take_bytes(void *arg, const char *bytes, size_t len, struct err *e)
{
    struct intake *in = arg;
    struct haul *h = in->haul;
    if (len > h->size - h->at)
        return err_set(e, ERR_PROTOCOL, "the server sent more than the file has");
    if (in->is_stream) {
        h->stream_errno = outlet_write(in->fd, h->stop, bytes, len);
        if (h->stream_errno)
            return h->stream_errno == ECANCELED ? err_set(e, ERR_GONE, "cancelled")
                                                : err_sys(e, h->stream_errno, "write");
    } else if (fd_write_all(in->fd, bytes, len, e)) {
        return -1;
    }
    h->at += len;
    progress_moved(&h->progress, len);
    return hash_add(&in->hash, bytes, len, e);
}

static int ask(struct intake *in, const struct origin *from, struct err *e)
{
    struct haul *h = in->haul;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    char query[40], range[64], condition[RESUME_ETAG_SIZE + 16];
    const struct call_taker taker = {take_begin, take_bytes, in};
    (void)snprintf(query, sizeof query, "version=%" PRIu64, from->version);
    fileref_url(h->workspace, from->path, query, &url);
    if (buf_check(&url, e))
        return -1;
    struct call call = {.path = url.bytes, .taker = &taker};
    if (h->at > 0) {
        (void)snprintf(range, sizeof range, "Range: bytes=%" PRIu64 "-", h->at);
        (void)snprintf(condition, sizeof condition, "If-Range: %s", from->etag);
        call.headers[0] = range;
        call.headers[1] = condition;
    }
    return client_call(h->remote->client, &call, /* ret= */ NULL, e);
}

/* Fetches what is missing, over as many connections as it takes. */
static int fetch(struct intake *in, const struct origin *from, struct err *e)
{
    struct haul *h = in->haul;
    unsigned losses = 0;
    while (h->at < h->size) {
        uint64_t before = h->at;
        struct err lost = {0};
        int failed = ask(in, from, &lost);
        losses = h->at > before ? 0 : losses;
        if (!failed && h->at < h->size)
            (void)err_set(&lost, ERR_UNAVAILABLE, "the server sent less than the file has");
        if ((failed || h->at < h->size) && !haul_try_again(h, &lost, &losses)) {
            *e = lost;
            return -1;
        }
    }
    return 0;
}

static int check_hash(struct intake *in, const struct origin *from, struct err *e)
{
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    if (hash_end(&in->hash, digest, e))
        return -1;
    hash_hex(digest, hex);
    if (*from->sha256 && strcmp(hex, from->sha256) != 0)
        return err_set(e, ERR_DAMAGED, "what came is not what the server has (SHA-256 differs)");
    return 0;
}

int download_stream(struct haul *h, const struct origin *from, int fd, struct err *e)
{
    scoped(intake_done) struct intake in = {.haul = h, .fd = fd, .is_stream = true};
    h->at = 0;
    h->size = from->size;
    h->is_resumable = false;
    progress_file(&h->progress, from->path);
    if (hash_init(&in.hash, e) || fetch(&in, from, e) || check_hash(&in, from, e))
        return err_wrap(e, "%.150s", from->path);
    return 0;
}

/* Whether a file of the name has these bytes already. */
static bool is_there(int dir_fd, const char *name, const struct origin *from)
{
    struct stat st;
    struct err ignored = {0};
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    uint64_t len;
    scoped(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != from->size)
        return false;
    if (!*from->sha256 || hash_fd(fd, from->size, digest, &len, &ignored))
        return false;
    hash_hex(digest, hex);
    return strcmp(hex, from->sha256) == 0;
}

/* Opens NAME.part for us alone. */
static int open_part(int dir_fd, const char *part, int *ret, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(dir_fd, part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "%.150s", part);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_CONFLICT, "%.150s is in the way; remove it", part);
    if (flock(fd, LOCK_EX | LOCK_NB))
        return err_set(e, ERR_BUSY, "%.150s is being fetched by another cicada", part);
    *ret = take_fd(&fd);
    return 0;
}

/* Goes on with what an earlier try left, if it is of the same version; otherwise it is emptied. */
static int take_up(struct intake *in, const struct origin *from, const struct resume_key *key,
                   struct err *e)
{
    struct resume_note note;
    struct stat st;
    uint64_t len = 0;
    char bytes[1 << 16];
    size_t got = 0;
    if (hash_init(&in->hash, e))
        return -1;
    if (fstat(in->fd, &st))
        return err_sys(e, errno, "look at what is there");
    bool is_same = resume_load(key, &note) && *note.etag && strcmp(note.etag, from->etag) == 0 &&
                   note.size == from->size && (uint64_t)st.st_size <= from->size;
    if (!is_same)
        return ftruncate(in->fd, 0) ? err_sys(e, errno, "begin") : 0;
    do {
        if (fd_read_all(in->fd, bytes, sizeof bytes, &got, e) || hash_add(&in->hash, bytes, got, e))
            return -1;
        len += got;
    } while (got == sizeof bytes);
    in->haul->at = len;
    progress_skipped(&in->haul->progress, len);
    return 0;
}

static int take_all(struct intake *in, const struct origin *from, const struct resume_key *key,
                    struct err *e)
{
    struct resume_note note = {.size = from->size};
    (void)snprintf(note.etag, sizeof note.etag, "%s", from->etag);
    if (take_up(in, from, key, e))
        return -1;
    if (from->size >= KEPT_FROM && *note.etag)
        resume_save(key, &note, clock_wall_us());
    return fetch(in, from, e) || check_hash(in, from, e) ? -1 : 0;
}

/* Where the file will be, for the note: the directory as the system knows it. */
static void local_name(int dir_fd, const char *name, char ret[PATH_MAX])
{
    char link[64], dir[PATH_MAX / 2];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fd);
    ssize_t len = dir_fd == AT_FDCWD ? -1 : readlink(link, dir, sizeof dir - 1);
    dir[len > 0 ? len : 0] = '\0';
    (void)snprintf(ret, PATH_MAX, "%s/%s", dir, name);
}

int download_file(struct haul *h, const struct origin *from, int dir_fd, const char *name,
                  bool *ret_is_new, struct err *e)
{
    char part[NAME_SIZE], local[PATH_MAX];
    scoped(fd_closep) int fd = -1;
    scoped(intake_done) struct intake in = {.haul = h};
    h->at = 0;
    h->size = from->size;
    h->is_resumable = false;
    progress_file(&h->progress, from->path);
    if (ret_is_new)
        *ret_is_new = true;
    if (ret_is_new && is_there(dir_fd, name, from)) {
        progress_skipped(&h->progress, from->size);
        *ret_is_new = false;
        return 0;
    }
    (void)snprintf(part, sizeof part, "%.240s.part", name);
    local_name(dir_fd, name, local);
    const struct resume_key key = {"get", local, h->workspace, from->path};
    if (open_part(dir_fd, part, &fd, e))
        return -1;
    in.fd = fd;
    if (take_all(&in, from, &key, e)) {
        h->is_resumable = h->at >= KEPT_FROM && e->code != ERR_DAMAGED;
        if (!h->is_resumable) {
            (void)unlinkat(dir_fd, part, 0); /* the failure is told already */
            resume_forget(&key);
        }
        return err_wrap(e, "%.150s", from->path);
    }
    if (renameat(dir_fd, part, dir_fd, name))
        return err_sys(e, errno, "%.150s", name);
    resume_forget(&key);
    return 0;
}
