/* finding.c -- the index of words, the thread that keeps it, and the search in it. */
#include "base/err.h"
#include "daemon/serve_int.h"
#include "service/indexer.h"
#include "session/spawner.h"
#include "store/text_index.h"
#include "workspace/files.h"
#include "workspace/search.h"

int finding_prepare(struct server *s, struct err *e)
{
    return s->config->search.index ? indexer_new(&s->indexer, e) : 0;
}

void finding_changed(void *arg, const char *workspace)
{
    const struct server *s = arg;
    indexer_changed(s->indexer, workspace);
}

static int start_indexer(struct server *s, struct err *e)
{
    const struct indexer_options options = {.index = s->text_index,
                                            .files = s->files,
                                            .spawner = s->spawner,
                                            .current = s->current,
                                            .meaning = s->meaning,
                                            .log = &s->log,
                                            .live_fd = s->data.live_fd,
                                            .file_max = (uint64_t)s->config->search.file_max_mb
                                                        << 20};
    return indexer_start(s->indexer, &options, e);
}

int finding_open(struct server *s, struct err *e)
{
    if (s->indexer && text_index_open(s->data.path, &s->text_index, e))
        return -1;
    const struct search_options options = {
        .files = s->files, .index = s->text_index, .meaning = s->meaning};
    if (search_new(&options, &s->search, e))
        return -1;
    return s->indexer ? start_indexer(s, e) : 0;
}

void finding_stop(struct server *s)
{
    indexer_stop(s->indexer);
}

void finding_close(struct server *s)
{
    search_free(s->search);
    text_index_close(s->text_index);
    indexer_free(s->indexer);
}
