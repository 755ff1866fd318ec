/* loop.h -- the spawner's one loop: requests in, jails made, watched, ended and cleaned up. */
#ifndef SPAWN_LOOP_H
#define SPAWN_LOOP_H

struct err;

/* Serves the engine on `sock` until it hangs up; then ends every jail and returns. `kernel_path` is
 * the program each jail runs, `loader_path` the loader that starts it from an image, NULL: there is
 * none. Fails when the host cannot be prepared; the reason has then been sent as a jail_event
 * FAILED instead of the greeting. */
int spawn_serve(int sock, const char *kernel_path, const char *loader_path, struct err *e);

#endif
