/* A commit with the chunks of a batch; of its own, so that rows can do without contents.h. */
#include "store/contents.h"
#include "store/meta_files.h"

int meta_commit(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                size_t count, const struct batch *batch, uint64_t *ret_rev, struct err *e)
{
    struct chunk_set set = {0};
    if (batch)
        batch_chunks(batch, &set);
    return meta_commit_set(m, commit, changes, count, batch ? &set : NULL, ret_rev, e);
}
