/* sse.h -- server-sent events as text (WHATWG HTML 9.2). */
#ifndef HTTP_SSE_H
#define HTTP_SSE_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* Appends one event. `id` 0 and `event` NULL: without. `data` may have any line ends, also in the
 * middle and at the end: the client sees each of them as "\n". */
void sse_event(struct buf *out, uint64_t id, const char *event, const char *data, size_t len);

/* Appends what a client ignores. `text` has no line ends. */
void sse_comment(struct buf *out, const char *text);

#endif
