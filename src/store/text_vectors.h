/* text_vectors.h -- what texts mean, beside which words are in them: a vector for each chunk of a file, in
 * DATA/search.db (text_index.h). What a vector is, and how near two are, is somebody else's business
 * (meaning/meaning.h): here they are bytes.
 *
 *     text_vectors_want(t, workspace, model, dim, e)     from now on this workspace has vectors
 *     text_vectors_next(t, &batch, e)                    chunks that have none yet
 *     text_vectors_put(t, &batch, vectors, e)
 *     text_vectors_scan(r, model, dim, put, arg, e)      all that a reader may see
 *
 * Vectors of one workspace are of one model: when it changes, the old ones go and all are made anew.
 * Runs have none. Any number of threads; all block on disk.
 */
#ifndef STORE_TEXT_VECTORS_H
#define STORE_TEXT_VECTORS_H

#include "base/str.h"
#include "store/text_find.h"

enum {
    TEXT_VECTORS_BATCH = 8,
    TEXT_VECTORS_DIM_MAX = 4096,
    TEXT_VECTORS_MODEL_MAX = 127, /* bytes of its name */
};

/* Whether a workspace has vectors, and of which model; NULL: it has none, and those it had go. Nothing
 * happens when it is so already, or the index does not know the workspace. */
int text_vectors_want(struct text_index *t, const char *workspace, const char *model, uint32_t dim,
                      struct err *e);

/* Chunks of one workspace without a vector. */
struct text_batch {
    int64_t workspace; /* its number */
    int64_t done;      /* up to this chunk there are none without after these */
    size_t count;
    struct {
        int64_t chunk, doc;
        char *text; /* owned */
        size_t len;
    } items[TEXT_VECTORS_BATCH];
};
void text_batch_done(struct text_batch *b);

/* 1: *ret holds some; 0: every chunk has one, *ret is empty. Only of workspaces with that model. */
int text_vectors_next(struct text_index *t, const char *model, uint32_t dim, struct text_batch *ret,
                      struct err *e);

/* Their vectors, count * dim bytes. What has changed or gone meanwhile is left out. */
int text_vectors_put(struct text_index *t, const struct text_batch *b, uint32_t dim,
                     const int8_t *vectors, struct err *e);

/* How many chunks of a workspace have a vector. */
int text_vectors_count(struct text_index *t, const char *workspace, uint64_t *ret, struct err *e);

/* Whether the reader sees any workspace that has vectors of that model. */
int text_vectors_any(struct text_reader *r, const char *model, uint32_t dim, bool *ret,
                     struct err *e);

/* Tells every vector that the reader may see and its filter lets through. `put` may end it by
 * returning non-zero, which is then returned. */
int text_vectors_scan(struct text_reader *r, const char *model, uint32_t dim,
                      int (*put)(void *arg, int64_t doc, int64_t chunk, const int8_t *vector),
                      void *arg, struct err *e);

#endif
