/* record.h -- what packs are made of: records, recipes, and the footer of a sealed pack.
 *
 * Formats (numbers little endian):
 *
 *     record   "CPK1" | kind u8 (1 chunk, 2 recipe) | flags u8 (0 as it is, 1 zstd) | 0 u16
 *              | stored_len u32 | raw_len u32 | sha256[32] of the raw payload
 *              | crc32c u32 of the 48 bytes before | payload, stored_len bytes
 *     recipe   the raw payload of a record of kind 2:
 *              sha256[32] of the content | size u64 | count u32 | count x (sha256[32], raw_len u32)
 *     footer   "CPF1" | count u32 | count x entry, sorted by sha256 and kind, then
 *              len u32 of the whole footer | crc32c u32 of all before | "CPKSEAL1"
 *     entry    sha256[32] | offset u64 | stored_len u32 | raw_len u32 | kind u8 | flags u8 | 0 u16
 *              where the hash of a recipe is that of the content it is for
 *
 * Nothing here reads or writes a file. Whatever is decoded comes from a disk, and may be anything.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "store/rows.h"

struct ZSTD_DCtx_s;
struct err;

enum {
    RECORD_HEAD = 52,
    RECORD_RAW = 0, /* flags */
    RECORD_ZSTD = 1,
    RECORD_CHUNK_MAX = 2 << 20, /* raw bytes of a chunk */
    RECIPE_HEAD = 44,
    RECIPE_PIECE = 36,
    RECIPE_PIECES_MAX = 4 << 20,
    FOOTER_HEAD = 8,
    FOOTER_ENTRY = 52,
    FOOTER_TAIL = 16,
};

uint32_t crc32c(uint32_t crc, const void *bytes, size_t len); /* begin with 0 */

/* ---- records ---- */

struct record {
    enum chunk_kind kind;
    uint32_t flags;
    uint32_t stored_len, raw_len;
    uint8_t sha256[HASH_LEN];
};

void record_encode(const struct record *r, uint8_t to[RECORD_HEAD]);

/* False: these bytes begin no record. */
bool record_decode(const uint8_t from[RECORD_HEAD], struct record *ret);

/* Unpacks the payload of a record into `to`, raw_len bytes, and checks its hash. *ctx is kept between
 * calls (NULL at first; ZSTD_freeDCtx). Fails with ERR_DAMAGED. */
int record_unpack(const struct record *r, const uint8_t *stored, struct ZSTD_DCtx_s **ctx,
                  uint8_t *to, struct err *e);

/* ---- recipes ---- */

struct recipe {
    struct content content;
    uint32_t count;
    const uint8_t *pieces; /* borrowed */
};

struct recipe_piece {
    uint8_t sha256[HASH_LEN];
    uint32_t len;
};

void recipe_encode(const struct content *content, uint32_t count, uint8_t to[RECIPE_HEAD]);
void recipe_put_piece(const struct recipe_piece *piece, uint8_t to[RECIPE_PIECE]);

/* Fails with ERR_DAMAGED unless the pieces are as long together as the content. */
int recipe_decode(const uint8_t *bytes, size_t len, struct recipe *ret, struct err *e);
void recipe_piece_get(const struct recipe *r, uint32_t index, struct recipe_piece *ret);

/* ---- footers ---- */

static inline size_t footer_len(size_t count)
{
    return FOOTER_HEAD + count * FOOTER_ENTRY + FOOTER_TAIL;
}

/* Sorts the rows (whose pack does not count) and writes footer_len(count) bytes. */
void footer_encode(struct chunk_row *rows, size_t count, uint8_t *to);

/* The length of the footer that ends with these bytes; 0: none does. */
size_t footer_tail_decode(const uint8_t tail[FOOTER_TAIL]);

/* A whole footer of a pack whose records end at `records_end`; *ret_count entries are in it. */
bool footer_decode(const uint8_t *bytes, size_t len, uint64_t records_end, size_t *ret_count);
void footer_entry(const uint8_t *bytes, size_t index, struct chunk_row *ret);

#endif
