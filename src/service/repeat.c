#include "service/repeat.h"

#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/reproduce_int.h"
#include "store/db.h"

static void free_json(json_t **o)
{
    json_decref(*o);
}

static bool is_wanted(const struct repetition *wishes, const char *run)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (strcmp(wishes->runs[i], run) == 0)
            return true;
    return false;
}

/* ---- the runs ---- */

static int tell_run(json_t *runs, const struct step *step, json_t *run, struct err *e)
{
    json_t *one = json_pack("{s:s, s:s, s:O}", "run_id", step->run.id, "repeated_as",
                            step->repeated_as, "run", run);
    return one && json_array_append_new(runs, one) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "tell of a repeated run");
}

/* *ret_is_well: all ended as they had. */
static int repeat_steps(struct place *p, struct plan *plan, const struct repetition *wishes,
                        json_t *runs, bool *ret_is_well, struct err *e)
{
    int64_t until_us = clock_us() + (int64_t)REPRODUCE_WALL_MS * 1000;
    *ret_is_well = true;
    for (size_t i = 0; i < plan->count && *ret_is_well; i++) {
        struct step *step = &plan->steps[i];
        scoped(free_json) json_t *run = NULL;
        if (step->is_skipped)
            continue;
        if (clock_us() > until_us)
            return err_set(e, ERR_LIMIT, "repeating the runs takes longer than %d minutes",
                           REPRODUCE_WALL_MS / 60000);
        if (place_repeat(p, plan, step, &run, e))
            return err_wrap(e, "repeat %s", step->run.id);
        *ret_is_well = step_went_well(step, run);
        bool is_told = !*ret_is_well || (!step->is_again && is_wanted(wishes, step->run.id));
        if (is_told && tell_run(runs, step, run, e))
            return -1;
    }
    return 0;
}

/* ---- the files ---- */

/* Whether a later run that was asked for wrote the file again. */
static bool is_made_later(const struct version_rows *all, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < all[i].count; k++)
            if (strcmp(all[i].items[k].path, path) == 0)
                return true;
    return false;
}

static int compare_file(struct place *p, struct reproduction *of, const struct version_row *row,
                        json_t *files, struct err *e)
{
    struct verdict verdict;
    of->of = row;
    if (place_compare(p, &verdict, e))
        return err_wrap(e, "compare %.100s", row->path);
    json_t *one = json_pack("{s:s, s:I, s:b, s:s, s:s}", "path", row->path, "version",
                            (json_int_t)row->version, "is_same", verdict.is_same, "how",
                            verdict.how, "detail", verdict.detail);
    return one && json_array_append_new(files, one) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "tell of a repeated file");
}

static bool is_file(const struct version_row *row)
{
    return row->change != CHANGE_DELETED;
}

static int compare_files(struct place *p, struct reproduction *of, const struct repetition *wishes,
                         json_t *files, struct err *e)
{
    struct version_rows *made = calloc(wishes->count, sizeof *made);
    int failed = made ? 0 : err_set(e, ERR_NO_MEMORY, "compare files");
    size_t count = 0;
    for (; count < wishes->count && !failed; count++)
        failed = meta_version_of_run(p->service->o.meta, wishes->runs[count], &made[count], e);
    if (failed && count > 0)
        count--; /* the last has nothing */
    for (size_t i = 0; i < count && !failed; i++)
        for (size_t k = 0; k < made[i].count && !failed; k++) {
            const struct version_row *row = &made[i].items[k];
            bool is_last = !is_made_later(made + i + 1, count - i - 1, row->path);
            if (is_last && is_file(row) && json_array_size(files) < REPEAT_FILES_MAX)
                failed = compare_file(p, of, row, files, e);
        }
    for (size_t i = 0; i < count; i++)
        version_rows_done(&made[i]);
    free(made);
    return failed;
}

/* ---- all of it ---- */

static int repeat_aside(struct service *s, const struct who *who, const struct repetition *wishes,
                        const struct workspace_row *ws, json_t *answer, struct err *e)
{
    scoped(plan_done) struct plan plan = {0};
    scoped(place_done) struct place place = {.service = s};
    struct reproduction of = {.ws = ws, .request = wishes->request};
    bool is_well = false, is_whole = false;
    json_t *runs = json_object_get(answer, "runs"), *files = json_object_get(answer, "files");
    if (meta_settle(s->o.meta, e) || plan_runs(s, wishes->runs, wishes->count, &plan, e) ||
        place_make(s, who, &of, &place, e))
        return -1;
    place.watch = wishes->watch;
    place.watch_arg = wishes->arg;
    if (place_fill(&place, plan.steps[0].run.created_us, &is_whole, e) ||
        repeat_steps(&place, &plan, wishes, runs, &is_well, e))
        return -1;
    (void)json_object_set_new(answer, "complete", json_boolean(is_whole || !plan.is_partial));
    return is_well ? compare_files(&place, &of, wishes, files, e) : 0;
}

int repeat_runs(struct service *s, const struct who *who, const struct repetition *wishes,
                json_t **ret, struct err *e)
{
    scoped(free_json) json_t *answer = json_pack("{s:[], s:[]}", "runs", "files");
    struct workspace_row ws;
    if (!answer)
        return err_set(e, ERR_NO_MEMORY, "repeat runs");
    if (files_workspace(s->o.files, who, wishes->workspace, RIGHT_READ, &ws, e))
        return -1;
    /* What is made and removed on the way is beside the point of the audit's entry. */
    struct db_rider *act = db_rider_set(NULL);
    int failed = repeat_aside(s, who, wishes, &ws, answer, e);
    (void)db_rider_set(act);
    workspace_row_done(&ws);
    if (!failed)
        *ret = take(answer);
    return failed;
}
