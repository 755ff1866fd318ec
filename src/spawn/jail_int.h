/* jail_int.h -- what the files about jails share. */
#ifndef SPAWN_JAIL_INT_H
#define SPAWN_JAIL_INT_H

#include <limits.h>
#include <signal.h>

#include "spawn/jail.h"

/* inside_failure.why of a start that failed in the spawner, whose text says everything. */
enum { FAILED_OUTSIDE = -1 };

/* Stops waiting for a descriptor of the jail and closes it. Closing alone is not enough: a process
 * that was just cloned may hold a copy, and epoll would go on reporting it. */
void jail_drop(struct jail *j, int *fd);

/* SIGINT to the kernel and what it started, as Ctrl-C in a terminal would do. */
void jail_interrupt(struct jail *j);

/* As root: the uid of the session in that slot; the next one is its pid 1's. */
uid_t jail_uid(const struct host *host, uint32_t slot);

/* Without namespaces (container.c): starts the first process; where the code finds a home and room
 * for temporary files; kills and reaps whatever the session left running. */
int start_in_container(struct host *host, struct jail *j, struct inside *in, struct err *e);
int container_home(int data_fd, char home[PATH_MAX], struct err *e);
void container_sweep(struct jail *j);

/* The start failed before there was a process: says so and leaves the jail SWEPT. */
void jail_fail(struct jail *j);

/* Where id-mapped mounts do not work: the data directory belongs to the session while it lives. */
int jail_hand_over(struct jail *j, uid_t uid, struct err *e);
void jail_take_back(struct jail *j);

#endif
