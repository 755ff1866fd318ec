/* indexer.h -- the thread that keeps the index of words (store/text_index.h) up to date.
 *
 * It follows the workspaces: what is told here (indexer_changed, indexer_ran) is only that something
 * happened; what it was is read from the store, from the revision on that the index remembers. So nothing is
 * lost by a crash, by an index that was deleted, or by a notice that came too late. Nobody waits for it.
 *
 *     indexer_new(&ix, e)                 before anything can change
 *     indexer_start(ix, &options, e)      the thread; looks at everything once
 *     indexer_changed(ix, workspace)      any thread, never waits
 *     indexer_stop(ix); indexer_free(ix)
 *
 * Files are read by an extractor (extractor.h), which exists only while there is something to read and some
 * seconds longer. Runs are our own record and are read here.
 */
#ifndef SERVICE_INDEXER_H
#define SERVICE_INDEXER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/text_index.h"

struct current;
struct err;
struct files;
struct indexer;
struct log;
struct meaning;
struct spawner;

enum {
    INDEXER_NOTICES_MAX = 256,      /* workspaces that wait to be looked at; more: all are */
    INDEXER_RUNS_MAX = 1024,        /* runs that wait; more: all are looked for */
    INDEXER_LINGER_MS = 3000,       /* the extractor waits so long for more */
    INDEXER_CALM_MS = 150,          /* after a notice, for others that come with it */
    INDEXER_RETRY_MS = 10000,       /* after a failure that is ours */
    INDEXER_RUN_TEXT_MAX = 1 << 20, /* bytes of what a run printed that are indexed */
};

struct indexer_options {
    struct text_index *index; /* all borrowed */
    struct files *files;
    struct spawner *spawner;
    struct current *current;
    struct meaning *meaning; /* NULL: words only */
    struct log *log;
    int live_fd;       /* DATA/live */
    uint64_t file_max; /* bytes of a file that is read; larger ones are told as failed */
};

/* NULL is fine for all but _new and _start: nothing is indexed then. */
int indexer_new(struct indexer **ret, struct err *e);
int indexer_start(struct indexer *ix, const struct indexer_options *options, struct err *e);
void indexer_stop(struct indexer *ix); /* waits until the thread has ended */
void indexer_free(struct indexer *ix);

/* Something changed in that workspace, or it is gone. */
void indexer_changed(struct indexer *ix, const char *workspace);
/* A run has ended. */
void indexer_ran(struct indexer *ix, const char *run);

/* The chunks of a run, for its test: `object` is the run object, NULL: none. Of *ret the caller frees with
 * extracted_done. */
struct extracted;
struct run_row;
int index_run_text(const struct run_row *run, struct extracted *ret, struct err *e);

#endif
