/* Fuzzes blocks in a text: every byte comes once and in order, parts follow each other as they should, and where the text is cut
 * makes no difference. The first byte says where. */
#include "agent/fence.h"

#include <assert.h>

#include "base/buf.h"
#include "base/scope.h"

#include "fuzz.h"

struct seen {
    struct buf raw, code;
    bool is_open;
};

static void part(void *arg, const struct fence_part *p)
{
    struct seen *seen = arg;
    assert(seen->is_open == (p->kind == FENCE_CODE || p->kind == FENCE_CLOSE));
    if (p->kind == FENCE_OPEN || p->kind == FENCE_CLOSE) {
        seen->is_open = p->kind == FENCE_OPEN;
        buf_str(&seen->code, seen->is_open ? "<" : ">");
    }
    if (p->kind == FENCE_CODE) {
        assert(p->code.len <= p->raw.len);
        buf_add(&seen->code, p->code.ptr, p->code.len);
    }
    buf_add(&seen->raw, p->raw.ptr, p->raw.len);
}

/* In pieces of `size` bytes; 0: at once. */
static void read_all(struct seen *seen, struct str text, size_t size)
{
    struct fence f;
    const struct str all = text;
    *seen = (struct seen){BUF_INIT(1 << 20), BUF_INIT(1 << 20), false};
    fence_init(&f, /* has_calls= */ true, part, seen);
    while (text.len > 0) {
        size_t used = size && size < text.len ? size : text.len;
        fence_feed(&f, (struct str){text.ptr, used});
        text = (struct str){text.ptr + used, text.len - used};
    }
    fence_end(&f);
    assert(!seen->is_open);
    assert(seen->raw.len == all.len &&
           (!all.len || memcmp(seen->raw.bytes, all.ptr, all.len) == 0));
}

static void forget(struct seen *seen)
{
    buf_done(&seen->raw);
    buf_done(&seen->code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    scoped(forget) struct seen whole = {.is_open = false}, pieces = {.is_open = false};
    if (len == 0 || len > 1 << 16)
        return 0;
    read_all(&whole, (struct str){(const char *)bytes + 1, len - 1}, 0);
    read_all(&pieces, (struct str){(const char *)bytes + 1, len - 1}, (bytes[0] & 15u) + 1);
    assert(whole.code.len == pieces.code.len);
    assert(!whole.code.len || memcmp(whole.code.bytes, pieces.code.bytes, whole.code.len) == 0);
    return 0;
}
