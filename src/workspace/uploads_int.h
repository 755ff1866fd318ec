/* uploads_int.h -- the staged file of an upload.
 *
 *     0   8  "CICUPL1\n"
 *     8   8  how many bytes after this head count, little-endian
 *    16      the bytes
 *
 * The count is written after the bytes before it were synced, and synced itself before anybody is told. It
 * lies within one sector, so it is the old one or the new one.
 */
#ifndef WORKSPACE_UPLOADS_INT_H
#define WORKSPACE_UPLOADS_INT_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum { STAGED_HEAD_LEN = 16 };

/* Makes it, empty, durable. */
int staged_create(int dir_fd, const char *id, struct err *e);

/* Opens it; the descriptor is the caller's. ERR_NOT_FOUND. */
int staged_open(int dir_fd, const char *id, int *ret_fd, struct err *e);
/* Nobody else writes to it as long as the descriptor is open. ERR_BUSY; ERR_NOT_FOUND when whoever had
 * the lock before has removed it. */
int staged_lock(int fd, struct err *e);

int staged_received(int fd, uint64_t *ret, struct err *e);
/* Writes behind the `at` bytes that are there. ERR_NO_SPACE when the disk is full. */
int staged_write(int fd, uint64_t at, const void *bytes, size_t len, struct err *e);
/* Makes the first `received` bytes count. */
int staged_sync(int fd, uint64_t received, struct err *e);
/* struct file_source: `arg` points to the descriptor. */
int staged_read(void *arg, uint64_t offset, void *to, size_t size, size_t *ret_len, struct err *e);

#endif
