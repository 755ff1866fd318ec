/* transfer.h -- files moved to and from a workspace: resumable, checked, cancelled by Ctrl-C.
 *
 * A haul is what all transfers of one command share. download_* and upload_* move one file each; a
 * connection that breaks is made again and the transfer goes on where it was. A download is written to
 * NAME.part, and has its name only when it is whole and its SHA-256 is right. An upload of
 * UPLOAD_PIECES_FROM bytes or more is made of pieces that the server keeps. Either, when it is cancelled
 * or fails for good, can be gone on with by the same command.
 *
 *     scoped(haul_done) struct haul h;
 *     haul_init(&h, remote, workspace, e)
 *     progress_begin(&h.progress, total, count)
 *     upload_file(&h, "big.bin", "data/big.bin", &file, e)
 */
#ifndef CLI_TRANSFER_H
#define CLI_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/progress.h"

struct err;
struct json_t;
struct remote;
struct stop;

#define UPLOAD_PIECES_FROM ((uint64_t)64 << 20)

struct haul {
    struct remote *remote;
    const char *workspace; /* id, name or WORKSPACE_DEFAULT; borrowed */
    struct stop *stop;
    bool owns_stop;
    struct progress progress;
    uint64_t at, size; /* of the present file: how far it is */
    int stream_errno;  /* why what should take a stream did not; EPIPE: nobody reads any more */
    bool is_resumable; /* what was moved of it is kept for the next time */
};

/* Ctrl-C cancels from now on. */
int haul_init(struct haul *h, struct remote *remote, const char *workspace, struct err *e);
/* With a `stop` that exists, whose owner has set a watch. */
struct haul haul_with(struct remote *remote, const char *workspace, struct stop *stop);
void haul_done(struct haul *h);

/* Says how far the present file came and how to go on, if it can be gone on with. */
void haul_tell_rest(struct haul *h, const struct err *e);

/* Waits a little before the next try, longer each time. False when it was the last, the failure is
 * one that another try does not help, or it is cancelled meanwhile. */
bool haul_try_again(struct haul *h, const struct err *e, unsigned *losses);

/* A version on the server; borrowed from the file object. */
struct origin {
    const char *path, *sha256, *etag;
    uint64_t version, size;
};
struct origin origin_of(const struct json_t *file);

/* The version becomes the file `name` below `dir_fd`; one that is there is replaced. *ret_is_new (may
 * be NULL) is false when it was there already, with the same bytes. `name` has no slash. */
int download_file(struct haul *h, const struct origin *from, int dir_fd, const char *name,
                  bool *ret_is_new, struct err *e);

/* The version is written to `fd` as it comes: a pipe, a device. */
int download_stream(struct haul *h, const struct origin *from, int fd, struct err *e);

/* The file becomes a new version of `path`; *ret is the file object, the caller's. *ret_is_new is false
 * when the server has these bytes there already. */
int upload_file(struct haul *h, const char *local, const char *path, struct json_t **ret,
                bool *ret_is_new, struct err *e);

/* All that can be read from `fd`. Not resumable. */
int upload_stream(struct haul *h, int fd, const char *path, struct json_t **ret, struct err *e);

#endif
