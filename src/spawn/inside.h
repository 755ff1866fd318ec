/* inside.h -- the way into a jail: what pid 1 and the kernel do between clone and exec.
 *
 * inside_first is the first process of a jail (pid 1 of its namespaces). It waits for the spawner's
 * go, mounts what the session sees, starts the kernel's process, gives everything away that it has
 * and then does nothing but reap. inside_kernel is that other process: step by step it becomes
 * nobody, fences itself in and executes the kernel program. In a container without namespaces the
 * first process cannot be pid 1; it is a subreaper instead and leads the process group that is killed.
 *
 * Both run in a clone of the spawner, so they allocate nothing and take no locks. **Every step is
 * checked**, and the first that fails is reported over `report` and ends the jail: there is no path
 * on which a step is missing and the kernel runs. The spawner knows that the kernel was executed by
 * the end of file on `report`, which closes on exec.
 */
#ifndef SPAWN_INSIDE_H
#define SPAWN_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "wire/limits.h"

/* What pid 1 leaves behind in a page it shares with the spawner: it may not make system calls to say
 * anything. `cause` is 0 until the kernel's process is gone. */
struct last_words {
    int cause; /* si_code of its end: CLD_EXITED, CLD_KILLED, CLD_DUMPED */
    int status;
    struct rusage used;
};

struct inside {
    const struct limits *limits;
    const struct filter *filter;
    const struct landlock_rule *rules;
    size_t rule_count;
    char *const *env;
    struct last_words *words;
    const struct cgroup *group; /* NULL: none */
    int report;                 /* SEQPACKET socket to the spawner */
    int control;                /* the kernel's end */
    int out, err;               /* its stdout and stderr */
    bool has_namespaces;
    int data_mount;      /* detached, with namespaces */
    int data_dir;        /* without them */
    int control_at;      /* the descriptor number the kernel will find it at */
    uid_t uid;           /* to become, or (uid_t)-1 to stay */
    uint64_t data_bytes; /* RLIMIT_DATA, 0: none */
    unsigned cores;      /* to stay on, 0: as many as there are; where no cgroup limits the CPU */
    unsigned first_core;
    uint32_t pids; /* RLIMIT_NPROC */
    const char *kernel_path;
};

/* Reported over `report` by whoever fails; errno and step as in struct jail_event. */
struct inside_failure {
    int why;
    char step[124];
};

_Noreturn void inside_first(const struct inside *in);

#endif
