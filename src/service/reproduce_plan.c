/* reproduce_plan.c -- which runs have to be repeated, and in which order. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
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

/* Adds one run at the end of a line; ERR_NOT_FOUND when it was forgotten. `is_tried`: even if it was cut short. */
static int add(struct service *s, struct plan *p, const char *id, size_t line, bool is_tried,
               struct err *e)
{
    struct step step = {.line = line, .is_again = is_planned(p, id)};
    if (p->count == REPRODUCE_RUNS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d runs would have to be repeated",
                       REPRODUCE_RUNS_MAX);
    if (meta_run_code(s->o.meta, id, /* code_max= */ 0, &step.run, e))
        return -1;
    bool is_whole = step.run.end && (!strcmp(step.run.end, "ok") || !strcmp(step.run.end, "error"));
    step.is_skipped = !is_whole && !is_tried;
    p->is_partial |= step.run.trace != TRACE_WHOLE || step.is_skipped;
    if (meta_run_inputs(s->o.meta, id, &step.inputs, e)) {
        run_row_done(&step.run);
        return -1;
    }
    p->is_partial |= step.inputs.purged > 0;
    p->steps[p->count++] = step;
    return 0;
}

/* The line that ends with that run; p->line_count: none does. */
static size_t line_after(const struct plan *p, const char *run)
{
    for (size_t i = p->count; i-- > 0;) {
        const struct step *step = &p->steps[i];
        bool is_end = strcmp(step->run.id, run) == 0;
        for (size_t k = i + 1; k < p->count && is_end; k++)
            is_end = p->steps[k].line != step->line;
        if (is_end)
            return step->line;
    }
    return p->line_count;
}

/* A run after its history. A line that ends in that history goes on; where there is none a new one begins. */
static int add_line(struct service *s, struct plan *p, const char *id, struct err *e)
{
    scoped(run_row_done) struct run_row target = {0};
    struct run_rows chain;
    bool is_tried = p->count == 0; /* the one that made the version */
    if (meta_run_code(s->o.meta, id, /* code_max= */ 0, &target, e) ||
        lineage_chain(s, &target, LINEAGE_CHAIN_MAX, &chain, e))
        return -1;
    p->is_partial |= chain.has_more;
    size_t missing = 0, line = p->line_count; /* how many of the chain are not in the line */
    while (missing < chain.count &&
           (line = line_after(p, chain.items[missing].id)) == p->line_count)
        missing++;
    if (missing == chain.count)
        line = p->line_count++;
    int failed = 0;
    while (missing-- > 0 && !failed)
        failed = add(s, p, chain.items[missing].id, line, /* is_tried= */ false, e);
    run_rows_done(&chain);
    return failed || add(s, p, id, line, is_tried, e) ? -1 : 0;
}

/* The runs that made what it read. */
static int add_makers(struct service *s, struct plan *p, size_t index, struct err *e)
{
    for (size_t i = 0; i < p->steps[index].inputs.count; i++) {
        const char *run = p->steps[index].inputs.items[i].version.author.run;
        if (!*run || is_planned(p, run) || add_line(s, p, run, e) == 0)
            continue;
        if (e->code != ERR_NOT_FOUND)
            return -1;
        *e = (struct err){0}; /* forgotten: what it made is taken as it is */
    }
    return 0;
}

static int64_t began_us(const struct step *step)
{
    return step->run.started_us ? step->run.started_us : step->run.created_us;
}

static int by_time(const void *a, const void *b)
{
    const struct step *one = a, *other = b;
    int64_t x = began_us(one), y = began_us(other);
    if (x != y)
        return (x > y) - (x < y);
    int by_id = strcmp(one->run.id, other->run.id);
    return by_id ? by_id : (one->line > other->line) - (one->line < other->line);
}

/* Adds those that made what is read, and puts all in order. */
static int complete(struct service *s, struct plan *p, bool is_latest, struct err *e)
{
    int failed = 0;
    for (size_t i = 0; i < p->count && is_latest && !failed; i++)
        failed = add_makers(s, p, i, e);
    if (!failed)
        qsort(p->steps, p->count, sizeof *p->steps, by_time);
    return failed;
}

int plan_make(struct service *s, const struct reproduction *wishes, struct plan *ret, struct err *e)
{
    struct plan p = {.steps = calloc(REPRODUCE_RUNS_MAX, sizeof *p.steps)};
    if (!p.steps)
        return err_set(e, ERR_NO_MEMORY, "repeat a run");
    int failed = add_line(s, &p, wishes->of->author.run, e);
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
        failed = is_planned(&p, runs[i]) ? 0 : add_line(s, &p, runs[i], e);
    if (failed && e->code == ERR_NOT_FOUND)
        (void)err_set(e, ERR_CONFLICT, "a run of it was forgotten: it cannot be repeated");
    if (failed || complete(s, &p, /* is_latest= */ false, e)) {
        plan_done(&p);
        return -1;
    }
    *ret = p;
    return 0;
}
