/* Cutting a long content into chunks, on a thread of its own when it is long enough. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/scope.h"
#include "store/batch_int.h"

const struct cdc_sizes normal_sizes = {CHUNK_MIN, CHUNK_AVERAGE, CHUNK_MAX};
const struct cdc_sizes large_sizes = {512 << 10, 1 << 20, RECORD_CHUNK_MAX};

int cut_begin(struct batch *b, struct err *e)
{
    if (!b->has_cdc) {
        uint8_t seed[HASH_LEN];
        if (batch_digest(b, (const uint8_t *)b->vault, strlen(b->vault), seed, e))
            return -1;
        cdc_init(&b->cdc, get_u64(seed));
        b->has_cdc = true;
    }
    b->is_cut = true;
    b->cut_rest = 0;
    b->piece_count = 0;
    return hash_init(&b->whole, e);
}

static int add_piece(struct batch *b, const struct recipe_piece *piece, struct err *e)
{
    if (b->piece_count == b->piece_size) {
        size_t size = b->piece_size ? 2 * b->piece_size : 64;
        uint8_t *more = size <= RECIPE_PIECES_MAX
                            ? realloc(b->pieces, RECIPE_HEAD + size * RECIPE_PIECE)
                            : NULL;
        if (!more)
            return err_set(e, ERR_NO_MEMORY, "remember the pieces of a content");
        b->pieces = more;
        b->piece_size = size;
    }
    recipe_put_piece(piece, b->pieces + RECIPE_HEAD + b->piece_count++ * RECIPE_PIECE);
    return 0;
}

/* Cuts `len` bytes of an input and what was left before them. What is left now goes in front of the
 * input that comes next. */
static int cut(struct batch *b, size_t index, size_t len, size_t next, bool is_end, struct err *e)
{
    const uint8_t *at = b->inputs[index] + BEFORE - b->cut_rest;
    size_t left = b->cut_rest + len;
    while (left > 0 && (is_end || left >= b->sizes->max)) {
        struct recipe_piece piece;
        size_t piece_len = cdc_cut(&b->cdc, b->sizes, at, left);
        piece.len = (uint32_t)piece_len;
        if (batch_put_chunk(b, at, piece_len, piece.sha256, e) || add_piece(b, &piece, e))
            return -1;
        at += piece_len;
        left -= piece_len;
    }
    assert(left <= BEFORE);
    memmove(b->inputs[next] + BEFORE - left, at, left);
    b->cut_rest = left;
    return 0;
}

/* ---- the thread ---- */

static void fail(struct batch *b, const struct err *why)
{
    b->is_failed = true;
    b->failure = *why;
}

static void *work(void *arg)
{
    struct batch *b = arg;
    struct worker *w = &b->worker;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->is_busy && !w->is_over)
            pthread_cond_wait(&w->changed, &w->lock);
        if (!w->is_busy)
            break;
        size_t index = w->index, len = w->len;
        pthread_mutex_unlock(&w->lock);
        struct err e = {0};
        if (!b->is_failed && cut(b, index, len, !index, /* is_end= */ false, &e))
            fail(b, &e);
        pthread_mutex_lock(&w->lock);
        w->is_busy = false;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Without a thread it works too, so a failure to make one is none. */
static void start_worker(struct batch *b)
{
    struct worker *w = &b->worker;
    if (w->is_running || (!b->inputs[1] && !(b->inputs[1] = malloc(BEFORE + PIECE))))
        return;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->is_busy = w->is_over = false;
    w->is_running = pthread_create(&w->thread, NULL, work, b) == 0;
    if (!w->is_running) {
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
    }
}

void worker_wait(struct batch *b)
{
    struct worker *w = &b->worker;
    if (!w->is_running)
        return;
    pthread_mutex_lock(&w->lock);
    while (w->is_busy)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

void worker_done(struct batch *b)
{
    struct worker *w = &b->worker;
    if (!w->is_running)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    w->is_running = false;
}

static void give_to_worker(struct batch *b)
{
    struct worker *w = &b->worker;
    pthread_mutex_lock(&w->lock);
    assert(!w->is_busy);
    w->index = b->filling;
    w->len = b->filled;
    w->is_busy = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* ---- handing on ---- */

static int sum(struct batch *b, struct err *e)
{
    return hash_add(&b->whole, b->inputs[b->filling] + BEFORE, b->filled, e);
}

int cut_filled(struct batch *b, struct err *e)
{
    if ((!b->is_cut && cut_begin(b, e)) || sum(b, e))
        return -1;
    if (b->size >= WORKER_FROM)
        start_worker(b);
    worker_wait(b);
    if (b->is_failed) {
        *e = b->failure;
        return -1;
    }
    if (b->size >= CHUNK_LARGE_FROM) /* as if somebody had said before how long it would be */
        b->sizes = &large_sizes;
    if (b->worker.is_running) {
        give_to_worker(b);
        b->filling = !b->filling;
    } else if (cut(b, b->filling, b->filled, b->filling, /* is_end= */ false, e)) {
        return -1;
    }
    b->filled = 0;
    return 0;
}

int cut_end(struct batch *b, struct err *e)
{
    if ((!b->is_cut && cut_begin(b, e)) || sum(b, e))
        return -1;
    worker_wait(b);
    if (b->is_failed) {
        *e = b->failure;
        return -1;
    }
    return cut(b, b->filling, b->filled, b->filling, /* is_end= */ true, e);
}
