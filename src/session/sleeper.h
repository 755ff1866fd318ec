/* sleeper.h -- the file of a session asleep: what it is, byte by byte, and how it gets to disk and
 * back.
 *
 *      offset  bytes
 *           0      8   "CICASLP1"
 *           8      4   version, 1
 *          12      4   kind: 1 delta, 2 variables
 *          16      4   flags: 1 reseed at wake
 *          20      4   snapshots that are kept when awake
 *          24      8   created, wall clock in microseconds
 *          32      8   generation: how often it has slept, from 1
 *          40      8   runs it has seen
 *          48      8   length of the body
 *          56      4   length of the names
 *          60      4   zero
 *          64     32   SHA-256 of the body
 *          96     32   id of the image it slept under; zeros for variables
 *         128     68   limits: six u64 and five u32, in the order of struct limits
 *         196     64   id of the session, padded with NULs
 *         260     64   time zone, padded with NULs; none: UTC
 *         324    156   zeros
 *         480     32   SHA-256 of all of the above and the names
 *         512          names that were lost so far, each ended by a NUL
 *                      the body, to the end of the file
 *
 * Numbers are little-endian. The file is ID.sleep, 0600, the service's. Its body is a stranger's
 * memory: hashed here, understood in a jail only. A file is believed in full or refused.
 *
 * **What survives a power cut.** The file is written as ID.tmp: the body as it comes, the head at
 * the end, then fdatasync, then it is renamed: so whatever is called ID.sleep is whole. The
 * directory is synced after that: so when sleeper_commit has returned, the session is still asleep
 * after a power cut. Whoever writes one keeps the kernel until then.
 *
 *     sleeper_begin(dir_fd, &head, &draft, e)
 *     kernel_sleep(k, SLEEP_STAYS, draft.fd, &report, e)
 *     head.body_len = report.len ...
 *     sleeper_commit(&draft, &head, &size, e)
 *
 * **Snapshots.** What a session was before run number N is a file of the same format, ID.N.snap; N is
 * one more than the runs its head says. It is written while the session is awake and outlives the kernel
 * and this process at once, a power cut only after sleeper_sync_snapshot and a sync of the directory; until then
 * it can be found torn, and is refused like any damaged file. Before a session falls asleep its snapshots
 * are synced, and the directory is synced with the session's own file. A session that wakes makes
 * ID.sleep its newest snapshot (sleeper_to_snapshot); going back makes a snapshot ID.sleep
 * (sleeper_from_snapshot). Both are one rename: at every moment there is the one or the other. A snapshot
 * is 0600, and 0400 once the run it was taken before has begun: so after a kill of this process it is known
 * whether the session was still what its newest snapshot says. Beside ID.sleep a snapshot of more runs than that
 * has seen, plus one, is of runs that were undone: a rollback was cut short, and whoever finds it removes it.
 *
 * All calls that take a directory block on disk.
 */
#ifndef SESSION_SLEEPER_H
#define SESSION_SLEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/id.h"
#include "session/names.h"
#include "session/zone.h"
#include "wire/limits.h"

struct err;

enum {
    SLEEPER_HEAD = 512,
    SLEEPER_NAMES_MAX = NAMES_MAX * (NAMES_LEN_MAX + 1),
    SLEEPER_VERSION = 1,
};

enum sleeper_kind { SLEEPER_DELTA = 1, SLEEPER_VARIABLES = 2 };

struct sleeper {
    enum sleeper_kind kind;
    bool reseeds; /* another lives that remembers the same: new random numbers at wake */
    uint32_t snapshots;
    int64_t created_wall_us;
    uint64_t generation, runs;
    uint64_t body_len;
    uint8_t body_sha256[HASH_LEN];
    uint8_t image[HASH_LEN]; /* DELTA */
    struct limits limits;
    char session_id[ID_SIZE];
    char tz[ZONE_SIZE];
    struct names lost; /* what the next run has to name */
    bool is_past;      /* only coming out, of a snapshot: its run has begun */
};

void sleeper_done(struct sleeper *s);

/* Head and names as bytes. `out` fails only for lack of memory. */
int sleeper_put(const struct sleeper *s, struct buf *out, struct err *e);

/* The head and names at the beginning of a file of `file_len` bytes, of which `len` are there: all
 * of it, or SLEEPER_HEAD + SLEEPER_NAMES_MAX. Fails with ERR_DAMAGED, or ERR_UNAVAILABLE for a file
 * of another version. No I/O. */
int sleeper_get(const uint8_t *bytes, size_t len, uint64_t file_len, struct sleeper *ret,
                struct err *e);

/* A file in the making. */
struct sleeper_draft {
    int dir_fd; /* borrowed */
    int fd;     /* at the beginning of the body; -1: none */
    uint64_t body_at;
    char session_id[ID_SIZE];
};

#define SLEEPER_DRAFT_NONE ((struct sleeper_draft){.fd = -1})

/* Begins the file of s->session_id; s->lost has to be complete, the rest may change until
 * commit. */
int sleeper_begin(int dir_fd, const struct sleeper *s, struct sleeper_draft *ret, struct err *e);

/* Makes it the session's file, in place of an older one. *ret_size is what it takes on disk. On
 * failure there is none. */
int sleeper_commit(struct sleeper_draft *d, const struct sleeper *s, uint64_t *ret_size,
                   struct err *e);

void sleeper_abandon(struct sleeper_draft *d); /* also after commit */

/* Opens the file of a session and checks all of it, the body's hash included. *ret_fd is at the
 * body, read-only. Fails with ERR_NOT_FOUND, ERR_DENIED (not ours alone), or like sleeper_get. */
int sleeper_open(int dir_fd, const char *session_id, struct sleeper *ret, int *ret_fd,
                 struct err *e);

/* The head alone, unchecked but for itself: for lists. */
int sleeper_look(int dir_fd, const char *session_id, struct sleeper *ret, uint64_t *ret_size,
                 struct err *e);

bool sleeper_exists(int dir_fd, const char *session_id);

/* A second session with the same memory, asleep, that will reseed. Fails like sleeper_open. */
int sleeper_branch(int dir_fd, const char *session_id, const char *branch_id, uint64_t *ret_size,
                   struct err *e);

/* A file without a name in the same place, for what is not yet known to become one. */
int sleeper_scratch(int dir_fd, int *ret_fd, struct err *e);

/* Removes it. The removal is durable after sleeper_sync. */
void sleeper_remove(int dir_fd, const char *session_id);
int sleeper_sync(int dir_fd, struct err *e);

/* The same, with what was set aside. */
void sleeper_discard(int dir_fd, const char *session_id);

/* Calls it ID.bad, where nobody wakes it but whoever wonders can look, until the session is closed. */
void sleeper_set_aside(int dir_fd, const char *session_id);

/* sleeper_commit of a snapshot, which is not synced. */
int sleeper_commit_snapshot(struct sleeper_draft *d, const struct sleeper *s, uint64_t *ret_size,
                            struct err *e);

/* sleeper_look of the snapshot of before that run. */
int sleeper_look_snapshot(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                          uint64_t *ret_size, struct err *e);

/* Writes down whether its run has begun. */
void sleeper_mark_snapshot(int dir_fd, const char *session_id, uint64_t before, bool has_begun);

/* The bytes of the file; its name is durable after sleeper_sync. */
int sleeper_sync_snapshot(int dir_fd, const char *session_id, uint64_t before, struct err *e);

/* ID.sleep becomes the snapshot, in place of an older one of that run. False: it stays what it is. */
bool sleeper_to_snapshot(int dir_fd, const char *session_id, uint64_t before);

/* Checks all of the snapshot, as sleeper_open does, and makes it ID.sleep, durably. *ret is its head, for
 * the caller to sleeper_done. On failure nothing has changed; it fails like sleeper_open. */
int sleeper_from_snapshot(int dir_fd, const char *session_id, uint64_t before, struct sleeper *ret,
                          uint64_t *ret_size, struct err *e);

void sleeper_remove_snapshot(int dir_fd, const char *session_id, uint64_t before);
void sleeper_set_snapshot_aside(int dir_fd, const char *session_id,
                                uint64_t before); /* as ID.bad */

/* The session's id and the run in the name of a file, "ses_7.12.snap". */
bool sleeper_is_snapshot(const char *name, char ret_id[ID_SIZE], uint64_t *ret_before);

/* Removes drafts of a process that was killed. Only while nobody writes one. */
void sleeper_sweep(int dir_fd);

/* The session's id in the name of a file, "ses_7.sleep"; false if it is not such a name. */
bool sleeper_is_named(const char *name, char ret[ID_SIZE]);

bool sleeper_is_id(const char *id, size_t len); /* small letters, digits, '_'; short enough */

#endif
