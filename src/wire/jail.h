/* jail.h -- what the engine and the privileged spawner say to each other.
 *
 * Everything has a fixed size. The engine and the spawner share one SOCK_SEQPACKET socket, on which
 *
 *     spawner -> engine   jail_hello, once: the tier and which mechanisms work here
 *     engine -> spawner   jail_spec with jail_spec_fds() descriptors: make a jail
 *
 * The first of those descriptors is one end of another SOCK_SEQPACKET pair, the jail's handle. From
 * then on all talk about that jail goes over the handle:
 *
 *     spawner -> engine   jail_event: STARTED or FAILED, USED, ATTACHED, SWITCHED, BROUGHT, FULL, at last ENDED
 *     engine -> spawner   jail_request: INTERRUPT, KILL, USAGE, ATTACH, COPY, SWITCH, BRING, MARK
 *
 * A jail without a data directory is **parked**: it waits, its kernel started, for ATTACH, which
 * brings the directory. No code of a session may reach its kernel before ATTACHED. Parked jails and
 * those that start from an image exist only in TIER_FULL; elsewhere the answer is FAILED.
 *
 * A kernel can fork copies of itself that wait (snapshots). COPY tells the spawner of one, so that
 * it outlives SWITCH: that kills every process of the jail but pid 1 and the copies, and makes one
 * of the copies the kernel. A copy is a child of pid 1 (CLONE_PARENT) and leads a session of its
 * own (setsid), or an INTERRUPT of the kernel would reach it too.
 *
 * STARTED comes with JAIL_COUNTERS descriptors where a cgroup counts for the jail: the engine reads
 * them after every run, which is a hundred times cheaper than USAGE. They are files of that cgroup,
 * open for reading only, and nobody in the jail has them: nothing can be changed through them, and
 * what they say is the operating system's word. Everywhere else there is USAGE.
 *
 * **Whoever holds the handle owns the jail.** When the engine closes it, or dies, the spawner kills
 * the jail and cleans up; so nothing can be left running by forgetting it. After FAILED or ENDED
 * the spawner closes its end; then no process, mount, cgroup or directory of the jail is left.
 */
#ifndef WIRE_JAIL_H
#define WIRE_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/limits.h"

struct err;

/* How strong the jail is on this host; see docs/tiers.md. */
enum tier {
    TIER_NONE = 0,       /* too weak: refuse to run */
    TIER_FULL = 1,       /* namespaces, Landlock, seccomp, limits */
    TIER_CONTAINER_ROOT, /* no namespaces: own uid, Landlock, seccomp, rlimits, pollers */
    TIER_CONTAINER_USER, /* the same without an own uid */
};

enum mechanism {
#define MECHANISM(name, title, meaning, remedy) MECH_##name,
#include "wire/mechanism.def"
#undef MECHANISM
    MECH_COUNT
};

struct jail_hello {
    enum tier tier;
    uint32_t landlock_abi;       /* 0: none */
    uint32_t cgroup;             /* 0 none, 1 v1, 2 v2 */
    int32_t failure[MECH_COUNT]; /* 0: works; otherwise the errno it failed with */
};

/* The directory that a session sees as /mnt/data; its owner is the engine's user. It is plain, or an
 * overlay: then all changes go to `dir_fd`, and the lower directories are only read, by any number
 * of jails at the same time. Descriptors are borrowed and open for reading.
 *
 * Of an overlay, `dir_fd` is called "data" and `work_fd` "work", side by side in one directory. What
 * is in `work` belongs to the operating system; it is emptied before and after. */
enum { JAIL_LOWERS_MAX = 8 };
struct jail_data {
    int dir_fd;                     /* plain: the directory. Overlay: the upper layer */
    int work_fd;                    /* overlay: the work directory; plain: -1 */
    int lower_fds[JAIL_LOWERS_MAX]; /* top first */
    size_t lower_count;             /* 0: plain */
};
#define JAIL_DATA_PLAIN(fd) ((struct jail_data){.dir_fd = (fd), .work_fd = -1})

/* The descriptors of it in the order they are sent, and how many: 1, or 2 and one for each lower. */
enum { JAIL_DATA_FDS = 2 + JAIL_LOWERS_MAX };
size_t jail_data_fds(const struct jail_data *data, int fds[JAIL_DATA_FDS]);
/* Back again; `count` fits `lower_count`. */
struct jail_data jail_data_from(const int *fds, size_t lower_count);

/* The descriptors that come with a jail_spec, in this order. DATA only if has_data, WORK and one of
 * LOWER for each of lower_count if that is not 0, IMAGE unless the start is JAIL_COLD, DELTA only if
 * has_delta, LIBRARIES only if has_libraries; what is not there leaves no gap. */
enum {
    JAIL_FD_HANDLE,
    JAIL_FD_CONTROL,
    JAIL_FD_STDOUT,
    JAIL_FD_STDERR,
    JAIL_FD_DATA,
    JAIL_FD_WORK,
    JAIL_FD_LOWER,
    JAIL_FD_IMAGE = JAIL_FD_LOWER + JAIL_LOWERS_MAX,
    JAIL_FD_DELTA,
    JAIL_FD_LIBRARIES,
    JAIL_FDS
};

/* What the directory LIBRARIES holds: directories of these names, each of which the jail sees at
 * that path, read-only, instead of the host's. One that is not there changes nothing. */
struct jail_library {
    const char *name, *path;
};
enum { JAIL_LIBRARIES = 3 };
extern const struct jail_library jail_libraries[JAIL_LIBRARIES];

/* What is executed in the jail. The loader is called as `python3 N WORD`: N is the number of the
 * control socket, the image has the next number, the delta the one after that; WORD is below. After
 * "delta" comes how many bytes of data the session may have (RLIMIT_DATA), the image included. */
enum jail_start {
    JAIL_COLD = 1, /* the kernel program */
    JAIL_IMAGE, /* "image", or "delta" with one: maps the image (read-only) and the delta over it */
    JAIL_BAKE,  /* "bake": starts the kernel program so that it writes the image */
};

struct jail_spec {
    enum jail_start start;
    bool has_data;  /* false: parked; not with JAIL_BAKE */
    bool has_delta; /* a session that slept; only with JAIL_IMAGE, and not parked: it is hostile */
    bool has_libraries;   /* those of when its image was made, for what it imports from now on; only
                           with a delta: whoever starts anew has the host's */
    uint32_t lower_count; /* of the data directory; 0: plain, or there is none. Not with JAIL_BAKE;
                             only where MECH_OVERLAY works */
    struct limits limits;
};

enum jail_request_kind {
    JAIL_INTERRUPT = 1,
    JAIL_KILL,
    JAIL_USAGE, /* USED follows. When the disk is down to its reserve, after a look that began now: if
                    it wrote until now, FULL comes first */
    JAIL_ATTACH, /* with the data directory's descriptors. ATTACHED or the jail's end follows */
    JAIL_COPY,   /* `pid`, as the engine's pid namespace numbers it, is a copy of the kernel. No
                    answer: SWITCH tells whether it is one */
    JAIL_SWITCH, /* to that copy. SWITCHED or the jail's end follows */
    JAIL_BRING,  /* with one descriptor: a tree of changes (base/graft.h), which is applied to the
                    overlay as the session itself could, while it lives. BROUGHT or the jail's end
                    follows; one at a time */
    JAIL_MARK, /* a run begins: what it writes from now on is judged, not what was written before. USED
                    follows; of use on a disk that is down to its reserve */
};

struct jail_request {
    enum jail_request_kind kind;
    int32_t pid;          /* COPY, SWITCH; otherwise 0 */
    uint32_t lower_count; /* ATTACH: of the data directory; otherwise 0 */
};

enum jail_event_kind {
    JAIL_STARTED = 1, /* with no descriptor or JAIL_COUNTERS */
    JAIL_FAILED,
    JAIL_USED,
    JAIL_ENDED,
    JAIL_ATTACHED,
    JAIL_SWITCHED, /* status: 0, or an errno when nothing was changed (no such copy) */
    JAIL_BROUGHT,  /* status: 0, or an errno when it could not be done, or not to the end (EBUSY:
                      another one is under way; EINVAL: there is no overlay; ETIME: it took too long) */
    JAIL_FULL, /* it writes to a disk that is down to its reserve. Unasked; the engine interrupts
                      the run, and a jail that writes on is ended: OVER_RESERVE */
};

/* The descriptors that come with STARTED: texts, to be read from their beginning every time. */
enum {
    JAIL_COUNTER_CPU,    /* "N": nanoseconds so far (v1); or lines, one "usage_usec N" (v2) */
    JAIL_COUNTER_MEMORY, /* "N": bytes now */
    JAIL_COUNTER_PEAK,   /* "N": the most bytes so far */
    JAIL_COUNTERS
};

enum { JAIL_COPIES_MAX = 16 }; /* copies of the kernel that one jail may hold */

/* Why a jail ended. What the spawner saw; no word of it comes from inside. */
enum jail_cause {
    JAIL_EXITED = 1,   /* the kernel process exited by itself: status is its exit code */
    JAIL_SIGNALLED,    /* it was killed from inside or by a fault: status is the signal */
    JAIL_OVER_MEMORY,  /* the memory limit */
    JAIL_OVER_DISK,    /* the disk or files limit */
    JAIL_OVER_RESERVE, /* it went on writing after FULL, or by far too much at once */
    JAIL_KILLED,       /* the engine asked for it or closed the handle; or `step` says why */
};

struct jail_event {
    enum jail_event_kind kind;
    enum jail_cause cause; /* ENDED */
    int32_t status;        /* ENDED: exit code or signal; FAILED, SWITCHED, BROUGHT: errno */
    uint64_t cpu_us;       /* USED, ENDED: CPU time of all processes so far */
    uint64_t memory_peak;  /* USED, ENDED: bytes */
    uint64_t memory_now;
    uint64_t disk_bytes; /* USED, ENDED: growth of /mnt/data when last looked at */
    uint64_t disk_files;
    uint32_t brought_put, brought_removed; /* BROUGHT: files */
    uint32_t brought_failed;               /* and those that were left out */
    int32_t brought_errno; /* why the first of those was, whose path is `step`, cut */
    char step[128]; /* FAILED: the setup step that failed. ENDED, cause KILLED: what went wrong when
                       ATTACH or SWITCH could not be done; empty when the engine wanted the end */
};

/* Sizes of the encoded forms. */
enum {
    JAIL_HELLO_SIZE = 16 + 4 * MECH_COUNT,
    JAIL_SPEC_SIZE = 8 + 6 * 8 + 6 * 4,
    JAIL_REQUEST_SIZE = 16,
    JAIL_EVENT_SIZE = 16 + 5 * 8 + 4 * 4 + 128,
};

/* Encoding cannot fail. Decoding fails with ERR_PROTOCOL when size, magic or a value is out of
 * range, and then *ret is untouched. */
void jail_hello_put(const struct jail_hello *hello, uint8_t bytes[JAIL_HELLO_SIZE]);
int jail_hello_get(const uint8_t *bytes, size_t len, struct jail_hello *ret, struct err *e);
void jail_spec_put(const struct jail_spec *spec, uint8_t bytes[JAIL_SPEC_SIZE]);
int jail_spec_get(const uint8_t *bytes, size_t len, struct jail_spec *ret, struct err *e);

/* How many descriptors come with it; which[] says for each which of JAIL_FD_* it is. */
size_t jail_spec_fds(const struct jail_spec *spec, int which[JAIL_FDS]);

void jail_request_put(const struct jail_request *request, uint8_t bytes[JAIL_REQUEST_SIZE]);
int jail_request_get(const uint8_t *bytes, size_t len, struct jail_request *ret, struct err *e);
void jail_event_put(const struct jail_event *event, uint8_t bytes[JAIL_EVENT_SIZE]);
int jail_event_get(const uint8_t *bytes, size_t len, struct jail_event *ret, struct err *e);

/* Fails with ERR_INVALID, naming the field, when a limit is outside LIMITS_MIN..LIMITS_MAX. */
int limits_check(const struct limits *limits, struct err *e);

const char *tier_name(enum tier tier); /* "full", "container-root", ... */

#endif
