/* workers.h -- threads that libraries keep for themselves: OpenBLAS, OpenMP.
 *
 * They are nobody's code, idle between calls, and started again when they are needed; but they do not
 * come along when a process rests. Libraries that are not loaded are left alone.
 */
#ifndef KERNEL_WORKERS_H
#define KERNEL_WORKERS_H

/* How many threads this process has, of any kind. */
int workers_all_threads(void);

/* Ends idle workers. Only while no other thread computes. */
void workers_stop(void);

/* How many threads a computation may use from now on. Starts none. */
void workers_set(int count);

#endif
