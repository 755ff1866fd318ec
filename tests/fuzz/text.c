/* Fuzzes what is done with a program's output: made well-formed, kept in head and tail, cut.
 *
 * The first byte is the limit of a keep, the second says in which pieces the rest arrives.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "session/keep.h"

#include "fuzz.h"

static void cleaned_text_is_well_formed(const char *bytes, size_t len)
{
    scoped(buf_done) struct buf once = BUF_INIT(3 * len + 1), twice = BUF_INIT(3 * len + 1);
    utf8_clean(bytes, len, &once);
    assert(!once.failed && utf8_is_valid(once.bytes, once.len));
    bool is_same = once.len == len && (len == 0 || memcmp(once.bytes, bytes, len) == 0);
    assert(utf8_is_valid(bytes, len) == is_same);
    utf8_clean(once.bytes, once.len, &twice);
    assert(twice.len == once.len);
}

static void cuts_of_well_formed_text_are_well_formed(const char *bytes, size_t len)
{
    bool is_valid = utf8_is_valid(bytes, len);
    for (size_t at = 0; at <= len; at++) {
        size_t cut = utf8_cut(bytes, at), skip = utf8_skip(bytes + at, len - at);
        assert(cut <= at && at - cut <= 3 && skip <= 3 && skip <= len - at);
        if (is_valid)
            assert(utf8_is_valid(bytes, cut) && utf8_is_valid(bytes + at + skip, len - at - skip));
    }
}

static void a_keep_holds_the_head_and_the_tail(size_t max, uint8_t pattern, const char *bytes,
                                               size_t len)
{
    struct err e = {0};
    scoped(keep_done) struct keep k = KEEP_INIT(max);
    scoped(buf_done) struct buf out = BUF_INIT(max + KEEP_NOTICE_MAX);
    for (size_t at = 0, piece; at < len; at += piece) {
        piece = (at * 7 + pattern) % 50;
        piece = piece > len - at ? len - at : piece;
        piece = piece ? piece : 1;
        assert(keep_add(&k, bytes + at, piece, &e) == 0);
    }
    keep_text(&k, &out);
    assert(!out.failed);
    assert(keep_dropped(&k) == (len > max ? len - max : 0));
    if (len <= max) {
        assert(out.len == len && (len == 0 || memcmp(out.bytes, bytes, len) == 0));
        return;
    }
    size_t head = utf8_cut(bytes, (max + 1) / 2);
    size_t tail = max / 2 - utf8_skip(bytes + len - max / 2, max / 2);
    char notice[KEEP_NOTICE_MAX];
    int n = snprintf(notice, sizeof notice, "\n[... %zu bytes left out ...]\n", len - head - tail);
    assert(n > 0 && out.len == head + (size_t)n + tail);
    assert(memcmp(out.bytes, bytes, head) == 0);
    assert(memcmp(out.bytes + head, notice, (size_t)n) == 0);
    assert(memcmp(out.bytes + head + n, bytes + len - tail, tail) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 4096)
        return 0;
    const char *text = (const char *)bytes + 2;
    cleaned_text_is_well_formed(text, len - 2);
    cuts_of_well_formed_text_are_well_formed(text, len - 2);
    a_keep_holds_the_head_and_the_tail(bytes[0], bytes[1], text, len - 2);
    return 0;
}
