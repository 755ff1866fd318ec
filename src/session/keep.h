/* keep.h -- the head and the tail of a stream too long to keep.
 *
 * Born with the most it may hold. The first half of that is the head, kept as it came; after that
 * a ring keeps the newest bytes, and what falls out in between is only counted.
 *
 *     scoped(keep_done) struct keep k = KEEP_INIT(1 << 20);
 *     keep_add(&k, bytes, len, e)             as they come
 *     keep_text(&k, &out)                     "head\n[... 123456 bytes left out ...]\ntail"
 */
#ifndef SESSION_KEEP_H
#define SESSION_KEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

struct keep {
    size_t max;
    struct buf head; /* at most (max + 1) / 2 */
    char *ring;      /* max / 2 bytes, allocated when the head is full */
    size_t ring_at;  /* where the next byte goes */
    size_t ring_len; /* how many of them are filled */
    uint64_t total;  /* bytes ever added */
};

#define KEEP_INIT(max_bytes) \
    ((struct keep){.max = (max_bytes), .head = BUF_INIT(((max_bytes) + 1) / 2)})

/* KEEP_NOTICE_MAX bytes more than `max` hold whatever keep_text appends. */
enum { KEEP_NOTICE_MAX = 64 };

void keep_done(struct keep *k); /* back to empty, same limit, usable again */

/* Fails with ERR_NO_MEMORY; then what was kept so far stays, and the rest counts as dropped. */
int keep_add(struct keep *k, const void *bytes, size_t len, struct err *e);

/* Bytes that were added and are neither in the head nor in the tail. */
uint64_t keep_dropped(const struct keep *k);

/* Appends head and tail to `out`, and between them, if anything was dropped, a line of its own that
 * says how much: "\n[... 123456 bytes left out ...]\n". Both cuts are moved outwards so that no
 * UTF-8 character is torn; the few bytes this costs are in the number. */
void keep_text(const struct keep *k, struct buf *out);

#endif
