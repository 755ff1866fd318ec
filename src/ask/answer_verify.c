/* answer_verify.c -- the code of an answer once more, in a fresh session, elsewhere (service/repeat.h), and what came out then. */
#include <stdlib.h>
#include <string.h>

#include "agent/halt.h"
#include "ask/answer.h"
#include "ask/same.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/job.h"
#include "service/repeat.h"

static const char *const words[] = {"same", "different", "failed"};
enum verdict_word { IS_SAME, IS_DIFFERENT, HAS_FAILED };

static bool ended_well(const json_t *run)
{
    return strcmp(text_at(run, "end"), "ok") == 0;
}

bool can_verify(const json_t *object)
{
    size_t i;
    json_t *run;
    json_array_foreach(json_object_get(object, "runs"), i, run)
    {
        if (ended_well(run))
            return true;
    }
    return false;
}

/* ---- calling it off ---- */

static void end_job(void *job)
{
    job_cancel(job);
}

static int watch(void *arg, struct job *job)
{
    struct halt *halt = arg;
    bool is_over = halt_is(halt);
    if (!job)
        halt_on(halt, NULL, NULL);
    else if (!is_over)
        halt_on(halt, end_job, job);
    return is_over ? -1 : 0;
}

/* ---- comparing ---- */

static const json_t *run_with_id(const json_t *runs, const char *id)
{
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run)
    {
        if (strcmp(text_at(run, "id"), id) == 0)
            return run;
    }
    return NULL;
}

static json_t *difference(const char *what, struct str was, struct str is)
{
    return json_pack("{s:s, s:s%, s:s%}", "what", what, "was", was.ptr ? was.ptr : "", was.len,
                     "is", is.ptr ? is.ptr : "", is.len);
}

static enum verdict_word compare_runs(const json_t *before, const json_t *now, json_t *differences)
{
    scoped(buf_done) struct buf was = BUF_INIT(KEEP_MAX), is = BUF_INIT(KEEP_MAX);
    struct difference d;
    if (!ended_well(now)) {
        const json_t *error = json_object_get(now, "error");
        scoped(buf_done) struct buf why = BUF_INIT(8192);
        buf_fmt(&why, "%.20s%s%.100s%s%.400s", text_at(now, "end"),
                json_is_object(error) ? ": " : "", text_at(error, "name"),
                json_is_object(error) ? ": " : "", text_at(error, "message"));
        (void)json_array_append_new(differences, difference("end", str_of(text_at(before, "end")),
                                                            (struct str){why.bytes, why.len}));
        return HAS_FAILED;
    }
    run_output(before, &was);
    run_output(now, &is);
    if (texts_are_same((struct str){was.bytes, was.len}, (struct str){is.bytes, is.len}, &d))
        return IS_SAME;
    json_t *one = difference("output", d.was, d.is);
    if (one)
        (void)json_object_set_new(one, "line", json_integer(d.line));
    (void)json_array_append_new(differences, one);
    return IS_DIFFERENT;
}

/* The kept output is bounded, so the new one is bounded in the same way. */
static enum verdict_word compare_run(const json_t *runs, const json_t *repeated, json_t *out)
{
    struct answer bounds = {0};
    const json_t *before = run_with_id(runs, text_at(repeated, "run_id"));
    scoped(json_freep) json_t *now = run_keep(&bounds, json_object_get(repeated, "run"));
    json_t *differences = json_array();
    enum verdict_word word = compare_runs(before, now, differences);
    json_t *one = json_pack("{s:s, s:s, s:s, s:o}", "run_id", text_at(repeated, "run_id"),
                            "repeated_as", text_at(repeated, "repeated_as"), "status", words[word],
                            "differences", differences);
    (void)json_array_append_new(out, one);
    return word;
}

static enum verdict_word compare_file(const json_t *file, json_t *out)
{
    bool is_same = json_is_true(json_object_get(file, "is_same"));
    const char *how = text_at(file, "how"), *detail = text_at(file, "detail");
    json_t *one = json_pack("{s:s, s:I, s:s, s:s?, s:s?}", "path", text_at(file, "path"), "version",
                            (json_int_t)number_at(file, "version"), "status",
                            words[is_same ? IS_SAME : IS_DIFFERENT], "how", *how ? how : NULL,
                            "detail", *detail ? detail : NULL);
    (void)json_array_append_new(out, one);
    return is_same ? IS_SAME : IS_DIFFERENT;
}

static const char *detail_of(enum verdict_word worst, bool is_complete)
{
    if (worst == IS_SAME)
        return NULL;
    return is_complete
               ? "the code does not do the same each time: look for random numbers without a seed, the time, or what "
                 "it downloads"
               : "it may have read files that were not there this time, so this may not be the code's fault";
}

static json_t *judge(const json_t *runs, const json_t *repetition)
{
    json_t *said = json_array(), *files = json_array(), *one;
    enum verdict_word worst = IS_SAME, word;
    bool is_complete = json_is_true(json_object_get(repetition, "complete"));
    size_t i;
    json_array_foreach(json_object_get(repetition, "runs"), i, one)
    {
        word = compare_run(runs, one, said);
        worst = word > worst ? word : worst;
    }
    json_array_foreach(json_object_get(repetition, "files"), i, one)
    {
        word = compare_file(one, files);
        worst = word > worst ? word : worst;
    }
    return json_pack("{s:s, s:o, s:o, s:b, s:s?, s:o}", "status", words[worst], "runs", said,
                     "files", files, "complete", is_complete, "detail",
                     detail_of(worst, is_complete), "verified_at", time_json(clock_wall_us()));
}

/* ---- all of it ---- */

int answer_verify(struct ask *a, const struct verify_from *from, json_t *object, json_t *runs,
                  struct err *e)
{
    size_t count = 0, i;
    json_t *run;
    scoped(json_freep) json_t *repetition = NULL;
    scoped(freep) const char **ids = calloc(json_array_size(runs) + 1, sizeof *ids);
    if (!ids)
        return err_set(e, ERR_NO_MEMORY, "verify an answer");
    json_array_foreach(runs, i, run)
    {
        if (ended_well(run))
            ids[count++] = text_at(run, "id");
    }
    if (count == 0)
        return err_set(e, ERR_CONFLICT,
                       "no code of this answer ended well, so there is nothing to repeat");
    const struct repetition wishes = {.workspace = text_at(object, "workspace_id"),
                                      .runs = ids,
                                      .count = count,
                                      .request = from->request,
                                      .watch = from->halt ? watch : NULL,
                                      .arg = from->halt};
    if (repeat_runs(a->o.service, from->who, &wishes, &repetition, e))
        return -1;
    json_t *verdict = judge(runs, repetition);
    return verdict && json_object_set_new(object, "verification", verdict) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "verify an answer");
}
