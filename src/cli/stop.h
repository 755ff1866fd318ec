/* stop.h -- Ctrl-C and its relatives, turned into a clean end.
 *
 * SIGINT, SIGTERM and SIGHUP are blocked and read from a signalfd by a thread of their own. The
 * first one cancels the run that goes on, and everything is cleaned up as after any other end. The
 * second one is for when that hangs: the process dies of it at once; the spawner ends the session
 * then, and the next run sweeps its directory.
 *
 * Made after the spawner has been started: a process with threads does not fork, and the spawner
 * must not inherit blocked signals. SIGPIPE is ignored from then on.
 */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include <stdbool.h>

struct err;
struct kernel;
struct stop;

int stop_new(struct stop **ret, struct err *e);
void stop_free(struct stop *s); /* NULL is fine; the signals stay blocked */
static inline void stop_freep(struct stop **s)
{
    stop_free(*s);
}

/* Names the kernel to cancel; NULL before it is freed. */
void stop_watch(struct stop *s, struct kernel *k);

bool stop_is_asked(struct stop *s);

/* Becomes readable when it is asked to stop, for those who wait for something else. */
int stop_fd(const struct stop *s);

#endif
