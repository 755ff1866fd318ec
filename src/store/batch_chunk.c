/* One chunk of a batch: is it there, does it shrink, where does it go. */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/scope.h"
#include "store/batch_int.h"
#include "store/meta_files.h"

enum {
    LEVEL = 1,           /* of zstd: 3 is hardly smaller on real files, and half as fast */
    PACK_FROM_LEN = 128, /* shorter chunks do not shrink */
};

/* Bytes that are spread evenly do not get smaller: what is packed, encrypted or noise. Looked for in
 * two places, so that a header does not hide it. Chi square with 255 degrees of freedom has its mean
 * there, and 400 is some six standard deviations away; text has thousands. */
static bool looks_random(const uint8_t *bytes, size_t len)
{
    enum { SAMPLE = 2048, BAR = 400 };
    if (len < 4 * SAMPLE)
        return false;
    uint32_t counts[256] = {0};
    for (size_t i = 0; i < SAMPLE; i++) {
        counts[bytes[i]]++;
        counts[bytes[len / 2 + i]]++;
    }
    uint64_t squares = 0;
    for (size_t i = 0; i < 256; i++)
        squares += (uint64_t)counts[i] * counts[i];
    const uint64_t n = 2 * SAMPLE;
    return squares * 256 / n < n + BAR;
}

/* The chunk as it will lie in the pack: *ret_bytes are the chunk's own, or those of `packed`. */
static int shrink(struct batch *b, const uint8_t *bytes, struct record *r,
                  const uint8_t **ret_bytes, struct err *e)
{
    *ret_bytes = bytes;
    r->flags = RECORD_RAW;
    r->stored_len = r->raw_len;
    if (r->raw_len < PACK_FROM_LEN || looks_random(bytes, r->raw_len))
        return 0;
    if ((!b->packer && !(b->packer = contents_take_packer(b->contents))) ||
        (!b->packed && !(b->packed = malloc(RECORD_CHUNK_MAX))))
        return err_set(e, ERR_NO_MEMORY, "pack a chunk");
    /* With room for one byte less, not shrinking is an error. */
    size_t len = ZSTD_compressCCtx(b->packer, b->packed, r->raw_len - 1, bytes, r->raw_len, LEVEL);
    if (ZSTD_isError(len))
        return 0;
    *ret_bytes = b->packed;
    r->flags = RECORD_ZSTD;
    r->stored_len = (uint32_t)len;
    return 0;
}

static int append(struct batch *b, const struct record *r, const uint8_t *payload,
                  struct chunk_row *row, struct err *e)
{
    if (!b->lease && (packs_lease(b->contents->packs, b->vault, &b->lease, e) ||
                      batch_enter_pack(b, lease_pack(b->lease), e)))
        return -1;
    b->is_synced = false;
    if (lease_append(b->lease, r, payload, &row->offset, e))
        return -1;
    row->pack = lease_pack(b->lease);
    b->stored += (uint64_t)RECORD_HEAD + r->stored_len;
    if (!lease_is_full(b->lease))
        return 0;
    if (lease_sync(b->lease, e))
        return -1;
    b->is_synced = true;
    lease_release(take(b->lease));
    return 0;
}

int batch_store(struct batch *b, const struct chunk_key *key, const uint8_t *bytes, size_t len,
                const uint8_t sha256[HASH_LEN], struct err *e)
{
    struct record r = {.kind = key->kind, .raw_len = (uint32_t)len};
    memcpy(r.sha256, sha256, HASH_LEN);
    const uint8_t *payload = bytes;
    if (key->kind == CHUNK_RECIPE)
        r.stored_len = r.raw_len; /* hashes do not shrink */
    else if (shrink(b, bytes, &r, &payload, e))
        return -1;
    struct chunk_row row = {
        .kind = r.kind, .stored_len = r.stored_len, .raw_len = r.raw_len, .flags = r.flags};
    memcpy(row.sha256, key->sha256, HASH_LEN);
    if (append(b, &r, payload, &row, e) || seen_add_fresh(&b->seen, &row, e)) {
        b->is_failed = true;
        b->failure = *e;
        return -1;
    }
    return 0;
}

int batch_is_there(struct batch *b, const struct chunk_key *key, struct err *e)
{
    if (seen_has(&b->seen, key))
        return 1;
    struct chunk_row row;
    int found = meta_chunk_find(b->contents->meta, b->vault, key, &row, e);
    if (found > 0 && seen_add_reused(&b->seen, key, e))
        return -1;
    return found;
}

int batch_digest(struct batch *b, const uint8_t *bytes, size_t len, uint8_t ret[HASH_LEN],
                 struct err *e)
{
    return hash_init(&b->hash, e) || hash_add(&b->hash, bytes, len, e) || hash_end(&b->hash, ret, e)
               ? -1
               : 0;
}

int batch_put_chunk(struct batch *b, const uint8_t *bytes, size_t len, uint8_t ret[HASH_LEN],
                    struct err *e)
{
    struct chunk_key key = {.kind = CHUNK_DATA};
    if (batch_digest(b, bytes, len, key.sha256, e))
        return -1;
    int found = batch_is_there(b, &key, e);
    if (found < 0 || (found == 0 && batch_store(b, &key, bytes, len, key.sha256, e)))
        return -1;
    memcpy(ret, key.sha256, HASH_LEN);
    return 0;
}
