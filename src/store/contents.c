#include "store/contents.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/batch_int.h"
#include "store/meta_files.h"

static int is_named(void *arg, const char *vault, uint64_t pack, uint64_t offset, bool *ret,
                    struct err *e)
{
    struct contents *c = arg;
    struct chunk_row row;
    size_t count = 0;
    if (meta_chunk_list(c->meta, vault, pack, offset, 1, &row, &count, e))
        return -1;
    *ret = count > 0;
    return 0;
}

static void tell_stop(void *arg, const char *why)
{
    struct contents *c = arg;
    if (c->on_stop)
        c->on_stop(c->arg, why);
}

int contents_open(const struct contents_options *options, struct contents **ret, struct err *e)
{
    struct contents *c = malloc(sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "open the contents");
    *c = (struct contents){.packs = options->packs,
                           .meta = options->meta,
                           .on_stop = options->on_stop,
                           .arg = options->arg};
    pthread_mutex_init(&c->lock, NULL);
    const struct packs_owner owner = {.named = is_named, .on_stop = tell_stop, .arg = c};
    packs_set_owner(c->packs, &owner);
    *ret = c;
    return 0;
}

void contents_close(struct contents *c)
{
    if (!c)
        return;
    packs_set_owner(c->packs, &(struct packs_owner){0});
    for (size_t i = 0; i < c->spare_count; i++)
        ZSTD_freeCCtx(c->spares[i]);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

bool contents_is_stopped(struct contents *c)
{
    return packs_is_stopped(c->packs);
}

struct ZSTD_CCtx_s *contents_take_packer(struct contents *c)
{
    pthread_mutex_lock(&c->lock);
    ZSTD_CCtx *packer = c->spare_count > 0 ? c->spares[--c->spare_count] : NULL;
    pthread_mutex_unlock(&c->lock);
    return packer ? packer : ZSTD_createCCtx();
}

void contents_give_packer(struct contents *c, struct ZSTD_CCtx_s *packer)
{
    if (!packer)
        return;
    pthread_mutex_lock(&c->lock);
    bool is_kept = c->spare_count < CONTENTS_SPARES;
    if (is_kept)
        c->spares[c->spare_count++] = packer;
    pthread_mutex_unlock(&c->lock);
    if (!is_kept)
        ZSTD_freeCCtx(packer);
}

/* ---- who writes to what ---- */

void batch_enter(struct batch *b)
{
    struct contents *c = b->contents;
    pthread_mutex_lock(&c->lock);
    b->next = c->batches;
    c->batches = b;
    pthread_mutex_unlock(&c->lock);
}

int batch_enter_pack(struct batch *b, uint64_t pack, struct err *e)
{
    struct contents *c = b->contents;
    pthread_mutex_lock(&c->lock);
    uint64_t *longer = reallocarray(b->packs, b->pack_count + 1, sizeof *longer);
    if (longer) {
        b->packs = longer;
        b->packs[b->pack_count++] = pack;
    }
    pthread_mutex_unlock(&c->lock);
    return longer ? 0 : err_set(e, ERR_NO_MEMORY, "write to a pack");
}

void batch_leave(struct batch *b)
{
    struct contents *c = b->contents;
    pthread_mutex_lock(&c->lock);
    struct batch **at = &c->batches;
    while (*at && *at != b)
        at = &(*at)->next;
    if (*at)
        *at = b->next;
    pthread_mutex_unlock(&c->lock);
    free(b->packs);
}

bool contents_writes_to(struct contents *c, const char *vault, uint64_t pack)
{
    bool does = false;
    pthread_mutex_lock(&c->lock);
    for (const struct batch *b = c->batches; b && !does; b = b->next)
        for (size_t i = 0; i < b->pack_count && !does; i++)
            does = b->packs[i] == pack && strcmp(b->vault, vault) == 0;
    pthread_mutex_unlock(&c->lock);
    return does;
}

/* ---- fetching ---- */

int contents_fetch(struct contents *c, const char *vault, const struct chunk_key *key,
                   struct ZSTD_DCtx_s **ctx, uint8_t **ret, uint32_t *ret_len, struct err *e)
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        struct chunk_row row;
        int found = meta_chunk_read(c->meta, vault, key, &row, e);
        if (found < 0)
            return -1;
        if (found == 0)
            return err_set(e, ERR_NOT_FOUND, "the vault has no such content");
        scoped(freep) uint8_t *bytes = malloc(row.raw_len ? row.raw_len : 1);
        if (!bytes)
            return err_set(e, ERR_NO_MEMORY, "read a content");
        if (packs_read_record(c->packs, vault, &row, ctx, bytes, e) == 0) {
            *ret = take(bytes);
            *ret_len = row.raw_len;
            return 0;
        }
        if (e->code != ERR_NOT_FOUND) /* gone since we asked where it is: ask again */
            return -1;
    }
    return err_set(e, ERR_DAMAGED, "a pack is missing that the database names");
}

int contents_recipe(struct contents *c, const char *vault, const struct content *content,
                    struct ZSTD_DCtx_s **ctx, uint8_t **ret_bytes, struct recipe *ret,
                    struct err *e)
{
    struct chunk_key key = {.kind = CHUNK_RECIPE};
    memcpy(key.sha256, content->sha256, HASH_LEN);
    scoped(freep) uint8_t *bytes = NULL;
    uint32_t len;
    if (contents_fetch(c, vault, &key, ctx, &bytes, &len, e) || recipe_decode(bytes, len, ret, e))
        return -1;
    if (ret->content.size != content->size)
        return err_set(e, ERR_DAMAGED, "a content is not as long as its version says");
    *ret_bytes = take(bytes);
    return 0;
}
