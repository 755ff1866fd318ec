/* locks_int.h -- the line of those who wait for locks. */
#ifndef WORKSPACE_LOCKS_INT_H
#define WORKSPACE_LOCKS_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct files;
struct lock_block;
struct lock_patience;
struct lock_row;
struct waiter;

struct line {
    pthread_mutex_t
        lock; /* around everything here; held for a moment, never while the store is asked */
    pthread_cond_t moved; /* monotonic */
    struct waiter *first; /* who came first */
    size_t count;
    uint64_t ended; /* counts what there is to look at: locks that were ended, who gave up */
    bool is_stopping;
};

void line_init(struct line *l);
void line_done(struct line *l);

/* Takes the lock, in line until the deadline (monotonic; one that has passed: without waiting). */
int lock_await(struct files *f, struct lock_row *row, int64_t deadline_us,
               const struct lock_patience *patience, struct lock_block *ret_block, struct err *e);

#endif
