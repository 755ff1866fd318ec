/* Storing one file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/fileref.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stop.h"
#include "cli/upload_int.h"

enum { COMPARED_FROM = 1 << 20 }; /* bytes that are not sent if the server has them already */

/* Waits until `fd` can be read. False when we are asked to stop meanwhile. */
static bool wait_readable(int fd, struct stop *stop)
{
    for (;;) {
        struct pollfd fds[] = {{fd, POLLIN, 0}, {stop_fd(stop), POLLIN, 0}};
        int ready = poll(fds, 2, -1);
        if (ready < 0 && errno != EINTR)
            return true; /* let read say what is wrong */
        if (ready > 0 && fds[1].revents)
            return false;
        if (ready > 0)
            return true;
    }
}

/* From a pipe, a terminal, a device: as it comes. */
static int get_streamed(void *arg, char *bytes, size_t size, size_t *ret_len, struct err *e)
{
    struct outgo *out = arg;
    ssize_t n;
    do {
        if (!wait_readable(out->fd, out->haul->stop))
            return err_set(e, ERR_GONE, "cancelled");
        n = read(out->fd, bytes, size);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0)
        return err_sys(e, errno, "read");
    *ret_len = (size_t)n;
    out->haul->at += (size_t)n;
    progress_moved(&out->haul->progress, (size_t)n);
    return hash_add(&out->hash, bytes, (size_t)n, e);
}

/* From a file, which has as many bytes as it had, or else it was changed. */
static int get_whole(void *arg, char *bytes, size_t size, size_t *ret_len, struct err *e)
{
    struct outgo *out = arg;
    struct haul *h = out->haul;
    uint64_t left = h->size - h->at;
    size_t wanted = size < left ? size : (size_t)left, got;
    if (stop_is_asked(h->stop))
        return err_set(e, ERR_GONE, "cancelled");
    if (fd_read_all(out->fd, bytes, wanted, &got, e))
        return -1;
    if (got < wanted)
        return err_set(e, ERR_DAMAGED, "it was made shorter while it was read; try again");
    h->at += got;
    progress_moved(&h->progress, got);
    *ret_len = got;
    return 0;
}

/* PUT of the whole body to the path. `sha256` NULL: not known before. */
static int put(struct outgo *out, const struct call_source *source, const char *sha256,
               json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    char header[HASH_HEX_SIZE + 32];
    struct call call = {.source = source};
    fileref_url(out->haul->workspace, out->path, "", &url);
    if (buf_check(&url, e))
        return -1;
    call.path = url.bytes;
    if (sha256) {
        (void)snprintf(header, sizeof header, "X-Content-SHA256: %s", sha256);
        call.headers[0] = header;
    }
    return client_call(out->haul->remote->client, &call, ret, e);
}

int upload_stream(struct haul *h, int fd, const char *path, struct json_t **ret, struct err *e)
{
    scoped(outgo_done) struct outgo out = {.haul = h, .fd = fd, .path = path};
    scoped(json_decrefp) json_t *file = NULL;
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    const struct call_source source = {get_streamed, &out, CALL_LEN_UNKNOWN};
    h->at = h->size = 0;
    h->is_resumable = false;
    progress_file(&h->progress, path);
    if (hash_init(&out.hash, e) || put(&out, &source, /* sha256= */ NULL, &file, e) ||
        hash_end(&out.hash, digest, e))
        return err_wrap(e, "%.150s", path);
    hash_hex(digest, hex);
    if (strcmp(pick_text(file, "sha256"), hex) != 0)
        return err_set(e, ERR_DAMAGED,
                       "%.150s: the server stored something else than was sent (SHA-256 differs)",
                       path);
    *ret = take(file);
    return 0;
}

/* The file object of the path if it has these bytes; NULL otherwise. */
static json_t *same_there(struct haul *h, const char *path, const char *sha256)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    struct err ignored = {0};
    json_t *file = NULL;
    fileref_url(h->workspace, path, "stat", &url);
    if (buf_check(&url, &ignored) ||
        client_call(h->remote->client, &(struct call){.path = url.bytes}, &file, &ignored))
        return NULL;
    if (strcmp(pick_text(file, "sha256"), sha256) == 0)
        return file;
    json_decref(file);
    return NULL;
}

static int hash_whole(struct outgo *out, char ret[HASH_HEX_SIZE], struct err *e)
{
    uint8_t digest[HASH_LEN];
    uint64_t len;
    if (hash_fd(out->fd, out->haul->size, digest, &len, e))
        return -1;
    if (len != out->haul->size)
        return err_set(e, ERR_DAMAGED, "it was changed while it was read; try again");
    hash_hex(digest, ret);
    return 0;
}

/* Small enough to be sent again from its beginning. */
static int put_whole(struct outgo *out, json_t **ret, bool *ret_is_new, struct err *e)
{
    struct haul *h = out->haul;
    const struct call_source source = {get_whole, out, h->size};
    char hex[HASH_HEX_SIZE];
    unsigned losses = 0;
    if (hash_whole(out, hex, e))
        return -1;
    if (h->size >= COMPARED_FROM && (*ret = same_there(h, out->path, hex))) {
        progress_skipped(&h->progress, h->size);
        *ret_is_new = false;
        return 0;
    }
    for (;;) {
        struct err lost = {0};
        progress_undone(&h->progress, h->at);
        h->at = 0;
        if (lseek(out->fd, 0, SEEK_SET))
            return err_sys(e, errno, "read it from its beginning");
        if (put(out, &source, hex, ret, &lost) == 0)
            return 0;
        if (!haul_try_again(h, &lost, &losses)) {
            *e = lost;
            return -1;
        }
    }
}

int upload_file(struct haul *h, const char *local, const char *path, struct json_t **ret,
                bool *ret_is_new, struct err *e)
{
    scoped(fd_closep) int fd = open(local, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    scoped(outgo_done) struct outgo out = {.haul = h, .fd = fd, .path = path};
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "cannot read %.150s", local);
    *ret_is_new = true;
    if (!S_ISREG(st.st_mode))
        return upload_stream(h, fd, path, ret, e);
    h->at = 0;
    h->size = (uint64_t)st.st_size;
    h->is_resumable = false;
    progress_file(&h->progress, local);
    bool is_large = h->size >= UPLOAD_PIECES_FROM;
    if (is_large ? upload_in_pieces(&out, local, &st, ret, ret_is_new, e)
                 : put_whole(&out, ret, ret_is_new, e))
        return err_wrap(e, "%.150s", local);
    return 0;
}
