/* kernel.h -- a living Python kernel in its jail, seen from the engine.
 *
 *     struct kernel *k;
 *     kernel_start(spawner, &limits, data_fd, &k, e)       a jail, a kernel in it, sealed and waiting
 *     kernel_run(k, &spec, &sink, &run, e)                 blocks until the run has ended
 *     kernel_free(k)                                       kills what is left
 *
 * One run at a time. kernel_cancel may be called from another thread, or from a sink, while a run goes
 * on. The life of a kernel:
 *
 *              HELLO          run
 *     STARTING -----> IDLE <=======> BUSY
 *         |            |     DONE     |         the jail ended, the kernel broke the protocol,
 *         +------------+--------------+         or it had to be killed
 *                      v
 *                    DEAD
 *
 * A run that fails, times out or is cancelled leaves the kernel IDLE if it obeyed the interrupt
 * within INTERRUPT_GRACE_MS, and DEAD otherwise. A dead kernel runs nothing more: start another.
 */
#ifndef SESSION_KERNEL_H
#define SESSION_KERNEL_H

#include <stdbool.h>

#include "session/run.h"

struct spawner;
struct kernel;

/* `data_fd` is the directory the code will see as /mnt/data; borrowed, but must stay open as long as
 * the kernel lives. Blocks until the kernel is ready. Fails with ERR_UNAVAILABLE and the setup step
 * that failed, or ERR_INVALID for limits out of range. */
int kernel_start(struct spawner *s, const struct limits *limits, int data_fd, struct kernel **ret,
                 struct err *e);

/* Ends the jail if it still runs, waits until the spawner has cleaned up, frees. NULL is fine. */
void kernel_free(struct kernel *k);

/* Runs a piece of code. Returns 0 whatever became of the code: *ret says what, and is the caller's to
 * run_done. Fails only when there was no run: ERR_CONFLICT (busy or dead), ERR_INVALID, ERR_LIMIT.
 * `sink` may be NULL. Blocks. */
int kernel_run(struct kernel *k, const struct run_spec *spec, const struct run_sink *sink,
               struct run *ret, struct err *e);

/* Ends the current run, if any, with END_CANCELLED: an interrupt first, a kill if it is not obeyed. */
void kernel_cancel(struct kernel *k);

/* False when it died or was ended, also if that happened while nobody looked. */
bool kernel_is_alive(struct kernel *k);

/* Completion, inspection, variables: sends ASK and hands back the JSON text of the REPLY, owned by
 * the caller. `cursor` counts characters. Blocks. */
int kernel_ask(struct kernel *k, const char *topic, const char *code, uint32_t cursor, char **ret,
               struct err *e);

#endif
