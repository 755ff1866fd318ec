/* resume.h -- what is remembered of a transfer that is not finished, so that it can go on.
 *
 * A note for each, in $XDG_STATE_HOME/cicada/transfers, named by a hash of what the transfer is: which
 * way, from where, to where. It says which upload of the server it is, or which version is being
 * fetched, and what the file here was like. A note proves nothing: it is compared with what the server
 * and the disk say, and whoever finds a difference begins anew. Notes older than RESUME_DAYS are swept.
 * Without a home directory nothing is remembered, and nothing fails because of that.
 *
 *     struct resume_key key = {"put", local, workspace, path};
 *     if (resume_load(&key, &note)) ...
 *     resume_save(&key, &note, clock_wall_us());
 *     resume_forget(&key);
 */
#ifndef CLI_RESUME_H
#define CLI_RESUME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

struct stat;

enum { RESUME_DAYS = 14, RESUME_ETAG_SIZE = 160 };

struct resume_key {
    const char *way, *local, *workspace, *path;
};

struct resume_note {
    char upload[ID_SIZE];           /* of an upload; "": none */
    char etag[RESUME_ETAG_SIZE];    /* of the version that is fetched; "": none */
    uint64_t size, inode, mtime_ns; /* of the local file of an upload; size of what is fetched */
};

/* The parts of a note that tell one state of a local file from another. */
void resume_fingerprint(const struct stat *st, struct resume_note *note);
bool resume_is_same_file(const struct resume_note *a, const struct resume_note *b);

/* False if there is none, or it makes no sense. */
bool resume_load(const struct resume_key *key, struct resume_note *ret);

/* Also sweeps notes that are too old at `now_us` (since 1970). */
void resume_save(const struct resume_key *key, const struct resume_note *note, int64_t now_us);
void resume_forget(const struct resume_key *key);

#endif
