/* files.h -- the rules of workspaces: who may, which paths, how much, what a version is.
 *
 * Everything the API, the command line and the sandbox do to files comes through here, so a rule that
 * holds here holds at every door.
 *
 *     files_workspace(files, &who, "reports", RIGHT_WRITE, &ws, e)
 *
 *     struct commit *c;
 *     commit_new(files, &ws, &author, COMMIT_UPLOAD, &c, e)
 *     commit_put(c, "plots/a.png", &how, size, e); commit_write(c, bytes, len, e); commit_end(c, e)
 *     commit_delete(c, "old.csv", &how, e)
 *     commit_finish(c, e)                          one transaction; durable; then look at the changes
 *     commit_change(c, i)->outcome ...
 *     commit_free(c)
 *
 * Paths are checked and cleaned (paths.h) before anything else. Any number of threads; a commit belongs
 * to one. All block on disk.
 */
#ifndef WORKSPACE_FILES_H
#define WORKSPACE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/contents.h"
#include "store/meta_files.h"
#include "workspace/diff.h"
#include "workspace/people.h"
#include "workspace/rights.h"

struct commit;
struct err;
struct files;

struct files_options {
    struct meta *meta; /* all borrowed */
    struct contents *contents;
    struct people *people;
    int space_fd; /* a directory on the disk that has to keep some room; -1: none */
    uint64_t
        reserve_bytes; /* kept free (base/disk.h); who may use which part of it: files_check_room */
    uint64_t bytes_max, files_max; /* quota of a workspace that has none of its own; 0: none */
    uint64_t file_max;             /* bytes of one file */
    uint32_t trash_days;           /* until what was deleted is purged; 0: never */
    struct thinning_rule {
        uint32_t keep_last, keep_days; /* both 0: every version is kept */
    } thinning;
    const uint8_t *sign_key; /* 32 bytes, for signed addresses (sign.h) */
    int uploads_fd;          /* DATA/uploads, for uploads.h; 0 or -1: there are none */
    /* Told when files of a workspace have changed, or it is gone; any thread; must not wait. NULL: nobody. */
    void (*on_change)(void *arg, const char *workspace);
    void *on_change_arg;
    size_t lock_waiters_max; /* who may wait for locks at the same time; 0: LOCK_WAITERS_MAX */
};

enum {
    COMMIT_CHANGES_MAX = 200000, /* of one commit */
    WORKSPACES_MAX = 1000,       /* of one owner */
    WORKSPACES_HIDDEN_MAX = 200000,
};

int files_open(const struct files_options *options, struct files **ret, struct err *e);
void files_close(struct files *f);

/* ---- workspaces ---- */

/* By id or by the name its owner gave it; NULL or "default": the default one. What somebody may not see
 * is ERR_NOT_FOUND, what they may see but not do ERR_DENIED (rights.h). */
int files_workspace(struct files *f, const struct who *who, const char *id_or_name,
                    enum right right, struct workspace_row *ret, struct err *e);
/* Without asking who: for sessions that were given it. */
int files_workspace_known(struct files *f, const char *id, struct workspace_row *ret,
                          struct err *e);

/* A name is 1 to 256 bytes of text without '/' and control characters, no other of the owner's has it
 * (ERR_CONFLICT), and it does not look like an id. ERR_LIMIT past WORKSPACES_MAX. */
int files_workspace_create(struct files *f, const struct who *who, const char *name,
                           struct workspace_row *ret, struct err *e);
/* One that a door needs for something of its own; ERR_LIMIT past WORKSPACES_HIDDEN_MAX of the kind. */
int files_workspace_create_kind(struct files *f, const struct who *who, const char *name,
                                enum workspace_kind kind, struct workspace_row *ret, struct err *e);
/* One's own and those one is a member of; the list of an admin of the server has everybody's. */
int files_workspace_list(struct files *f, const struct who *who, enum workspace_kind kind,
                         const struct page *page, struct workspace_rows *ret, struct err *e);
/* Quotas only by an admin: ERR_DENIED. */
int files_workspace_change(struct files *f, const struct who *who, const struct workspace_row *ws,
                           const struct workspace_change *change, struct err *e);
int files_workspace_delete(struct files *f, const struct who *who, const struct workspace_row *ws,
                           struct err *e);

/* Whether the disk has room for `bytes` more in `count` files more; ERR_NO_SPACE. Asks it: cheap, but not
 * free. */
enum room_use {
    ROOM_FOR_FILES,   /* from outside: above the reserve */
    ROOM_FOR_COPIES,  /* of files that are there, for sessions to work on: to the middle of it */
    ROOM_FOR_RESULTS, /* what sessions wrote, which is on the disk already: to the last quarter */
    ROOM_FOR_RUNS,    /* what a run or a session needs for itself: to the last eighth */
};
int files_check_room(struct files *f, enum room_use use, uint64_t bytes, uint64_t count,
                     struct err *e);
/* For files from outside, of any size. */
int files_check_space(struct files *f, struct err *e);
/* Whether files from outside would be refused. What only removes something is not asked: that works on a
 * full disk, too (store/ballast.h). */
bool files_is_full(struct files *f);

/* ---- changes ---- */

/* What a change expects and how it gives way; zeroes: nothing, and it fails. */
struct how {
    enum expectation expect;
    const char *expected_file; /* EXPECT_VERSION; NULL: any file, at any version */
    uint64_t expected_version;
    uint64_t since;   /* EXPECT_SINCE */
    const char *mark; /* for the name of what is put aside */
    bool is_lenient, is_overwriting;
};

int commit_new(struct files *f, const struct workspace_row *ws, const struct author *author,
               enum commit_kind kind, struct commit **ret, struct err *e);
void commit_free(struct commit *c); /* NULL is fine; without commit_finish nothing has happened */
static inline void commit_freep(struct commit **c)
{
    commit_free(*c);
}
/* The working copy of author->session is what is committed (meta_files.h). */
void commit_is_working_copy(struct commit *c);

/* A file: put, then write its bytes, then end; or drop, and it is as if it had not been put: the one
 * that was begun, else the one that was ended last. `size` is what was announced; 0 or UINT64_MAX: not.
 * Fails with ERR_INVALID (path), ERR_TOO_LARGE, ERR_NO_SPACE, ERR_QUOTA (lenient or not) as soon as that
 * is certain; after that, drop it and go on with the others, or free the commit. */
int commit_put(struct commit *c, const char *path, const struct how *how, uint64_t size,
               struct err *e);
int commit_write(struct commit *c, const void *bytes, size_t len, struct err *e);
int commit_end(struct commit *c, struct err *e);
void commit_drop(struct commit *c);
/* The same in one step, for bytes that can be read again: what gc takes away while the commit is being
 * made is stored a second time then. Reads from 0 on until *ret_len is 0. The source has to stay until
 * commit_finish. */
struct file_source {
    int (*read)(void *arg, uint64_t offset, void *to, size_t size, size_t *ret_len, struct err *e);
    void *arg;
};
int commit_put_source(struct commit *c, const char *path, const struct how *how, uint64_t size,
                      const struct file_source *source, struct err *e);
/* A file whose content the workspace's vault has already. */
int commit_put_content(struct commit *c, const char *path, const struct how *how,
                       const struct content *content, struct err *e);

int commit_delete(struct commit *c, const char *path, const struct how *how, struct err *e);
int commit_move(struct commit *c, const char *path, const char *to, const struct how *how,
                struct err *e);
int commit_copy(struct commit *c, const char *path, const char *to, const struct how *how,
                struct err *e);
int commit_mkdir(struct commit *c, const char *path, struct err *e);
int commit_restore(struct commit *c, const char *path, uint64_t version, const struct how *how,
                   struct err *e);
/* `path` NULL: where it was. */
int commit_untrash(struct commit *c, const char *file, const char *path, const struct how *how,
                   struct err *e);

/* Makes everything durable, or nothing. Stores again what gc has removed meanwhile, where it can: what
 * came through commit_write is gone, and then it fails with ERR_BUSY, to be sent again. Once. */
int commit_finish(struct commit *c, struct err *e);

size_t commit_count(const struct commit *c);
const struct file_change *commit_change(const struct commit *c, size_t index); /* in order */
uint64_t commit_rev(const struct commit *c); /* of the workspace, after commit_finish */

/* ---- reading ---- */

/* `version` 0: the newest. Deleted files are found by version only. */
int files_stat(struct files *f, const struct workspace_row *ws, const char *path, uint64_t version,
               struct version_row *ret, struct err *e);
int files_open_content(struct files *f, const struct workspace_row *ws,
                       const struct content *content, struct content_reader **ret, struct err *e);

/* What changed between two versions, as text (diff.h): both are read whole, up to its limits. */
int files_diff(struct files *f, const struct workspace_row *ws, const struct version_row *from,
               const struct version_row *to, struct buf *out, enum diff_outcome *ret,
               struct err *e);

/* The other lists and lookups are meta_files.h's, through this: */
struct meta *files_meta(struct files *f);

/* ---- what time brings; called by the keeper, now and then ---- */
int files_tidy(struct files *f, int64_t now_us,
               struct err *e); /* trash, thinning, uploads, locks */

#endif
