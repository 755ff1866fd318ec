/* procs.h -- the processes of a session: init and all its descendants, as /proc tells it.
 *
 *     procs_begin(&p, init);
 *     for (pid_t pid; procs_next(&p, &pid);)
 *         ... procs_add_children(&p, pid, tid) for each thread of it, or procs_add_family(&p, pid)
 *
 * Each process comes once. Those that are born or move to init meanwhile are found at the end, as
 * far as a look at a moving crowd can find them: what matters is looked at again and again.
 */
#ifndef SANDBOX_PROCS_H
#define SANDBOX_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/inodes.h"

struct procs {
    pid_t init;
    pid_t *pids;
    size_t count, cap;
    size_t given; /* of pids */
    int again;    /* how often init's children were looked at again */
    struct inodes known;
};

void procs_begin(struct procs *p, pid_t init); /* also begins anew */
void procs_done(struct procs *p);

bool procs_next(struct procs *p, pid_t *ret);
void procs_add_children(struct procs *p, pid_t pid, pid_t tid);
void procs_add_family(struct procs *p, pid_t pid); /* the children of all its threads */

/* Opens /proc/PID/`name` for reading; -1 when there is none or we may not. */
int proc_open(pid_t pid, const char *name);

/* Reads a small file of /proc as text, cut to size. False when it cannot be read. */
bool proc_read(pid_t pid, const char *name, char *text, size_t size);

/* The number a name in /proc stands for; 0 when it is none. */
pid_t proc_number(const char *name);

#endif
