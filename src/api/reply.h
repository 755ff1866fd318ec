/* reply.h -- what a session answers about itself, checked: it is a stranger's word.
 *
 * Completions, inspections and lists of variables come from a kernel in which user code may have changed anything. They
 * are passed on only when they have the shape that /openapi.json promises; more keys than it names are allowed.
 *
 *     reply_check("complete", text, e)      {"matches": [...], "cursor_start": 0, "cursor_end": 3}
 *
 * No I/O.
 */
#ifndef API_REPLY_H
#define API_REPLY_H

struct err;

/* `topic` is one of complete, inspect, variables. ERR_CONFLICT when the reply is another thing, or says that the
 * question failed. */
int reply_check(const char *topic, const char *text, struct err *e);

#endif
