/* kernel.h -- a living Python kernel in its jail, seen from the engine.
 *
 *     struct kernel *k;
 *     kernel_start(spawner, &limits, &data, &ORIGIN_COLD, &k, e)     a jail, a kernel in it, sealed
 *     kernel_run(k, &spec, &sink, &run, e)                           blocks until the run has ended
 *     kernel_free(k)                                                 kills what is left
 *
 * One run at a time. kernel_cancel may be called from another thread, or from a sink, while a run
 * goes on. The life of a kernel:
 *
 *              HELLO            run, sleep, copy, ...
 *     STARTING -----> IDLE <==========================> BUSY
 *       | |            ^ |                               |
 *       | +--> PARKED -+ |        DONE, SLEPT, ...       |     the jail ended, the kernel broke the
 *       |         | ATTACHED                             |     protocol, or it had to be killed
 *       +---------+------+-------------------------------+
 *                        v
 *                      DEAD
 *
 * A run that fails, times out or is cancelled leaves the kernel IDLE if it obeyed the interrupt
 * within INTERRUPT_GRACE_MS, and DEAD otherwise. A dead kernel runs nothing more: start another.
 *
 * What a kernel can do while it is idle but run code (sleep, be copied, save its variables) is in
 * rest.h and twin.h.
 */
#ifndef SESSION_KERNEL_H
#define SESSION_KERNEL_H

#include <stdbool.h>

#include "session/run.h"

struct jail_data;
struct names;
struct spawner;
struct kernel;

/* What a kernel is made of; the descriptors are borrowed during the call. */
struct kernel_origin {
    int image_fd;     /* a baked image, read-only (images.h); -1: none, Python starts cold */
    int delta_fd;     /* a session that slept under that image, at its first byte; -1: none */
    int libraries_fd; /* what it imports from now on (images_open_libraries); -1: the host's. Only
                         with a delta */
};
#define ORIGIN_COLD ((struct kernel_origin){.image_fd = -1, .delta_fd = -1, .libraries_fd = -1})

/* `data` is what the code will see as /mnt/data; its descriptors are borrowed, but must stay open as
 * long as the kernel lives. NULL starts a parked kernel, which waits for kernel_attach; only without a
 * delta. Blocks until the kernel is ready. Fails with ERR_UNAVAILABLE and the setup step that
 * failed, ERR_INVALID for limits out of range, or ERR_DAMAGED when what came out of the delta died
 * at once. */
int kernel_start(struct spawner *s, const struct limits *limits, const struct jail_data *data,
                 const struct kernel_origin *origin, struct kernel **ret, struct err *e);

/* Has a parked kernel touch the memory that most code will need. Blocks. On failure it is dead. */
int kernel_warm(struct kernel *k, struct err *e);

/* Gives a parked kernel its data directory, as kernel_start would have. Blocks until the jail has
 * it. Fails with ERR_CONFLICT (not parked) or ERR_UNAVAILABLE; then it is dead. */
int kernel_attach(struct kernel *k, const struct jail_data *data, struct err *e);

/* Ends the jail if it still runs, waits until the spawner has cleaned up, frees. NULL is fine. */
void kernel_free(struct kernel *k);

/* Runs a piece of code. Returns 0 whatever became of the code: *ret says what, and is the caller's
 * to run_done. Fails only when there was no run: ERR_CONFLICT (not idle), ERR_INVALID, ERR_LIMIT.
 * `sink` may be NULL. Blocks. */
int kernel_run(struct kernel *k, const struct run_spec *spec, const struct run_sink *sink,
               struct run *ret, struct err *e);

/* Ends the current run, if any, with END_CANCELLED: an interrupt first, a kill if it is not
 * obeyed. */
void kernel_cancel(struct kernel *k);

/* False when it died or was ended, also if that happened while nobody looked. */
bool kernel_is_alive(struct kernel *k);

/* True when it came from an image and so can sleep. */
bool kernel_is_baked(const struct kernel *k);

/* Completion, inspection, variables: sends ASK and hands back the JSON text of the REPLY, owned by
 * the caller. `cursor` counts characters. Fails with ERR_BUSY when the kernel does not answer in time, and
 * until it has answered: it is left as it is. Blocks. */
int kernel_ask(struct kernel *k, const char *topic, const char *code, uint32_t cursor, char **ret,
               struct err *e);

/* The session's time zone, of those zone.h knows, from the next run on. Does not wait. */
int kernel_set_zone(struct kernel *k, const char *tz, struct err *e);

/* What all processes of its jail used when that was last heard of; 0: never. Only for whoever may
 * use the kernel. */
uint64_t kernel_memory(const struct kernel *k);

/* New random numbers, because another with the same memory lives. Does not wait. */
int kernel_reseed(struct kernel *k, struct err *e);

/* What the next run will say of the variables it finds, instead of what the kernel itself knows:
 * its state, and names that were lost, which are taken over. */
void kernel_foretell(struct kernel *k, enum run_state state, struct names *lost);

/* What that is now; borrowed. */
const struct names *kernel_lost(const struct kernel *k);

#endif
