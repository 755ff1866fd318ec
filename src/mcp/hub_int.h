/* hub_int.h -- who wants to hear of what, and how they are told.
 *
 * Theory of operation. An ear is somebody who listens: a request subscriptions/listen of the stateless
 * era, which lives as long as its stream; or a session of the other era, which may have no stream for a
 * while, or several. It has wishes (resources), kinds of lists, and tasks.
 *
 * Two threads do what may block, and own what an ear listens with: the herald the watches on workspaces
 * (service/events.h), the clerk those on runs (service/job.h). The clerk has a thread of its own because
 * what it tells of a run takes a while to write, with images made small. Watches only make the ear due at
 * one of them. It takes what happened, and marks in the ear what is to be told. Its streams are parked
 * (http_park) and pull that as messages; a message goes to the stream that pulls first. So listeners
 * cost no threads.
 *
 * What is to be told of a resource or a list is a mark, not a message: who is slow is told once of what
 * happened twice, and nothing grows. Tasks are messages in a bounded queue; who lets it fill up is at
 * the end of its stream, and knows.
 *
 * Who may not read a workspace any more, or whose key was revoked, is told nothing from then on: its
 * watch ends (events.h looks before each batch). The stream of a listen ends with it, so that its client
 * asks again for what it still may have.
 *
 * Locks: hub.lock is taken below events.lock and a job's, so none of their functions is called with it
 * held; only http_stream_wake is below it. An ear is freed by the herald alone.
 */
#ifndef MCP_HUB_INT_H
#define MCP_HUB_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"
#include "mcp/mcp_int.h"
#include "service/job.h"
#include "workspace/people.h"

struct api;
struct event_watch;
struct mcp_uri;

enum {
    HUB_EARS_MAX = 8000,        /* of all */
    HUB_EARS_EACH = 250,        /* of one principal */
    HUB_WISHES_MAX = 48,        /* resources of one ear */
    HUB_ROOMS_MAX = 24,         /* workspaces whose lists of files it hears of */
    HUB_TASKS_MAX = 64,         /* of one ear */
    HUB_STREAMS_MAX = 8,        /* of a session, at once */
    HUB_QUEUE_MAX = 128,        /* messages */
    HUB_QUEUE_BYTES = 16 << 20, /* of them */
    HUB_LIST_US = 1000000,      /* between two words on the list of resources */
    HUB_KINDS = HUB_RESOURCES + 1,
};

enum hub_desk { DESK_HERALD, DESK_CLERK, HUB_DESKS };

struct hub_ear;

/* A resource that is followed: a file, or a directory with what is below it. */
struct hub_wish {
    char *uri; /* as the client wrote it; owned, as path */
    char workspace[ID_SIZE];
    char *path;     /* "": the root */
    uint64_t since; /* what happened after this is news */
    bool is_pending;
};

/* A workspace whose list of files is followed. */
struct hub_room {
    char workspace[ID_SIZE];
    uint64_t since;
};

struct hub_watch {
    struct hub_watch *next;
    struct hub_ear *ear;
    char workspace[ID_SIZE];
    bool is_guard;             /* only to see that the key still works */
    bool is_needed;            /* while it is looked for */
    struct event_watch *watch; /* NULL: over */
};

struct hub_task {
    struct hub_task *next;
    struct hub_ear *ear;
    char id[ID_SIZE];
    struct job *job; /* held; NULL: it is over, or one of the fixtures */
    struct job_watch watch;
    bool is_watched, is_told; /* of the clerk */
};

struct hub_message {
    struct hub_message *next;
    size_t len;
    char text[];
};

struct hub_stream {
    struct hub_stream *next; /* of the ear */
    struct hub_ear *ear;
    struct http_stream *http; /* held */
    bool has_ended;           /* the last word was said */
};

struct hub_ear {
    struct mcp_hub *hub;
    struct hub_ear *prev, *next; /* protected by the hub's lock */
    struct who who;
    struct api *api; /* with peer: for operations that the herald calls for them */
    struct http_peer peer;
    char *id;              /* listen: of the request, as JSON; owned. NULL: a session's */
    char session[ID_SIZE]; /* "": a listen */

    struct hub_watch *watches; /* of the herald */
    struct hub_task *tasks;    /* of the clerk, but for the ids */

    /* ---- protected by the hub's lock ---- */
    bool is_due[HUB_DESKS], is_busy[HUB_DESKS];
    struct hub_ear *next_due[HUB_DESKS];
    bool is_changed; /* what it wants: the watches have to be made to fit */
    bool is_over;    /* its streams end */
    bool is_dead;    /* the herald frees it, once it has neither streams nor pins */
    unsigned pins;   /* requests that use it */
    bool wants[HUB_KINDS], is_pending[HUB_KINDS];
    int64_t list_us;     /* when it was last told of the list of resources */
    int64_t list_due_us; /* and when it is to be again; CLOCK_NEVER */
    struct hub_wish *wishes;
    size_t wish_count;
    struct hub_room *rooms;
    size_t room_count;
    struct hub_message *first, **last;
    size_t message_count, message_bytes;
    struct hub_stream *streams; /* newest first */
};

struct hub_line {
    pthread_t thread;
    pthread_cond_t wake;
    struct hub_ear *due, **last_due;
};

struct mcp_hub {
    struct mcp *mcp;
    pthread_mutex_t lock; /* protects the rest */
    struct hub_line lines[HUB_DESKS];
    bool is_stopping, is_closing;
    struct hub_ear *ears;
    size_t ear_count;
    int64_t list_due_us; /* the earliest of all; CLOCK_NEVER */
};

/* ---- ears (hub_ear.c) ---- */

/* Not known to the hub yet. */
struct hub_ear *ear_new(struct mcp_call *m, struct err *e);
void ear_free(struct hub_ear *ear);   /* of the herald, or of one that is not known; NULL is fine */
void ear_freep(struct hub_ear **ear); /* of one that is not known */
/* Makes it known, and pinned. Fails when there are too many, or the server stops. 1: the session has one
 * already, and this one stays the caller's. */
int ear_enlist(struct hub_ear *ear, struct err *e);
/* Whether they may read the workspace; its name, if that is what the URI has, becomes its id. */
int ear_may_follow(struct mcp_call *m, struct mcp_uri *u, struct err *e);
/* The workspaces whose lists of files they hear of. Who may not see any hears of none. */
int ear_add_rooms(struct mcp_call *m, struct hub_ear *ear, uint64_t since, struct err *e);
/* Adds a wish; one that is there already stays. Fails with ERR_LIMIT. With the lock, or not known yet. */
int ear_wish(struct hub_ear *ear, const char *uri, const struct mcp_uri *u, uint64_t since,
             struct err *e);
void ear_unwish(struct hub_ear *ear, const char *uri);

/* With the hub's lock held. */
void ear_make_due(struct hub_ear *ear, enum hub_desk desk);
void ear_unpin(struct hub_ear *ear);
void ear_wake(struct hub_ear *ear);                    /* its newest stream */
void ear_end(struct hub_ear *ear);                     /* ends all of them */
void ear_say(struct hub_ear *ear, struct str message); /* puts it into the queue */

/* ---- what happened (hub_events.c, hub_tasks.c): of the herald and the clerk, without the lock ---- */

void ear_fit_watches(struct hub_ear *ear);
void ear_drop_watches(struct hub_ear *ear);
void ear_take_events(struct hub_ear *ear);
void ear_take_tasks(struct hub_ear *ear);
void ear_drop_tasks(struct hub_ear *ear);
/* Adds one that is followed if it still goes on. Not known to the hub yet. */
int ear_add_task(struct mcp_call *m, struct hub_ear *ear, const char *id, struct err *e);

/* ---- streams (hub_stream.c) ---- */

/* Makes the exchange a stream of the ear's messages. m->is_parked afterwards. */
int ear_park(struct mcp_call *m, struct hub_ear *ear, struct err *e);

/* Begins a notification for the ear: {"jsonrpc", "method", "params": { _meta; `w` is in it. */
void ear_begin_note(const struct hub_ear *ear, const char *method, struct json_writer *w);
void ear_end_note(struct json_writer *w);

#endif
