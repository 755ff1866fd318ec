/* batch_int.h -- what the files of a batch share.
 *
 * Theory of operation. What comes in is collected in a buffer. A content that fits into one chunk never
 * gets further. A longer one is handed on buffer by buffer: the caller's thread sums the whole, the
 * buffer is cut, its chunks are summed, packed and appended. For long contents the latter happens on
 * a thread of the batch's own (struct worker), while the caller fills the other buffer: so receiving
 * and hashing the whole costs about as much time as all the rest, and both go on at once. The thread
 * alone touches the batch's lists, lease and input behind `cut_*` while it is busy; everybody waits for it
 * (worker_wait) before looking at them.
 */
#ifndef STORE_BATCH_INT_H
#define STORE_BATCH_INT_H

#include "store/contents_int.h"

enum {
    PIECE = 1 << 20,           /* bytes that are collected before they are cut */
    BEFORE = RECORD_CHUNK_MAX, /* room in front of them for what was left of the piece before */
    WORKER_FROM = 4 << 20,     /* a content from this size on is worth a thread */
};

struct worker {
    bool is_running;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    bool is_busy, is_over;
    size_t index, len; /* what it is to cut */
};

struct batch {
    struct contents *contents;
    struct batch *next; /* of those that are open */
    uint64_t *packs;    /* that it has written to; both guarded by contents->lock */
    size_t pack_count;
    char vault[ID_SIZE];
    struct seen seen;
    struct lease *lease; /* of the pack that is appended to; NULL: none at the moment */
    uint64_t stored;
    bool is_synced; /* all that was appended is */
    bool is_failed; /* something could not be appended, and what else there was is lost with it */
    struct err failure; /* why */

    /* The content that was begun. */
    bool is_open;
    bool is_cut; /* it is longer than one chunk; `whole` and `pieces` count */
    const struct cdc_sizes *sizes;
    uint64_t size;      /* so far */
    uint8_t *inputs[2]; /* BEFORE + PIECE bytes each; the second only with a worker */
    size_t filling;     /* the one of them that is being filled */
    size_t filled;      /* with so much, from BEFORE on */
    struct hash whole;

    /* Of the cutting. */
    size_t cut_rest; /* bytes not cut yet, right in front of what comes next */
    uint8_t *pieces; /* a recipe in the making, its head included */
    size_t piece_count, piece_size;
    struct cdc cdc;
    bool has_cdc;
    struct worker worker;

    struct hash hash;
    struct ZSTD_CCtx_s *packer;
    uint8_t *packed; /* RECORD_CHUNK_MAX bytes */
};

extern const struct cdc_sizes normal_sizes, large_sizes;

/* ---- contents.c ---- */

/* From batch_new to batch_free; and, while it holds the lease, that it writes to that pack. */
void batch_enter(struct batch *b);
int batch_enter_pack(struct batch *b, uint64_t pack, struct err *e);
void batch_leave(struct batch *b);

/* ---- batch_chunk.c ---- */

/* Makes sure that the vault has the chunk; *ret is its hash. */
int batch_put_chunk(struct batch *b, const uint8_t *bytes, size_t len, uint8_t ret[HASH_LEN],
                    struct err *e);
/* Writes a record that the vault does not have, to be found as `key`. */
int batch_store(struct batch *b, const struct chunk_key *key, const uint8_t *bytes, size_t len,
                const uint8_t sha256[HASH_LEN], struct err *e);
/* Whether the batch or the vault has it: 1, 0, -1. The transaction will look again. */
int batch_is_there(struct batch *b, const struct chunk_key *key, struct err *e);
int batch_digest(struct batch *b, const uint8_t *bytes, size_t len, uint8_t ret[HASH_LEN],
                 struct err *e);

/* ---- batch_cut.c ---- */

int cut_begin(struct batch *b, struct err *e);

/* Hands the filled input on, to the worker if there is one. */
int cut_filled(struct batch *b, struct err *e);
/* The rest of the content, the filled input included. The worker is idle afterwards. */
int cut_end(struct batch *b, struct err *e);

void worker_wait(struct batch *b);
void worker_done(struct batch *b);

#endif
