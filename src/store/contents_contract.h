/* contents_contract.h -- what contents.h promises, as tests, over whatever packs and rows there are.
 *
 * A test program defines the functions below, includes this, and runs CONTENTS_CONTRACT. Each test
 * begins with nothing.
 */
#ifndef STORE_CONTENTS_CONTRACT_H
#define STORE_CONTENTS_CONTRACT_H

#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"
#include "store/contents.h"
#include "store/record.h"

struct contents *contract_contents(void);
struct contents *contract_contents_again(struct contents *c); /* as after a restart */
void contract_contents_done(struct contents *c);
void contract_commit(struct contents *c, const struct batch *b); /* its rows; it is synced */

/* The same bytes for the same seed: noise, or text that shrinks. */
uint8_t *contract_noise(size_t len, uint64_t seed);
uint8_t *contract_text(size_t len, uint64_t seed);

static inline struct content put(struct batch *b, const uint8_t *bytes, size_t len, size_t step)
{
    struct content content = {0};
    OK(batch_begin(b, 0, e));
    for (size_t at = 0; at < len; at += step)
        OK(batch_write(b, bytes + at, at + step < len ? step : len - at, e));
    OK(batch_end(b, &content, e));
    assert_int_equal(content.size, len);
    return content;
}

/* One content, committed; *ret_stored is what it took. */
static inline struct content store_content(struct contents *c, const char *vault,
                                           const uint8_t *bytes, size_t len, uint64_t *ret_stored)
{
    struct batch *b;
    OK(batch_new(c, vault, &b, e));
    struct content content = put(b, bytes, len, 100000);
    OK(batch_sync(b, e));
    contract_commit(c, b);
    if (ret_stored)
        *ret_stored = batch_stored(b);
    batch_free(b);
    return content;
}

static inline void expect_content(struct contents *c, const char *vault,
                                  const struct content *content, const uint8_t *bytes)
{
    struct content_reader *r;
    OK(content_open(c, vault, content, &r, e));
    size_t size = (size_t)content->size, got = 9;
    scoped(freep) uint8_t *read = malloc(size + 1);
    OK(content_read(r, 0, read, size + 1, &got, e));
    assert_int_equal(got, size);
    assert_true(size == 0 || memcmp(read, bytes, size) == 0);
    OK(content_read(r, size, read, 1, &got, e));
    assert_int_equal(got, 0);
    content_close(r);
}

static void contents_of_any_size_come_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,
                                   1,
                                   100,
                                   CHUNK_WHOLE_MAX - 1,
                                   CHUNK_WHOLE_MAX,
                                   CHUNK_WHOLE_MAX + 1,
                                   CHUNK_MAX,
                                   1 << 20,
                                   (1 << 20) + 1,
                                   3 << 20,
                                   (9 << 20) + 17};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    struct contents *c = contract_contents();
    scoped(freep) uint8_t *bytes = contract_noise(10 << 20, 1);
    struct content contents[COUNT];
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    for (size_t i = 0; i < COUNT; i++)
        contents[i] = put(b, bytes + i, sizes[i], 1 + 77777 * i);
    OK(batch_sync(b, e));
    contract_commit(c, b);
    batch_free(b);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < COUNT; i++) {
            uint8_t digest[HASH_LEN];
            scoped(hash_done) struct hash h = {0};
            OK(hash_init(&h, e));
            OK(hash_add(&h, bytes + i, sizes[i], e));
            OK(hash_end(&h, digest, e));
            assert_memory_equal(digest, contents[i].sha256, HASH_LEN);
            expect_content(c, "prn_a", &contents[i], bytes + i);
        }
        c = contract_contents_again(c);
    }
    contract_contents_done(c);
}

static void any_range_can_be_read(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 3 << 20;
    scoped(freep) uint8_t *bytes = contract_text(len, 2);
    struct content content = store_content(c, "prn_a", bytes, len, NULL);
    struct content_reader *r;
    OK(content_open(c, "prn_a", &content, &r, e));
    uint64_t x = 12345;
    for (int i = 0; i < 200; i++) {
        static uint8_t to[300000];
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t offset = (size_t)((x >> 20) % len), size = (size_t)((x >> 40) % sizeof to), got;
        size_t expected = size < len - offset ? size : len - offset;
        OK(content_read(r, offset, to, size, &got, e));
        assert_int_equal(got, expected);
        assert_memory_equal(to, bytes + offset, expected);
    }
    content_close(r);
    contract_contents_done(c);
}

static void equal_contents_are_kept_once_within_a_vault(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 2 << 20;
    scoped(freep) uint8_t *bytes = contract_noise(len, 3);
    uint64_t stored;
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    (void)put(b, bytes, len, len);
    stored = batch_stored(b);
    (void)put(b, bytes, len, 1000);
    (void)put(b, bytes, 5000, 5000);
    uint64_t with_small = batch_stored(b);
    (void)put(b, bytes, 5000, 5000);
    assert_int_equal(batch_stored(b), with_small);
    assert_int_equal(with_small, stored + 5000 + RECORD_HEAD);
    OK(batch_sync(b, e));
    contract_commit(c, b);
    batch_free(b);
    (void)store_content(c, "prn_a", bytes, len, &stored);
    assert_int_equal(stored, 0);
    (void)store_content(c, "prn_b", bytes, len, &stored);
    assert_true(stored > len);
    contract_contents_done(c);
}

static void an_insertion_is_all_that_is_stored(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 6 << 20;
    scoped(freep) uint8_t *bytes = contract_noise(len, 4);
    scoped(freep) uint8_t *longer = malloc(len + 10);
    uint64_t stored;
    (void)store_content(c, "prn_a", bytes, len, NULL);
    memcpy(longer, bytes, len / 3);
    memcpy(longer + len / 3, "0123456789", 10);
    memcpy(longer + len / 3 + 10, bytes + len / 3, len - len / 3);
    struct content content = store_content(c, "prn_a", longer, len + 10, &stored);
    assert_in_range(stored, 1, len / 6);
    expect_content(c, "prn_a", &content, longer);
    contract_contents_done(c);
}

static void what_shrinks_is_packed(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 400000;
    scoped(freep) uint8_t *text = contract_text(len, 5);
    scoped(freep) uint8_t *noise = contract_noise(len, 5);
    uint64_t stored;
    (void)store_content(c, "prn_a", text, len, &stored);
    assert_in_range(stored, 1, len * 9 / 10);
    (void)store_content(c, "prn_a", noise, len, &stored);
    assert_in_range(stored, len, len + 2000);
    contract_contents_done(c);
}

static void a_batch_goes_on_in_the_next_pack(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 70 << 20;
    scoped(freep) uint8_t *bytes = contract_noise(len, 6);
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    struct content small = put(b, (const uint8_t *)"abc", 3, 3);
    struct content content = put(b, bytes, len, 1 << 20);
    OK(batch_sync(b, e));
    struct chunk_set set;
    batch_chunks(b, &set);
    assert_int_not_equal(set.fresh[0].pack, set.fresh[set.fresh_count - 1].pack);
    contract_commit(c, b);
    batch_free(b);
    c = contract_contents_again(c);
    expect_content(c, "prn_a", &small, (const uint8_t *)"abc");
    expect_content(c, "prn_a", &content, bytes);
    contract_contents_done(c);
}

static void a_dropped_content_takes_nothing_with_it(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    scoped(freep) uint8_t *bytes = contract_noise(9 << 20, 7);
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    struct content first = put(b, bytes, 1000, 1000);
    OK(batch_begin(b, 0, e));
    OK(batch_write(b, bytes, 9 << 20, e));
    batch_drop(b);
    struct content last = put(b, bytes + 5, 2 << 20, 1 << 20);
    OK(batch_sync(b, e));
    contract_commit(c, b);
    batch_free(b);
    expect_content(c, "prn_a", &first, bytes);
    expect_content(c, "prn_a", &last, bytes + 5);
    contract_contents_done(c);
}

static void a_batch_that_is_not_committed_leaves_nothing_to_find(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    scoped(freep) uint8_t *bytes = contract_noise(2 << 20, 8);
    struct batch *b;
    struct content_reader *r;
    OK(batch_new(c, "prn_a", &b, e));
    struct content long_one = put(b, bytes, 2 << 20, 1 << 20), small = put(b, bytes, 10, 10);
    OK(batch_sync(b, e));
    batch_free(b);
    FAILS(ERR_NOT_FOUND, content_open(c, "prn_a", &long_one, &r, e));
    FAILS(ERR_NOT_FOUND, content_open(c, "prn_a", &small, &r, e));
    contract_contents_done(c);
}

static void a_content_that_is_there_can_be_reused(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    scoped(freep) uint8_t *bytes = contract_noise(2 << 20, 9);
    struct content long_one = store_content(c, "prn_a", bytes, 2 << 20, NULL);
    struct content small = store_content(c, "prn_a", bytes, 10, NULL), other = small;
    other.sha256[0] ^= 1;
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    for (int i = 0; i < 2; i++) {
        OK(batch_reuse(b, &long_one, e));
        OK(batch_reuse(b, &small, e));
        OK(batch_reuse(b, &(struct content){0}, e));
        FAILS(ERR_NOT_FOUND, batch_reuse(b, &other, e));
    }
    struct chunk_set set;
    OK(batch_sync(b, e));
    batch_chunks(b, &set);
    assert_int_equal(set.fresh_count, 0);
    assert_true(set.reused_count > 10); /* pieces, the recipe, the small one */
    assert_int_equal(batch_stored(b), 0);
    batch_free(b);
    OK(batch_new(c, "prn_b", &b, e));
    FAILS(ERR_NOT_FOUND, batch_reuse(b, &long_one, e));
    batch_free(b);
    contract_contents_done(c);
}

#define CONTENTS_CONTRACT                                                                      \
    cmocka_unit_test(contents_of_any_size_come_back), cmocka_unit_test(any_range_can_be_read), \
        cmocka_unit_test(equal_contents_are_kept_once_within_a_vault),                         \
        cmocka_unit_test(an_insertion_is_all_that_is_stored),                                  \
        cmocka_unit_test(what_shrinks_is_packed),                                              \
        cmocka_unit_test(a_batch_goes_on_in_the_next_pack),                                    \
        cmocka_unit_test(a_dropped_content_takes_nothing_with_it),                             \
        cmocka_unit_test(a_batch_that_is_not_committed_leaves_nothing_to_find),                \
        cmocka_unit_test(a_content_that_is_there_can_be_reused)

#endif
