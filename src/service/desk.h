/* desk.h -- the working copy of a session, and the workspace it is a copy of.
 *
 *     DATA/live/SES/data     what the session changed; in a plain copy all there is
 *     DATA/live/SES/work     overlayfs's own: only where the copy is an overlay (session/working.h)
 *     DATA/live/SES/awake    there while a kernel may write, and as long as something in the copy could not be
 *                            kept: what a server finds when it starts
 *     DATA/live/SES/undo     what the last runs changed, as it was before (desk_undo_file.c)
 *
 * A copy is plain while its workspace is small; otherwise it lies over a checkout (checkout.h), so that
 * a session begins at once however much there is, and costs what it changed itself. A plain one moves to
 * layers when its session sleeps or wakes and the workspace has grown (desk_thin.c). What others changed is
 * copied to a session that is awake, up to DESK_PLAIN_BYTES or what it has in memory, whichever is more; beyond
 * that it is put to sleep for a moment (desk_wants_layers). One that cannot sleep, or keeps snapshots,
 * has copies until it does; in the container tiers, where there are no layers, every copy is whole.
 *
 *     desk_ready(d, session, &data, e)        before anything that may start or use a kernel
 *     session_run(session, data, ...)
 *     desk_keep(d, &author, COMMIT_RUN, n, &files, e)       what the run changed, durable
 *     desk_rest(d, session)                   the kernel is gone
 *
 * **Nothing is lost.** What a run wrote becomes versions before its answer leaves. What was there when
 * the server died becomes versions at the next start. What could not be kept stays in the copy, is
 * named with the reason, and is tried again: with the next run, when a full disk has room again, at the
 * next start, before the session is closed. What then still finds no room goes with the session.
 *
 * **Two sides.** `base` is the revision of the workspace that the copy shows; for paths that the session
 * itself has committed it is the revision of that commit. A change is committed only if nobody else
 * changed the path since; otherwise both are kept, the session's under another name. desk_ready brings
 * what others changed; what changed on both sides stays as the session has it until desk_refresh.
 *
 * **Not without the right.** What is found becomes versions in the name of the pen (may.h), if that may; otherwise it
 * stays in the copy and is named, until somebody takes the pen who may: then it is kept in their name. Into a copy
 * whose pen is blind nothing is brought. It is based on nothing, so what it writes never replaces what it
 * cannot see: that is put aside.
 *
 * One lock each, held while the copy is looked at, which blocks on disk: with the session's turn taken
 * before it. The scribe (scribe.c) takes only the lock, to keep what long runs have written so far.
 */
#ifndef SERVICE_DESK_H
#define SERVICE_DESK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/may.h"
#include "session/capture.h"
#include "store/rows.h"

struct desk;
struct err;
struct jail_data;
struct run_reads;
struct service;
struct session;

enum {
    DESK_PLAIN_FILES = 256, /* a workspace up to this size is copied */
    DESK_PLAIN_BYTES = 16 << 20,
};

/* The desk of that session, without what desk_load_undo knows; its directory is made when it is missing. `undo_max`: so many runs can be
 * undone. */
struct desk_options {
    struct service *service;
    const char *session, *workspace;
    struct pen pen; /* in whose hands it is */
    uint32_t undo_max;
};
int desk_open(const struct desk_options *options, struct desk **ret, struct err *e);

/* Forgets it; nothing on disk goes away. NULL is fine. */
void desk_close(struct desk *d);

/* Removes its directory; then only desk_close. */
void desk_remove(struct desk *d);

/* Whose hands it is in from now on; `run` is theirs, or "". It has been written down. */
void desk_take(struct desk *d, const struct pen *pen, const char *run);
struct pen desk_pen(struct desk *d);

/* Makes the copy what the session should find: what an earlier server left is kept first, then what
 * others changed is brought. *ret is good until desk_rest. */
int desk_ready(struct desk *d, struct session *session, const struct jail_data **ret,
               struct err *e);

/* Whether so much of others is to be brought to a session that is awake that it had better sleep for a
 * moment, if it can: then it wakes with layers that have it, and no copy of its own is made. */
bool desk_wants_layers(struct desk *d, struct session *session);

/* No jail could be made with its layers: a copy that is an overlay, at the workspace's head and used by no
 * kernel, becomes a plain one, and every other is plain that is made from now on, since the file system of
 * DATA seems not to have what overlays need. */
int desk_flatten(struct desk *d, struct err *e);

/* Brings everything to the workspace's head, also what is held back because both sides changed it. */
int desk_refresh(struct desk *d, struct session *session, struct err *e);

/* Whatever changed becomes versions; *ret says what, with what is known from desk_glance and what was
 * brought since the last time, and is the caller's. `run`: the number of the run, for desk_undo; 0:
 * none. Fails when nothing could be written; then everything is tried again next time. */
int desk_keep(struct desk *d, const struct author *author, enum commit_kind kind, uint64_t run,
              struct capture *ret, struct err *e);

/* What a run has read (session/run.h) as versions of the workspace: those that the copy had before it. Call
 * it before desk_keep. Paths of which there was no version are left out. */
struct desk_inputs {
    struct run_input *items;
    char **paths; /* that they were read at, one for each */
    size_t count;
    bool is_partial; /* there may be others */
};
int desk_inputs(struct desk *d, const char *run, const struct run_reads *reads,
                struct desk_inputs *ret, struct err *e);
void desk_inputs_done(struct desk_inputs *l);

/* desk_keep in the middle of a run: the next one tells. */
int desk_glance(struct desk *d, const struct author *author, struct err *e);

/* No kernel writes to it any more: keeps what is there, lets go of the layers. */
int desk_rest(struct desk *d, struct session *session, struct err *e);

/* What runs of an earlier life of the session changed, for desk_undo. That tidies up on disk, so only the one desk
 * that the session is to have may do it: whoever opened it holds it while others can find it already, loads,
 * and releases it. The session has had so many runs: what is known of later ones (the server died before the
 * session could be kept as they left it) is undone with the last of those. 0: nothing can be undone. */
void desk_hold(struct desk *d);
void desk_load_undo(struct desk *d, uint64_t runs);
void desk_release(struct desk *d);

/* Whether there is room for the files that desk_undo would put back; ERR_NO_SPACE when there is not. For before
 * anything else goes back. */
int desk_check_undo(struct desk *d, uint64_t run, struct err *e);

/* The files as they were before run number `run`, also after a sleep and a restart of the server. A content
 * that was purged meanwhile, that cannot be read any more, or for which there is no room after all, does not
 * come back: then the file stays as it is, which is logged, and told by the next run among what was not brought. */
int desk_undo(struct desk *d, struct session *session, uint64_t run, struct err *e);

/* A second copy, for a session that branches from this one, and what to start it with. `to` was just
 * opened. */
int desk_branch(struct desk *d, struct desk *to, uint64_t bytes_max, const struct jail_data **ret,
                struct err *e);
/* The branch has an id by now, which becomes the name of its directory. */
int desk_rename(struct desk *d, const char *session, struct err *e);
/* The branch has a row by now: what its copy is based on is written down. */
int desk_branched(struct desk *d, struct desk *to, struct err *e);

/* Whether the last look found what could not be kept. */
bool desk_has_unsaved(struct desk *d);

/* Whether an earlier server died while the session was awake, or something in the copy could not be kept. */
bool desk_was_left(int live_fd, const char *session);

#endif
