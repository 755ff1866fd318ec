/* desk_reads.c -- which versions a run has read: the kernel names paths, the copy knows what they held. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/desk_int.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"

void desk_inputs_done(struct desk_inputs *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    free(l->items);
    *l = (struct desk_inputs){0};
}

/* What the copy had at the path before that run. The run may have committed it in between (desk_glance). */
static int find(struct desk *d, const char *path, const char *run, struct version_row *ret,
                struct err *e)
{
    struct meta *meta = d->service->o.meta;
    const struct session_path *own = desk_own(d, path);
    const char *at = own && own->aside ? own->aside : path;
    if (meta_version_at(meta, d->workspace, at, own ? own->rev : d->base, ret, e))
        return -1;
    if (strcmp(ret->author.run, run) != 0)
        return 0;
    struct version_row made = *ret;
    int failed = meta_version_before_run(meta, made.file, made.version, run, ret, e);
    version_row_done(&made);
    if (failed || ret->change != CHANGE_DELETED)
        return failed;
    version_row_done(ret);
    return err_set(e, ERR_NOT_FOUND, "it was deleted");
}

static int find_all(struct desk *d, const char *run, const struct run_reads *reads,
                    struct desk_inputs *ret, struct err *e)
{
    ret->is_partial = reads->is_partial;
    if (reads->count == 0)
        return 0;
    ret->items = calloc(reads->count, sizeof *ret->items);
    ret->paths = calloc(reads->count, sizeof *ret->paths);
    if (!ret->items || !ret->paths)
        return err_set(e, ERR_NO_MEMORY, "keep what was read");
    for (size_t i = 0; i < reads->count; i++) {
        struct version_row v;
        if (find(d, reads->items[i].path, run, &v, e)) {
            if (e->code != ERR_NOT_FOUND)
                return -1;
            *e = (struct err){0}; /* it was none of the workspace's */
            continue;
        }
        struct run_input *input = &ret->items[ret->count];
        memcpy(input->file, v.file, ID_SIZE);
        input->version = v.version;
        input->is_guessed = reads->items[i].is_guessed;
        version_row_done(&v);
        if (!(ret->paths[ret->count] = strdup(reads->items[i].path)))
            return err_set(e, ERR_NO_MEMORY, "keep what was read");
        ret->count++;
    }
    return 0;
}

int desk_inputs(struct desk *d, const char *run, const struct run_reads *reads,
                struct desk_inputs *ret, struct err *e)
{
    *ret = (struct desk_inputs){0};
    pthread_mutex_lock(&d->lock);
    int failed = find_all(d, run, reads, ret, e);
    pthread_mutex_unlock(&d->lock);
    if (failed)
        desk_inputs_done(ret);
    return failed;
}
