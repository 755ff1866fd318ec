/* What goes to the client: one line for each message. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "cli/mcp_bridge_int.h"
#include "cli/mcp_message.h"

enum { ERROR_MAX = 4096 };

void bridge_put(struct bridge *b, const char *text, size_t len)
{
    size_t from = b->out.len;
    buf_add(&b->out, text, len);
    buf_str(&b->out, "\n");
    if (b->out.failed) {
        note_problem(&b->notes, "the client does not read what it is sent");
        b->is_unread = true;
        return;
    }
    for (char *at = b->out.bytes + from, *end = at + len; at < end; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
}

void bridge_put_error(struct bridge *b, const struct json_t *id, int code, const char *fmt, ...)
{
    scoped(buf_done) struct buf line = BUF_INIT(BRIDGE_LINE_MAX);
    char text[ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    mcp_error(&line, id, code, text);
    if (!line.failed)
        bridge_put(b, line.bytes, line.len);
}

bool bridge_has_output(const struct bridge *b)
{
    return b->out_at < b->out.len;
}

/* What has been read need not be kept. */
static void forget_read(struct bridge *b)
{
    enum { KEPT = 1 << 20 };
    struct buf *out = &b->out;
    if (b->out_at < out->len && (b->out_at < KEPT || b->out_at < out->len / 2))
        return;
    if (out->len == b->out_at && out->cap > KEPT) {
        buf_done(out);
    } else if (out->bytes) {
        out->len -= b->out_at;
        memmove(out->bytes, out->bytes + b->out_at, out->len);
        out->bytes[out->len] = '\0';
    }
    b->out_at = 0;
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking, hence the small pieces. */
void bridge_flush(struct bridge *b)
{
    while (bridge_has_output(b) && !b->is_unread) {
        struct pollfd fd = {b->o->out_fd, POLLOUT, 0};
        if (poll(&fd, 1, 0) <= 0)
            break;
        size_t left = b->out.len - b->out_at;
        ssize_t n = write(fd.fd, b->out.bytes + b->out_at, left < PIPE_BUF ? left : PIPE_BUF);
        if (n >= 0)
            b->out_at += (size_t)n;
        else if (errno != EINTR && errno != EAGAIN)
            b->is_unread = true;
    }
    forget_read(b);
}
