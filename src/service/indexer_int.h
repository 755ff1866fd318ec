/* indexer_int.h -- the inside of indexer.h: following the store, and reading what is new. */
#ifndef SERVICE_INDEXER_INT_H
#define SERVICE_INDEXER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "service/extractor.h"
#include "service/indexer.h"

struct workspace_row;

struct indexer {
    struct indexer_options o;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t wake;
    char changed[INDEXER_NOTICES_MAX][ID_SIZE];
    size_t changed_count;
    bool is_all_changed;
    char (*runs)[ID_SIZE]; /* INDEXER_RUNS_MAX of them */
    size_t run_count;
    struct extractor *extractor; /* the thread's own, but to cancel it */
};

/* index_follow.c: what the store has and the index does not know. */
int index_note_workspace(struct indexer *ix, const char *workspace, struct err *e);
int index_note_all(struct indexer *ix, struct err *e);
int index_note_run(struct indexer *ix, const char *run, struct err *e);

/* index_read.c: the text of one document that has none yet. 1: done, 0: there was none. */
int index_read_next(struct indexer *ix, struct err *e);
void index_drop_extractor(struct indexer *ix);

/* index_meaning.c: whether that workspace has vectors; some for those that wait. 1: done, 0: none did. */
int index_mean_workspace(struct indexer *ix, const struct workspace_row *ws, struct err *e);
int index_mean_next(struct indexer *ix, struct err *e);

#endif
