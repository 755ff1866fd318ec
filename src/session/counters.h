/* counters.h -- what a jail has used, read from its cgroup.
 *
 * The spawner opens these files, for reading, and hands them over with STARTED (wire/jail.h). Reading
 * them costs two microseconds; asking the spawner takes two switches of processes. Where there are
 * none, or they cannot be read any more, whoever wants to know asks.
 */
#ifndef SESSION_COUNTERS_H
#define SESSION_COUNTERS_H

#include "wire/jail.h"

struct counters {
    int fds[JAIL_COUNTERS]; /* all -1: there are none */
};

#define COUNTERS_NONE ((struct counters){{-1, -1, -1}})

/* Closes them. */
void counters_done(struct counters *c);

/* Brings cpu_us, memory_now and memory_peak of *event up to date. -1, and nothing is changed, when
 * there are no counters or one says nothing. CPU time is counted when a process stops running, or
 * some hundred times a second: the last moments may be missing. */
int counters_read(const struct counters *c, struct jail_event *event);

#endif
