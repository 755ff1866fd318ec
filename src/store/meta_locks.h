/* meta_locks.h -- locks: for a while nobody but its holder changes a path, or a tree.
 *
 * A lock is on a path, whether something is there or not, and stays there when the file moves. An
 * exclusive one is alone; shared ones may be held by several at once, and each of their holders may
 * write (RFC 4918). They forbid changes, never reading.
 *
 *     lock                  forbids others to
 *     a path                put, delete, move, restore it, or anything onto it; to delete or move a
 *                           directory above it
 *     a tree                the same for everything in it, also for what is not there yet
 *
 * Who gets past: whoever presents the token, of which only the hash is kept, and the session that the
 * lock was taken for. Of shared ones any one will do. It is decided inside the transaction of a commit
 * (meta_commit), and so there is no moment between the check and the change.
 *
 *            take                        renew
 *     free ───────► held (expires) ─────────────► held (later)
 *       ▲             │ release, break, its session is closed, or the time is over
 *       └─────────────┘
 *
 * What has ended does not come back: a token that was presented and belongs to no lock in force is
 * refused, ERR_PRECONDITION, also when nobody holds the path; so who overslept the end of a lock cannot
 * overwrite what others did since. Rows of locks that have ended are removed when somebody goes past them,
 * so that a clock that is set back revives none. Times are wall clock, and survive a restart.
 *
 * Every grant has a number, `fence`, that grows with each of the workspace, for those who guard something
 * elsewhere by it: what comes with a smaller one than was seen already is late.
 */
#ifndef STORE_META_LOCKS_H
#define STORE_META_LOCKS_H

#include "store/rows.h"

struct err;
struct meta;

enum {
    LOCK_TTL_MIN_S = 60,
    LOCK_TTL_MAX_S = 3600,
    LOCK_HOLDER_MAX = 256, /* bytes */
    LOCK_TOKENS_MAX = 16,  /* presented at once */
    LOCKS_MAX = 1000,      /* in force in a workspace */
    LOCKS_OF_MAX = 100,    /* of them, taken by one principal */
};

struct lock_row {
    char id[ID_SIZE]; /* lock_... */
    char workspace[ID_SIZE];
    const char *path; /* "": the whole workspace */
    const char *holder;
    bool is_tree, is_shared;
    char principal[ID_SIZE], session[ID_SIZE]; /* session "": it ends with none */
    uint8_t sha256[HASH_LEN];                  /* of the token; only going in */
    uint32_t ttl_s;
    uint64_t fence;
    uint64_t conflicts; /* files of sessions that were put beside, or not deleted, because of it */
    int64_t created_us, expires_us;
    void *owned;
};
struct lock_rows {
    ROWS(lock_row);
};
void lock_row_done(struct lock_row *r);
void lock_rows_done(struct lock_rows *l);

/* The lock that was in the way. */
struct lock_block {
    char id[ID_SIZE]; /* "": none was */
    char path[1025], holder[LOCK_HOLDER_MAX + 1];
    bool is_tree, is_shared;
    int64_t expires_us;
};

/* What somebody brings to get past locks; filled with what stopped them. */
struct lock_pass {
    uint8_t tokens[LOCK_TOKENS_MAX][HASH_LEN]; /* hashes of what was presented */
    size_t count;
    struct lock_block block; /* ERR_LOCKED: that one */
};

/* Takes it from `row`: created_us is now, expires_us is counted from it. *ret_fence is its number. Fails
 * with ERR_LOCKED, and *ret_block is the one in the way; ERR_NOT_FOUND (the workspace, or no open session
 * of that name in it), ERR_CONFLICT (a file is above the path), ERR_LIMIT. */
int meta_lock_take(struct meta *m, const struct lock_row *row, uint64_t *ret_fence,
                   struct lock_block *ret_block, struct err *e);
/* From now on for ttl_s more; 0: for as long as it was taken for. Needs its token in `pass`: ERR_DENIED
 * without. ERR_NOT_FOUND when it has ended. */
int meta_lock_renew(struct meta *m, const char *workspace, const char *id,
                    const struct lock_pass *pass, uint32_t ttl_s, int64_t now_us, struct err *e);
/* Ends it. `pass` NULL: without asking for its token. */
int meta_lock_remove(struct meta *m, const char *workspace, const char *id,
                     const struct lock_pass *pass, int64_t now_us, struct err *e);

/* In force at that moment. */
int meta_lock_get(struct meta *m, const char *workspace, const char *id, int64_t now_us,
                  struct lock_row *ret, struct err *e);
/* Newest first. `path` NULL: all; otherwise those that matter to it: on it, above, below. */
int meta_lock_list(struct meta *m, const char *workspace, const char *path, int64_t now_us,
                   const struct page *page, struct lock_rows *ret, struct err *e);
/* Whether a change of `path` would be refused now, as meta_commit would refuse it: for who wants to know
 * before a long body is read. `session` may be "". */
int meta_lock_check(struct meta *m, const char *workspace, const char *path,
                    const struct author *author, int64_t now_us, struct err *e);

/* Removes those that have ended before that moment; *ret_count were. */
int meta_lock_sweep(struct meta *m, int64_t before_us, uint64_t *ret_count, struct err *e);

#endif
