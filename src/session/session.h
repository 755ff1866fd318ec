/* session.h -- sessions that are awake or asleep, under one id.
 *
 *     sessions_open(&options, &all, e)
 *     session_new(all, &wishes, &data, &s, e)            a kernel, at once
 *     session_run(s, &data, &spec, &sink, &run, e)       wakes it if it sleeps
 *     session_settle(s, e)                               after the answer: what can wait
 *     session_sleep(s, REST_POLITE, &rest, e)            a file; no process, no memory
 *     session_unref(s)
 *
 * life.h has the states. What the next run finds is said by run.state: FRESH (a new kernel), KEPT,
 * WOKEN (from its file, or from its newest snapshot when the kernel ended between two runs; run.lost names
 * what did not survive), LOST (its memory is gone and no snapshot of it is there; run.hint says why). A run also wakes
 * what was branched, so the first run of a branch is WOKEN.
 *
 * The data directory is not part of a session: whoever calls brings it, whenever a kernel may have
 * to be started. It is borrowed during the call; an awake session keeps duplicates of its
 * descriptors.
 *
 * Any number of threads. A session does one thing at a time: a call waits until the one before it
 * has ended, so cancel a run before you put its session to sleep. Only session_cancel, _look, _id
 * and _unref do not wait. All others block: on the kernel as rest.h, twin.h and kernel.h
 * say, and on disk where they make or read a file.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/id.h"
#include "session/life.h"
#include "session/names.h"
#include "session/run.h"
#include "session/zone.h"
#include "wire/jail.h"

struct current;
struct graft_result;
struct pool;
struct session;
struct session_info;
struct sessions;
struct spawner;

/* Hears of a sleeping session that could not be woken, so that its variables are lost; any thread, and must
 * not block. `put` may be NULL. */
struct sessions_sink {
    void (*put)(void *arg, const char *id, const char *why);
    void *arg;
};

struct sessions_options {
    struct spawner *spawner;
    struct current *current; /* the image to start from; what it holds may change */
    struct pool *pool;       /* NULL: none */
    int dir_fd;              /* of the sleepers' files, 0700; all of them are borrowed */
    struct sessions_sink not_woken;
};

int sessions_open(const struct sessions_options *options, struct sessions **ret, struct err *e);

/* Ends every kernel; who should survive it was put to sleep before. Nobody uses a session any
 * more. */
void sessions_close(struct sessions *all);

/* All there are, awake or asleep; the caller's to free. */
int sessions_list(struct sessions *all, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e);

/* Whether a file of that session is there, and what it says of itself, without loading it. */
bool sessions_peek(struct sessions *all, const char *id, struct session_info *ret);

/* Ids of the images that sessions live or sleep under, for images_gc; the caller's to free. */
int sessions_images(struct sessions *all, char (**ret)[HASH_HEX_SIZE], size_t *ret_count,
                    struct err *e);

/* **Snapshots** are what a session was before each of its last runs, for session_rollback. They are copies in
 * its jail, which is quick to go back to, and files beside the sleepers, which survive sleep, the kernel's
 * end and this process. Files are bounded: as many as there are snapshots, and SNAPSHOT_BYTES_MAX together,
 * the oldest go first. A session has only the copies, until it sleeps or ends, when it was started without an
 * image, when something of it cannot be written down (a live thread), or when it is larger than that. */
enum { SNAPSHOTS_MAX = JAIL_COPIES_MAX - 2 };
#define SNAPSHOT_BYTES_MAX (UINT64_C(256) << 20)
#define SNAPSHOT_MEMORY_MAX \
    (UINT64_C(1) << 30) /* of a session; it would take too long to write down */

struct session_options {
    struct limits limits;
    uint32_t snapshots; /* how many of the last runs can be undone; at most SNAPSHOTS_MAX */
    char tz[ZONE_SIZE]; /* its time zone, see zone.h; "": UTC */
};

/* Starts one: from the pool, the image, or cold. *ret is the caller's to unref. Fails like
 * kernel_start. */
int session_new(struct sessions *all, const struct session_options *options,
                const struct jail_data *data, struct session **ret, struct err *e);

/* One that exists, also one that an earlier process put to sleep. Fails with ERR_NOT_FOUND. */
int session_find(struct sessions *all, const char *id, struct session **ret, struct err *e);

/* The session of that id without starting anything: one that exists, or one with no kernel and no
 * file, for which the next call that needs a kernel starts it. `is_lost`: it had a memory, which went
 * with an earlier process. Then its file is looked for, and its snapshots: if no run had begun since the
 * newest one, it is asleep in that; otherwise its next run says LOST. If it is not, the id must be new. */
int session_place(struct sessions *all, const char *id, const struct session_options *options,
                  bool is_lost, struct session **ret, struct err *e);

/* After session_place: it is known to have had so many runs. If it sleeps as it was before the last of them,
 * since a power cut took what was written since, its next run says so. */
void session_has_run(struct session *s, uint64_t runs);

/* Lets go of it; it lives on. NULL is fine. */
void session_unref(struct session *s);
static inline void session_unrefp(struct session **s)
{
    session_unref(*s);
}

const char *session_id(const struct session *s);

struct session_info {
    enum life life;
    struct limits limits;
    uint32_t snapshots;
    uint64_t runs;           /* that it has seen */
    uint64_t oldest;         /* session_rollback goes back to before this run at most; 0: to none */
    uint64_t sleep_bytes;    /* what its file takes on disk, and */
    uint64_t snapshot_bytes; /* the files of its snapshots, awake or asleep */
    /* What all its processes use, as last heard of: at the end of its last run. 0: it is not awake,
     * or has run nothing yet. */
    uint64_t memory_bytes;
    char tz[ZONE_SIZE]; /* "": UTC */
    bool is_baked;      /* awake, and from an image: can sleep without losing anything */
};

void session_look(struct session *s, struct session_info *ret);

/* Runs code; fails like kernel_run, or like kernel_start when there was no kernel and none could be
 * had: then the session is what it was. */
int session_run(struct session *s, const struct jail_data *data, const struct run_spec *spec,
                const struct run_sink *sink, struct run *ret, struct err *e);

/* Ends the run that goes on, if one does. */
void session_cancel(struct session *s);

/* kernel_ask; wakes it. With `data` NULL it does not: ERR_CONFLICT when it is not awake. */
int session_ask(struct session *s, const struct jail_data *data, const char *topic,
                const char *code, uint32_t cursor, char **ret, struct err *e);

/* Wakes it and runs nothing. */
int session_wake(struct session *s, const struct jail_data *data, struct err *e);

/* Applies a tree of changes (base/graft.h) to the data directory of a session that is awake, as its own
 * code could do it: paths that this cannot be done with are left out and counted. What is brought does
 * not count as its growth, and may be larger than a file of its own. When it was not done to the end (ETIME: it
 * took too long), that is `first_errno`, and which of them are there has to be looked for. Fails with
 * ERR_CONFLICT when it is not awake (then the tree can be grafted directly), or with ERR_BUSY when too
 * much is being brought. Blocks. */
int session_bring(struct session *s, int changes_fd, struct graft_result *ret, struct err *e);

/* What is due after a run, but not while somebody waits for its answer: the snapshot of what it
 * left (a few milliseconds, more if it holds much), and making it durable that its old file is gone (until then a power cut may bring back what
 * it was before it woke). Who does not call it pays at the next call. Fails only for the latter. */
int session_settle(struct session *s, struct err *e);

enum rest_way {
    REST_POLITE, /* refused by what cannot sleep, and when the disk is down to the spawner's reserve:
                    then it stays awake */
    REST_MUST,   /* then what can be saved of its variables is, and the others are named */
};

struct session_rest {
    bool is_refused;
    struct names reasons; /* why it refused, also when it had to */
    struct names lost;    /* variables that could not be saved; the next run names them too */
    uint64_t size;        /* of its file on disk */
};

void session_rest_done(struct session_rest *r);

/* Puts it to sleep. When this has returned 0 and was not refused, the session survives the end of
 * this process and of the machine. One that sleeps already, or holds nothing (EMPTY), is left as it
 * is. Of its snapshots those stay that are files. Its file stops in the middle of the disk's reserve: ERR_NO_SPACE. Fails like
 * kernel_sleep or with what the disk fails with, and then it is awake; or because the kernel died of it,
 * and then what it held is lost. */
int session_sleep(struct session *s, enum rest_way way, struct session_rest *ret, struct err *e);

/* A second session that remembers the same and has a life, a directory and random numbers of its
 * own. One that is awake is written down and woken beside itself; of one that sleeps the file is
 * copied, and the branch sleeps. Fails with ERR_CONFLICT and the reasons when it cannot be written
 * down. */
int session_fork(struct session *s, const struct jail_data *data, struct session **ret,
                 struct err *e);

/* Back to what it was before run number `run`, from 1, also of one that sleeps or whose kernel has ended. Its
 * files are not touched. It is awake afterwards if it was and the copy in its jail still waited; otherwise it
 * sleeps in what the snapshot's file was. Fails with ERR_NOT_FOUND when there is no snapshot of that, or it
 * cannot be used, and says what there is; with what the disk fails with. Then nothing has changed. */
int session_rollback(struct session *s, uint64_t run, struct err *e);

/* Ends its kernel, or removes its file, and its snapshots; whatever it remembers is gone, and that is
 * meant: the next run starts a new kernel and says FRESH. Id, limits, number of runs and data
 * directory stay. When this has returned 0, a power cut does not bring its memory back. Fails with
 * ERR_NOT_FOUND (deleted), or with what the disk fails with; it is started anew then, too. */
int session_restart(struct session *s, struct err *e);

/* Ends it and removes its file. Whoever still has it gets ERR_NOT_FOUND from then on. */
int session_delete(struct session *s, struct err *e);

#endif
