/* upload_int.h -- inside upload_file: what goes out, and in pieces if it is large. */
#ifndef CLI_UPLOAD_INT_H
#define CLI_UPLOAD_INT_H

#include "base/hash.h"
#include "cli/transfer.h"

struct stat;

struct outgo {
    struct haul *haul;
    int fd;           /* borrowed */
    const char *path; /* in the workspace */
    struct hash hash; /* of the bytes up to `hashed` */
    uint64_t hashed;
    uint64_t piece_end; /* of the piece that is being sent */
};

static inline void outgo_done(struct outgo *out)
{
    hash_done(&out->hash);
}

/* Sends a file as an upload of the server's, going on with the one that a note tells of. */
int upload_in_pieces(struct outgo *out, const char *local, const struct stat *st,
                     struct json_t **ret, bool *ret_is_new, struct err *e);

#endif
