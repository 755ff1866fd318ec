/* inside.h -- the way into a jail: what pid 1 and the kernel do between clone and exec.
 *
 * inside_first is the first process of a jail (pid 1 of its namespaces). It waits for the spawner's
 * go, mounts what the session sees, starts the kernel's process, gives everything away that it has
 * and then does nothing but reap. The kernel's process becomes nobody, step by step, fences itself
 * in and executes the kernel program or the loader. In a container without namespaces the first
 * process cannot be pid 1; it is a subreaper instead and leads the process group that is killed.
 *
 * Both run in a clone of the spawner, so they allocate nothing and take no locks. **Every step is
 * checked**, and the first that fails is reported over `report` and ends the jail: there is no path
 * on which a step is missing and the kernel runs. The spawner knows that the kernel was executed by
 * the end of file on `report`, which closes on exec.
 *
 * Parked, pid 1 keeps one capability, CAP_SYS_ADMIN in its own user namespace, and one socket,
 * `attach`, by which the mount of the data directory comes, under a filter of its own. Then it goes
 * on as above: says that it is done ("a"), gives up the capability and the socket. A step that
 * fails is reported over `attach`. No code of a session runs in that time (wire/jail.h).
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
#include "wire/jail.h"

/* A page that pid 1 shares with the spawner: it may not make system calls to say or hear anything.
 * `kernel` is the process whose end is the jail's, numbered as inside; pid 1 sets it, and the
 * spawner does when a copy takes over. The rest is what pid 1 leaves behind: `cause` is 0 until
 * that process is gone. */
struct last_words {
    pid_t kernel;
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
    const struct cgroup *group;    /* NULL: none */
    int report;                    /* SEQPACKET socket to the spawner */
    int attach;                    /* the same, parked; otherwise -1 */
    int control;                   /* the kernel's end */
    int out, err;                  /* its stdout and stderr */
    int image, delta;              /* for the loader; otherwise -1 */
    int libraries[JAIL_LIBRARIES]; /* mounts of what it sees instead of the host's; -1: none */
    bool has_namespaces;
    bool has_fixed_layout; /* no address space randomisation */
    int data_dir;          /* without namespaces; with them a mount comes by a socket */
    int control_at; /* the descriptor number the kernel will find it at; image and delta follow */
    uid_t uid;      /* to become, or (uid_t)-1 to stay */
    uint64_t data_bytes; /* RLIMIT_DATA, 0: none */
    unsigned cores;      /* to stay on, 0: as many as there are; where no cgroup limits the CPU */
    unsigned first_core;
    uint32_t pids; /* RLIMIT_NPROC */
    const char *program;
    char *const *argv;
};

/* Reported over `report` by whoever fails; errno and step as in struct jail_event. */
struct inside_failure {
    int why;
    char step[124];
};

_Noreturn void inside_first(const struct inside *in);

#endif
