/* mcp_lines.h -- lines out of bytes as they come, each no longer than a limit.
 *
 * A line that is too long is told of once, when its limit is passed, and then skipped up to its end:
 * what follows is read as if it had not been there. A carriage return before the line feed belongs to
 * the end of the line, and lines of blanks alone are dropped. Nothing is read from anywhere here.
 *
 *     scoped(mcp_lines_done) struct mcp_lines lines = MCP_LINES(16 << 20);
 *     while (... bytes come ...)
 *         mcp_lines_feed(&lines, bytes, len, &sink);
 *     mcp_lines_end(&lines, &sink);
 */
#ifndef CLI_MCP_LINES_H
#define CLI_MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* `line` is borrowed during the call and NUL-terminated; it may contain NULs. */
struct mcp_lines_sink {
    void (*put)(void *arg, const char *line, size_t len);
    void (*too_long)(void *arg);
    void *arg;
};

struct mcp_lines {
    struct buf line; /* the one that is not complete yet */
    bool is_skipping;
};

#define MCP_LINES(max_bytes) ((struct mcp_lines){.line = BUF_INIT(max_bytes)})

void mcp_lines_done(struct mcp_lines *l);

void mcp_lines_feed(struct mcp_lines *l, const char *bytes, size_t len,
                    const struct mcp_lines_sink *sink);

/* No more bytes come: what is left is a line, too. */
void mcp_lines_end(struct mcp_lines *l, const struct mcp_lines_sink *sink);

#endif
