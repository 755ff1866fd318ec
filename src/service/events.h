/* events.h -- what happens in a workspace, for those who follow it: pages, and watches without a thread.
 *
 * Events are entries of the audit (event.h), so they have numbers, are there for good, and whoever comes
 * back goes on after the last one seen. A watch is a cursor into them and a short queue:
 *
 *     events_page(events, &who, &ask, &page, e)               what is there, at most ask.limit
 *     event_watch_new(events, &who, &ask, &call, &watch, e)   call.more(arg) when there is something
 *     event_watch_take(watch, put, arg)                       does not block: the listener's thread does it
 *     event_watch_free(watch)
 *
 * Theory of operation. One thread, the crier, is woken by the store's commits (workspace/bell.h). It reads
 * in which workspaces something happened (tail.h), and for each watch there what comes after its cursor,
 * into its queue. A queue that is full is not filled until it was taken from, so a reader that is slow
 * costs a queue and no more; http/ ends those that do not read at all. Nothing is polled; thousands of
 * watches cost memory alone.
 *
 * Before each batch the crier asks whether the reader still may: the key still works, and the right to read
 * the workspace is there. All watches are asked again when a key was revoked. Who lost it is at its end.
 *
 * Locks: events.lock, a leaf but for what `more` takes, which must not block (http_stream_wake).
 */
#ifndef SERVICE_EVENTS_H
#define SERVICE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "service/event.h"

struct bell;
struct err;
struct event_watch;
struct events;
struct files;
struct log;
struct meta;
struct people;
struct who;

enum {
    EVENTS_LIMIT_MAX = 1000,     /* of a page */
    EVENTS_WAIT_MAX_S = 60,      /* of a long poll */
    EVENTS_WATCHES_MAX = 20000,  /* at once; http/ has its own limit of connections */
    EVENTS_QUEUE_MAX = 64 << 10, /* bytes of a queue; one event may be larger */
    EVENTS_BATCH_MAX = 100,      /* events that are read for a watch at once */
};

struct events_options {
    struct meta *meta; /* all borrowed */
    struct files *files;
    struct people *people;
    struct bell *bell;
    struct log *log;
};

int events_open(const struct events_options *options, struct events **ret, struct err *e);
void events_close(struct events *ev); /* no watch is left */

struct event_ask {
    const char *workspace; /* its id; they may read it */
    const char *types;     /* checked (event_types_check); "": all */
    uint64_t since;        /* after this one */
    uint32_t limit;        /* 1 to EVENTS_LIMIT_MAX; of a stream it does not matter */
};

struct event_note {
    struct event_note *next;
    uint64_t seq;
    char type[EVENT_TYPE_LEN_MAX + 1];
    size_t len;
    char text[]; /* JSON, on one line */
};

struct event_page {
    struct event_note *first;
    uint64_t next; /* what to ask for next: since */
    bool has_more;
};
void event_page_done(struct event_page *p);

/* Blocks on disk. */
int events_page(struct events *ev, const struct who *who, const struct event_ask *ask,
                struct event_page *ret, struct err *e);
/* The number of the newest entry: what comes after it is new. Blocks on disk. */
int events_newest(struct events *ev, uint64_t *ret, struct err *e);

struct event_call {
    void (*more)(void *arg); /* must not block, nor call back */
    void *arg;
    /* 0: a stream that goes on. Otherwise it is over at the first events, or then, whichever is first. */
    int64_t deadline_us;
};

/* ERR_OVERLOADED past EVENTS_WATCHES_MAX. Copies what it is given. */
int event_watch_new(struct events *ev, const struct who *who, const struct event_ask *ask,
                    const struct event_call *call, struct event_watch **ret, struct err *e);
/* `more` is not called any more when this returns. Does not block. */
void event_watch_free(struct event_watch *w);

enum event_taken {
    EVENTS_LATER, /* that was all for now */
    EVENTS_MORE,  /* `put` has had enough */
    EVENTS_OVER,  /* that was all: its time is over, or they may not any more */
};
/* Hands out what is queued until `put` says false, and then that event stays. Does not block. */
enum event_taken event_watch_take(struct event_watch *w,
                                  bool (*put)(void *arg, const struct event_note *n), void *arg);
/* Of one that is over: where to go on. */
void event_watch_end(struct event_watch *w, uint64_t *ret_next, bool *ret_has_more);

#endif
