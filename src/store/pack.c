#include "store/pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/err.h"
#include "base/scope.h"

enum { LEVEL = 1 }; /* 3 is hardly smaller on JSON and half as fast */

void packer_init(struct packer *p)
{
    *p = (struct packer){.count = 0};
    pthread_mutex_init(&p->lock, NULL);
}

void packer_done(struct packer *p)
{
    for (size_t i = 0; i < p->count; i++)
        ZSTD_freeCCtx(p->spares[i]);
    pthread_mutex_destroy(&p->lock);
}

static ZSTD_CCtx *take_spare(struct packer *p)
{
    pthread_mutex_lock(&p->lock);
    ZSTD_CCtx *ctx = p->count > 0 ? p->spares[--p->count] : NULL;
    pthread_mutex_unlock(&p->lock);
    return ctx ? ctx : ZSTD_createCCtx();
}

static void give_spare(struct packer *p, ZSTD_CCtx *ctx)
{
    pthread_mutex_lock(&p->lock);
    bool is_kept = p->count < PACK_SPARES;
    if (is_kept)
        p->spares[p->count++] = ctx;
    pthread_mutex_unlock(&p->lock);
    if (!is_kept)
        ZSTD_freeCCtx(ctx);
}

static size_t compress(struct packer *p, struct str text, char *to, size_t size)
{
    ZSTD_CCtx *ctx = take_spare(p);
    if (!ctx)
        return 0;
    size_t len = ZSTD_compressCCtx(ctx, to, size, text.ptr, text.len, LEVEL);
    give_spare(p, ctx);
    return ZSTD_isError(len) ? 0 : len; /* of memory; nothing else can go wrong */
}

int pack(struct packer *p, struct str text, struct packed *ret, struct err *e)
{
    *ret = (struct packed){.packing = PACKING_NONE, .bytes = text.ptr, .len = text.len};
    if (text.len < PACK_FROM)
        return 0;
    size_t size = ZSTD_compressBound(text.len);
    scoped(freep) char *bytes = malloc(size);
    size_t len = bytes ? compress(p, text, bytes, size) : 0;
    if (len == 0)
        return err_set(e, ERR_NO_MEMORY, "compress %zu bytes", text.len);
    if (len >= text.len)
        return 0;
    char *fitting = realloc(bytes, len); /* it may wait in the queue for a while */
    if (fitting)
        bytes = fitting;
    *ret = (struct packed){PACKING_ZSTD, bytes, len, bytes};
    bytes = NULL;
    return 0;
}

void packed_done(struct packed *p)
{
    free(p->owned);
    *p = (struct packed){0};
}

void unpacker_free(struct ZSTD_DCtx_s *ctx)
{
    ZSTD_freeDCtx(ctx);
}

static int unpack_zstd(ZSTD_DCtx **ctx, struct str bytes, size_t len, char *to, struct err *e)
{
    if (!*ctx && !(*ctx = ZSTD_createDCtx()))
        return err_set(e, ERR_NO_MEMORY, "read a compressed text");
    size_t got = ZSTD_decompressDCtx(*ctx, to, len, bytes.ptr, bytes.len);
    if (ZSTD_isError(got) || got != len)
        return err_set(e, ERR_DAMAGED, "a compressed text cannot be read");
    return 0;
}

int unpack(struct ZSTD_DCtx_s **ctx, enum packing packing, struct str bytes, size_t max, char **ret,
           size_t *ret_len, struct err *e)
{
    unsigned long long len = bytes.len;
    if (packing == PACKING_ZSTD)
        len = ZSTD_getFrameContentSize(bytes.ptr, bytes.len); /* errors are huge numbers */
    else if (packing != PACKING_NONE)
        return err_set(e, ERR_DAMAGED, "a text is packed in an unknown way");
    if (len > max)
        return err_set(e, ERR_DAMAGED, "a text is longer than any can be");
    scoped(freep) char *text = malloc((size_t)len + 1);
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "read a text of %llu bytes", len);
    if (packing == PACKING_ZSTD && unpack_zstd(ctx, bytes, (size_t)len, text, e))
        return -1;
    if (packing == PACKING_NONE && len > 0)
        memcpy(text, bytes.ptr, (size_t)len);
    text[len] = '\0';
    *ret = take(text);
    *ret_len = (size_t)len;
    return 0;
}
