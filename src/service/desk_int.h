/* desk_int.h -- the inside of a desk: desk.c (its life), desk_keep.c (to the workspace), desk_bring.c
 * (from the workspace), desk_thin.c (what it need not have itself), desk_pen.c (in whose name), desk_uncover.c, desk_undo.c (back), desk_undo_file.c (what that needs, on disk), desk_own.c (whose path is whose), desk_reads.c (what runs read), desk_tell.c (what happened). */
#ifndef SERVICE_DESK_INT_H
#define SERVICE_DESK_INT_H

#include <pthread.h>

#include "base/graft.h"
#include "service/checkout.h"
#include "service/desk.h"
#include "workspace/files.h"

struct working;

/* What a run changed, as it was before. */
struct undone_path {
    char *path;
    bool was_there;
    struct content content;
    int64_t changed_us;
    uint64_t rev; /* at which the workspace had that content at the path; 0: under another */
};
struct undone {
    uint64_t run;
    uint64_t place; /* of its file among all, by when it was kept; 0: it has none */
    struct undone_path *paths;
    size_t count;
};

struct desk {
    struct service *service;
    char session[ID_SIZE], workspace[ID_SIZE];
    char mark[48];
    uint32_t undo_max;
    int dir_fd; /* DATA/live/SES */

    pthread_mutex_t lock; /* protects what is below */
    struct pen pen;
    char pen_run[ID_SIZE]; /* of the run that took it; "" */
    char **gone;           /* deletions that were not kept, which no later look finds again */
    size_t gone_count;
    struct working *working;
    struct checkout checkout; /* what it lies on; empty: plain, or not mounted */
    bool is_overlay;
    bool is_new;      /* nothing is in it yet */
    bool is_known;    /* the next look finds only what changed; otherwise all there is */
    bool is_marked;   /* "awake" is there */
    bool has_unsaved; /* the last look found what could not be kept */
    char **unsaved;   /* the paths of that, sorted */
    size_t unsaved_count;
    bool is_all_unsaved;   /* there were too many: any may be one */
    bool is_behind;        /* what others changed could not be brought; the next run tries again */
    uint64_t behind_bytes; /* of that, as far as it is known */
    bool has_others;       /* there may be files in it that others made */
    uint64_t copied_bytes; /* of such files, since it last let go of them */
    uint64_t base;
    struct session_paths own;
    struct capture pending; /* kept by desk_glance, brought by desk_ready; for the next desk_keep */
    struct undone before;   /* what was changed since the last run that can be undone */
    struct undone *undo;    /* oldest first */
    size_t undo_count;
    uint64_t undo_places; /* given so far */
    size_t before_saved;  /* so many paths of `before` are on disk */
};

/* All with the lock held. */

/* desk_undo.c */
void undone_done(struct undone *u);
/* The version the copy had of that path when it was last in step; false: none. */
bool desk_base_of(const struct desk *d, const char *path, struct content *ret,
                  int64_t *ret_changed_us);
int desk_remember(struct desk *d, const char *path, struct err *e); /* it is about to be told */
/* What was remembered until now is what run number `run` changed; 0: of no run, it stays. */
int desk_push_undo(struct desk *d, uint64_t run, struct err *e);

/* desk_undo_file.c. The same on disk, in DATA/live/SES/undo. What cannot be written is logged. */
void desk_save_before(struct desk *d);                   /* in front of the commit */
void desk_number_before(struct desk *d, uint64_t run);   /* the run is over */
void desk_drop_undone(struct desk *d, struct undone *u); /* and its file */
void desk_drop_before(struct desk *d);
void desk_sync_undo(struct desk *d);

/* desk_own.c. The path's base: when the session last committed it, or what the whole copy shows. */
const struct session_path *desk_own(const struct desk *d, const char *path);
uint64_t desk_since(const struct desk *d, const char *path);
int desk_set_own(struct desk *d, const char *path, uint64_t rev, const char *aside, struct err *e);
void desk_drop_own(struct desk *d, const char *path);
int desk_load_own(struct desk *d, struct err *e); /* base and paths as the store has them */
/* Whether the last look found a change of the session there that could not be kept: nothing may be written over
 * it, since the copy alone has it. */
bool desk_is_unsaved(const struct desk *d, const char *path);
/* What it found so; takes over the list and its texts. */
void desk_set_unsaved(struct desk *d, char **paths, size_t count);

/* desk_pen.c */
struct author desk_author(const struct desk *d); /* of what is kept outside of runs */
int desk_note_gone(struct desk *d, const char *path, struct err *e);
void desk_forget_gone(struct desk *d, const char *path); /* it is there again */
/* Hands them over, to be told once more: the caller's, as names of malloc'ed texts. */
char **desk_take_gone(struct desk *d, size_t *ret_count);

/* desk_keep.c: look, commit, tell. Whether the copy itself has a file there, or may have one. */
bool desk_is_there(const struct desk *d, const char *path);
int desk_commit(struct desk *d, const struct author *author, enum commit_kind kind, uint64_t run,
                struct capture *ret, struct err *e);

/* desk_bring.c. A tree of changes (base/graft.h), made in the desk's directory and applied to the copy
 * in the way that its kind needs. */
struct bringing {
    struct desk *d;
    struct session *session;
    const struct workspace_row *ws;
    int tree_fd;     /* DATA/live/SES/bring */
    bool is_undoing; /* it is the session's own change, and told as one */
    uint64_t shown;  /* the revision that paths are shown of that are not the session's own */
    char **paths;
    size_t count, applied;      /* so many of them are in the copy already */
    bool *has_failed;           /* for each of these; NULL: none has been tried */
    struct graft_result result; /* of the last of them */
    bool is_behind;             /* something did not come that may come next time */
    uint64_t behind_bytes;
};
int bringing_begin(struct bringing *b, struct err *e);
int bringing_put(struct bringing *b, const char *path, const struct content *content,
                 int64_t changed_us, struct err *e);
int bringing_remove(struct bringing *b, const char *path, struct err *e);
/* The changes are made; the next look finds them as if the session had made them. */
int bringing_graft(struct bringing *b, struct err *e);
/* The changes are made, and the next look does not find them. */
int bringing_apply(struct bringing *b, struct err *e);
void bringing_done(struct bringing *b);
/* desk_uncover.c: whatever the layers have at `path` shows. False: something of the session's own is in the
 * way. */
bool desk_uncover(const struct desk *d, const char *path, bool is_gone);
/* Whether the server died while it brought just that. */
bool desk_was_bringing(const struct desk *d, const char *path, uint64_t size,
                       const uint8_t sha256[HASH_LEN]);

/* to the workspace's head. `is_all`: also what is held back. */
int desk_catch_up(struct desk *d, struct session *session, const struct workspace_row *ws,
                  bool is_all, struct err *e);
/* A plain copy: everything there is, where the session has nothing of its own. All of it is on disk (base/flush.h)
 * when it returns, before anybody says what the copy is based on: a file that a power cut left empty would be
 * taken for one that the session has emptied. */
int desk_fill(struct desk *d, const struct workspace_row *ws, struct err *e);

/* desk_thin.c: no kernel uses the copy, and what could be kept of it has been. Whether it would be an overlay if
 * it were made now; what the layers of the head show goes from it, and a plain one may become an overlay:
 * then desk_mount. */
bool desk_may_layer(const struct desk *d, const struct workspace_row *ws);
int desk_thin(struct desk *d, const struct workspace_row *ws, struct err *e);

/* desk.c */
bool desk_has_kernel(struct session *session);
bool desk_is_mounted(const struct desk *d, struct session *session);
int desk_mount(struct desk *d, const struct workspace_row *ws, struct err *e); /* the layers */
int desk_look_anew(struct desk *d, struct err *e); /* the next look finds everything */

/* desk_tell.c. Adds to a list of what happened; takes nothing over. */
int tell_file(struct capture *c, const struct captured_file *f, struct err *e);
/* What one look found joins what is known already, sorted by path; a later change of the same path
 * replaces the earlier one. Takes the files over. */
int tell_more(struct capture *all, struct capture *found, struct err *e);
int tell_brought(struct capture *c, const char *path, enum capture_change change, struct err *e);
void untell_brought(struct capture *c, const char *path); /* it could not be put there */

#endif
