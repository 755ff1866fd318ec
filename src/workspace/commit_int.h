/* commit_int.h -- a commit in the making. */
#ifndef WORKSPACE_COMMIT_INT_H
#define WORKSPACE_COMMIT_INT_H

#include "workspace/files.h"

/* Where the bytes of a change came from: what can be had again when gc took them away. */
struct origin {
    enum { ORIGIN_NONE, ORIGIN_WRITTEN, ORIGIN_REUSED, ORIGIN_SOURCE } kind;
    uint64_t size; /* announced */
    struct file_source source;
};

/* The file that is being put: begun, not yet ended. */
struct putting {
    bool is_on;
    bool is_ended;             /* its bytes are; what was left to do failed */
    struct file_change change; /* owns its texts */
    struct origin origin;
    uint64_t announced; /* 0: not */
    uint64_t written;
    enum {
        HEAD_UNKNOWN,
        HEAD_NONE,
        HEAD_KNOWN
    } head; /* what is at the path now, if anybody asked */
    uint64_t head_size;
};

/* How much the workspace takes and how much this commit adds. At first what it adds is an upper
 * bound, because nobody looks whether a file that is put is there already, with the same content.
 * When the bound does not fit any more, it is counted exactly, from then on. */
struct room {
    uint64_t files_max, bytes_max; /* 0: any */
    uint64_t files, bytes;         /* that are there */
    uint64_t more_files, more_bytes;
    bool is_exact;
};

struct commit {
    struct files *files;
    char vault[ID_SIZE];
    struct commit_row row;
    struct batch *batch; /* NULL until something is stored */
    struct file_change *changes;
    struct origin *origins; /* of each change */
    size_t count, cap;
    bool has_other_ops; /* than OP_PUT: they may free room */
    bool is_finished;
    uint64_t rev;
    struct putting putting;
    struct room room;
};

/* What all changes have in common: clean copies of the paths, and what is expected. On failure nothing
 * is left in *ret. */
int change_fill(struct file_change *ret, enum change_op op, const char *path, const char *to,
                const struct how *how, struct err *e);
void change_done(struct file_change *change); /* frees its texts */

/* Puts it on the list. Takes the change over, also when it fails. */
int commit_add(struct commit *c, struct file_change *change, const struct origin *origin,
               struct err *e);

/* Room in the workspace and on the disk for what is being put, as far as it is known now: ERR_QUOTA,
 * ERR_NO_SPACE, ERR_TOO_LARGE. */
int room_check(struct commit *c, struct err *e);
/* It is put: counts it. */
int room_take(struct commit *c, const struct file_change *change, struct err *e);

int commit_batch(struct commit *c, struct err *e); /* makes it when there is none */

#endif
