#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static void the_examples_of_the_rfc_come_out_as_printed_there(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        scoped(buf_done) struct buf b = BUF_INIT(100);
        base64_add(&b, pairs[i][0], strlen(pairs[i][0]));
        assert_string_equal(b.bytes ? b.bytes : "", pairs[i][1]);
    }
}

static void every_byte_value_survives(void **state)
{
    (void)state;
    uint8_t all[256];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)i;
    scoped(buf_done) struct buf b = BUF_INIT(1000);
    base64_add(&b, all, sizeof all);
    assert_int_equal(b.len, 344);
    assert_memory_equal(b.bytes, "AAECAwQFBgcICQoLDA0ODxAR", 24);
    assert_string_equal(b.bytes + 340, "/w==");
}

/* The encoder works in batches of 4096 characters: 3072 bytes fill one exactly. */
static void a_whole_batch_and_one_byte_more_join_without_a_seam(void **state)
{
    (void)state;
    char zeros[3073] = {0};
    for (size_t len = 3071; len <= 3073; len++) {
        scoped(buf_done) struct buf b = BUF_INIT(5000);
        base64_add(&b, zeros, len);
        assert_int_equal(b.len, (len + 2) / 3 * 4);
        size_t padding = (3 - len % 3) % 3;
        assert_int_equal(strspn(b.bytes, "A"), b.len - padding);
    }
}

static void what_does_not_fit_fails_the_buf(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(7);
    base64_add(&b, "abcd", 4);
    assert_int_equal(buf_check(&b, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void what_was_encoded_is_decoded_and_nothing_else_is(void **state)
{
    (void)state;
    struct err e = {0};
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    for (size_t len = 0; len <= sizeof bytes; len++) {
        scoped(buf_done) struct buf text = BUF_INIT(1000), back = BUF_INIT(1000);
        base64_add(&text, bytes, len);
        assert_int_equal(base64_decode(text.bytes ? text.bytes : "", text.len, &back, &e), 0);
        assert_int_equal(back.len, len);
        assert_memory_equal(back.bytes ? back.bytes : "", bytes, len);
    }
    static const char *const wrong[] = {
        "A",    "AA",   "AAA",  "AA=A",  "A===", "====",  "AA==AAAA",
        "AB==", "AAB=", "AA A", "AA\n=", "AA-_", "AAAA\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        scoped(buf_done) struct buf back = BUF_INIT(1000);
        assert_int_equal(base64_decode(wrong[i], strlen(wrong[i]), &back, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void the_alphabet_of_urls_is_read_without_padding_and_as_strictly(void **state)
{
    (void)state;
    struct err e = {0};
    static const struct {
        const char *text, *bytes;
        size_t len;
    } right[] = {{"", "", 0},
                 {"Zg", "f", 1},
                 {"Zm8", "fo", 2},
                 {"Zm9v", "foo", 3},
                 {"Zm9vYg", "foob", 4},
                 {"-_8", "\xfb\xff", 2},
                 {"____", "\xff\xff\xff", 3}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        scoped(buf_done) struct buf back = BUF_INIT(100);
        assert_int_equal(base64url_decode(right[i].text, strlen(right[i].text), &back, &e), 0);
        assert_int_equal(back.len, right[i].len);
        assert_memory_equal(back.bytes ? back.bytes : "", right[i].bytes, right[i].len);
    }
    static const char *const wrong[] = {"A",    "AAAAA", "AB",   "AAB",   "AA==", "AAA=",
                                        "AA+A", "AA/A",  "AA A", "AAAA=", "AA*A", "AAA\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        scoped(buf_done) struct buf back = BUF_INIT(100);
        assert_int_equal(base64url_decode(wrong[i], strlen(wrong[i]), &back, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_rfc_come_out_as_printed_there),
        cmocka_unit_test(every_byte_value_survives),
        cmocka_unit_test(a_whole_batch_and_one_byte_more_join_without_a_seam),
        cmocka_unit_test(what_does_not_fit_fails_the_buf),
        cmocka_unit_test(what_was_encoded_is_decoded_and_nothing_else_is),
        cmocka_unit_test(the_alphabet_of_urls_is_read_without_padding_and_as_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
