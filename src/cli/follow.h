/* follow.h -- a run on the server, followed to its end.
 *
 * Its events are passed on as they come, as the same record the engine would make of them (run_event).
 * When the connection breaks, the events are asked for again from the last one seen; the run does not
 * notice. A run is cancelled when somebody asks (follow_cancel, from a watch of the client) or when
 * the sink refuses an event, and then followed all the same, because only its end tells what happened.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include <stdbool.h>

#include "base/id.h"
#include "cli/sse_read.h"

struct buf;
struct client;
struct err;
struct json_t;
struct run_sink;

struct follow {
    struct client *client;
    const struct run_sink *sink;     /* NULL: only the end is of interest */
    const struct sse_sink *raw_sink; /* every event as it came; NULL: nobody wants that */
    char run_id[ID_SIZE];            /* "": not known yet */
    char last_id[SSE_WORD_MAX + 1];  /* of the last event seen */
    struct json_t *object;           /* the run's object once it has ended; owned */
    bool is_cancel_wanted, is_cancel_sent;
    const char *interrupt_path; /* what is posted to instead of the run's cancel; NULL: that */
};

/* Starts a run by posting `body` to `path`, and follows it. f->object is the run then. Fails when the
 * run was not made, or its end could not be seen; run_id tells which. Blocks until the run ends. */
int follow_new(struct follow *f, const char *path, const struct buf *body, struct err *e);

/* Follows the run f->run_id from its first event, or from after last_id. */
int follow_run(struct follow *f, struct err *e);

void follow_done(struct follow *f);

/* Cancels the run, now or as soon as its name is known. May be called from a watch. */
void follow_cancel(struct follow *f);

#endif
