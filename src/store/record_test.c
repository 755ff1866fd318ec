#include "store/record.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/bytes.h"
#include "base/expect.h"
#include "base/scope.h"

static void sum(const void *bytes, size_t len, uint8_t ret[HASH_LEN])
{
    scoped(hash_done) struct hash h = {0};
    OK(hash_init(&h, e));
    OK(hash_add(&h, bytes, len, e));
    OK(hash_end(&h, ret, e));
}

static void the_checksum_is_that_of_the_standard(void **state)
{
    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    uint32_t crc = crc32c(0, "1234", 4);
    assert_int_equal(crc32c(crc, "56789", 5), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
}

static void a_record_comes_back_and_any_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct record r = {.kind = CHUNK_DATA, .flags = RECORD_ZSTD, .stored_len = 5, .raw_len = 6};
    memset(r.sha256, 7, HASH_LEN);
    uint8_t head[RECORD_HEAD];
    struct record got;
    record_encode(&r, head);
    assert_true(record_decode(head, &got));
    assert_memory_equal(&r, &got, sizeof r);
    for (size_t bit = 0; bit < 8 * RECORD_HEAD; bit++) {
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(record_decode(head, &got));
        head[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* A header with a right checksum and these fields. */
static bool is_taken(uint8_t kind, uint8_t flags, uint16_t reserved, uint32_t stored, uint32_t raw)
{
    struct record r = {.kind = CHUNK_DATA, .stored_len = 1, .raw_len = 1}, got;
    uint8_t head[RECORD_HEAD];
    record_encode(&r, head);
    head[4] = kind;
    head[5] = flags;
    put_u16(head + 6, reserved);
    put_u32(head + 8, stored);
    put_u32(head + 12, raw);
    put_u32(head + 48, crc32c(0, head, 48));
    return record_decode(head, &got);
}

static void lengths_and_kinds_that_cannot_be_are_refused(void **state)
{
    (void)state;
    assert_true(is_taken(1, 0, 0, 1, 1));
    assert_true(is_taken(1, 0, 0, RECORD_CHUNK_MAX, RECORD_CHUNK_MAX));
    assert_false(is_taken(1, 0, 0, RECORD_CHUNK_MAX + 1, RECORD_CHUNK_MAX + 1));
    assert_false(is_taken(1, 0, 0, 0, 0));
    assert_false(is_taken(1, 0, 0, 1, 2));
    assert_true(is_taken(1, 1, 0, 1, 2));
    assert_false(is_taken(1, 1, 0, 2, 2));
    assert_false(is_taken(1, 2, 0, 1, 1));
    assert_false(is_taken(0, 0, 0, 1, 1));
    assert_false(is_taken(3, 0, 0, 1, 1));
    assert_false(is_taken(1, 0, 1, 1, 1));
    assert_false(is_taken(2, 0, 0, 79, 79));
    assert_true(is_taken(2, 0, 0, 80, 80));
    assert_false(is_taken(2, 1, 0, 80, 81));
}

static void a_payload_is_unpacked_and_checked(void **state)
{
    (void)state;
    char text[1000], packed[1000], got[1000];
    memset(text, 'x', sizeof text);
    struct record r = {.kind = CHUNK_DATA, .raw_len = sizeof text, .stored_len = sizeof text};
    sum(text, sizeof text, r.sha256);
    ZSTD_DCtx *ctx = NULL;
    OK(record_unpack(&r, (uint8_t *)text, &ctx, (uint8_t *)got, e));
    assert_memory_equal(text, got, sizeof text);
    text[5] = 'y';
    FAILS(ERR_DAMAGED, record_unpack(&r, (uint8_t *)text, &ctx, (uint8_t *)got, e));
    text[5] = 'x';

    r.flags = RECORD_ZSTD;
    r.stored_len = (uint32_t)ZSTD_compress(packed, sizeof packed, text, sizeof text, 1);
    OK(record_unpack(&r, (uint8_t *)packed, &ctx, (uint8_t *)got, e));
    assert_memory_equal(text, got, sizeof text);
    r.raw_len--; /* it would become longer than the header says */
    FAILS(ERR_DAMAGED, record_unpack(&r, (uint8_t *)packed, &ctx, (uint8_t *)got, e));
    r.raw_len += 2; /* or shorter */
    char room[sizeof text + 1];
    FAILS(ERR_DAMAGED, record_unpack(&r, (uint8_t *)packed, &ctx, (uint8_t *)room, e));
    ZSTD_freeDCtx(ctx);
}

static void a_recipe_has_to_add_up(void **state)
{
    (void)state;
    uint8_t bytes[RECIPE_HEAD + 2 * RECIPE_PIECE];
    struct content content = {.size = 300000};
    struct recipe_piece a = {.len = 100000}, b = {.len = 200000}, got;
    memset(content.sha256, 1, HASH_LEN);
    memset(a.sha256, 2, HASH_LEN);
    memset(b.sha256, 3, HASH_LEN);
    recipe_encode(&content, 2, bytes);
    recipe_put_piece(&a, bytes + RECIPE_HEAD);
    recipe_put_piece(&b, bytes + RECIPE_HEAD + RECIPE_PIECE);
    struct recipe r;
    OK(recipe_decode(bytes, sizeof bytes, &r, e));
    assert_int_equal(r.count, 2);
    assert_memory_equal(&r.content, &content, sizeof content);
    recipe_piece_get(&r, 1, &got);
    assert_memory_equal(&got, &b, sizeof b);

    FAILS(ERR_DAMAGED, recipe_decode(bytes, sizeof bytes - 1, &r, e));
    FAILS(ERR_DAMAGED, recipe_decode(bytes, RECIPE_HEAD - 1, &r, e));
    content.size++;
    recipe_encode(&content, 2, bytes);
    FAILS(ERR_DAMAGED, recipe_decode(bytes, sizeof bytes, &r, e));
    content.size = 100000;
    recipe_encode(&content, 2, bytes);
    b.len = 0;
    recipe_put_piece(&b, bytes + RECIPE_HEAD + RECIPE_PIECE);
    FAILS(ERR_DAMAGED, recipe_decode(bytes, sizeof bytes, &r, e));
    recipe_encode(&(struct content){0}, 0, bytes);
    FAILS(ERR_DAMAGED, recipe_decode(bytes, RECIPE_HEAD, &r, e));
}

static void a_footer_is_sorted_and_any_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct chunk_row rows[3] = {
        {.kind = CHUNK_DATA, .offset = 0, .stored_len = 10, .raw_len = 10},
        {.kind = CHUNK_DATA, .offset = 62, .stored_len = 10, .raw_len = 20, .flags = RECORD_ZSTD},
        {.kind = CHUNK_RECIPE, .offset = 124, .stored_len = 80, .raw_len = 80},
    };
    rows[0].sha256[0] = 9;
    rows[1].sha256[0] = rows[2].sha256[0] = 3;
    uint8_t bytes[FOOTER_HEAD + 3 * FOOTER_ENTRY + FOOTER_TAIL];
    assert_int_equal(sizeof bytes, footer_len(3));
    footer_encode(rows, 3, bytes);
    uint8_t *tail = bytes + sizeof bytes - FOOTER_TAIL;
    assert_int_equal(footer_tail_decode(tail), sizeof bytes);
    size_t count = 0;
    const uint64_t end = 124 + RECORD_HEAD + 80;
    assert_true(footer_decode(bytes, sizeof bytes, end, &count));
    assert_int_equal(count, 3);
    struct chunk_row row;
    footer_entry(bytes, 0, &row);
    assert_int_equal(row.offset, 62);
    assert_int_equal(row.flags, RECORD_ZSTD);
    footer_entry(bytes, 2, &row);
    assert_int_equal(row.offset, 0);
    assert_false(footer_decode(bytes, sizeof bytes, end - 1, &count));
    assert_false(footer_decode(bytes, sizeof bytes - 1, end, &count));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(footer_decode(bytes, sizeof bytes, end, &count));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_that_of_the_standard),
        cmocka_unit_test(a_record_comes_back_and_any_flipped_bit_is_noticed),
        cmocka_unit_test(lengths_and_kinds_that_cannot_be_are_refused),
        cmocka_unit_test(a_payload_is_unpacked_and_checked),
        cmocka_unit_test(a_recipe_has_to_add_up),
        cmocka_unit_test(a_footer_is_sorted_and_any_flipped_bit_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
