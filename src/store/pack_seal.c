/* The footer of a full pack. Its records are synced; the footer is for those who have no database, so a
 * pack without one (a crash came first, or the disk was full) is as good as any. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/packs_int.h"

struct table {
    struct chunk_row *rows;
    size_t count, size;
};

static int collect(void *arg, const struct chunk_row *row, struct err *e)
{
    struct table *t = arg;
    if (t->count == t->size)
        return err_set(e, ERR_DAMAGED, "a pack has more records than were counted");
    t->rows[t->count++] = *row;
    return 0;
}

static int make_footer(struct lease *l, uint8_t **ret, size_t *ret_len, struct err *e)
{
    struct table t = {.size = (size_t)l->pack.records};
    struct pack_walked walked;
    scoped(freep) struct chunk_row *rows = t.rows = malloc(t.size * sizeof *t.rows);
    size_t len = footer_len(t.size);
    scoped(freep) uint8_t *footer = malloc(len);
    if (!rows || !footer)
        return err_set(e, ERR_NO_MEMORY, "seal a pack");
    if (pack_walk_fd(l->fd, l->pack.number, collect, &t, &walked, e))
        return -1;
    if (walked.end != l->pack.end || t.count != t.size)
        return err_set(e, ERR_DAMAGED, "a pack is not what was written to it");
    footer_encode(rows, t.count, footer);
    *ret = take(footer);
    *ret_len = len;
    return 0;
}

void lease_seal(struct lease *l)
{
    const struct pack_io *io = l->packs->io;
    struct err e = {0};
    scoped(freep) uint8_t *footer = NULL;
    size_t len = 0;
    if (make_footer(l, &footer, &len, &e))
        return;
    struct iovec piece = {footer, len};
    int errnum = write_all(io, l->fd, &piece, 1, l->pack.end);
    if (errnum) {
        (void)packs_fail(l->packs, errnum, "seal a pack", &e);
        (void)io->ftruncate(l->fd, (off_t)l->pack.end); /* a torn tail does no harm */
        return;
    }
    if (io->fdatasync(l->fd))
        (void)packs_fail(l->packs, errno, "sync a pack", &e);
}
