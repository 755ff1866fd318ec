/* meta_files.h -- the operations on files, versions and chunks. As meta.h: one implementation, on
 * SQLite; another would have to pass meta_contract.h. Decides nothing but what a compare-and-swap or a
 * quota decides, because both must be decided inside the transaction.
 *
 * A workspace's revision counts its commits. What changed in a commit has that number as its `rev`,
 * so "what changed since" is a question about one index.
 */
#ifndef STORE_META_FILES_H
#define STORE_META_FILES_H

#include "base/str.h"
#include "store/meta.h"

struct batch;

enum { PATH_BYTES_MAX = 1024 }; /* of one path; a component has at most 255 */

/* ---- one commit ---- */

struct commit_row {
    char workspace[ID_SIZE];
    enum commit_kind kind;
    struct author author;
    int64_t created_us;
    /* The session's working copy is what is committed: for every path that is, the revision goes to
     * the session's list (meta_session_paths) in the same transaction. */
    bool is_working_copy;
    uint64_t files_max, bytes_max; /* quota; 0: none */
};

enum change_op {
    OP_PUT,     /* `content` at `path`; what is there becomes its earlier version */
    OP_DELETE,  /* to the trash; of a directory: with everything below */
    OP_MOVE,    /* `path` to `to`, history and all; directories with everything below. Onto a file:
                   only when is_overwriting, and then that goes to the trash */
    OP_COPY,    /* `path` to `to`, as a new file or a new version there; likewise */
    OP_MKDIR,   /* nothing happens when it is there */
    OP_RESTORE, /* version `version` of the file at `path` becomes its newest */
    OP_UNTRASH, /* the file `file` comes back from the trash, to `path`; NULL: where it was */
};

/* Of `path`: for moves and copies that is where it comes from. */
enum expectation {
    EXPECT_ANY,
    EXPECT_ABSENT,  /* no live file there */
    EXPECT_VERSION, /* `expected_file` ("": any) at `expected_version` (0: any) */
    EXPECT_SINCE,   /* unchanged since revision `since`, or equal to what is to be put */
};

enum outcome {
    OUTCOME_DONE,
    OUTCOME_SAME,  /* it was so already; no version was made */
    OUTCOME_ASIDE, /* EXPECT_SINCE failed: the content was put at `ret_path` instead */
    OUTCOME_KEPT,  /* the same for OP_DELETE: others changed the file, so it stays */
    OUTCOME_QUOTA, /* is_lenient: there was no room in the workspace */
    OUTCOME_LOCKED, /* would have been put aside, but everything around is locked: nothing was done */
};

/* One change of a commit. Paths are clean: workspace/paths.h. */
struct file_change {
    const char *path, *to;
    struct content content;
    uint64_t version;
    enum change_op op;
    char file[ID_SIZE];
    bool is_overwriting;

    char expected_file[ID_SIZE];
    bool is_lenient; /* no room: OUTCOME_QUOTA for this one, and the others go on */
    uint64_t expected_version, since;
    /* What to do when EXPECT_SINCE does not hold: put it beside, under a name of this pattern: "NAME
     * (MARK).EXT", with a number if that is taken by something else. NULL: fail. If the session put
     * the path aside before (meta_session_paths), the same name is used again. */
    const char *mark;
    enum expectation expect;

    /* Filled by meta_commit. */
    enum outcome outcome;
    enum change made; /* created, modified, deleted, ... */
    char ret_file[ID_SIZE];
    uint64_t ret_version, ret_rev;
    char *ret_path; /* where it went, when that is not `path` (or `to`); the caller's to free */
    char *
        ret_why; /* of ASIDE, KEPT and LOCKED: the lock that was in the way, and whose; the caller's
                       to free; NULL: others changed it */
};

/* All changes as one commit, durable when this returns. `batch` brings the chunks (contents.h; synced
 * already; NULL: none). *ret_rev is the workspace's revision then, also when nothing had to be
 * changed. Unless lenient, the first change that cannot be made fails the whole: ERR_NOT_FOUND,
 * ERR_CONFLICT (something is in the way: a file where a directory is needed, or the reverse),
 * ERR_PRECONDITION (an expectation; a lock token that is good no more), ERR_QUOTA (the message says how
 * much of what), ERR_LOCKED (meta_locks.h; author.pass gets past), ERR_BUSY (gc has removed what the
 * batch relied on: store it again). */
int meta_commit(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                size_t count, const struct batch *batch, uint64_t *ret_rev, struct err *e);
/* The same with the rows themselves instead of a batch; NULL: none. */
int meta_commit_set(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                    size_t count, const struct chunk_set *chunks, uint64_t *ret_rev, struct err *e);

/* ---- reading ---- */

/* The live file at that path; ERR_NOT_FOUND. */
int meta_file_get(struct meta *m, const char *workspace, const char *path, struct file_row *ret,
                  struct err *e);
int meta_file_by_id(struct meta *m, const char *id, struct file_row *ret, struct err *e);
int meta_version_get(struct meta *m, const char *file, uint64_t version, struct version_row *ret,
                     struct err *e);
/* What the path held at that revision: its newest version with rev <= that; ERR_NOT_FOUND when there
 * was nothing (or a deletion). */
int meta_version_at(struct meta *m, const char *workspace, const char *path, uint64_t rev,
                    struct version_row *ret, struct err *e);
/* The version of that number that a file had while it was at that path, wherever the file is now; of
 * several the newest. */
int meta_version_of_path(struct meta *m, const char *workspace, const char *path, uint64_t version,
                         struct version_row *ret, struct err *e);
/* Newest first; the cursor is the version number. */
int meta_version_list(struct meta *m, const char *file, const struct page *page,
                      struct version_rows *ret, struct err *e);

struct file_query {
    const char *prefix;    /* "": all. Bytewise; "a/" is what is in the directory a */
    const char *glob;      /* of the whole path, with **; NULL: all */
    bool is_flat;          /* directories below the prefix stand for what is in them: kind FILE_DIR,
                             no id, path ending without '/' */
    enum file_state state; /* FILE_TRASHED: the trash, newest first; prefix and flat do not count */
    const char *after; /* path after which to go on; in the trash: the cursor. NULL: the first */
    uint32_t limit;    /* 1 to PAGE_MAX */
};

/* Sorted by path, bytewise; in a flat list a directory that stands for what is in it lies where its path
 * with a '/' behind it would. A million files are no slower than a hundred: every row costs one step in
 * an index, a directory in a flat list too. With a glob at most 100,000 are looked at, and then
 * has_more is true with fewer than `limit` items; `next` (a path, or the trash's cursor) says where
 * to go on, and may be longer than CURSOR_SIZE: it is *ret_next, the caller's to free, NULL at the
 * end. */
int meta_file_list(struct meta *m, const char *workspace, const struct file_query *query,
                   struct file_rows *ret, char **ret_next, struct err *e);

/* Everything that changed after revision `since`, live, trashed or purged (directories too), by revision,
 * at most `limit`; go on after the rev of the last, whose files are never split between two pages. Used
 * to bring copies up to date. Of one revision what is gone comes first. since 0: all that is live. The
 * place that a file has left since then, and where nothing else is now, comes as a row of its own before
 * it: FILE_TRASHED, CHANGE_MOVED. */
int meta_file_changes(struct meta *m, const char *workspace, uint64_t since, uint32_t limit,
                      struct file_rows *ret, struct err *e);
/* The pages after the first: what changed after `after`, for a copy that is at `since`, which says what
 * places were left. */
int meta_file_changes_after(struct meta *m, const char *workspace, uint64_t since, uint64_t after,
                            uint32_t limit, struct file_rows *ret, struct err *e);

/* Files of a run: what it made, by path. */
int meta_version_of_run(struct meta *m, const char *run, struct version_rows *ret, struct err *e);

int meta_version_pin(struct meta *m, const char *file, uint64_t version, bool is_pinned,
                     struct err *e);

/* Forgets versions for good; the bytes go with the next gc. Of a trashed file: the whole file
 * (version 0) or one version; of a live one: any but its newest, not when pinned: ERR_CONFLICT. */
int meta_purge(struct meta *m, const char *file, uint64_t version, struct err *e);
/* Files that went to the trash before that moment; at most `limit`; *ret_count were purged. */
int meta_purge_trash(struct meta *m, const char *workspace, int64_t before_us, uint32_t limit,
                     uint64_t *ret_count, struct err *e);

/* The same as a rule, which leaves files of which some run has read a version (meta_lineage.h). */
int meta_tidy_trash(struct meta *m, const char *workspace, int64_t before_us, uint32_t limit,
                    uint64_t *ret_count, struct err *e);

struct thinning { /* 0: does not count. What is head, pinned, read by a run or younger stays */
    uint32_t keep_last;    /* the newest so many versions of a file stay */
    int64_t older_than_us; /* wall clock: versions made before */
};
int meta_thin(struct meta *m, const struct thinning *rule, uint32_t limit, uint64_t *ret_count,
              struct err *e);

/* ---- workspaces ---- */

struct workspace_change { /* NULL, UINT64_MAX: stays */
    const char *name;
    uint64_t files_max, bytes_max;
    int intelligence; /* 1: on, -1: off, 0: stays */
};
int meta_workspace_update(struct meta *m, const char *id, const struct workspace_change *change,
                          struct err *e);
/* From then on it is ERR_NOT_FOUND to meta_workspace_get, and its files are gc's. Fails with
 * ERR_CONFLICT when it is somebody's default one, or sessions are open in it. */
int meta_workspace_delete(struct meta *m, const char *id, int64_t now_us, struct err *e);
/* Removes what deleted workspaces held, at most about `limit` rows in one transaction; *ret_count were
 * removed, 0: nothing is left. gc does not see them already before. */
int meta_workspace_clear(struct meta *m, uint32_t limit, uint64_t *ret_count, struct err *e);

/* Adds up the rows and compares with what the workspaces' rows say, and looks for what cannot be (a
 * file below a file, a row that is not its newest version ...). For fsck and tests; reads everything.
 * ERR_DAMAGED names the first that is wrong. */
int meta_check_files(struct meta *m, struct err *e);
/* The same and the database's own checks; `tell` hears of everything that is wrong, up to a hundred
 * times of one kind. Fails only when it cannot look. */
int meta_check(struct meta *m, void (*tell)(void *arg, const char *problem), void *arg,
               struct err *e);

/* ---- working copies ---- */

/* A path that the session has committed, or that it holds although others changed it. */
struct session_path {
    char *path;
    uint64_t rev;
    char *aside; /* where its content goes instead; NULL: to the path itself */
};
struct session_paths {
    struct session_path *items; /* sorted by path */
    size_t count;
};
void session_paths_done(struct session_paths *l);

int meta_session_paths(struct meta *m, const char *session, struct session_paths *ret,
                       struct err *e);

/* The revision up to which the session's working copy has what others did; 0 at first. When it moves
 * on, `paths` that the session no longer holds as its own are forgotten (those that were brought to
 * head); NULL with count 0: none; all of them when is_all. */
int meta_session_base(struct meta *m, const char *session, uint64_t *ret_rev, struct err *e);
int meta_session_set_base(struct meta *m, const char *session, uint64_t rev,
                          const char *const *paths, size_t count, bool is_all, struct err *e);
/* Of `path` the copy has only what it was at revision `rev`, wherever its base is: what others made of it
 * since could not be brought. */
int meta_session_hold(struct meta *m, const char *session, const char *path, uint64_t rev,
                      struct err *e);
/* A second session begins with the same base and list. */
int meta_session_copy_base(struct meta *m, const char *from, const char *to, struct err *e);

/* ---- chunks, for contents.h ---- */

/* 1: found, 0: not there (or given up by gc), -1. */
int meta_chunk_find(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e);
/* The same for reading: also those that gc has given up, until they are removed. What was marked just
 * when a commit began to need it is still there, and the next gc unmarks it. */
int meta_chunk_read(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e);
/* Rows of a pack, by offset, from `offset` on; at most `limit`, into `ret`. */
int meta_chunk_list(struct meta *m, const char *vault, uint64_t pack, uint64_t offset, size_t limit,
                    struct chunk_row *ret, size_t *ret_count, struct err *e);
/* gc has copied chunks: the rows that still say `from` say `to`. */
struct chunk_move {
    struct chunk_row from, to;
};
int meta_chunk_move(struct meta *m, const char *vault, const struct chunk_move *moves, size_t count,
                    struct err *e);

/* Vaults that have chunks or versions, sorted; the caller's to free. */
int meta_vault_list(struct meta *m, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e);

/* Every content that some kept version of the vault names, each once, in order of its hash, after
 * `after` (NULL: from the first); at most `limit`. */
int meta_content_list(struct meta *m, const char *vault, const uint8_t *after, size_t limit,
                      struct content *ret, size_t *ret_count, struct err *e);

/* The kept versions that have a content, for fsck: `each` hears of one after the other, whose texts are good
 * until it returns, and must not call anything of `m`. */
struct content_name {
    char workspace[ID_SIZE];
    struct str workspace_name, path;
    uint64_t version;
    bool is_newest, is_in_trash; /* newest of those with content */
};
int meta_content_names(struct meta *m, const char *vault, const uint8_t sha256[HASH_LEN],
                       void (*each)(void *arg, const struct content_name *name), void *arg,
                       struct err *e);

/* gc's two passes. A chunk that nobody needs is marked dead first; whoever needs it again meanwhile
 * unmarks it (meta_commit does, in its transaction), and meta_chunk_find does not find it. Rows that
 * have been dead since before `before_us` are removed. Marks and removals of one call are one
 * transaction: keep `count` below some thousands. */
int meta_chunk_mark(struct meta *m, const char *vault, const struct chunk_key *keys, size_t count,
                    bool is_dead, int64_t now_us, struct err *e);
int meta_chunk_sweep(struct meta *m, const char *vault, int64_t before_us, uint32_t limit,
                     uint64_t *ret_count, struct err *e);

/* Sums by pack, for gc: how much of it rows still name. */
struct pack_use {
    uint64_t pack, records, bytes; /* stored_len and headers */
    uint64_t end;                  /* of the last record that a row names */
};
int meta_pack_use(struct meta *m, const char *vault, struct pack_use **ret, size_t *ret_count,
                  struct err *e);

/* ---- uploads that can be resumed ---- */

int meta_upload_insert(struct meta *m, const struct upload_row *row, struct err *e);
int meta_upload_get(struct meta *m, const char *id, struct upload_row *ret, struct err *e);
/* `workspace` NULL: of all. */
int meta_upload_list(struct meta *m, const char *workspace, const struct page *page,
                     struct upload_rows *ret, struct err *e);
int meta_upload_remove(struct meta *m, const char *id, struct err *e);
int meta_upload_used(struct meta *m, const char *id, int64_t now_us, struct err *e); /* META_SOON */

#endif
