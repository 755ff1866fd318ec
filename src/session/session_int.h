/* session_int.h -- the inside of a session, shared by sessions.c (which there are), session.c (what
 * they do), undo.c (their snapshots) and slumber.c (sleeping, waking, branching).
 *
 * Locks, in the order they are taken: a session's `busy`, for as long as a call works on it;
 * all->lock for a moment, around the table; a session's `lock` for a moment, around what
 * session_cancel and session_look read.
 */
#ifndef SESSION_SESSION_INT_H
#define SESSION_SESSION_INT_H

#include <pthread.h>

#include "session/current.h"
#include "session/session.h"
#include "session/sleeper.h"
#include "session/twin.h"

struct kernel;
struct rest_report;

enum { SESSION_BUCKETS = 1024, NOTE_SIZE = 240, UNDO_WHY_SIZE = 160 };

/* What a session was before run number `before`: a copy in the jail, a file, or both. */
struct undo {
    uint64_t before;
    struct twin twin;
    uint64_t bytes;  /* of its file on disk; 0: it has none */
    bool needs_sync; /* that was not synced yet */
};

struct session {
    struct sessions *all;
    struct session *next; /* in its bucket; under all->lock */
    size_t refs;          /* under all->lock */
    char id[ID_SIZE];

    pthread_mutex_t busy; /* protects everything below; held while a call works */
    pthread_mutex_t lock; /* also held to change what session_cancel and session_look read: */
    enum life life;
    struct kernel *kernel; /* IDLE, BUSY, RESTING */
    uint64_t runs, sleep_bytes, generation;
    uint64_t memory_bytes;             /* as last heard of; 0 without a kernel */
    struct undo undo[JAIL_COPIES_MAX]; /* oldest first */
    size_t undo_count;
    uint64_t undo_made;  /* the run before which the last one was made; 0: none */
    uint64_t undo_large; /* with so much memory one was too large for a file; 0: none was */
    char undo_why[UNDO_WHY_SIZE]; /* why there was none the last time; "" */

    struct limits limits;
    uint32_t snapshots;
    char tz[ZONE_SIZE];
    struct jail_data data;     /* duplicates while there is a kernel; dir_fd is -1 otherwise */
    char image[HASH_HEX_SIZE]; /* that the kernel came from; "": cold */
    bool has_old_libraries;    /* it imports what was there when its image was made */
    bool owes_loss;            /* it died and no run has said so */
    bool needs_sync;           /* files of it were removed, not yet durably */
    char note[NOTE_SIZE];      /* for the hint of the next run */
};

struct sessions {
    struct spawner *spawner;
    struct current *current;
    struct pool *pool;
    int dir_fd;
    struct sessions_sink not_woken;
    pthread_mutex_t lock;                   /* protects the table and the counts of references */
    struct session *table[SESSION_BUCKETS]; /* all that are awake, and those somebody holds */
};

/* What is known of a session when it comes into the table. */
struct session_seed {
    const char *id; /* NULL: a new one */
    enum life life; /* EMPTY or ASLEEP */
    struct session_options options;
    uint64_t runs, generation, sleep_bytes;
    bool was_awake; /* under an earlier process, with which its memory went */
};

/* Adds it to the table, or finds it there; held by the caller. Fails with ERR_NOT_FOUND when the
 * file of one that is ASLEEP has gone meanwhile. */
int session_add(struct sessions *all, const struct session_seed *seed, struct session **ret,
                struct err *e);

/* Waits for its turn:  scoped(session_endp) struct session *s = session_begin(which); */
struct session *session_begin(struct session *s);
void session_end(struct session *s);
static inline void session_endp(struct session **s)
{
    session_end(*s);
}

/* The only way to change its state; the arrow has to exist. */
void session_step(struct session *s, enum life_event event);

/* A kernel if it has none: started, or woken from its file. Where the file cannot be woken, it is
 * set aside, and a new kernel will say LOST. On failure it is what it was. */
int session_rise(struct session *s, const struct jail_data *data, struct err *e);

/* Keeps duplicates of the descriptors, unless it has some. */
int session_keep_data(struct session *s, const struct jail_data *data, struct err *e);

/* undo.c. After a run, or before the next: the snapshot of what there is now, unless there is one. */
void undo_take(struct session *s);
void undo_begin(struct session *s); /* the next run begins: what there is now is past then */
void undo_forget(struct session *s, size_t from); /* those from that index on, files included */
void undo_remove(struct session *s);              /* all, and what is left of others on disk */
void undo_end_twins(struct session *s);           /* the jail ends; those that are files stay */
/* Falling asleep: files are synced before that is durable; then the file it sleeps in is the newest. */
void undo_sync(struct session *s);
void undo_slept(struct session *s);
/* Woken: makes the file it slept in its newest snapshot. False: the file is still there. */
bool undo_woke(struct session *s, uint64_t bytes);
/* The files of one that has slept, by the number of its runs; */
void undo_load(struct session *s);
/* in the table, before anybody else works on it: without those of runs that were undone, which a rollback
 * that was cut short left behind its file; */
void undo_tidy(struct session *s);
/* or of one whose memory went with an earlier process, which gives that number, too: one that had begun counts. */
void undo_find(struct session *s);
/* One without a kernel becomes ASLEEP in the snapshot of what it was after its last run. False: there is
 * none. */
bool undo_resume(struct session *s);
/* What session_info says of snapshots of one that nobody holds; its `runs` and `snapshots` are known. */
void undo_peek(struct sessions *all, const char *id, struct session_info *info);
/* How many runs to undo for the newest file of before `until` or earlier; 0: there is none. */
uint64_t undo_steps(const struct session *s, uint64_t until);

/* The kernel died outside of a run: EMPTY, and the next run says so, or ASLEEP as it was after its last
 * run. */
void session_lose(struct session *s, const char *how);

/* slumber.c. The head of a file of what it is now, but for the body, which is known from the report. */
int session_make_head(struct session *s, enum sleeper_kind kind, struct sleeper *ret,
                      struct err *e);
void session_seal_head(struct sleeper *head, const struct rest_report *report);
/* The disk is down to its reserve, by which what sleeps stops. */
bool session_is_disk_full(const struct session *s);
/* A file of its memory cannot be used: for the operator. */
void session_tell_damage(const struct session *s, const struct err *why);
/* Whether the image that the snapshot of before that run needs is there: 0, or -1 and why not. */
int session_has_image(struct session *s, uint64_t before, struct err *e);

/* Its memory is gone, and the next run says so and how that came about. */
void session_forget(struct session *s, const char *how);

/* A new kernel for it: from the pool, the image, or cold. RISING only. */
int session_start(struct session *s, struct err *e);

/* The same from its file. 0 woken, 1 it cannot be and why is in the note, -1 not now. */
int session_awaken(struct session *s, struct err *e);

/* IDLE, or RISING, with that kernel from that image. */
void session_take_kernel(struct session *s, struct kernel *k, const char *image);

/* Ends the kernel, if there is one, and everything that hangs on it. The state is the caller's. */
void session_drop_kernel(struct session *s);

/* The same, but the kernel is left to the caller. */
struct kernel *session_leave_kernel(struct session *s);

#endif
