/* live.h -- the directories of this host that sessions see as /mnt/data: DATA/live/SESSION.
 *
 * A session's directory is there as long as the session is, awake or asleep, and belongs to whoever
 * the server runs as. Who opens it gets a descriptor; nothing in it is ever followed or trusted
 * (session/capture.h says how it is read).
 */
#ifndef SERVICE_LIVE_H
#define SERVICE_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct err;

/* Makes a new, empty one below `live_fd`; *ret_fd is the caller's. */
int live_make(int live_fd, const char *session_id, int *ret_fd, struct err *e);

/* Opens it; makes it again if it is missing, which no session should notice as more than that. */
int live_open(int live_fd, const char *session_id, int *ret_fd, struct err *e);

/* Writes a file at `path` below the directory, making what directories it needs. Only before hostile
 * code has run there. Fails with ERR_INVALID for a path that is not plain ("..", "/x", ""), and
 * with ERR_CONFLICT when something is there already. */
int live_put(int fd, const char *path, const void *bytes, size_t len, struct err *e);

/* Copies every regular file and directory of `from` into the empty directory `to`; other things,
 * and what cannot be read, are left out. At most `bytes_max`, or ERR_LIMIT. */
int live_copy(int from, int to, uint64_t bytes_max, struct err *e);

/* Removes it with everything in it. What cannot be removed is tried again by live_sweep. */
void live_remove(int live_fd, const char *session_id);

#endif
