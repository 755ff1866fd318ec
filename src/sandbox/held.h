/* held.h -- the files that a session's processes hold, open or mapped, one small step at a time.
 *
 * A file that is deleted while somebody has it open takes space that no directory shows. It is
 * found through the descriptors of every thread that has a table of its own (/proc/PID/task/TID/fd)
 * and through mappings of deleted files (maps, and map_files where we are allowed to). One place is
 * beyond reach: a descriptor in the queue of a socket, sent but not received. How many of those
 * there are is known, though, and held_in_flight says it.
 *
 *     held_begin(&h, init)
 *     for (;;)
 *         switch (held_step(&h, &file)) { case HELD_FILE: ...  case HELD_END: ... }
 */
#ifndef SANDBOX_HELD_H
#define SANDBOX_HELD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/dir.h"
#include "sandbox/procs.h"

struct held_file {
    uint64_t inode;
    uint64_t bytes;  /* on disk; where we are not allowed to know, as far as it is mapped */
    bool is_deleted; /* no directory has it */
    bool is_bytes_known;
};

enum held_stage { HELD_PROCESSES, HELD_TASKS, HELD_FDS, HELD_MAPS };

/* Fields are the business of held.c. Zero is a valid, finished scan. */
struct held {
    dev_t device; /* of the file system that counts */
    dev_t also;   /* another one, or the same */
    enum held_stage stage;
    struct procs procs;
    pid_t pid, tid;
    pid_t files_model,
        memory_model; /* the thread looked through last: others like it are skipped */
    struct dir tasks, fds;
    int maps; /* descriptor; -1: none */
    uint32_t in_flight;
    uint32_t denied;
    char chunk[4096]; /* of maps */
    size_t chunk_at, chunk_len;
    char head[160]; /* of the line at hand */
    char tail[16];  /* its last characters, in a ring */
    size_t line_len;
};

void held_init(struct held *h, dev_t device);
void held_done(struct held *h);
void held_begin(struct held *h, pid_t init); /* also begins anew */

enum held_result { HELD_NOTHING, HELD_FILE, HELD_END };

/* Does a little work: looks at one descriptor, one thread, or some 40 mappings. Does not block. */
enum held_result held_step(struct held *h, struct held_file *ret);

uint32_t held_in_flight(const struct held *h); /* descriptors in sockets, met since the beginning */
uint32_t held_denied(const struct held *h);    /* threads that may not be looked into */

#endif
