/* Fuzzes JSON from strangers: what json_compact lets through must be one line of JSON that says the
 * same, and any bytes written as a string must come back as the same text. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/write.h"

#include "fuzz.h"

static void check_one_line(const struct buf *b)
{
    assert(utf8_is_valid(b->bytes, b->len));
    for (size_t i = 0; i < b->len; i++)
        assert((unsigned char)b->bytes[i] >= 0x20);
    assert(!memmem(b->bytes, b->len, "\xe2\x80\xa8", 3));
    assert(!memmem(b->bytes, b->len, "\xe2\x80\xa9", 3));
}

static void compacted_json_says_the_same(const char *text, size_t len)
{
    struct err e = {0};
    scoped(buf_done) struct buf once = BUF_INIT(6 * len + 1), twice = BUF_INIT(6 * len + 1);
    if (json_compact(text, len, &once, &e))
        return;
    check_one_line(&once);
    json_t *before = NULL, *after = NULL;
    assert(json_read(text, len, &before, &e) == 0);
    assert(json_read(once.bytes, once.len, &after, &e) == 0);
    assert(json_equal(before, after));
    json_decref(before);
    json_decref(after);

    assert(json_compact(once.bytes, once.len, &twice, &e) == 0);
    assert(twice.len == once.len && memcmp(twice.bytes, once.bytes, once.len) == 0);
}

static void written_strings_come_back(const char *bytes, size_t len)
{
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(18 * len + 8), clean = BUF_INIT(3 * len + 1);
    struct json_writer w = JSON_WRITER(&out);
    jw_str(&w, bytes, len);
    jw_finish(&w);
    assert(buf_check(&out, &e) == 0);
    check_one_line(&out);

    json_t *value = NULL;
    assert(json_read(out.bytes, out.len, &value, &e) == 0);
    utf8_clean(bytes, len, &clean);
    assert(json_string_length(value) == clean.len);
    assert(clean.len == 0 || memcmp(json_string_value(value), clean.bytes, clean.len) == 0);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    compacted_json_says_the_same((const char *)bytes, len);
    written_strings_come_back((const char *)bytes, len);
    return 0;
}
