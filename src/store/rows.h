/* rows.h -- what is kept about principals, workspaces, keys, sessions, runs and files.
 *
 * A row that goes in is borrowed: fill it with what you have. A row that comes out owns its texts
 * (all in one block, `owned`) until x_row_done; x_rows_done frees a list. Texts that are not there
 * are NULL, ids that are not there are "". Times are microseconds since 1970, UTC; 0 is never.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/id.h"

enum principal_kind { PRINCIPAL_HUMAN, PRINCIPAL_AGENT };

struct principal_row {
    char id[ID_SIZE]; /* prn_... */
    enum principal_kind kind;
    const char *name;
    char parent[ID_SIZE];    /* of a sub-principal: on whose keys it is used */
    const char *external;    /* and what its parent calls it; unique per parent */
    char workspace[ID_SIZE]; /* its default one */
    uint64_t bytes_max;      /* quota of all that it owns; 0: none */
    int64_t created_us;
    int64_t disabled_us; /* since when it is not let in; 0: it is */
    void *owned;
};

enum workspace_kind {                          /* as stored: never renumber */
                      WORKSPACE_ANY = -1,      /* for lists */
                      WORKSPACE_PLAIN = 0,     /* somebody made it, and sees it in lists */
                      WORKSPACE_CONTAINER = 1, /* of a container of the OpenAI door */
                      WORKSPACE_FILES = 2,     /* of its files */
};

struct workspace_row {
    char id[ID_SIZE]; /* ws_... */
    char owner[ID_SIZE];
    char vault[ID_SIZE]; /* where its contents are kept (contents.h); "": going in, the owner's */
    const char *name;
    int64_t created_us;
    int64_t deleted_us;    /* 0: it is there */
    uint64_t rev;          /* number of its last commit; 0: none yet */
    uint64_t files, bytes; /* that are there now; directories that were made count as files */
    uint64_t kept_bytes;   /* of all versions that are kept, those of deleted files too; a move, or
                              coming back from the trash, adds nothing */
    uint64_t files_max, bytes_max; /* quota: of files, and of kept_bytes; 0: the server's */
    bool has_intelligence;         /* its texts are also found by what they mean */
    enum workspace_kind kind;
    void *owned;
};

/* ---- files ---- */

struct content {
    uint8_t sha256[HASH_LEN];
    uint64_t size;
};

enum chunk_kind { CHUNK_DATA = 1, CHUNK_RECIPE = 2 }; /* as stored: never renumber */

/* Where a chunk, or the recipe of a content (its list of chunks), lies. A content of one chunk has no
 * recipe: the chunk's hash is its own. A recipe is found by the hash of the content. */
struct chunk_row {
    uint8_t sha256[HASH_LEN];
    uint64_t pack, offset; /* of the record, header included */
    enum chunk_kind kind;
    uint32_t stored_len, raw_len; /* of the payload: as it lies there, and unpacked */
    uint32_t flags;               /* of the record */
    int64_t dead_us; /* since when gc knows nobody who needs it; 0: somebody does. Only read */
};

struct chunk_key {
    uint8_t sha256[HASH_LEN];
    enum chunk_kind kind;
};

struct chunk_set {
    const char *vault;
    const struct chunk_row *fresh; /* to be written down */
    size_t fresh_count;
    const struct chunk_key *reused; /* have to be there */
    size_t reused_count;
};

enum file_state { FILE_LIVE = 0, FILE_TRASHED = 1 };
enum file_kind { FILE_REGULAR = 0, FILE_DIR = 1 }; /* a directory that was made as such */
enum change {
    CHANGE_CREATED = 1,
    CHANGE_MODIFIED,
    CHANGE_DELETED,  /* a version without a content */
    CHANGE_RESTORED, /* an earlier version, or from the trash */
    CHANGE_MOVED,
};
extern const char *const change_names[]; /* by enum change; "created", ... */

/* Who made something: a person through an upload, or a run. */
struct author {
    char principal[ID_SIZE], key[ID_SIZE], session[ID_SIZE], run[ID_SIZE]; /* ""; not so */
    struct lock_pass
        *pass; /* only going in: what gets them past locks (meta_locks.h); NULL: nothing */
};

/* A file as it is now. Its history stays with it when it moves, and goes on when a file is made again
 * where one was deleted. Of all live files a path has one. */
struct file_row {
    char id[ID_SIZE]; /* file_... */
    char workspace[ID_SIZE];
    const char *path;
    enum file_kind kind;
    enum file_state state;
    uint64_t version; /* from 1; counts deletions too */
    uint64_t rev;     /* of the workspace, when it last changed */
    struct content content;
    enum change change; /* of that version */
    struct author author;
    int64_t created_us, changed_us;
    void *owned;
};

struct version_row {
    char file[ID_SIZE];
    uint64_t version, rev;
    const char *path; /* that it had then */
    struct content content;
    enum change change;
    struct author author;
    bool is_pinned;
    int64_t created_us;
    void *owned;
};

enum commit_kind { /* as stored: never renumber */
                   COMMIT_UPLOAD = 1,
                   COMMIT_RUN,
                   COMMIT_RECOVERED, /* what a run had written when the server died */
                   COMMIT_EDIT,      /* move, delete, restore, ... */
                   COMMIT_IMPORT,
                   COMMIT_ROLLBACK,
};

/* An upload that comes in pieces and may be resumed. */
struct upload_row {
    char id[ID_SIZE]; /* upl_... */
    char workspace[ID_SIZE];
    const char *path;
    uint64_t size;         /* announced; UINT64_MAX: not */
    const char *condition; /* If-Match or so, as the door wrote it; NULL: none */
    struct author author;
    int64_t created_us, used_us;
    void *owned;
};

struct key_limits {    /* 0: none */
    uint32_t sessions; /* open at the same time */
    uint32_t runs_per_minute;
    uint32_t cpu_s_per_day;
    uint32_t memory_mb; /* of one session */
    uint32_t runs_per_month;
    uint32_t cpu_s_per_month;
};

struct key_row {
    char id[ID_SIZE]; /* key_... */
    char principal[ID_SIZE];
    uint8_t sha256[HASH_LEN]; /* of the secret, which is kept nowhere */
    const char *name;
    uint32_t scopes; /* bits of workspace/people.h */
    struct key_limits limits;
    int64_t created_us, expires_us, revoked_us, used_us;
    void *owned;
};

struct session_row {
    char id[ID_SIZE]; /* ses_... */
    char principal[ID_SIZE], workspace[ID_SIZE];
    char key[ID_SIZE];   /* made with it; "": over the unix socket */
    const char *name;    /* unique among the principal's open ones */
    const char *options; /* limits and the like, JSON */
    const char *tz;
    uint32_t idle_s, snapshots;
    int64_t created_us, used_us, closed_us;
    const char *closed_why; /* "deleted", "expired", ... */
    char parent[ID_SIZE];   /* the session it was forked from; "": none */
    /* Only coming out: the last run of the parent, or of its own parent, whose state it began with. "": it began
     * with nothing, or that is not known. */
    char parent_run[ID_SIZE];
    /* Likewise, whose state its next run begins with; "" as above. */
    char state_run[ID_SIZE];
    /* Only going in: how many the principal, and the key, may have open with this one; 0: any. */
    uint32_t principal_max, key_max;
    void *owned;
};

enum run_status { RUN_QUEUED, RUN_RUNNING, RUN_DONE }; /* as stored: never renumber */

/* What is known of the versions a run read (meta_lineage.h). As stored: never renumber. */
enum run_trace { TRACE_NONE, TRACE_WHOLE, TRACE_PARTIAL };

struct run_input {
    uint64_t version;
    char file[ID_SIZE];
    bool is_guessed; /* a process that the run started was told of it */
};

struct run_row {
    char id[ID_SIZE]; /* run_... */
    char session[ID_SIZE], workspace[ID_SIZE], principal[ID_SIZE], key[ID_SIZE];
    char request[ID_SIZE]; /* req_... */
    enum run_status status;
    const char *end, *state; /* "ok", "kept", ...; NULL until it is done */
    const char *language, *name;
    const char *hint; /* set when the server ended before the run: over that of the object */
    const char *code; /* NULL in a brief list */
    size_t code_len;
    int64_t created_us, started_us; /* handed in; begun */
    int64_t duration_us, cpu_us;
    uint64_t peak_bytes;
    const char *object; /* the run object without the code, JSON; NULL: none yet, or brief */
    size_t object_len;
    enum run_trace trace;
    const struct run_input *inputs; /* only going in, with its end; read by meta_run_inputs */
    size_t input_count;
    /* Among the runs of its session, from 1, written with its end; what a rollback undid has numbers that are
     * given again. 0: it never ran, or that was before numbers were kept. */
    uint64_t number;
    bool is_first; /* only going in, with its end: it had nothing of the runs before it */
    /* Only coming out: the run whose state it began with, also one of a session that its own was forked from;
     * "": none. Set if has_previous; otherwise it is not known. */
    bool has_previous;
    char previous[ID_SIZE];
    int64_t undone_us; /* only coming out: when a rollback undid it; 0: none did */
    void *owned;
};

struct usage_row {
    char key[ID_SIZE];
    char workspace[ID_SIZE]; /* only going in: that it was used for */
    int64_t day;             /* since 1970 */
    uint64_t runs, cpu_us;
};

/* Newest first. The cursor is what the list before gave as `next`. */
struct page {
    uint32_t limit;     /* 1 to PAGE_MAX */
    const char *cursor; /* NULL: from the newest on */
};

enum { PAGE_MAX = 1000, CURSOR_SIZE = 96 };

#define ROWS(type)      \
    struct type *items; \
    size_t count;       \
    bool has_more;      \
    char next[CURSOR_SIZE] /* the cursor of what follows; "" when nothing does */

struct principal_rows {
    ROWS(principal_row);
};
struct workspace_rows {
    ROWS(workspace_row);
};
struct key_rows {
    ROWS(key_row);
};
struct session_rows {
    ROWS(session_row);
};
struct run_rows {
    ROWS(run_row);
};
struct file_rows {
    ROWS(file_row); /* `next` is not used by meta_file_list: it goes on after the last path */
};
struct version_rows {
    ROWS(version_row);
};
struct upload_rows {
    ROWS(upload_row);
};

void principal_row_done(struct principal_row *r);
void workspace_row_done(struct workspace_row *r);
void key_row_done(struct key_row *r);
void session_row_done(struct session_row *r);
void run_row_done(struct run_row *r);
void file_row_done(struct file_row *r);
void version_row_done(struct version_row *r);
void upload_row_done(struct upload_row *r);

void principal_rows_done(struct principal_rows *l);
void workspace_rows_done(struct workspace_rows *l);
void key_rows_done(struct key_rows *l);
void session_rows_done(struct session_rows *l);
void run_rows_done(struct run_rows *l);
void file_rows_done(struct file_rows *l);
void version_rows_done(struct version_rows *l);
void upload_rows_done(struct upload_rows *l);

#endif
