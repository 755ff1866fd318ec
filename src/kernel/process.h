/* process.h -- one program, run beside Python and waited for.
 *
 * It is a child of this process in the same jail: same rights, same limits, same stdout and stderr. It
 * leads a process group of its own, where the jail allows that (not in a container, where the group
 * is what gets killed). Nothing of Python is used, so it works whatever a session has done to Python.
 *
 *     SIGINT, first        goes on to the group, which may do about it what it likes
 *     SIGINT, second       kills the group, so that a program that will not stop costs the run, and not
 *                          the session
 *     the program ends     whatever of its group is left is killed
 *
 * One at a time, from the main thread.
 */
#ifndef KERNEL_PROCESS_H
#define KERNEL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

enum { PROCESS_CODE_FD = 9 }; /* where the program finds its code */

struct program {
    const char *path;
    char *const *argv, *const *env; /* NULL-ended */
    const char *directory;          /* to begin in; where there is none, the current one */
    int code_fd, stdin_fd;          /* borrowed; made by process_file */
};

struct process_end {
    int signal;      /* that killed it, or 0 and */
    int status;      /* its exit status */
    bool is_unknown; /* a thread of the session has waited for it before us */
};

/* A file without a name that holds these bytes, to be read from its beginning. -1 with errno. */
int process_file(const void *bytes, size_t len);

/* Runs it to its end. 0, or the errno why it was not started. Blocks: not with the GIL. */
int process_run(const struct program *program, struct process_end *ret);

#endif
