/* pool.h -- kernels that wait for whoever needs one next: started from the current image, warmed by
 * a first cell, and parked without a data directory. Taking one costs nothing; the rest is
 * kernel_attach.
 *
 * A thread of its own keeps the pool full, off the path of any request, and notices when one dies,
 * or when another image has become current. How many wait is decided by demand, the takes of the
 * last seconds, between `count_min` and `count_max`, and by memory: together they never cost more
 * than a part of what the host has available.
 *
 *     pool_open(&options, &pool, e)
 *     k = pool_take(pool, &limits, image)        NULL: start one yourself
 *     kernel_attach(k, &data, e)
 *
 * Safe for any number of threads.
 */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "wire/limits.h"

struct current;
struct err;
struct kernel;
struct pool;
struct spawner;

enum {
    POOL_MAX = 256,
    POOL_MEMORY_PERCENT = 10, /* of MemAvailable, at most */
    POOL_AHEAD_S = 1,         /* as many wait as were taken in so long a time */
};
#define POOL_KERNEL_BYTES (16 * MIB) /* what one is reckoned to cost */

struct pool_options {
    struct spawner *spawner; /* both borrowed */
    struct current *current;
    struct limits limits; /* that they are made with */
    size_t count_min, count_max;
};

/* Starts the thread; the pool is empty yet. */
int pool_open(const struct pool_options *options, struct pool **ret, struct err *e);

/* Ends those that wait. Blocks until the thread has finished what it is at. NULL is fine. */
void pool_close(struct pool *p);

/* One that is alive and was made with these limits, as far as a jail enforces them (the length of
 * output and the time of a run are the engine's), or NULL. It is the caller's; ret_image says what
 * it came from. Does not block. */
struct kernel *pool_take(struct pool *p, const struct limits *limits,
                         char ret_image[HASH_HEX_SIZE]);

struct pool_info {
    size_t ready;        /* that wait now */
    size_t wanted;       /* that should */
    uint64_t taken;      /* ever */
    uint64_t missed;     /* takes that found none that fitted */
    uint64_t made, died; /* ever; died while they waited */
};

void pool_look(struct pool *p, struct pool_info *ret);

/* How many should wait, when so many were taken in 1000 seconds: pure arithmetic, for the thread
 * and for its test. */
size_t pool_size(size_t count_min, size_t count_max, uint64_t takes_per_ks,
                 uint64_t available_bytes);

#endif
