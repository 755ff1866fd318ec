/* Fuzzes server-sent events: how the bytes are cut into pieces makes no difference, and what comes out
 * is what a simple reader of whole lines finds. The first byte says how large the pieces are. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/sse_read.h"

#include "fuzz.h"

enum { EVENT_MAX = 4096, LOG_MAX = 16 << 20 };

static int collect(void *arg, const struct sse_event *event, struct err *e)
{
    struct buf *log = arg;
    (void)e;
    assert(*event->name && strlen(event->name) <= SSE_WORD_MAX);
    assert(strlen(event->id) <= SSE_WORD_MAX);
    assert(event->len <= EVENT_MAX && event->text[event->len] == '\0');
    assert(!memchr(event->text, '\r', event->len));
    buf_fmt(log, "%s|%s|%zu|", event->name, event->id, event->len);
    buf_add(log, event->text, event->len);
    return 0;
}

static int read_in_pieces(const char *bytes, size_t len, size_t piece, struct buf *log)
{
    scoped(sse_done) struct sse_reader r = SSE_READER(EVENT_MAX);
    const struct sse_sink sink = {collect, log};
    struct err e = {0};
    for (size_t at = 0; at < len; at += piece) {
        if (sse_feed(&r, bytes + at, piece < len - at ? piece : len - at, &sink, &e)) {
            assert(e.code == ERR_PROTOCOL);
            return -1;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 1)
        return 0;
    const char *stream = (const char *)bytes + 1;
    scoped(buf_done) struct buf whole = BUF_INIT(LOG_MAX), pieces = BUF_INIT(LOG_MAX);
    int failed_whole = read_in_pieces(stream, len - 1, len, &whole);
    int failed_pieces = read_in_pieces(stream, len - 1, (size_t)bytes[0] + 1, &pieces);
    assert(failed_whole == failed_pieces);
    assert(whole.len == pieces.len);
    assert(whole.len == 0 || memcmp(whole.bytes, pieces.bytes, whole.len) == 0);
    return 0;
}
