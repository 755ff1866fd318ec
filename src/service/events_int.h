/* events_int.h -- the inside of events.h. */
#ifndef SERVICE_EVENTS_INT_H
#define SERVICE_EVENTS_INT_H

#include <pthread.h>

#include "service/events.h"
#include "workspace/bell.h"
#include "workspace/people.h"

struct event_watch {
    struct events *events;
    struct event_watch *prev, *next; /* of all; under the lock, as everything below the line */
    struct who who;
    char workspace[ID_SIZE];
    uint32_t limit;
    bool is_stream;
    int64_t deadline_us; /* of the poll, or when the key expires; CLOCK_NEVER */
    void (*more)(void *arg);
    void *arg;
    uint64_t seen;   /* the crier's while is_busy */
    uint64_t losses; /* the crier's: of keys, when its own was last asked for */

    /* ---- */
    struct event_watch *next_due;
    bool is_due;    /* in the list of those the crier has to look at */
    bool is_busy;   /* the crier is reading for it, without the lock */
    bool is_freed;  /* while it was due or busy: the crier frees it */
    bool is_behind; /* there is more than was queued */
    bool is_over;
    struct event_note *first, **last;
    size_t bytes;
    char types[]; /* constant */
};

/* Entries that were read last: many watches of one workspace are at the same place, and want them. */
struct event_rows {
    char workspace[ID_SIZE]; /* "": there are none */
    uint64_t after;
    uint32_t limit;
    struct audit_rows rows;
};
void event_rows_done(struct event_rows *r);

struct events {
    struct events_options o;
    struct bell_hook hook;
    pthread_t crier;
    uint64_t at;            /* the crier's: of the audit, up to which it has looked */
    uint64_t losses;        /* the crier's: of keys, as of the last look */
    struct event_rows rows; /* the crier's; forgotten when something was written */

    pthread_mutex_t lock; /* protects the rest, and the watches */
    pthread_cond_t wake;
    bool is_closing, is_rung;
    bool is_fresh;    /* there was none before these watches: nothing has to be caught up with */
    int64_t again_us; /* when to look at keys once more; CLOCK_NEVER */
    int64_t late_us;  /* no watch is late before; CLOCK_NEVER */
    struct event_watch *watches;
    size_t watch_count;
    struct event_watch *due, **last_due;
};

void event_notes_free(struct event_note *first); /* and all that follow */

/* With the lock held. */
void watch_make_due(struct event_watch *w);
void watch_destroy(struct event_watch *w); /* of one that is in no list */

/* What comes after `since`, at most ask->limit events and, but for the first, `bytes_max`. `rows` are those
 * that were read before, and afterwards those that were read last; whoever has them ends them. */
int events_collect(struct meta *m, struct event_rows *rows, const struct event_reader *reader,
                   const struct event_ask *ask, size_t bytes_max, struct event_page *ret,
                   struct err *e);
/* Whether they may read the workspace at this moment, and as what. 1, 0 or -1. */
int events_may(struct events *ev, const struct who *who, const char *workspace,
               struct event_reader *ret, struct err *e);

void *crier_main(void *events);

#endif
