#include "cli/mcp_lines.h"

#include <string.h>

void mcp_lines_done(struct mcp_lines *l)
{
    buf_done(&l->line);
    l->is_skipping = false;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t')
            return false;
    return true;
}

/* Large ones are rare: their memory is not kept for the next. */
static void forget(struct mcp_lines *l)
{
    enum { KEPT = 64 << 10 };
    if (l->line.failed || l->line.cap > KEPT)
        buf_done(&l->line);
    l->line.len = 0;
    if (l->line.bytes)
        l->line.bytes[0] = '\0';
    l->is_skipping = false;
}

static void end_line(struct mcp_lines *l, const struct mcp_lines_sink *sink)
{
    struct buf *line = &l->line;
    if (!l->is_skipping && line->len > 0) {
        size_t len = line->len - (line->bytes[line->len - 1] == '\r');
        line->bytes[len] = '\0';
        if (!is_blank(line->bytes, len))
            sink->put(sink->arg, line->bytes, len);
    }
    forget(l);
}

static void add_part(struct mcp_lines *l, const char *bytes, size_t len,
                     const struct mcp_lines_sink *sink)
{
    if (l->is_skipping || len == 0)
        return;
    buf_add(&l->line, bytes, len);
    if (!l->line.failed)
        return;
    forget(l);
    l->is_skipping = true;
    sink->too_long(sink->arg);
}

void mcp_lines_feed(struct mcp_lines *l, const char *bytes, size_t len,
                    const struct mcp_lines_sink *sink)
{
    while (len > 0) {
        const char *lf = memchr(bytes, '\n', len);
        size_t part = lf ? (size_t)(lf - bytes) : len;
        add_part(l, bytes, part, sink);
        if (!lf)
            return;
        end_line(l, sink);
        bytes += part + 1;
        len -= part + 1;
    }
}

void mcp_lines_end(struct mcp_lines *l, const struct mcp_lines_sink *sink)
{
    end_line(l, sink);
}
