/* lineage_chain.c -- the runs whose variables a run had. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/lineage.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"

enum { OLDER_STEP = 16 };

enum step { STEP_BEGINNING, STEP_RUN, STEP_GONE };

/* A state of "lost" is told by the first run of a new kernel, and by one in which the kernel died: that one
 * had what was before. */
bool lineage_is_first(const struct run_row *run)
{
    bool has_come_through = run->end && (!strcmp(run->end, "ok") || !strcmp(run->end, "error"));
    if (run->number == 1)
        return true;
    if (!run->state)
        return false;
    return strcmp(run->state, "fresh") == 0 ||
           (strcmp(run->state, "lost") == 0 && has_come_through);
}

/* Whether `run` may have had what that earlier one of its session left. */
static bool was_there(const struct run_row *earlier, const struct run_row *run)
{
    bool was_undone = earlier->undone_us > 0 && earlier->undone_us <= run->created_us;
    return earlier->started_us > 0 && !was_undone;
}

/* By time, where it was not written down: the run before it in its session. */
static int find_older(struct service *s, const struct run_row *run, struct run_row *ret,
                      enum step *ret_step, struct err *e)
{
    struct run_rows rows;
    int64_t created_us = run->created_us;
    char id[ID_SIZE];
    bool has_more = true;
    memcpy(id, run->id, sizeof id);
    *ret_step = STEP_GONE;
    while (has_more && *ret_step == STEP_GONE) {
        if (meta_runs_before(s->o.meta, run->session, created_us, id, OLDER_STEP, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && *ret_step == STEP_GONE; i++) {
            created_us = rows.items[i].created_us;
            memcpy(id, rows.items[i].id, sizeof id);
            if (!was_there(&rows.items[i], run))
                continue;
            *ret = rows.items[i];
            rows.items[i].owned = NULL;
            *ret_step = STEP_RUN;
        }
        has_more = rows.has_more;
        run_rows_done(&rows);
    }
    return 0;
}

/* The run whose state `run` began with. */
static int step_back(struct service *s, const struct run_row *run, struct run_row *ret,
                     enum step *ret_step, struct err *e)
{
    if (run->has_previous ? !*run->previous : lineage_is_first(run)) {
        *ret_step = STEP_BEGINNING;
        return 0;
    }
    if (!run->has_previous)
        return find_older(s, run, ret, ret_step, e);
    *ret_step = STEP_RUN;
    if (meta_run_code(s->o.meta, run->previous, /* code_max= */ 0, ret, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    *e = (struct err){0};
    *ret_step = STEP_GONE;
    return 0;
}

static int append(struct run_rows *rows, const struct run_row *row, struct err *e)
{
    if (rows->count % OLDER_STEP == 0) {
        struct run_row *grown =
            realloc(rows->items, (rows->count + OLDER_STEP) * sizeof *rows->items);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "follow the history of a run");
        rows->items = grown;
    }
    rows->items[rows->count++] = *row;
    return 0;
}

int lineage_chain(struct service *s, const struct run_row *run, size_t max, struct run_rows *ret,
                  struct err *e)
{
    struct run_rows chain = {0};
    const struct run_row *at = run;
    for (;;) {
        struct run_row row;
        enum step step;
        if (step_back(s, at, &row, &step, e))
            break;
        if (step != STEP_RUN || chain.count == max) {
            chain.has_more = step != STEP_BEGINNING;
            if (step == STEP_RUN)
                run_row_done(&row);
            *ret = chain;
            return 0;
        }
        if (append(&chain, &row, e)) {
            run_row_done(&row);
            break;
        }
        at = &chain.items[chain.count - 1];
    }
    run_rows_done(&chain);
    return -1;
}

int lineage_number(struct service *s, const char *session, const char *run, uint64_t *ret,
                   struct err *e)
{
    scoped(session_row_done) struct session_row row = {0};
    struct run_row next = {.has_previous = true};
    struct run_rows history;
    if (meta_settle(s->o.meta, e) || meta_session_get(s->o.meta, session, &row, e))
        return -1;
    memcpy(next.previous, row.state_run, sizeof next.previous);
    if (lineage_chain(s, &next, LINEAGE_CHAIN_MAX, &history, e))
        return -1;
    uint64_t number = 0;
    for (size_t i = 0; i < history.count && number == 0; i++) {
        const struct run_row *at = &history.items[i];
        if (strcmp(at->id, run) == 0 && strcmp(at->session, session) == 0)
            number = at->number;
    }
    run_rows_done(&history);
    if (number == 0)
        return err_set(e, ERR_NOT_FOUND,
                       "run %.64s is not part of what session %s remembers: it was undone, came "
                       "before a restart, or is another session's",
                       run, session);
    *ret = number;
    return 0;
}
