/* flight_int.h -- a flight from inside: flight.c and its streams. */
#ifndef ASK_FLIGHT_INT_H
#define ASK_FLIGHT_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/halt.h"
#include "ask/flight.h"
#include "base/buf.h"
#include "base/id.h"

struct follower;

struct flight {
    struct flights *all;
    char id[ID_SIZE], principal[ID_SIZE];
    bool is_background, has_ids;
    const char *last_words;
    void (*run)(struct flight *f, void *arg);
    void (*free_arg)(void *arg);
    void *arg;
    struct halt halt;
    atomic_size_t bytes; /* of its events; relaxed, for who adds them up */

    /* protected by the lock of all: */
    struct flight *next;
    unsigned refs;
    int64_t landed_us; /* 0: it goes on */
    size_t kept_bytes;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    struct buf log;     /* its events, one after the other */
    size_t *ends;       /* where each ends */
    size_t count, room; /* of them */
    bool is_over, is_full;
    struct follower *followers;
    unsigned follower_count;
};

struct flight *flight_ref(struct flight *f);

/* flight_stream.c: whoever follows looks again; under f->lock. */
void flight_wake(struct flight *f);

#endif
