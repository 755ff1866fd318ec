/* packs_fixture.h -- for tests of packs.h: records to append, and how to look at them afterwards. */
#ifndef STORE_PACKS_FIXTURE_H
#define STORE_PACKS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/expect.h"
#include "base/scope.h"
#include "store/packs.h"

/* A record of `len` bytes, which are all `fill`. */
static inline void a_record(uint8_t fill, size_t len, uint8_t *bytes, struct record *ret)
{
    scoped(hash_done) struct hash h = {0};
    memset(bytes, fill, len);
    *ret =
        (struct record){.kind = CHUNK_DATA, .raw_len = (uint32_t)len, .stored_len = (uint32_t)len};
    OK(hash_init(&h, e));
    OK(hash_add(&h, bytes, len, e));
    OK(hash_end(&h, ret->sha256, e));
}

static inline struct chunk_row append_one(struct lease *l, uint8_t fill, size_t len)
{
    scoped(freep) uint8_t *bytes = malloc(len);
    struct record r;
    a_record(fill, len, bytes, &r);
    struct chunk_row row = {
        .kind = r.kind, .pack = lease_pack(l), .raw_len = r.raw_len, .stored_len = r.stored_len};
    memcpy(row.sha256, r.sha256, HASH_LEN);
    OK(lease_append(l, &r, bytes, &row.offset, e));
    return row;
}

static inline void expect_row(struct packs *p, const char *vault, const struct chunk_row *row,
                              uint8_t fill)
{
    scoped(freep) uint8_t *bytes = malloc(row->raw_len);
    ZSTD_DCtx *none = NULL;
    OK(packs_read_record(p, vault, row, &none, bytes, e));
    for (size_t i = 0; i < row->raw_len; i++)
        assert_int_equal(bytes[i], fill);
}

static inline uint64_t number_of_records(struct packs *p, const char *vault, uint64_t pack)
{
    struct pack_walked walked;
    OK(packs_walk(p, vault, pack, NULL, NULL, &walked, e));
    assert_int_equal(walked.damaged, 0);
    return walked.records;
}

/* By their number, which is quicker than by their size. */
static inline void fill_up(struct lease *l)
{
    uint8_t bytes[20];
    struct record r;
    a_record(7, sizeof bytes, bytes, &r);
    for (uint64_t offset; !lease_is_full(l);)
        OK(lease_append(l, &r, bytes, &offset, e));
}

#endif
