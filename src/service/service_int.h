/* service_int.h -- the inside of service/, shared by its files. Locks: service.h. */
#ifndef SERVICE_SERVICE_INT_H
#define SERVICE_SERVICE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/id.h"
#include "service/desk.h"
#include "service/gate.h"
#include "service/job.h"
#include "service/journal.h"
#include "service/seat.h"
#include "service/service.h"
#include "service/turn.h"
#include "session/run.h"
#include "workspace/people.h"

struct checkouts;
struct desk;
struct jail_data;
struct session;
struct session_row;

enum {
    TABLE_SIZE = 1024,
    LINGER_MAX = 256,            /* ended jobs that stay in memory for those who come back */
    LINGER_US = 30 * 1000000,    /* and for how long */
    LINGER_BYTES_MAX = 64 << 20, /* of them all */
    SLOT_WAIT_US = 30 * 1000000,
    RUN_OBJECT_TEXT_MAX = 512 << 20,
};

/* One who needs room for a session to be awake; see room.c. Under service->lock. */
struct room_wait {
    struct room_wait *next;
    pthread_cond_t moved; /* while it is in the line */
    char principal[ID_SIZE];
    int64_t since_us;
    size_t share, looks;
    bool ends_at_stop; /* it does not go on while runs are drained */
    bool is_in_line, is_next, is_busy, is_called_off;
};

struct seat {
    struct service *service;
    struct seat *next; /* in its bucket; under service->lock, as the next three */
    size_t refs;
    bool has_room;  /* it is about to be awake */
    bool gives_way; /* it is being put to sleep for another */
    char id[ID_SIZE], principal[ID_SIZE], workspace[ID_SIZE], key[ID_SIZE];
    char tz[SEAT_TZ_MAX + 1];
    struct limits limits;
    uint32_t snapshots;
    int64_t created_us;                        /* wall clock */
    char parent[ID_SIZE], parent_run[ID_SIZE]; /* as in its row */
    bool is_one_shot;
    bool is_blind;           /* its files are not brought (may.h) */
    struct session *session; /* held; lives as long as the seat */
    struct desk *desk;       /* its files; likewise */
    struct turn turn;

    pthread_mutex_t lock; /* protects what is below */
    char name[SEAT_NAME_MAX + 1];
    uint32_t idle_s;
    int64_t used_us;     /* wall clock */
    int64_t sleep_at_us; /* monotonic; CLOCK_NEVER: it sleeps, or is in use */
    bool is_closing;     /* somebody waits for the turn to close it: nothing begins any more */
    bool is_closed;
    int64_t closed_us;      /* wall clock */
    const char *closed_why; /* static */
    struct job *running;
    char *seen;      /* the list of variables that it gave last; NULL: none, or it was large */
    int64_t seen_us; /* wall clock */
};

enum job_phase { JOB_IN_LINE, JOB_AT_GATE, JOB_IN_ENGINE, JOB_OVER };

struct job {
    struct service *service;
    struct job *next; /* in its bucket; under service->lock, as the next three */
    struct job *linger_next;
    int64_t linger_until_us;
    size_t linger_bytes;
    size_t refs;

    char id[ID_SIZE], request[ID_SIZE];
    struct seat *seat; /* held */
    struct who who;
    char *code, *stdin_text, *name;
    size_t code_len, stdin_len;
    char **env; /* NULL-ended; NULL: none */
    int language;
    uint32_t wall_ms;
    int64_t created_us; /* wall clock */
    bool closes_seat;
    struct turn_place place;
    struct room_wait room;
    struct gate_pass pass;
    atomic_bool cancel;
    int64_t kept_us; /* monotonic, of the scribe: when its files were last looked at; 0: not yet */

    /* of the thread that executes it */
    struct {
        char bytes[4]; /* the beginning of a character whose end has not come yet */
        size_t len;
    } torn[2];
    struct desk_inputs inputs; /* what it read; when it has ended */

    pthread_mutex_t lock; /* protects what is below */
    pthread_cond_t changed;
    enum job_phase phase;
    int64_t started_us; /* wall clock; 0: not begun */
    struct journal journal;
    struct job_watch *watches;
    struct buf object; /* when it is over: the run object */
    const char *why;   /* what took its session away, static; NULL: nothing did */
};

struct service {
    struct service_options o;
    struct gate gate;
    pthread_mutex_t lock; /* protects the tables and counts below */
    void (*on_tidy)(void *arg, int64_t now_us);
    void *on_tidy_arg;
    pthread_cond_t quiet; /* a launched job ended, or the keeper is wanted */
    struct seat *seats[TABLE_SIZE];
    struct job *jobs[TABLE_SIZE];
    struct {
        struct room_wait *first, *last; /* oldest first */
        size_t count;
        uint64_t changes;
        bool lacks_memory; /* when somebody looked last */
    } room;
    struct job *linger_first, *linger_last;
    size_t linger_count, linger_bytes, launched;
    atomic_bool is_stopping; /* may be read without the lock */
    bool is_closing;
    struct service_info info; /* the figures that only grow */
    struct checkouts *checkouts;
    atomic_bool is_flat;    /* overlays do not work where the copies lie */
    atomic_bool has_layers; /* they do: there has been one */
    pthread_t keeper, scribe;
    bool has_scribe;
    int64_t keeper_until_us; /* it sleeps until then; 0: it is at work */
    bool has_keeper;
};

/* ---- seats.c ---- */

/* Its turn, for as long as the variable lives:
 *     struct seat_use use;
 *     if (seat_begin(s, &use, e)) return -1;
 *     ...
 *     seat_end(&use); */
struct seat_use {
    struct seat *seat;
    struct turn_place place;
};
int seat_begin(struct seat *s, struct seat_use *use, struct err *e);
void seat_end(struct seat_use *use);

/* With its turn taken: it is in their hands now (may.h), for `run` or "", which is durable when this returns.
 * Fails with ERR_DENIED if they may not use it. */
int seat_hand(struct seat *s, const struct who *who, const char *run, struct err *e);

/* With its turn taken, before anything that may need its kernel: what the session will find. */
int seat_ready(struct seat *s, const struct jail_data **ret, struct err *e);

/* It was used just now, and will be idle from now on. */
void seat_touch(struct seat *s);

/* ---- room.c ---- */

/* Room for it to be awake, which is its own until room_leave: others are put to sleep if need be. Blocks, in
 * the line of those who wait for a run: up to SLOT_WAIT_US when all are at work, 10 seconds when the host has no memory.
 * Fails with ERR_OVERLOADED, or ERR_CONFLICT when it was called off. `mine` comes zeroed, but may have been called off
 * already. */
int room_enter(struct seat *s, struct room_wait *mine, struct err *e);
int room_enter_now(struct seat *s, struct err *e); /* the same for what is no run */

/* It is awake now, or will not be. With its turn still taken, if it is one with a turn. */
void room_leave(struct seat *s);

void room_changed(struct service *s); /* a session fell asleep, ended, or became idle */
void room_call_off(struct service *s, struct room_wait *which); /* also one that has not begun */
void room_stop(struct service *s);                              /* is_stopping was set */

/* With its turn taken. Returns 1 when the session refused. */
int seat_doze(struct seat *s, bool must, struct err *e);

/* With the turn, awake: keeps the list of its variables, for seat_ask when it sleeps. */
void seat_remember(struct seat *s);

const char *seat_status(struct seat *s); /* view.c; static */

int seat_check_name(const char *name, struct err *e); /* NULL is fine */
/* seats_room.c: true when there is one session less of theirs, for a container. */
bool seats_make_room(struct service *s, const struct who *who, const struct session_row *row);
/* Whether a session may be closed that nobody asked to: on a full disk, what could not be kept would go with it. */
bool seats_may_end(struct service *s, const char *session);
void seat_set_max(struct service *s, const struct who *who, struct session_row *row);

/* The seat in memory, or NULL; held. With service->lock not held. */
struct seat *seat_get(struct service *s, const char *id);

/* ---- keeper.c ---- */
int keeper_start(struct service *s, struct err *e);
void keeper_wake(struct service *s, int64_t at_us); /* something is due then; any thread */

/* ---- scribe.c ---- */
int scribe_start(struct service *s, struct err *e);
void scribe_end(struct service *s);

/* ---- job.c, job_record.c ---- */
struct author job_author(const struct job *j);
struct run_row job_row(const struct job *j, enum run_status status); /* borrows from the job */

/* ---- jobs.c ---- */
void job_linger(struct job *j);                      /* takes a reference of its own */
void jobs_forget(struct service *s, int64_t now_us); /* INT64_MAX: all of them */
struct job *job_get(struct service *s, const char *id);

/* Every job in memory, of one seat unless that is NULL; held. The caller's to free, NULL without memory. */
struct job **jobs_list(struct service *s, const struct seat *seat, size_t *ret_count);
void job_free(struct job *j);

uint32_t table_slot(const char *id);

#endif
