/* jail_int.h -- what the files about jails share. */
#ifndef SPAWN_JAIL_INT_H
#define SPAWN_JAIL_INT_H

#include <limits.h>
#include <signal.h>

#include "spawn/jail.h"

/* inside_failure.why of a start that failed in the spawner, whose text says everything. */
enum { FAILED_OUTSIDE = -1 };

/* Stops waiting for a descriptor of the jail; jail_drop closes it too. Closing alone is not enough:
 * a process that was just cloned may hold a copy, and epoll would go on reporting it. */
void jail_unwatch(struct jail *j, int fd);
void jail_drop(struct jail *j, int *fd);

/* Begins to wait for a descriptor of the jail; -1 is none, which is fine. */
int jail_watch(struct jail *j, enum jail_source source, int fd, struct err *e);

/* Says it over the handle. */
void jail_tell(struct jail *j, const struct jail_event *event);

/* The next message of pid 1: its length, 0 at the end. The caller closes *ret_fd if it is not -1.
 * An error is the end too, but not the first: that one says that pid 1 has ended without reading
 * all we sent, and what it said before that comes after it. */
size_t jail_hear(int sock, char bytes[sizeof(struct inside_failure)], int *ret_fd);

/* Ends a jail because something could not be done; `why` is an errno, or 0 when `what` says it all.
 * The engine hears it with ENDED, or with FAILED when it had not started. */
void jail_break(struct jail *j, const char *what, int why);

/* SIGINT to the kernel and what it started, as Ctrl-C in a terminal would do. */
void jail_interrupt(struct jail *j);

/* Without namespaces (container.c): starts the first process; where the code finds a home and room
 * for temporary files; kills and reaps whatever the session left running. */
int start_in_container(struct host *host, struct jail *j, struct inside *in, struct err *e);
int container_home(int data_fd, char home[PATH_MAX], struct err *e);
void container_sweep(struct jail *j);

/* data.c. Whether data_fd may be a session's directory; makes the session's view of it, a mount,
 * and hands it to pid 1 over that socket. As root, files may change hands on the way. */
int jail_check_data(struct jail *j, struct err *e);
int jail_send_data(struct jail *j, int sock, struct err *e);

/* The same for the end: no overlay of ours is left, what it left in its work directory is removed,
 * and somebody else may have it. */
void jail_end_overlay(struct jail *j);

/* bring.c: BRING. Takes the descriptor of the tree of changes over. */
void jail_bring(struct jail *j, int changes_fd);

/* What has been brought but is not granted yet, at most: no growth of the session's. And at least, of which
 * every look that begins now finds all. */
struct usage_total jail_brought(const struct jail *j);
struct usage_total jail_brought_for_sure(const struct jail *j);

/* What is not brought yet is left out, for that errno. Does not wait. */
void jail_stop_bringing(struct jail *j, int why);

/* Kills whoever is bringing something. True when nobody is, any more. */
bool jail_end_bringing(struct jail *j);

/* libraries.c: mounts that are nowhere yet, of each directory in a tree of libraries that a jail will
 * see instead of the host's (wire/jail.h). Fails with ERR_DENIED when others could write to it. */
struct libraries {
    int mounts[JAIL_LIBRARIES]; /* owned; -1: none */
};
#define LIBRARIES_NONE ((struct libraries){{-1, -1, -1}})
int libraries_mount(const struct host *host, int tree_fd, struct libraries *ret, struct err *e);
void libraries_done(struct libraries *l); /* back to LIBRARIES_NONE */

/* The first look at what it uses comes in a moment: whoever waits for the jail comes first. */
void jail_look_soon(struct jail *j);

/* What the look finds next was there after this call. */
void jail_look_anew(struct jail *j);

/* From now on growth of the directory counts. Pid 1 exists, but it has no way in yet. */
int jail_count_data(struct jail *j, struct err *e);

/* So much of what is there was brought, not made: it is no growth. */
void jail_grant(struct jail *j, uint64_t bytes, uint64_t files);

/* Makes in advance what can be made before the directory comes. */
void jail_expect_data(struct jail *j);

/* ATTACH: the directory of a parked jail has come. Takes its descriptors over. */
void jail_attach(struct jail *j, const struct jail_data *data);

/* Closes them all. */
void jail_data_close(struct jail_data *data);

/* copies.c: COPY and SWITCH. */
void jail_add_copy(struct jail *j, pid_t pid);
void jail_switch(struct jail *j, pid_t pid);
void jail_drop_copies(struct jail *j);

/* The start failed before there was a process: says so and leaves the jail SWEPT. */
void jail_fail(struct jail *j);

/* Where id-mapped mounts do not work: the data directory belongs to the session while it lives. */
int jail_hand_over(struct jail *j, uid_t uid, struct err *e);
void jail_take_back(struct jail *j);

#endif
