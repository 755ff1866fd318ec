/* Storing a large file: an upload that the server keeps between pieces.
 *
 * Where to go on is what the server says it has received. The hash is made of the bytes as they are
 * read, each once: what an earlier try has sent is read again, and what is sent twice is not added
 * twice. The server compares it with what it has before the file becomes a version. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/fileref.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/resume.h"
#include "cli/stop.h"
#include "cli/upload_int.h"
#include "json/write.h"

enum {
    PIECE_BYTES = 32 << 20,
    COMPLETE_TIMEOUT_S = 3600, /* the server reads all of it once more */
    BODY_MAX = 16384,
};

static void upload_url(const struct outgo *out, const char *id, const char *rest, struct buf *url)
{
    workspace_url(out->haul->workspace, "uploads/", url);
    client_encode(url, id);
    buf_str(url, rest);
}

static int ask_received(struct outgo *out, const char *id, uint64_t *ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *upload = NULL;
    upload_url(out, id, "", &url);
    if (buf_check(&url, e) ||
        client_call(out->haul->remote->client, &(struct call){.path = url.bytes}, &upload, e))
        return -1;
    uint64_t received = pick_count(upload, "received");
    if (strcmp(pick_text(upload, "path"), out->path) != 0 || received > out->haul->size)
        return err_set(e, ERR_NOT_FOUND, "the upload is one of something else");
    *ret = received;
    return 0;
}

static int make_upload(struct outgo *out, char ret_id[ID_SIZE], struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *upload = NULL;
    struct json_writer w = JSON_WRITER(&body);
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, out->path);
    jw_key(&w, "size");
    jw_u64(&w, out->haul->size);
    jw_end_object(&w);
    jw_finish(&w);
    workspace_url(out->haul->workspace, "uploads", &url);
    if (buf_check(&url, e) || remote_post(out->haul->remote, url.bytes, &body, &upload, e))
        return -1;
    const char *id = pick_text(upload, "id");
    if (!*id || strlen(id) >= ID_SIZE)
        return err_set(e, ERR_PROTOCOL, "the server began an upload and did not say which");
    (void)snprintf(ret_id, ID_SIZE, "%s", id);
    return 0;
}

/* Adds to the hash what of these bytes, which stand at `from`, is not in it. */
static int hash_new(struct outgo *out, uint64_t from, const char *bytes, size_t len, struct err *e)
{
    if (from + len <= out->hashed)
        return 0;
    size_t known = (size_t)(out->hashed - from);
    out->hashed = from + len;
    return hash_add(&out->hash, bytes + known, len - known, e);
}

static int read_at(struct outgo *out, uint64_t at, char *bytes, size_t len, struct err *e)
{
    if (stop_is_asked(out->haul->stop))
        return err_set(e, ERR_GONE, "cancelled");
    for (size_t got = 0; got < len;) {
        ssize_t n = pread(out->fd, bytes + got, len - got, (off_t)(at + got));
        if (n < 0 && errno != EINTR)
            return err_sys(e, errno, "read");
        if (n == 0)
            return err_set(e, ERR_DAMAGED, "it was made shorter while it was read; try again");
        got += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int get_piece(void *arg, char *bytes, size_t size, size_t *ret_len, struct err *e)
{
    struct outgo *out = arg;
    struct haul *h = out->haul;
    uint64_t left = out->piece_end - h->at;
    size_t len = size < left ? size : (size_t)left;
    if (read_at(out, h->at, bytes, len, e) || hash_new(out, h->at, bytes, len, e))
        return -1;
    h->at += len;
    progress_moved(&h->progress, len);
    *ret_len = len;
    return 0;
}

/* Sends one piece from where we are. */
static int send_piece(struct outgo *out, const char *id, struct err *e)
{
    struct haul *h = out->haul;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    char query[40];
    uint64_t left = h->size - h->at, len = left < PIECE_BYTES ? left : PIECE_BYTES;
    const struct call_source source = {get_piece, out, len};
    (void)snprintf(query, sizeof query, "?offset=%" PRIu64, h->at);
    upload_url(out, id, query, &url);
    out->piece_end = h->at + len;
    const struct call call = {.path = url.bytes, .source = &source};
    return buf_check(&url, e) ? -1 : client_call(h->remote->client, &call, /* ret= */ NULL, e);
}

/* Moves to where the server says it is, hashing what lies before that. */
static int go_to(struct outgo *out, uint64_t at, struct err *e)
{
    struct haul *h = out->haul;
    char bytes[1 << 16];
    while (out->hashed < at) {
        uint64_t left = at - out->hashed;
        size_t len = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (read_at(out, out->hashed, bytes, len, e) || hash_new(out, out->hashed, bytes, len, e))
            return -1;
    }
    if (at < h->at)
        progress_undone(&h->progress, h->at - at);
    else
        progress_skipped(&h->progress, at - h->at);
    h->at = at;
    return 0;
}

/* After a failure: where the server wants us to go on. Fails with the failure when no try helps. */
static int find_place(struct outgo *out, const char *id, unsigned *losses, uint64_t *received,
                      struct err *e)
{
    while (haul_try_again(out->haul, e, losses)) {
        struct err unasked = {0};
        if (ask_received(out, id, received, &unasked) == 0)
            return 0;
        *e = unasked;
    }
    return -1;
}

/* Sends what is missing, over as many connections as it takes. */
static int send_all(struct outgo *out, const char *id, struct err *e)
{
    struct haul *h = out->haul;
    unsigned losses = 0;
    uint64_t received = h->at, before;
    while (h->at < h->size) {
        struct err lost = {0};
        int failed = send_piece(out, id, &lost);
        before = received;
        if (!failed)
            received = h->at;
        if (lost.code == ERR_CONFLICT) /* the server has more or less than we thought */
            (void)err_set(&lost, ERR_UNAVAILABLE, "the server expects another part of the file");
        if (failed && find_place(out, id, &losses, &received, &lost)) {
            h->at = received; /* what is certain */
            *e = lost;
            return -1;
        }
        losses = received > before ? 0 : losses;
        if (failed && go_to(out, received, e))
            return -1;
    }
    return 0;
}

static int complete(struct outgo *out, const char *id, json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE], key[ID_SIZE];
    if (hash_end(&out->hash, digest, e) || id_make("cli_", key, e))
        return -1;
    hash_hex(digest, hex);
    buf_fmt(&body, "{\"sha256\":\"%s\"}", hex);
    upload_url(out, id, "/complete", &url);
    const struct call call = {
        .path = url.bytes, .body = &body, .key = key, .timeout_s = COMPLETE_TIMEOUT_S};
    return buf_check(&url, e) ? -1 : client_call(out->haul->remote->client, &call, ret, e);
}

/* Finds the upload that the note tells of, or makes one. */
static int open_upload(struct outgo *out, const struct resume_key *key, const struct stat *st,
                       char ret_id[ID_SIZE], struct err *e)
{
    struct resume_note note, now = {0};
    struct err gone = {0};
    uint64_t received = 0;
    resume_fingerprint(st, &now);
    if (resume_load(key, &note) && *note.upload && resume_is_same_file(&note, &now)) {
        if (ask_received(out, note.upload, &received, &gone) == 0) {
            (void)snprintf(ret_id, ID_SIZE, "%s", note.upload);
            return go_to(out, received, e);
        }
        if (gone.code != ERR_NOT_FOUND) {
            *e = gone;
            return -1;
        }
    }
    if (make_upload(out, ret_id, e))
        return -1;
    (void)snprintf(now.upload, sizeof now.upload, "%s", ret_id);
    resume_save(key, &now, clock_wall_us());
    return 0;
}

int upload_in_pieces(struct outgo *out, const char *local, const struct stat *st,
                     struct json_t **ret, bool *ret_is_new, struct err *e)
{
    struct haul *h = out->haul;
    scoped(freep) char *whole = realpath(local, NULL);
    const struct resume_key key = {"put", whole ? whole : local, h->workspace, out->path};
    char id[ID_SIZE];
    *ret_is_new = true;
    if (hash_init(&out->hash, e) || open_upload(out, &key, st, id, e))
        return -1;
    h->is_resumable = true;
    if (send_all(out, id, e) || complete(out, id, ret, e)) {
        h->is_resumable = e->code == ERR_UNAVAILABLE || e->code == ERR_GONE;
        if (!h->is_resumable)
            resume_forget(&key);
        return -1;
    }
    resume_forget(&key);
    return 0;
}
