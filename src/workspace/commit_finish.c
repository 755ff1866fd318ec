/* The end of a commit: bytes on disk, then one transaction. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/commit_int.h"
#include "workspace/files_int.h"

enum { FINISH_TRIES = 3, AGAIN_PIECE = 256 << 10 };

/* Stores the content of a source a second time. */
static int store_source(struct batch *b, const struct origin *origin, struct content *content,
                        struct err *e)
{
    scoped(freep) char *piece = malloc(AGAIN_PIECE);
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "store a file again");
    if (batch_begin(b, origin->size, e))
        return -1;
    const struct file_source *source = &origin->source;
    uint64_t at = 0;
    for (size_t len = 1; len > 0; at += len)
        if (source->read(source->arg, at, piece, AGAIN_PIECE, &len, e) ||
            (len > 0 && batch_write(b, piece, len, e))) {
            batch_drop(b);
            return -1;
        }
    return batch_end(b, content, e);
}

static int store_again(struct commit *c, struct batch *b, size_t index, struct err *e)
{
    const struct origin *origin = &c->origins[index];
    struct content *content = &c->changes[index].content;
    switch (origin->kind) {
    case ORIGIN_NONE: return 0;
    case ORIGIN_REUSED: return batch_reuse(b, content, e);
    case ORIGIN_SOURCE: return store_source(b, origin, content, e);
    case ORIGIN_WRITTEN: break;
    }
    return err_set(e, ERR_BUSY,
                   "bytes that it shares with older files were just being removed; "
                   "nothing was changed: send it again");
}

/* gc removed chunks that the batch found there. A new batch, with everything that can be had again. */
static int store_all_again(struct commit *c, struct err *e)
{
    scoped(batch_freep) struct batch *b = NULL;
    if (batch_new(c->files->o.contents, c->vault, &b, e))
        return -1;
    for (size_t i = 0; i < c->count; i++)
        if (store_again(c, b, i, e))
            return -1;
    batch_free(c->batch);
    c->batch = take(b);
    return 0;
}

static int try_once(struct commit *c, struct err *e)
{
    if (c->batch && batch_sync(c->batch, e))
        return -1;
    return meta_commit(c->files->o.meta, &c->row, c->changes, c->count, c->batch, &c->rev, e);
}

/* Nothing to do costs no transaction. */
static int present_rev(struct commit *c, struct err *e)
{
    struct workspace_row ws;
    if (meta_workspace_get(c->files->o.meta, c->row.workspace, &ws, e))
        return -1;
    c->rev = ws.rev;
    workspace_row_done(&ws);
    return 0;
}

int commit_finish(struct commit *c, struct err *e)
{
    assert(!c->putting.is_on && !c->is_finished);
    c->row.created_us = clock_wall_us();
    if (c->count == 0) {
        if (present_rev(c, e))
            return -1;
        c->is_finished = true;
        return 0;
    }
    for (int tries = 1; try_once(c, e); tries++) {
        if (e->code != ERR_BUSY || tries == FINISH_TRIES || !c->batch)
            return -1;
        if (store_all_again(c, e))
            return -1;
    }
    c->is_finished = true;
    files_tell_change(c->files, c->row.workspace);
    return 0;
}
