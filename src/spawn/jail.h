/* jail.h -- one jail, from the request for it to the last trace of it being gone.
 *
 * Its states are in life.h. Beside them, whether its data directory is there:
 *
 *               attach               "a" from pid 1              its socket closed
 *     DATA_AWAITED --> DATA_SENT ----------------> DATA_MOUNTED ------------------> DATA_THERE
 *
 * A parked jail begins on the left and may not run a session's code before the right, the others
 * are there from the start.
 *
 * There is one way to die: jail_kill sets the cause (the first one counts) and kills; what has to
 * be cleaned up is cleaned up in jail_reap, whatever led there.
 */
#ifndef SPAWN_JAIL_H
#define SPAWN_JAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/cgroup.h"
#include "sandbox/memory.h"
#include "sandbox/usage.h"
#include "spawn/host.h"
#include "spawn/inside.h"
#include "spawn/life.h"
#include "spawn/spare.h"
#include "wire/jail.h"

/* The descriptors of a jail that the loop waits for. */
enum jail_source {
    SOURCE_HANDLE,
    SOURCE_REPORT,
    SOURCE_ATTACH,
    SOURCE_INIT,
    SOURCE_OLD,
    SOURCE_OOM,
    SOURCE_BRING,
    SOURCE_COUNT
};

enum jail_has { DATA_THERE, DATA_AWAITED, DATA_SENT, DATA_MOUNTED };

struct jail;

struct jail_watch {
    struct jail *jail; /* NULL: the engine's socket */
    enum jail_source source;
};

/* A process that may become the kernel. */
struct jail_copy {
    pid_t pid, inner; /* as we number it, and as pid 1 does */
    int fd;           /* pidfd */
};

/* A child that applies a tree of changes to the overlay. */
struct bringing {
    int fd;                      /* its pidfd; -1: none */
    struct bring_report *report; /* in memory that it shares; NULL without a child */
    int64_t until_us;            /* when it is killed */
    int why;                     /* what it stops for: an errno */
    bool is_late;                /* it was killed for that */
    struct usage_total settled;  /* brought when the look at hand began */
    struct usage_total lost; /* what the one before failed to put, until that has not been seen */
};

struct jail {
    struct jail *next;
    struct host *host; /* borrowed */
    uint32_t slot;
    enum life life;
    enum jail_has has;     /* which of these its data directory is */
    enum jail_cause cause; /* 0: none yet */
    struct jail_watch watch[SOURCE_COUNT];
    int handle, report, attach; /* -1: closed */
    int init_fd, kernel_fd;     /* pidfds */
    pid_t init;
    pid_t kernel;          /* 0: the one pid 1 started */
    struct jail_data data; /* owned; dir_fd -1: none yet */
    int merged_fd;         /* the data directory as the session sees it; -1: none */
    int lock_fd;           /* held while its upper layer is ours; -1 */
    dev_t overlay_device;
    struct bringing bringing;
    int image_fd; /* what it was started from, until its disk is watched; -1: none */
    struct idmap map;
    struct jail_copy copies[JAIL_COPIES_MAX];
    size_t copy_count;
    int old_fd;                         /* a switch is under way: the kernel before it; else -1 */
    int64_t switch_us, switch_until_us; /* when to go on with it; when to give up */
    bool has_namespaces;                /* tier full */
    bool polls_memory;                  /* no memory cgroup */
    bool is_handed_over;                /* the data directory was chowned to the session */
    uid_t disk_uid;                     /* its owner before that */
    gid_t disk_gid;
    struct cgroup *group; /* NULL: no cgroups */
    struct usage *usage;
    struct disk *disk;             /* that its data is on; NULL: its room is not watched */
    struct usage_total mark, told; /* its marks (reserve.h): for the end, and for FULL */
    int64_t marked_us;             /* how old the first is */
    bool owes_usage;               /* USED follows the look at hand */
    bool is_marking;               /* which is for its marks, not for judging it */
    uint32_t alarms;               /* of the disk that were answered by a look */
    struct last_words *words;
    struct limits limits;
    struct inside_failure failure;  /* why != 0: a step of the start failed */
    char step[128];                 /* why a living jail had to be ended; empty: it had not */
    int64_t look_us;                /* when to look at disk (and memory) next */
    bool is_looking, has_seen_disk; /* a look is under way; its first half is done */
    int64_t look_begun_us;
    uint64_t used_before;      /* disk and files when it began: whether they grow */
    int64_t pause_us;          /* between two looks */
    struct memory_scan memory; /* where no cgroup counts it: the one under way */
    bool is_scanning;
    uint64_t memory_peak, memory_now, cpu_us; /* as of the last complete one */
    uint64_t cpu_looked_us; /* when last looked at: who did not run has not written */
    int64_t cpu_since_us;   /* since when it is that much */
};

/* Makes the jail and starts its first process. Takes over all of `fds`, of which those that do not
 * come with this spec are -1. Always gives back a jail: one whose start failed is SWEPT and has
 * said so over its handle. NULL only without memory. */
struct jail *jail_start(struct host *host, uint32_t slot, const struct jail_spec *spec,
                        int fds[JAIL_FDS]);

/* Ends it for that reason, unless it is ending already. */
void jail_kill(struct jail *j, enum jail_cause cause);

/* Each is called when its descriptor is ready. */
void jail_on_handle(struct jail *j);
void jail_on_report(struct jail *j);
void jail_on_attach(struct jail *j);
void jail_on_oom(struct jail *j);
void jail_on_bring(struct jail *j);
void jail_reap(struct jail *j); /* pid 1 has ended */

/* Goes on with a switch that is under way (old_fd >= 0): kills who is left of before and says
 * SWITCHED when nobody is; otherwise says when to go on (switch_us). */
void jail_go_on_switching(struct jail *j);

/* Looks at what a living jail uses, or goes on doing so; ends it when that is too much. Takes about a
 * millisecond and says when to look again (look_us). A jail without data has used no disk. */
void jail_look(struct jail *j);

/* When that is due: at look_us; 0, before everything else, when its disk gave an alarm. */
int64_t jail_look_due(const struct jail *j);

/* Tries to remove the last trace of a SWEPT jail. True: it is freed. */
bool jail_free(struct jail *j);

#endif
