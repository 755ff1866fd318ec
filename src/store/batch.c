/* Writing contents: see contents.h for the order of things, batch_int.h for who does what. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/scope.h"
#include "store/batch_int.h"
#include "store/meta_files.h"

int batch_new(struct contents *c, const char *vault, struct batch **ret, struct err *e)
{
    if (packs_is_stopped(c->packs))
        return err_set(e, ERR_UNAVAILABLE,
                       "the store is read-only until the server is restarted: the disk has failed");
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return err_set(e, ERR_NO_MEMORY, "store contents");
    b->contents = c;
    b->is_synced = true;
    (void)snprintf(b->vault, sizeof b->vault, "%s", vault);
    batch_enter(b);
    *ret = b;
    return 0;
}

void batch_free(struct batch *b)
{
    if (!b)
        return;
    worker_done(b);
    lease_release(b->lease);
    batch_leave(b);
    contents_give_packer(b->contents, b->packer);
    seen_done(&b->seen);
    hash_done(&b->whole);
    hash_done(&b->hash);
    free(b->inputs[0]);
    free(b->inputs[1]);
    free(b->pieces);
    free(b->packed);
    free(b);
}

static int check_batch(const struct batch *b, struct err *e)
{
    if (!b->is_failed)
        return 0;
    *e = b->failure;
    return -1;
}

/* ---- contents ---- */

int batch_begin(struct batch *b, uint64_t size, struct err *e)
{
    assert(!b->is_open);
    if (check_batch(b, e))
        return -1;
    if (!b->inputs[0] && !(b->inputs[0] = malloc(BEFORE + PIECE)))
        return err_set(e, ERR_NO_MEMORY, "store a content");
    b->sizes = size >= CHUNK_LARGE_FROM ? &large_sizes : &normal_sizes;
    b->is_open = true;
    b->is_cut = false;
    b->size = 0;
    b->filling = 0;
    b->filled = 0;
    return 0;
}

int batch_write(struct batch *b, const void *bytes, size_t len, struct err *e)
{
    assert(b->is_open);
    if (len > CONTENT_SIZE_MAX - b->size)
        return err_set(e, ERR_TOO_LARGE, "a file can have %llu GiB at most",
                       (unsigned long long)(CONTENT_SIZE_MAX >> 30));
    const uint8_t *from = bytes;
    while (len > 0) {
        if (b->filled == PIECE && cut_filled(b, e))
            return -1;
        size_t room = PIECE - b->filled;
        size_t step = len < room ? len : room;
        memcpy(b->inputs[b->filling] + BEFORE + b->filled, from, step);
        b->filled += step;
        b->size += step;
        from += step;
        len -= step;
    }
    return 0;
}

void batch_drop(struct batch *b)
{
    worker_wait(b);
    b->is_open = false;
}

/* ---- recipes ---- */

/* What the recipe names has to stay as long as it does. */
static int rely_on(struct batch *b, const struct recipe *recipe, struct err *e)
{
    for (uint32_t i = 0; i < recipe->count; i++) {
        struct recipe_piece piece;
        struct chunk_key key = {.kind = CHUNK_DATA};
        recipe_piece_get(recipe, i, &piece);
        memcpy(key.sha256, piece.sha256, HASH_LEN);
        if (!seen_has(&b->seen, &key) && seen_add_reused(&b->seen, &key, e))
            return -1;
    }
    return 0;
}

static int reuse_recipe(struct batch *b, const struct content *content, struct err *e)
{
    scoped(freep) uint8_t *bytes = NULL;
    struct recipe recipe;
    ZSTD_DCtx *none = NULL; /* recipes are not compressed */
    if (contents_recipe(b->contents, b->vault, content, &none, &bytes, &recipe, e))
        return -1;
    return rely_on(b, &recipe, e);
}

static int end_recipe(struct batch *b, struct content *ret, struct err *e)
{
    struct chunk_key key = {.kind = CHUNK_RECIPE};
    struct content content = {.size = b->size};
    if (hash_end(&b->whole, content.sha256, e))
        return -1;
    memcpy(key.sha256, content.sha256, HASH_LEN);
    bool was_seen = seen_has(&b->seen, &key);
    int found = batch_is_there(b, &key, e);
    if (found < 0)
        return -1;
    /* The one that is there may have been cut in another way. */
    if (found && !was_seen && reuse_recipe(b, &content, e))
        return -1;
    if (!found) {
        uint8_t sha256[HASH_LEN];
        size_t len = RECIPE_HEAD + b->piece_count * RECIPE_PIECE;
        recipe_encode(&content, (uint32_t)b->piece_count, b->pieces);
        if (batch_digest(b, b->pieces, len, sha256, e) ||
            batch_store(b, &key, b->pieces, len, sha256, e))
            return -1;
    }
    *ret = content;
    return 0;
}

static int end_content(struct batch *b, struct content *ret, struct err *e)
{
    if (b->is_cut || b->filled > CHUNK_WHOLE_MAX)
        return cut_end(b, e) || end_recipe(b, ret, e) ? -1 : 0;
    struct content content = {.size = b->size};
    const uint8_t *bytes = b->inputs[b->filling] + BEFORE;
    if (b->size > 0 ? batch_put_chunk(b, bytes, b->filled, content.sha256, e)
                    : batch_digest(b, bytes, 0, content.sha256, e))
        return -1;
    *ret = content;
    return 0;
}

int batch_end(struct batch *b, struct content *ret, struct err *e)
{
    assert(b->is_open);
    worker_wait(b);
    int failed = check_batch(b, e) ? -1 : end_content(b, ret, e);
    b->is_open = false;
    return failed;
}

int batch_reuse(struct batch *b, const struct content *content, struct err *e)
{
    worker_wait(b);
    if (check_batch(b, e))
        return -1;
    if (content->size == 0)
        return 0;
    struct chunk_key key = {.kind = content_is_whole(content) ? CHUNK_DATA : CHUNK_RECIPE};
    memcpy(key.sha256, content->sha256, HASH_LEN);
    if (seen_has(&b->seen, &key))
        return 0;
    if (!content_is_whole(content) && reuse_recipe(b, content, e))
        return -1;
    /* Also one that gc has given up: it may have been marked just when a commit began to need it, and
     * the transaction unmarks it. */
    struct chunk_row row;
    int found = meta_chunk_read(b->contents->meta, b->vault, &key, &row, e);
    if (found == 0)
        return err_set(e, ERR_NOT_FOUND, "the vault has no such content");
    return found < 0 ? -1 : seen_add_reused(&b->seen, &key, e);
}

/* ---- the end ---- */

int batch_sync(struct batch *b, struct err *e)
{
    worker_wait(b);
    if (check_batch(b, e))
        return -1;
    if (!b->is_synced && lease_sync(b->lease, e)) {
        b->is_failed = true;
        b->failure = *e;
        return -1;
    }
    b->is_synced = true;
    return 0;
}

uint64_t batch_stored(const struct batch *b)
{
    return b->stored;
}

void batch_chunks(const struct batch *b, struct chunk_set *ret)
{
    assert(b->is_synced && !b->is_failed); /* bytes first, then the rows that name them */
    *ret = (struct chunk_set){.vault = b->vault,
                              .fresh = b->seen.fresh,
                              .fresh_count = b->seen.fresh_count,
                              .reused = b->seen.reused,
                              .reused_count = b->seen.reused_count};
}
