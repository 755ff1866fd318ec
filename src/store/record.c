#include "store/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scope.h"

static const uint8_t record_magic[4] = {'C', 'P', 'K', '1'};
static const uint8_t footer_magic[4] = {'C', 'P', 'F', '1'};
static const uint8_t seal_magic[8] = {'C', 'P', 'K', 'S', 'E', 'A', 'L', '1'};

/* By half bytes: what is summed is short, and a table of 16 needs no making. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const uint8_t *at = bytes;
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}

/* ---- records ---- */

static bool is_sound(enum chunk_kind kind, uint32_t flags, uint32_t stored_len, uint32_t raw_len)
{
    uint32_t raw_max = kind == CHUNK_DATA
                           ? RECORD_CHUNK_MAX
                           : RECIPE_HEAD + (uint32_t)RECIPE_PIECES_MAX * RECIPE_PIECE;
    if ((kind != CHUNK_DATA && kind != CHUNK_RECIPE) || raw_len == 0 || raw_len > raw_max)
        return false;
    if (kind == CHUNK_RECIPE && raw_len < RECIPE_HEAD + RECIPE_PIECE)
        return false;
    if (flags == RECORD_RAW)
        return stored_len == raw_len;
    return flags == RECORD_ZSTD && kind == CHUNK_DATA && stored_len > 0 && stored_len < raw_len;
}

void record_encode(const struct record *r, uint8_t to[RECORD_HEAD])
{
    assert(is_sound(r->kind, r->flags, r->stored_len, r->raw_len));
    memcpy(to, record_magic, 4);
    to[4] = (uint8_t)r->kind;
    to[5] = (uint8_t)r->flags;
    put_u16(to + 6, 0);
    put_u32(to + 8, r->stored_len);
    put_u32(to + 12, r->raw_len);
    memcpy(to + 16, r->sha256, HASH_LEN);
    put_u32(to + 48, crc32c(0, to, 48));
}

bool record_decode(const uint8_t from[RECORD_HEAD], struct record *ret)
{
    if (memcmp(from, record_magic, 4) != 0 || get_u32(from + 48) != crc32c(0, from, 48))
        return false;
    struct record r = {.kind = (enum chunk_kind)from[4],
                       .flags = from[5],
                       .stored_len = get_u32(from + 8),
                       .raw_len = get_u32(from + 12)};
    if (get_u16(from + 6) != 0 || !is_sound(r.kind, r.flags, r.stored_len, r.raw_len))
        return false;
    memcpy(r.sha256, from + 16, HASH_LEN);
    *ret = r;
    return true;
}

static int decompress(const struct record *r, const uint8_t *stored, ZSTD_DCtx **ctx, uint8_t *to,
                      struct err *e)
{
    if (!*ctx && !(*ctx = ZSTD_createDCtx()))
        return err_set(e, ERR_NO_MEMORY, "unpack a chunk");
    size_t len = ZSTD_decompressDCtx(*ctx, to, r->raw_len, stored, r->stored_len);
    if (ZSTD_isError(len) || len != r->raw_len)
        return err_set(e, ERR_DAMAGED, "a chunk cannot be unpacked");
    return 0;
}

int record_unpack(const struct record *r, const uint8_t *stored, struct ZSTD_DCtx_s **ctx,
                  uint8_t *to, struct err *e)
{
    if (r->flags == RECORD_RAW)
        memcpy(to, stored, r->raw_len);
    else if (decompress(r, stored, ctx, to, e))
        return -1;
    scoped(hash_done) struct hash h = {0};
    uint8_t digest[HASH_LEN];
    if (hash_init(&h, e) || hash_add(&h, to, r->raw_len, e) || hash_end(&h, digest, e))
        return -1;
    if (memcmp(digest, r->sha256, HASH_LEN) != 0)
        return err_set(e, ERR_DAMAGED, "a chunk is not what was written");
    return 0;
}

/* ---- recipes ---- */

void recipe_encode(const struct content *content, uint32_t count, uint8_t to[RECIPE_HEAD])
{
    memcpy(to, content->sha256, HASH_LEN);
    put_u64(to + 32, content->size);
    put_u32(to + 40, count);
}

void recipe_put_piece(const struct recipe_piece *piece, uint8_t to[RECIPE_PIECE])
{
    memcpy(to, piece->sha256, HASH_LEN);
    put_u32(to + HASH_LEN, piece->len);
}

int recipe_decode(const uint8_t *bytes, size_t len, struct recipe *ret, struct err *e)
{
    if (len < RECIPE_HEAD)
        return err_set(e, ERR_DAMAGED, "a recipe is cut off");
    struct recipe r = {.count = get_u32(bytes + 40), .pieces = bytes + RECIPE_HEAD};
    memcpy(r.content.sha256, bytes, HASH_LEN);
    r.content.size = get_u64(bytes + 32);
    if (r.count == 0 || r.count > RECIPE_PIECES_MAX ||
        len != RECIPE_HEAD + (size_t)r.count * RECIPE_PIECE)
        return err_set(e, ERR_DAMAGED, "a recipe has a wrong length");
    uint64_t total = 0;
    for (uint32_t i = 0; i < r.count; i++) {
        uint32_t piece_len = get_u32(r.pieces + (size_t)i * RECIPE_PIECE + HASH_LEN);
        if (piece_len == 0 || piece_len > RECORD_CHUNK_MAX)
            return err_set(e, ERR_DAMAGED, "a recipe names a piece of impossible length");
        total += piece_len;
    }
    if (total != r.content.size)
        return err_set(e, ERR_DAMAGED, "a recipe does not add up");
    *ret = r;
    return 0;
}

void recipe_piece_get(const struct recipe *r, uint32_t index, struct recipe_piece *ret)
{
    const uint8_t *at = r->pieces + (size_t)index * RECIPE_PIECE;
    memcpy(ret->sha256, at, HASH_LEN);
    ret->len = get_u32(at + HASH_LEN);
}

/* ---- footers ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct chunk_row *left = a, *right = b;
    int order = memcmp(left->sha256, right->sha256, HASH_LEN);
    if (order != 0)
        return order;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

void footer_encode(struct chunk_row *rows, size_t count, uint8_t *to)
{
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_rows);
    memcpy(to, footer_magic, 4);
    put_u32(to + 4, (uint32_t)count);
    uint8_t *at = to + FOOTER_HEAD;
    for (size_t i = 0; i < count; i++, at += FOOTER_ENTRY) {
        memcpy(at, rows[i].sha256, HASH_LEN);
        put_u64(at + 32, rows[i].offset);
        put_u32(at + 40, rows[i].stored_len);
        put_u32(at + 44, rows[i].raw_len);
        at[48] = (uint8_t)rows[i].kind;
        at[49] = (uint8_t)rows[i].flags;
        put_u16(at + 50, 0);
    }
    put_u32(at, (uint32_t)footer_len(count));
    put_u32(at + 4, crc32c(0, to, (size_t)(at + 4 - to)));
    memcpy(at + 8, seal_magic, sizeof seal_magic);
}

size_t footer_tail_decode(const uint8_t tail[FOOTER_TAIL])
{
    size_t len = get_u32(tail);
    if (memcmp(tail + 8, seal_magic, sizeof seal_magic) != 0 || len < footer_len(0) ||
        (len - footer_len(0)) % FOOTER_ENTRY != 0)
        return 0;
    return len;
}

bool footer_decode(const uint8_t *bytes, size_t len, uint64_t records_end, size_t *ret_count)
{
    if (len < footer_len(0) || footer_tail_decode(bytes + len - FOOTER_TAIL) != len)
        return false;
    size_t count = (len - footer_len(0)) / FOOTER_ENTRY;
    if (memcmp(bytes, footer_magic, 4) != 0 || get_u32(bytes + 4) != count ||
        get_u32(bytes + len - 12) != crc32c(0, bytes, len - 12))
        return false;
    struct chunk_row before = {0};
    for (size_t i = 0; i < count; i++) {
        struct chunk_row row;
        footer_entry(bytes, i, &row);
        if (get_u16(bytes + FOOTER_HEAD + i * FOOTER_ENTRY + 50) != 0 ||
            !is_sound(row.kind, row.flags, row.stored_len, row.raw_len) ||
            row.offset >= records_end ||
            records_end - row.offset < (uint64_t)RECORD_HEAD + row.stored_len ||
            (i > 0 && compare_rows(&before, &row) >= 0))
            return false;
        before = row;
    }
    *ret_count = count;
    return true;
}

void footer_entry(const uint8_t *bytes, size_t index, struct chunk_row *ret)
{
    const uint8_t *at = bytes + FOOTER_HEAD + index * FOOTER_ENTRY;
    *ret = (struct chunk_row){.kind = (enum chunk_kind)at[48],
                              .offset = get_u64(at + 32),
                              .stored_len = get_u32(at + 40),
                              .raw_len = get_u32(at + 44),
                              .flags = at[49]};
    memcpy(ret->sha256, at, HASH_LEN);
}
