/* index_meaning.c -- vectors for the texts of workspaces with intelligence on, when nothing else is to be done. */
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "meaning/meaning.h"
#include "service/indexer_int.h"
#include "store/rows.h"
#include "store/text_vectors.h"

int index_mean_workspace(struct indexer *ix, const struct workspace_row *ws, struct err *e)
{
    struct meaning *m = ix->o.meaning;
    struct err ignored = {0}; /* search says it, to whoever asks */
    if (!m || (ws->has_intelligence && meaning_ready(m, &ignored)))
        return 0;
    return text_vectors_want(ix->o.index, ws->id, ws->has_intelligence ? meaning_model(m) : NULL,
                             meaning_dim(m), e);
}

static int encode(struct indexer *ix, const struct text_batch *b, struct err *e)
{
    struct str texts[TEXT_VECTORS_BATCH];
    uint32_t dim = meaning_dim(ix->o.meaning);
    scoped(freep) int8_t *vectors = malloc(b->count * dim + 1);
    if (!vectors)
        return err_set(e, ERR_NO_MEMORY, "look for what a text means");
    for (size_t i = 0; i < b->count; i++)
        texts[i] = (struct str){b->items[i].text, b->items[i].len};
    if (meaning_encode(ix->o.meaning, texts, b->count, vectors, e))
        return -1;
    return text_vectors_put(ix->o.index, b, dim, vectors, e);
}

int index_mean_next(struct indexer *ix, struct err *e)
{
    struct text_batch b = {0};
    struct meaning *m = ix->o.meaning;
    if (!m || meaning_dim(m) == 0)
        return 0;
    int got = text_vectors_next(ix->o.index, meaning_model(m), meaning_dim(m), &b, e);
    if (got == 1)
        got = encode(ix, &b, e) ? -1 : 1;
    text_batch_done(&b);
    return got;
}
