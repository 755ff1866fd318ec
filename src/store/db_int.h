/* db_int.h -- the inside of store/db.h. */
#ifndef STORE_DB_INT_H
#define STORE_DB_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/conn_int.h"
#include "store/db.h"

/* One that waits lies on the stack of whoever waits; one that was posted is the writer's to free. */
struct job {
    struct job *next;
    db_job *fn; /* NULL: does nothing, db_settle */
    void *arg;
    bool is_posted;
    void (*done)(void *arg); /* posted */
    int64_t due_us;          /* posted: when to go without company */
    struct db_rider rider;   /* a copy; run is NULL: none */
    pthread_cond_t over;     /* waiting, with the queue's lock */
    bool is_over;            /* guarded by the queue's lock */
    int result;              /* the writer's until it is over, as is e */
    struct err e;
};

struct db {
    struct db_options
        options; /* pointers of the caller, who keeps them; dir and vfs are not kept */

    /* The queue. Its lock guards everything down to `stats`, and is held while nothing blocks. */
    pthread_mutex_t lock;
    pthread_cond_t work, room; /* there is something for the writer; there is room for a job */
    struct job *first, **last;
    size_t queued;
    size_t waiting; /* of these: somebody waits for them */
    bool is_busy;   /* the writer has taken some that are not over */
    bool is_closing, is_stopped;
    char stop_why[200];
    struct db_stats stats;

    /* The writer's own. */
    struct db_conn *writer;
    pthread_t thread;
    bool has_thread;
    int log_fd, index_fd; /* what blocks are allocated to: meta.db-wal and -shm; -1: none */

    /* Readers. The lock guards is_free of each. */
    pthread_mutex_t pool_lock;
    pthread_cond_t pool_free;
    struct db_conn *readers[DB_READERS_MAX];
};

/* Condition variables on the monotonic clock. */
int cond_init(pthread_cond_t *c);
struct timespec timespec_of(int64_t deadline_us);

int db_migrate(struct db_conn *c, const char *const *migrations, size_t count, struct err *e);

/* Allocates blocks to the log and its index, up to `log_bytes` of the log. What there is no room
 * for stays as it is. */
void db_reserve_log(struct db *db, uint64_t log_bytes);

/* The writer's thread, from db_open to db_close. */
void *writer_main(void *db);

#endif
