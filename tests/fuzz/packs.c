/* Fuzzes what is read from packs: the head of a record, a recipe, a footer. What is accepted must come
 * out of the writer as the same bytes. A fuzzer does not find checksums: each is tried with the right
 * one too. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scope.h"
#include "fuzz.h"
#include "store/record.h"

static void try_record(const uint8_t *bytes, size_t len)
{
    uint8_t head[RECORD_HEAD], again[RECORD_HEAD];
    struct record r;
    if (len < RECORD_HEAD)
        return;
    memcpy(head, bytes, RECORD_HEAD);
    for (int i = 0; i < 2; i++) {
        if (record_decode(head, &r)) {
            record_encode(&r, again);
            assert(memcmp(head, again, RECORD_HEAD) == 0);
        }
        put_u32(head + 48, crc32c(0, head, 48));
    }
}

static void try_unpack(const uint8_t *bytes, size_t len)
{
    enum { RAW_MAX = 64 << 10 };
    struct record r;
    uint8_t head[RECORD_HEAD];
    if (len < RECORD_HEAD)
        return;
    memcpy(head, bytes, RECORD_HEAD);
    put_u32(head + 48, crc32c(0, head, 48));
    if (!record_decode(head, &r) || r.raw_len > RAW_MAX || r.stored_len > len - RECORD_HEAD)
        return;
    scoped(freep) uint8_t *to = malloc(r.raw_len);
    struct ZSTD_DCtx_s *ctx = NULL;
    struct err e = {0};
    assert(to);
    if (record_unpack(&r, bytes + RECORD_HEAD, &ctx, to, &e))
        assert(e.code == ERR_DAMAGED && e.text[0]);
    (void)ZSTD_freeDCtx(ctx);
}

static void try_recipe(const uint8_t *bytes, size_t len)
{
    struct recipe r;
    struct err e = {0};
    if (recipe_decode(bytes, len, &r, &e)) {
        assert(e.code == ERR_DAMAGED && e.text[0]);
        return;
    }
    scoped(freep) uint8_t *again = malloc(len);
    assert(again);
    recipe_encode(&r.content, r.count, again);
    for (uint32_t i = 0; i < r.count; i++) {
        struct recipe_piece piece;
        recipe_piece_get(&r, i, &piece);
        assert(piece.len > 0 && piece.len <= RECORD_CHUNK_MAX);
        recipe_put_piece(&piece, again + RECIPE_HEAD + (size_t)i * RECIPE_PIECE);
    }
    assert(memcmp(again, bytes, len) == 0);
}

static void check_footer(const uint8_t *bytes, size_t len)
{
    const uint64_t end = 1 << 20;
    size_t count;
    if (!footer_decode(bytes, len, end, &count))
        return;
    scoped(freep) struct chunk_row *rows = malloc((count + 1) * sizeof *rows);
    scoped(freep) uint8_t *again = malloc(len);
    assert(rows && again && footer_len(count) == len);
    for (size_t i = 0; i < count; i++) {
        footer_entry(bytes, i, &rows[i]);
        assert(rows[i].offset + RECORD_HEAD + rows[i].stored_len <= end);
    }
    footer_encode(rows, count, again);
    assert(memcmp(again, bytes, len) == 0);
}

static void try_footer(const uint8_t *bytes, size_t len)
{
    check_footer(bytes, len);
    if (len < footer_len(0))
        return;
    scoped(freep) uint8_t *mended = malloc(len);
    assert(mended);
    memcpy(mended, bytes, len);
    put_u32(mended + len - 12, crc32c(0, mended, len - 12));
    check_footer(mended, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    try_record(bytes, len);
    try_unpack(bytes, len);
    try_recipe(bytes, len);
    try_footer(bytes, len);
    return 0;
}
