/* loop.h -- the spawner's one loop: requests in, jails made, watched, ended and cleaned up. */
#ifndef SPAWN_LOOP_H
#define SPAWN_LOOP_H

struct err;
struct spawn_options;

/* Serves the engine on `sock` until it hangs up; then ends every jail and returns. Fails when the host cannot be prepared; the reason has then been sent as a jail_event
 * FAILED instead of the greeting. */
int spawn_serve(int sock, const struct spawn_options *options, struct err *e);

#endif
