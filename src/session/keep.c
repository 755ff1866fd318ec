#include "session/keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

void keep_done(struct keep *k)
{
    buf_done(&k->head);
    free(k->ring);
    *k = KEEP_INIT(k->max);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t ring_size(const struct keep *k)
{
    return k->max / 2;
}

/* Writes bytes, at most as many as the ring holds, over its oldest ones. */
static void ring_write(struct keep *k, const char *bytes, size_t len)
{
    size_t size = ring_size(k);
    size_t first = least(len, size - k->ring_at);
    memcpy(k->ring + k->ring_at, bytes, first);
    memcpy(k->ring, bytes + first, len - first);
    k->ring_at = (k->ring_at + len) % size;
    k->ring_len = least(k->ring_len + len, size);
}

static int ring_add(struct keep *k, const char *bytes, size_t len, struct err *e)
{
    size_t size = ring_size(k);
    if (len == 0 || size == 0)
        return 0;
    if (!k->ring && !(k->ring = malloc(size)))
        return err_set(e, ERR_NO_MEMORY, "keep output");
    size_t newest = least(len, size);
    ring_write(k, bytes + len - newest, newest);
    return 0;
}

int keep_add(struct keep *k, const void *bytes, size_t len, struct err *e)
{
    k->total += len;
    size_t to_head = least(len, k->head.max - k->head.len);
    if (to_head > 0)
        buf_add(&k->head, bytes, to_head);
    if (k->head.failed) /* it had room, so it was memory that was missing */
        return err_set(e, ERR_NO_MEMORY, "keep output");
    return ring_add(k, (const char *)bytes + to_head, len - to_head, e);
}

uint64_t keep_dropped(const struct keep *k)
{
    return k->total - k->head.len - k->ring_len;
}

/* The ring's bytes in the order they came: two pieces, of which the second may be empty. */
struct pieces {
    const char *first, *second;
    size_t first_len, second_len;
};

static struct pieces tail(const struct keep *k)
{
    if (k->ring_len == 0)
        return (struct pieces){.first = "", .second = ""};
    if (k->ring_len < ring_size(k))
        return (struct pieces){.first = k->ring, .first_len = k->ring_len, .second = ""};
    return (struct pieces){.first = k->ring + k->ring_at,
                           .first_len = ring_size(k) - k->ring_at,
                           .second = k->ring,
                           .second_len = k->ring_at};
}

/* How many bytes at the front of the tail are the rest of a character that was dropped. */
static size_t torn(const struct pieces *p)
{
    char front[3];
    size_t len = least(sizeof front, p->first_len);
    memcpy(front, p->first, len);
    size_t more = least(sizeof front - len, p->second_len);
    memcpy(front + len, p->second, more);
    return utf8_skip(front, len + more);
}

void keep_text(const struct keep *k, struct buf *out)
{
    struct pieces p = tail(k);
    size_t head_len = k->head.len, skip = 0;
    uint64_t dropped = keep_dropped(k);
    if (dropped > 0) {
        head_len = utf8_cut(k->head.bytes, k->head.len);
        skip = torn(&p);
        dropped += k->head.len - head_len + skip;
    }
    buf_add(out, k->head.bytes, head_len);
    if (dropped > 0)
        buf_fmt(out, "\n[... %" PRIu64 " bytes left out ...]\n", dropped);

    size_t from_first = least(skip, p.first_len);
    buf_add(out, p.first + from_first, p.first_len - from_first);
    buf_add(out, p.second + (skip - from_first), p.second_len - (skip - from_first));
}
