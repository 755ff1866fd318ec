/* service.h -- sessions and runs as their users know them: owned, named, queued, recorded, watched,
 * expiring. The engine below (session/) knows none of that.
 *
 *     service_open(&options, &service, e)
 *     seat_create(service, &who, &wishes, &seat, e)            seat.h: a session
 *     job_new(seat, &who, &wishes, request, &job, e)           job.h: a run
 *     job_execute(job)
 *     service_stop(service, drain_ms); service_close(service)
 *
 * Theory of operation. A *seat* is a session that somebody owns; it is in memory while it is awake or
 * in use and otherwise a row and a file on disk. A *job* is a run from when it is asked for until
 * nobody looks at it any more; the thread that executes it waits for the seat's turn (turn.h: one
 * at a time, first come first served), for room to be awake (room.c), for a slot of the host (gate.h: fair
 * among principals), runs the code in the engine, writes down what came of it and wakes whoever
 * watches. The *keeper* is one thread that puts idle seats to sleep, closes those that slept too
 * long, and forgets what is old.
 *
 * Locks, in the order they are taken: a seat's turn, as long as something uses the session;
 * service->lock, around the tables; a seat's or a job's `lock`, for a moment.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/ignore.h"
#include "wire/limits.h"

struct err;
struct files;
struct indexer;
struct json_writer;
struct log;
struct meta;
struct people;
struct pool;
struct rates;
struct service;
struct sessions;

struct service_options {
    struct sessions *engine; /* all of these are borrowed */
    struct pool *pool;       /* for its figures; NULL: none */
    struct meta *meta;
    struct people *people;
    struct rates *rates;
    struct log *log; /* a line for every run; NULL: nobody listens */
    struct files *files;
    struct indexer *indexer;    /* told of runs; NULL: nothing is indexed */
    int live_fd;                /* DATA/live */
    int checkouts_fd;           /* DATA/checkouts */
    bool has_overlay;           /* the spawner can make them */
    struct ignore_rules ignore; /* what is not kept of what runs make */
    uint64_t file_max;          /* bytes of a file that is kept */
    const char *tier;           /* what the spawner could do: "full"; static */

    struct limits limits;     /* what a session gets that asks for nothing */
    struct limits limits_max; /* and the most it may ask for */
    uint32_t idle_s;          /* until a session falls asleep */
    uint32_t keep_s;          /* until one that sleeps is closed; 0: never */
    uint32_t runs_keep_s;     /* until a run is forgotten; 0: never */
    uint32_t snapshots_max;
    uint32_t queue_max;     /* runs that wait for one session */
    uint32_t seats_max;     /* open sessions of one principal */
    uint32_t awake_max;     /* sessions that are awake at once */
    uint32_t slots;         /* runs that go on at once */
    uint32_t share_max;     /* of one principal among them */
    uint32_t waiting_max;   /* runs that wait for a slot */
    uint32_t threads_max;   /* runs in the background */
    uint64_t reserve_bytes; /* of memory that stay available */
};

int service_open(const struct service_options *options, struct service **ret, struct err *e);

/* No run begins any more. Waits up to `drain_ms` for those that go on, ends the rest as killed, puts
 * every session to sleep. Blocks. */
void service_stop(struct service *s, uint32_t drain_ms);

/* After service_stop, when nobody holds a seat or a job. NULL is fine. */
void service_close(struct service *s);

/* fn(arg, wall clock) is called now and then, on the keeper's thread, for what others keep that time takes away. NULL: nobody is. */
void service_on_tidy(struct service *s, void (*fn)(void *arg, int64_t now_us), void *arg);

struct service_info {
    size_t awake, running, waiting, jobs;
    uint64_t sleeps, wakes; /* ever */
    uint64_t runs[9];       /* ended, by enum run_end */
    uint64_t run_us;        /* all of them together */
    uint64_t refused;       /* for want of a slot or memory */
};

void service_look(struct service *s, struct service_info *ret);

/* The most that a session may ask for. Borrowed. */
const struct limits *service_limits_max(const struct service *s);

#endif
