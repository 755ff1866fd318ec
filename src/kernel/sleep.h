/* sleep.h -- going to rest and coming back: SLEEP, COPY, and the first words of every kernel.
 *
 *     SLEEP     settle (rest.py: may it rest? what must be remembered?)
 *               rest_sleep: into the pipe        -> SLEPT, and exit unless it stays
 *     ...       elsewhere, later, rest_sleep returns once more
 *               sleep_begin, then wake (rest.py: files, directory, /tmp) -> HELLO
 *
 *     COPY      settle, unless there is nothing but memory (plain.h); rest_copy  -> SLEPT
 *               in the copy: its own socket in place of the other's, its files not shared -> HELLO
 *
 * When rest.py finds a reason not to, REFUSED names it and nothing has changed.
 */
#ifndef KERNEL_SLEEP_H
#define KERNEL_SLEEP_H

#include <Python.h>

struct kernel;
struct request;

void sleep_now(struct kernel *k, struct request *request);
void sleep_copy(struct request *request);

/* In a process with the memory of another: everything but its streams and its control socket is
 * closed, and the socket taken over. Ends the process if there is none. */
void sleep_begin(void);

/* HELLO. `lost`, a list of strings or NULL, is what could not be had back. */
void sleep_greet(PyObject *lost);

#endif
