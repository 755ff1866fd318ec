/* Fuzzes what `cicada mcp` reads from its client: how the bytes are cut into pieces makes no difference to
 * the lines, no line is longer than allowed, and what is made of a message is sound: a header has one
 * line, an error is JSON. The first byte says how large the pieces are. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/mcp_lines.h"
#include "cli/mcp_message.h"

#include "fuzz.h"

enum { LINE_MAX_BYTES = 2048, LOG_MAX = 16 << 20 };

static void check_header(const char *value)
{
    scoped(buf_done) struct buf out = BUF_INIT(LOG_MAX);
    mcp_header(&out, "Mcp-Name", value);
    assert(!out.failed && out.len >= 10);
    for (size_t i = 0; i < out.len; i++)
        assert(out.bytes[i] >= ' ' && out.bytes[i] <= '~');
}

static void check_error(const json_t *id, int code, const char *text)
{
    scoped(buf_done) struct buf out = BUF_INIT(LOG_MAX);
    mcp_error(&out, id, code, text);
    assert(!out.failed && !memchr(out.bytes, '\n', out.len));
    json_t *value = json_loadb(out.bytes, out.len, 0, NULL);
    assert(value);
    assert(id ? json_equal(json_object_get(value, "id"), id)
              : json_is_null(json_object_get(value, "id")));
    json_decref(value);
}

static void check_message(const char *line, size_t len)
{
    scoped(mcp_message_done) struct mcp_message m = {0};
    struct err e = {0};
    int code = 0;
    if (mcp_message_read(line, len, &m, &code, &e)) {
        assert(code == MCP_NOT_JSON || code == MCP_NO_MESSAGE);
        check_error(m.id, code, e.text);
        return;
    }
    assert((m.kind == MCP_RESPONSE) == !m.method);
    assert((m.kind == MCP_REQUEST) == (m.method && m.id));
    (void)mcp_message_cancels(&m);
    if (m.method)
        check_header(m.method);
    if (m.name)
        check_header(m.name);
    if (m.version)
        check_header(m.version);
    check_error(m.id, MCP_NOT_CARRIED, "no");
}

static void on_line(void *arg, const char *line, size_t len)
{
    struct buf *log = arg;
    assert(len > 0 && len <= LINE_MAX_BYTES && line[len] == '\0');
    assert(!memchr(line, '\n', len));
    check_message(line, len);
    buf_fmt(log, "%zu:", len);
    buf_add(log, line, len);
}

static void on_long(void *arg)
{
    buf_str(arg, "LONG");
}

static void read_in_pieces(const char *bytes, size_t len, size_t piece, struct buf *log)
{
    scoped(mcp_lines_done) struct mcp_lines lines = MCP_LINES(LINE_MAX_BYTES);
    const struct mcp_lines_sink sink = {on_line, on_long, log};
    for (size_t at = 0; at < len; at += piece)
        mcp_lines_feed(&lines, bytes + at, piece < len - at ? piece : len - at, &sink);
    mcp_lines_end(&lines, &sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 1)
        return 0;
    const char *stream = (const char *)bytes + 1;
    scoped(buf_done) struct buf whole = BUF_INIT(LOG_MAX), pieces = BUF_INIT(LOG_MAX);
    read_in_pieces(stream, len - 1, len, &whole);
    read_in_pieces(stream, len - 1, (size_t)bytes[0] + 1, &pieces);
    assert(whole.len == pieces.len);
    assert(whole.len == 0 || memcmp(whole.bytes, pieces.bytes, whole.len) == 0);
    return 0;
}
