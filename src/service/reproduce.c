#include "service/reproduce.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/reproduce_int.h"
#include "store/db.h"
#include "json/read.h"
#include "json/write.h"

/* What came of it. */
struct result {
    const char *word; /* "same", "different", "failed" */
    struct verdict verdict;
    struct buf error; /* of the run that failed, as JSON; empty: none */
};

static void free_json(json_t **o)
{
    json_decref(*o);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* The error of a run object, as it is. */
static void keep_error(const json_t *run, struct buf *out)
{
    struct err ignored = {0}; /* then there is none to show */
    char *text = json_dumps(json_object_get(run, "error"), JSON_COMPACT | JSON_ENCODE_ANY);
    if (text)
        (void)json_compact(text, strlen(text), out, &ignored);
    free(text);
}

static int fail_with(struct result *r, const struct step *step, const json_t *run)
{
    r->word = "failed";
    (void)snprintf(r->verdict.detail, sizeof r->verdict.detail,
                   "%s ended with %s this time, where it ended with %s", step->run.id,
                   text_of(run, "end"), step->run.end ? step->run.end : "nothing");
    keep_error(run, &r->error);
    return 0;
}

/* One run again. `r->word` is set when it went otherwise. */
static int repeat(struct place *p, const struct plan *plan, struct step *step, struct result *r,
                  struct err *e)
{
    scoped(free_json) json_t *run = NULL;
    if (place_repeat(p, plan, step, &run, e))
        return err_wrap(e, "repeat %s", step->run.id);
    return step_went_well(step, run) ? 0 : fail_with(r, step, run);
}

static int repeat_all(struct place *p, const struct plan *plan, struct result *r, struct err *e)
{
    int64_t until_us = clock_us() + (int64_t)REPRODUCE_WALL_MS * 1000;
    for (size_t i = 0; i < plan->count && !r->word; i++) {
        if (plan->steps[i].is_skipped)
            continue;
        if (clock_us() > until_us)
            return err_set(e, ERR_LIMIT, "repeating the runs takes longer than %d minutes",
                           REPRODUCE_WALL_MS / 60000);
        if (repeat(p, plan, &plan->steps[i], r, e))
            return -1;
    }
    if (r->word)
        return 0;
    if (place_compare(p, &r->verdict, e))
        return -1;
    r->word = r->verdict.is_same ? "same" : "different";
    return 0;
}

/* ---- the answer ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text && *text ? text : NULL);
}

static void put_runs(struct json_writer *w, const struct plan *plan)
{
    jw_key(w, "runs");
    jw_array(w);
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        jw_object(w);
        put_text(w, "run_id", step->run.id);
        put_text(w, "session_id", step->run.session);
        put_text(w, "repeated_as", step->repeated_as);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void put_inputs(struct json_writer *w, const struct place *p)
{
    jw_key(w, "inputs");
    jw_array(w);
    for (size_t i = 0; i < p->used_count; i++) {
        const struct used_file *f = &p->used[i];
        jw_object(w);
        put_text(w, "path", f->path);
        jw_key(w, "version");
        jw_u64(w, f->version);
        jw_key(w, "newest_version");
        if (f->newest)
            jw_u64(w, f->newest);
        else
            jw_null(w);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void put_answer(struct buf *out, const struct place *p, const struct plan *plan,
                       const struct result *r)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_text(&w, "result", r->word);
    put_text(&w, "how", r->verdict.how);
    put_text(&w, "detail", r->verdict.detail);
    put_text(&w, "path", p->wishes->of->path);
    jw_key(&w, "version");
    jw_u64(&w, p->wishes->of->version);
    put_text(&w, "inputs_used", p->wishes->is_latest ? "latest" : "recorded");
    jw_key(&w, "complete");
    jw_bool(&w, !plan->is_partial);
    put_inputs(&w, p);
    put_runs(&w, plan);
    jw_key(&w, "error");
    if (r->error.len > 0 && !r->error.failed)
        jw_raw(&w, r->error.bytes, r->error.len);
    else
        jw_null(&w);
    jw_end_object(&w);
}

static int reproduce_aside(struct service *s, const struct who *who,
                           const struct reproduction *wishes, struct buf *out, struct err *e)
{
    scoped(plan_done) struct plan plan = {0};
    scoped(place_done) struct place place = {.service = s};
    struct result r = {.error = BUF_INIT(1 << 20)};
    if (!*wishes->of->author.run)
        return err_set(e, ERR_CONFLICT, "no run made this version, so there is none to repeat");
    if (meta_settle(s->o.meta, e) || plan_make(s, wishes, &plan, e) ||
        place_make(s, who, wishes, &place, e))
        return -1;
    int failed = repeat_all(&place, &plan, &r, e);
    if (!failed)
        put_answer(out, &place, &plan, &r);
    buf_done(&r.error);
    return failed;
}

/* What is made and removed on the way is beside the point: the audit's entry is of the file. */
int reproduce(struct service *s, const struct who *who, const struct reproduction *wishes,
              struct buf *out, struct err *e)
{
    struct db_rider *act = db_rider_set(NULL);
    int failed = reproduce_aside(s, who, wishes, out, e);
    (void)db_rider_set(act);
    return failed;
}
