#include "agent/model_sse.h"

#include <string.h>

#include "base/err.h"

void model_sse_done(struct model_sse *s)
{
    buf_done(&s->line);
    buf_done(&s->text);
    s->has_text = s->is_after_cr = false;
}

/* The memory stays: the next one will need about as much. */
static void empty(struct buf *b)
{
    b->len = 0;
    if (b->bytes)
        b->bytes[0] = '\0';
}

static int dispatch(struct model_sse *s, const struct model_sse_sink *sink, struct err *e)
{
    int failed = 0;
    if (s->has_text)
        failed =
            sink->put(sink->arg, (struct str){s->text.len ? s->text.bytes : "", s->text.len}, e);
    empty(&s->text);
    s->has_text = false;
    return failed;
}

static int take_line(struct model_sse *s, const struct model_sse_sink *sink, struct err *e)
{
    const char *line = s->line.len ? s->line.bytes : "";
    size_t len = s->line.len, skip = 5;
    int failed = 0;
    if (len == 0) {
        failed = dispatch(s, sink, e);
    } else if (len >= 5 && memcmp(line, "data:", 5) == 0) {
        skip += len > skip && line[skip] == ' ';
        if (s->has_text)
            buf_str(&s->text, "\n");
        buf_add(&s->text, line + skip, len - skip);
        s->has_text = true;
        if (s->text.failed)
            failed = err_set(e, ERR_PROTOCOL,
                             "the model's endpoint sends an event that is larger than %zu bytes",
                             s->text.max);
    }
    empty(&s->line);
    return failed;
}

/* How many bytes there are before the end of the line, or all. */
static size_t line_part(struct str s)
{
    const char *lf = memchr(s.ptr, '\n', s.len);
    size_t part = lf ? (size_t)(lf - s.ptr) : s.len;
    const char *cr = memchr(s.ptr, '\r', part);
    return cr ? (size_t)(cr - s.ptr) : part;
}

int model_sse_feed(struct model_sse *s, struct str bytes, const struct model_sse_sink *sink,
                   struct err *e)
{
    size_t at = 0;
    while (at < bytes.len) {
        if (s->is_after_cr && bytes.ptr[at] == '\n')
            at++;
        s->is_after_cr = false;
        if (at == bytes.len)
            break;
        size_t part = line_part((struct str){bytes.ptr + at, bytes.len - at});
        buf_add(&s->line, bytes.ptr + at, part);
        if (s->line.failed)
            return err_set(e, ERR_PROTOCOL,
                           "the model's endpoint sends a line that is larger than %zu bytes",
                           s->line.max);
        at += part;
        if (at == bytes.len)
            break;
        s->is_after_cr = bytes.ptr[at++] == '\r';
        if (take_line(s, sink, e))
            return -1;
    }
    return 0;
}

int model_sse_end(struct model_sse *s, const struct model_sse_sink *sink, struct err *e)
{
    if (s->line.len && take_line(s, sink, e))
        return -1;
    return dispatch(s, sink, e);
}
