/* commit_int.h -- the inside of meta_commit: one commit while it is being made, on the writer's thread.
 *
 * meta_commit.c runs the changes in order; each works on what those before it left. commit_find.c looks
 * for rows; commit_rows.c alone writes files and versions, and keeps the workspace's counters with each;
 * commit_put.c, commit_aside.c, commit_tree.c and commit_back.c are the operations; commit_locks.c and
 * commit_locked.c know what locks forbid. An operation asks everything that could refuse it before it
 * writes its first row, so that one that found no room has done nothing.
 *
 * All return 0 or -1; those that look for something 1 (found), 0 (not there) or -1.
 */
#ifndef STORE_COMMIT_INT_H
#define STORE_COMMIT_INT_H

#include "store/meta_files.h"
#include "store/sql.h"

enum { TREE_MAX = 100000 }; /* files that one change of a directory may touch */

struct work {
    struct db_conn *c;
    const struct commit_row *commit;
    int64_t workspace, vault; /* numbers */
    uint64_t rev;             /* that this commit will have, if it changes anything */
    bool has_changed;
    uint64_t files, bytes, kept_bytes;
    int64_t owner_max;   /* what the owner's quota leaves to this workspace's kept_bytes; -1: any */
    int64_t next_number; /* of a new file; 0: not asked yet */
    /* A directory known to have a live file in it: nothing above a path in it is a file. */
    char open_dir[PATH_BYTES_MAX + 1];
    struct held *locks; /* that are in force, by path */
    size_t lock_count;
    bool is_reading; /* nothing is to be written: somebody only asks */
};

/* A row of `files`. */
struct entry {
    int64_t number;
    char id[ID_SIZE];
    char path[PATH_BYTES_MAX + 1];
    enum file_kind kind;
    enum file_state state;
    uint64_t version, rev;
    bool has_content;
    struct content content; /* the newest; of a trashed one the last it had */
};

struct numbers {
    int64_t *items;
    size_t count;
};
void numbers_done(struct numbers *n);

/* ---- looking (commit_find.c) ---- */

int entry_live(struct work *w, const char *path, struct entry *ret, struct err *e);
int entry_trashed(struct work *w, const char *path, enum file_kind kind, struct entry *ret,
                  struct err *e); /* the newest there */
int entry_by_id(struct work *w, const char *id, struct entry *ret, struct err *e);
int entry_by_number(struct work *w, int64_t number, struct entry *ret, struct err *e);
int has_below(struct work *w, const char *path, struct err *e); /* a live file */
/* Live ones at and below a directory, by path. ERR_LIMIT: more than TREE_MAX. */
int list_tree(struct work *w, const char *path, struct numbers *ret, struct err *e);
/* The length of the first part of the path that is a live file, itself not counted; 0: none is. */
int blocked_at(struct work *w, const char *path, size_t *ret, struct err *e);
/* A content that the file had, by version. ERR_NOT_FOUND, ERR_CONFLICT when it has none. */
int content_of(struct work *w, const struct entry *f, uint64_t version, struct content *ret,
               struct err *e);
/* Whether there was a file at `path` at that revision. */
int was_there(struct work *w, const char *path, uint64_t rev, struct err *e);

/* ---- writing (commit_rows.c) ---- */

/* ERR_QUOTA unless that many more files and bytes fit. */
int check_room(struct work *w, uint64_t files, uint64_t bytes, struct err *e);

/* A file that was not there, live; fills *ret. */
int entry_create(struct work *w, const char *path, enum file_kind kind,
                 const struct content *content, struct entry *ret, struct err *e);
/* A next version of a live file at the same path. */
int entry_modify(struct work *w, struct entry *f, const struct content *content, enum change change,
                 struct err *e);
/* From the trash, to `path`. `content` NULL: with the content it had, which costs nothing. */
int entry_revive(struct work *w, struct entry *f, const char *path, const struct content *content,
                 enum change change, struct err *e);
int entry_move(struct work *w, struct entry *f, const char *path, struct err *e);
int entry_trash(struct work *w, struct entry *f, struct err *e);

/* ---- locks (commit_locks.c, commit_locked.c) ---- */

/* A lock that is in force. */
struct held {
    char id[ID_SIZE];
    char *path, *holder; /* owned */
    int64_t expires_us;
    bool is_tree, is_shared;
    bool is_ours; /* its token was presented, or it is the session's */
};

/* Checks the tokens that were presented (ERR_PRECONDITION) and finds what is in force. Those that have
 * expired are removed: once somebody went past them, no clock that is set back revives them. */
int locks_load(struct work *w, struct err *e);
void locks_done(struct work *w);
/* Which lock forbids a change of `path`; *ret is NULL when none does. Locks below it count, unless is_dir: to
 * make a directory changes nothing in it. So do those on directories above it that are not there yet: they
 * would be made. */
int locks_on(struct work *w, const char *path, bool is_dir, const struct held **ret, struct err *e);
/* The end of the outermost part of the path that others have locked so that nothing can be put into it: as a
 * tree, or a directory that is not there. 0: there is none, or it is everything. */
int locks_above(struct work *w, const char *path, size_t *ret_end, struct err *e);
bool locks_all(const struct work *w); /* everything is locked by others */
/* ERR_LOCKED when the change may not be made. Those that give way (gives_way) look for themselves. */
int locks_check(struct work *w, const struct file_change *c, struct err *e);
/* The change gave way to the lock: ret_why, the lock's count of them, and a row in the audit. */
int locks_gave_way(struct work *w, struct file_change *c, const struct held *by, struct err *e);

/* A session's changes are put aside rather than refused. */
static inline bool gives_way(const struct file_change *c)
{
    return c->expect == EXPECT_SINCE && c->mark;
}

/* ---- the operations ---- */

/* Puts a content at `path`, or says that it is there. Fails with ERR_CONFLICT when something is in
 * the way. Fills outcome, made and the ret_ of `c`. */
int place(struct work *w, struct file_change *c, const char *path, const struct content *content,
          enum change change, struct err *e);
/* Nothing may be in the way of something new at `path`: no file above, no directory there. */
int check_way(struct work *w, const char *path, struct err *e);
/* What the change expects of `path`, where `found` is (NULL: nothing). 0: so it is. 1: it was to be
 * unchanged, and is not. Otherwise ERR_PRECONDITION. */
int check_expected(struct work *w, const struct file_change *c, const char *path,
                   const struct entry *found, struct err *e);
void report(struct work *w, struct file_change *c, const struct entry *f, enum outcome outcome,
            enum change made);
/* Notes for the session that it has `path` as of `rev`, if its working copy is what is committed. */
int note_path(struct work *w, const char *path, uint64_t rev, const char *aside, struct err *e);
uint64_t rev_now(const struct work *w);

int op_put(struct work *w, struct file_change *c, struct err *e);
int op_delete(struct work *w, struct file_change *c, struct err *e);
int op_move(struct work *w, struct file_change *c, struct err *e);
int op_copy(struct work *w, struct file_change *c, struct err *e);
int op_mkdir(struct work *w, struct file_change *c, struct err *e);
int op_restore(struct work *w, struct file_change *c, struct err *e);
int op_untrash(struct work *w, struct file_change *c, struct err *e);

/* ---- names of what is put aside (commit_aside.c) ---- */

/* `path` with " (MARK)", or " (MARK NUMBER)" from 2 on, in the component that ends at `end`, before
 * its extension. Cut so that it is no longer than names may be. ERR_CONFLICT when that is impossible. */
int aside_name(const char *path, size_t end, const char *mark, unsigned number,
               char ret[PATH_BYTES_MAX + 1], struct err *e);
/* For a put that expects the path to be unchanged. 1: it was put beside, because it is not (differs),
 * or because the session did so before. 0: it may go to its place. */
int put_aside_if(struct work *w, struct file_change *c, bool differs, struct err *e);

#endif
