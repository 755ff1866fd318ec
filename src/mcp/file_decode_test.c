#include "mcp/file_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

#define BYTES(text) (text), sizeof(text) - 1

static void what_a_file_is_written_in_is_guessed_from_its_beginning(void **state)
{
    (void)state;
    assert_int_equal(encoding_of(BYTES("")), ENCODING_UTF8);
    assert_int_equal(encoding_of(BYTES("plain")), ENCODING_UTF8);
    assert_int_equal(encoding_of(BYTES("gr\xc3\xbc\xc3\x9f")), ENCODING_UTF8);
    assert_int_equal(encoding_of(BYTES("cut \xe2\x82")),
                     ENCODING_UTF8); /* goes on in the next piece */
    assert_int_equal(encoding_of(BYTES("\xef\xbb\xbfx")), ENCODING_UTF8_MARK);
    assert_int_equal(encoding_of(BYTES("\xff\xfex\0")), ENCODING_UTF16_LE);
    assert_int_equal(encoding_of(BYTES("\xfe\xff\0x")), ENCODING_UTF16_BE);
    assert_int_equal(encoding_of(BYTES("gr\xfc\xdf dich")), ENCODING_LATIN1);
    assert_int_equal(encoding_of(BYTES("PK\3\4\0\0")), ENCODING_BINARY);
    assert_int_equal(encoding_of(BYTES("\x89PNG\x01\x02\x03\x04")), ENCODING_BINARY);
}

/* In pieces of every size, it becomes the same. */
static void assert_decoded(const char *bytes, size_t len, const char *expected)
{
    for (size_t piece = 1; piece <= len + 1; piece++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        struct decoder d = {.encoding = encoding_of(bytes, len)};
        bool has_mark = d.encoding != ENCODING_UTF8 && d.encoding != ENCODING_LATIN1;
        size_t at = has_mark ? (piece > 4 ? piece : 4) : piece; /* the mark comes whole */
        at = at < len ? at : len;
        decoder_feed(&d, bytes, at, &out);
        for (; at < len; at += piece)
            decoder_feed(&d, bytes + at, piece < len - at ? piece : len - at, &out);
        assert_string_equal(out.bytes ? out.bytes : "", expected);
    }
}

static void it_becomes_utf8_however_the_pieces_fall(void **state)
{
    (void)state;
    assert_decoded(BYTES("a\xc3\xbc"), "a\xc3\xbc");
    assert_decoded(BYTES("\xef\xbb\xbf"
                         "abc"),
                   "abc");
    assert_decoded(BYTES("\xff\xfe"
                         "a\0\xfc\0\xac\x20\x3d\xd8\x00\xde!\0"),
                   "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80!");
    assert_decoded(BYTES("\xfe\xff"
                         "\0a\0\xfc\x20\xac\xd8\x3d\xde\x00\0!"),
                   "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80!");
    assert_decoded(BYTES("\xff\xfe"
                         "\x3d\xd8"
                         "a\0"
                         "\x00\xde"
                         "b\0"),
                   "\xef\xbf\xbd"
                   "a\xef\xbf\xbd"
                   "b"); /* halves */
    assert_decoded(BYTES("gr\xfc\xdf 5 \x80\xa0"), "gr\xc3\xbc\xc3\x9f 5 \xe2\x82\xac\xc2\xa0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_file_is_written_in_is_guessed_from_its_beginning),
        cmocka_unit_test(it_becomes_utf8_however_the_pieces_fall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
