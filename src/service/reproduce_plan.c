/* reproduce_plan.c -- which runs have to be repeated, and in which order. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/lineage.h"
#include "service/reproduce_int.h"

void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        run_row_done(&p->steps[i].run);
        input_rows_done(&p->steps[i].inputs);
    }
    free(p->steps);
    *p = (struct plan){0};
}

bool plan_makes(const struct plan *p, const char *run)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->steps[i].run.id, run) == 0)
            return !p->steps[i].is_skipped;
    return false;
}

static bool is_planned(const struct plan *p, const char *run)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->steps[i].run.id, run) == 0)
            return true;
    return false;
}

/* Adds one run; ERR_NOT_FOUND when it was forgotten. */
static int add(struct service *s, struct plan *p, const char *id, struct err *e)
{
    struct step step = {0};
    if (p->count == REPRODUCE_RUNS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d runs would have to be repeated",
                       REPRODUCE_RUNS_MAX);
    if (meta_run_code(s->o.meta, id, /* code_max= */ 0, &step.run, e))
        return -1;
    bool is_whole = step.run.end && (!strcmp(step.run.end, "ok") || !strcmp(step.run.end, "error"));
    step.is_skipped = !is_whole && p->count > 0; /* the one that made the version is tried anyway */
    p->is_partial |= step.run.trace != TRACE_WHOLE || step.is_skipped;
    if (meta_run_inputs(s->o.meta, id, &step.inputs, e)) {
        run_row_done(&step.run);
        return -1;
    }
    p->is_partial |= step.inputs.purged > 0;
    p->steps[p->count++] = step;
    return 0;
}

/* The runs that left the variables which the step at `index` had. */
static int add_chain(struct service *s, struct plan *p, size_t index, struct err *e)
{
    struct run_rows chain;
    int failed = 0;
    if (lineage_chain(s, &p->steps[index].run, &chain, e))
        return -1;
    p->is_partial |= chain.has_more;
    for (size_t i = 0; i < chain.count && !failed; i++)
        if (!is_planned(p, chain.items[i].id))
            failed = add(s, p, chain.items[i].id, e);
    run_rows_done(&chain);
    return failed;
}

/* The runs that made what it read. */
static int add_makers(struct service *s, struct plan *p, size_t index, struct err *e)
{
    for (size_t i = 0; i < p->steps[index].inputs.count; i++) {
        const char *run = p->steps[index].inputs.items[i].version.author.run;
        if (!*run || is_planned(p, run) || add(s, p, run, e) == 0)
            continue;
        if (e->code != ERR_NOT_FOUND)
            return -1;
        *e = (struct err){0}; /* forgotten: what it made is taken as it is */
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct step *one = a, *other = b;
    int64_t x = one->run.created_us, y = other->run.created_us;
    return x != y ? (x > y) - (x < y) : strcmp(one->run.id, other->run.id);
}

/* Adds those before the ones that are there, and puts all in order. */
static int complete(struct service *s, struct plan *p, bool is_latest, struct err *e)
{
    int failed = 0;
    for (size_t i = 0; i < p->count && !failed; i++)
        failed = add_chain(s, p, i, e) || (is_latest && add_makers(s, p, i, e));
    if (!failed)
        qsort(p->steps, p->count, sizeof *p->steps, by_time);
    return failed;
}

int plan_make(struct service *s, const struct reproduction *wishes, struct plan *ret, struct err *e)
{
    struct plan p = {.steps = calloc(REPRODUCE_RUNS_MAX, sizeof *p.steps)};
    if (!p.steps)
        return err_set(e, ERR_NO_MEMORY, "repeat a run");
    int failed = add(s, &p, wishes->of->author.run, e);
    if (failed && e->code == ERR_NOT_FOUND)
        (void)err_set(e, ERR_CONFLICT,
                      "the run that made this version was forgotten: it cannot be repeated");
    if (failed || complete(s, &p, wishes->is_latest, e)) {
        plan_done(&p);
        return -1;
    }
    *ret = p;
    return 0;
}

int plan_runs(struct service *s, const char *const *runs, size_t count, struct plan *ret,
              struct err *e)
{
    struct plan p = {.steps = calloc(REPRODUCE_RUNS_MAX, sizeof *p.steps)};
    if (!p.steps)
        return err_set(e, ERR_NO_MEMORY, "repeat runs");
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++)
        failed = is_planned(&p, runs[i]) ? 0 : add(s, &p, runs[i], e);
    if (failed && e->code == ERR_NOT_FOUND)
        (void)err_set(e, ERR_CONFLICT, "a run of it was forgotten: it cannot be repeated");
    if (failed || complete(s, &p, /* is_latest= */ false, e)) {
        plan_done(&p);
        return -1;
    }
    *ret = p;
    return 0;
}
