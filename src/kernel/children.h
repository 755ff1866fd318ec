/* children.h -- processes that a run starts, and what they may read.
 *
 * What a child opens is not seen here, so a run with children has a partial list of reads, and what
 * their command lines name is guessed (reads.h). An audit hook of Python's tells of them: it compares the
 * name of the event and, for nearly all events, that is all.
 *
 * Never makes anything fail: an event that cannot be understood makes the list partial.
 */
#ifndef KERNEL_CHILDREN_H
#define KERNEL_CHILDREN_H

struct err;

/* Once, when Python has started. In force in whatever becomes of this process's memory. */
int children_watch(struct err *e);

#endif
