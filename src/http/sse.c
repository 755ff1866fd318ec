#include "http/sse.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

static size_t line_len(const char *data, size_t len)
{
    size_t n = 0;
    while (n < len && data[n] != '\r' && data[n] != '\n')
        n++;
    return n;
}

void sse_event(struct buf *out, uint64_t id, const char *event, const char *data, size_t len)
{
    if (id)
        buf_fmt(out, "id: %" PRIu64 "\n", id);
    if (event) {
        assert(line_len(event, strlen(event)) == strlen(event));
        buf_fmt(out, "event: %s\n", event);
    }
    for (;;) {
        size_t n = line_len(data, len);
        buf_str(out, "data: ");
        buf_add(out, data, n);
        buf_str(out, "\n");
        if (n == len)
            break;
        n += len - n >= 2 && data[n] == '\r' && data[n + 1] == '\n' ? 2 : 1;
        data += n;
        len -= n;
    }
    buf_str(out, "\n");
}

void sse_comment(struct buf *out, const char *text)
{
    assert(line_len(text, strlen(text)) == strlen(text));
    buf_fmt(out, ": %s\n\n", text);
}
