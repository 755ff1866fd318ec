/* lineage_chain.c -- the runs whose variables a run had. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/lineage.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"

/* A state of "lost" is told by the first run of a new kernel, and by one in which the kernel died: that one
 * had what was before. */
bool lineage_is_first(const struct run_row *run)
{
    bool has_come_through = run->end && (!strcmp(run->end, "ok") || !strcmp(run->end, "error"));
    if (!run->state)
        return false;
    return strcmp(run->state, "fresh") == 0 ||
           (strcmp(run->state, "lost") == 0 && has_come_through);
}

/* Gives up what is after the first `count` runs, and those that never began. */
static void cut(struct run_rows *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (i < count && rows->items[i].started_us > 0)
            rows->items[kept++] = rows->items[i];
        else
            run_row_done(&rows->items[i]);
    rows->count = kept;
}

int lineage_chain(struct service *s, const struct run_row *run, struct run_rows *ret, struct err *e)
{
    *ret = (struct run_rows){0};
    if (lineage_is_first(run))
        return 0;
    if (meta_runs_before(s->o.meta, run->session, run->created_us, run->id, LINEAGE_CHAIN_MAX, ret,
                         e))
        return -1;
    size_t count = 0;
    while (count < ret->count && !lineage_is_first(&ret->items[count]))
        count++;
    bool is_whole = count < ret->count;
    cut(ret, is_whole ? count + 1 : count);
    ret->has_more = !is_whole;
    return 0;
}
