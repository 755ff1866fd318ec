/* Fuzzes messages of JSON-RPC and the headers that repeat them: whatever is read can be answered to, and
 * its id is written as it came. The first line is the header of the version, the second that of the name. */
#include "mcp/rpc.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"

#include "fuzz.h"

static struct str take_line(struct str *from)
{
    const char *end = from->len ? memchr(from->ptr, '\n', from->len) : NULL;
    struct str line = {from->ptr, end ? (size_t)(end - from->ptr) : from->len};
    size_t used = end ? line.len + 1 : from->len;
    *from = (struct str){from->ptr + used, from->len - used};
    return line.len ? line : STR_NONE;
}

static void check_id(const struct rpc_message *m)
{
    scoped(buf_done) struct buf text = BUF_INIT(16 << 20);
    json_t *again;
    rpc_write_id(&text, m->id);
    assert(!text.failed);
    again = json_loadb(text.bytes, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert(again && json_equal(again, m->id));
    json_decref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct str rest = {(const char *)bytes, len};
    struct str version = take_line(&rest), name = take_line(&rest);
    struct rpc_message m;
    struct rpc_fault f = {0};
    if (name.ptr) {
        scoped(buf_done) struct buf decoded = BUF_INIT(1 << 20);
        if (rpc_header_decode(name, &decoded) &&
            !memchr(decoded.bytes ? decoded.bytes : "", 0, decoded.len))
            assert(rpc_header_is(name, decoded.bytes ? decoded.bytes : "") ||
                   decoded.len > 64 << 10);
    }
    if (rpc_read(rest, version, &m, &f) == 0) {
        assert((m.kind == RPC_NOTIFICATION) == (m.id == NULL));
        assert((m.kind == RPC_RESPONSE) == (m.method == NULL));
        if (m.is_modern && rpc_check_modern(&m, version, &f))
            assert(f.code != 0 && f.status == 400);
    } else {
        assert(f.code != 0 && f.status == 400 && *f.text);
    }
    if (m.id)
        check_id(&m);
    rpc_done(&m);
    return 0;
}
