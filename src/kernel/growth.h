/* growth.h -- how much more memory the code of a session may ask for.
 *
 * Data beyond the session's whole limit is refused by the operating system (RLIMIT_DATA, spawn/start.c). For the last few
 * megabytes that is too late: pages of the image that were changed, page tables and the like count for the session as well,
 * so a list that grows would have it killed just before it is refused. Therefore the soft limit is lower while code of the
 * session runs: what it asks for is refused first, as a MemoryError, and its variables stay. Between runs it is the hard
 * one again, so that the kernel has room of its own to say what happened and to take the next code.
 *
 * Nothing relies on it but the session itself, which may raise it: what cannot be refused (memory shared with others, many
 * processes together) is counted by others and ends the session.
 */
#ifndef KERNEL_GROWTH_H
#define KERNEL_GROWTH_H

#include <stdint.h>

void growth_limit(void); /* before code of the session */
void growth_free(void);  /* after it */

/* What a process may ask for that is executed now. May be called in a child that shares our memory. */
uint64_t growth_for_child(void);

/* Threads get smaller stacks than the main one: a whole stack counts as data, although next to nothing of it is used. Before
 * the first thread. */
void growth_start(void);

#endif
