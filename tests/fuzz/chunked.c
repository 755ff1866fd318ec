/* Fuzzes the decoder of chunks: however the bytes are cut, the same body comes out. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "http/chunked.h"

#include "fuzz.h"

struct result {
    enum chunked_found found;
    size_t used;
};

/* Feeds one piece, which lies in memory of exactly its size. */
static enum chunked_found feed(struct chunked *c, const uint8_t *bytes, size_t len, size_t *used,
                               struct buf *out)
{
    scoped(freep) char *copy = malloc(len ? len : 1);
    assert(copy);
    memcpy(copy, bytes, len);
    size_t at = 0;
    for (;;) {
        size_t n = 0;
        enum chunked_found found = chunked_next(c, copy + at, len - at, &n);
        assert(n <= len - at);
        at += n;
        *used += n;
        if (found != CHUNKED_DATA || at == len)
            return found;
        uint64_t left = chunked_left(c);
        assert(left > 0);
        size_t body = left < len - at ? (size_t)left : len - at;
        buf_add(out, copy + at, body);
        chunked_skip(c, body);
        at += body;
        *used += body;
    }
}

static struct result decode(const uint8_t *bytes, size_t len, size_t step, struct buf *out)
{
    struct chunked c = {0};
    struct result r = {.found = CHUNKED_MORE};
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;
        r.found = feed(&c, bytes + at, n, &r.used, out);
        if (r.found == CHUNKED_END || r.found == CHUNKED_BAD)
            return r;
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    scoped(buf_done) struct buf a = BUF_INIT(len), b = BUF_INIT(len);
    struct result whole = decode(bytes + 1, len - 1, len, &a);
    struct result cut = decode(bytes + 1, len - 1, (size_t)bytes[0] + 1, &b);
    bool is_over = whole.found == CHUNKED_END || whole.found == CHUNKED_BAD;
    assert(is_over ? cut.found == whole.found : cut.found <= CHUNKED_DATA);
    assert(cut.used == whole.used && whole.used <= len - 1);
    assert(a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0));
    return 0;
}
