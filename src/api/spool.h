/* spool.h -- bytes put aside until it is known what is to become of them: a little in memory, more in a
 * file without a name.
 *
 *     spool_add(&s, bytes, len, e) ...      then       spool_read(&s, to, size, &len, e) ...
 */
#ifndef API_SPOOL_H
#define API_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

enum { SPOOL_MEMORY = 1 << 20 };

struct spool {
    int dir_fd;      /* where the file is made; borrowed, -1: what does not fit is ERR_TOO_LARGE */
    int fd;          /* owned, -1: none yet */
    struct buf head; /* what is in memory */
    uint64_t len, at;
};

#define SPOOL_INIT(dir) ((struct spool){.dir_fd = (dir), .fd = -1, .head = BUF_INIT(SPOOL_MEMORY)})

void spool_done(struct spool *s);
/* Fails with ERR_NO_SPACE, ERR_TOO_LARGE. Blocks on disk. */
int spool_add(struct spool *s, const void *bytes, size_t len, struct err *e);
/* From the beginning, as http_read gives a body. */
int spool_read(struct spool *s, void *to, size_t size, size_t *ret_len, struct err *e);

#endif
