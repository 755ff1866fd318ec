/* desk_int.h -- the inside of a desk: desk.c (its life), desk_keep.c (to the workspace), desk_bring.c
 * (from the workspace). */
#ifndef SERVICE_DESK_INT_H
#define SERVICE_DESK_INT_H

#include <pthread.h>

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
};
struct undone {
    uint64_t run;
    struct undone_path *paths;
    size_t count;
};

struct desk {
    struct service *service;
    char session[ID_SIZE], workspace[ID_SIZE], principal[ID_SIZE];
    char mark[48];
    uint32_t undo_max;
    int dir_fd; /* DATA/live/SES */

    pthread_mutex_t lock; /* protects what is below */
    struct working *working;
    struct checkout checkout; /* what it lies on; empty: plain, or not mounted */
    bool is_overlay;
    bool is_new;      /* nothing is in it yet */
    bool is_known;    /* the next look finds only what changed; otherwise all there is */
    bool is_marked;   /* "awake" is there */
    bool has_unsaved; /* the last look found what could not be kept */
    uint64_t base;
    struct session_paths own;
    struct capture pending; /* kept by desk_glance, brought by desk_ready; for the next desk_keep */
    struct undone before;   /* what was changed since the last run that can be undone */
    struct undone *undo;    /* oldest first */
    size_t undo_count;
};

void undone_done(struct undone *u);

/* All with the lock held. */

/* The path's base: when the session last committed it, or what the whole copy shows. */
const struct session_path *desk_own(const struct desk *d, const char *path);
uint64_t desk_since(const struct desk *d, const char *path);
int desk_set_own(struct desk *d, const char *path, uint64_t rev, const char *aside, struct err *e);
void desk_drop_own(struct desk *d, const char *path);

/* desk_keep.c: look, commit, tell. */
int desk_commit(struct desk *d, const struct author *author, enum commit_kind kind, uint64_t run,
                struct capture *ret, struct err *e);

/* desk_bring.c. A tree of changes (base/graft.h), made in the desk's directory and applied to the copy
 * in the way that its kind needs. */
struct bringing {
    struct desk *d;
    struct session *session;
    const struct workspace_row *ws;
    int tree_fd; /* DATA/live/SES/bring */
    char **paths;
    size_t count;
    bool *has_failed; /* for each of them; NULL: none has been tried */
};
int bringing_begin(struct bringing *b, struct err *e);
int bringing_put(struct bringing *b, const char *path, const struct content *content,
                 int64_t changed_us, struct err *e);
int bringing_remove(struct bringing *b, const char *path, struct err *e);
int bringing_apply(struct bringing *b, struct err *e);
void bringing_done(struct bringing *b);

/* to the workspace's head. `is_all`: also what is held back. */
int desk_catch_up(struct desk *d, struct session *session, const struct workspace_row *ws,
                  bool is_all, struct err *e);
/* A plain copy that is new: everything there is. */
int desk_fill(struct desk *d, const struct workspace_row *ws, struct err *e);

/* desk.c */
struct author desk_author(const struct desk *d);
bool desk_has_kernel(struct session *session);
bool desk_is_mounted(const struct desk *d, struct session *session);
int desk_mount(struct desk *d, const struct workspace_row *ws, struct err *e); /* the layers */
int desk_look_anew(struct desk *d, struct err *e); /* the next look finds everything */

/* Adds to a list of what happened; takes nothing over. A later change of the same path replaces the
 * earlier one. */
int tell_file(struct capture *c, const struct captured_file *f, struct err *e);
int tell_brought(struct capture *c, const char *path, enum capture_change change, struct err *e);

#endif
