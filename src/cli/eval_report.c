/* What came of the tasks: a table and the sum, or objects. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"
#include "cli/eval_int.h"
#include "cli/exit.h"
#include "cli/run_int.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "cli/verbs.h"

enum { TEXT_MAX = 16 << 20 };

/* clang-format off */
static const struct column columns[] = {
    {"ID", false, false}, {"SOLVED", false, false}, {"ATTEMPTS", true, false}, {"TOKENS", true, false},
    {"SECONDS", true, false}};
/* clang-format on */

struct sum {
    size_t solved, done, total;
    uint64_t runs, tokens;
    double cost, seconds;
};

static struct sum sum_of(const struct eval *v)
{
    struct sum s = {.total = v->tasks.count};
    for (size_t i = 0; i < v->tasks.count; i++) {
        const struct result *r = &v->results[i];
        s.done += r->is_done;
        s.solved += r->is_solved;
        s.runs += r->runs;
        s.tokens += r->tokens;
        s.cost += r->cost;
        s.seconds += r->is_done ? r->seconds : 0;
    }
    return s;
}

static void add_row(struct table *t, const struct task *task, const struct result *r)
{
    char seconds[32], shown[32];
    (void)snprintf(seconds, sizeof seconds, "%.3f", r->seconds);
    (void)snprintf(shown, sizeof shown, "%.1f", r->seconds);
    table_add(t, task->id, NULL);
    table_add(t, r->is_solved ? "yes" : "no", NULL);
    verb_add_count(t, r->runs);
    verb_add_count(t, r->tokens);
    table_add(t, seconds, shown);
}

static int print_table(const struct eval *v, const struct sum *s, struct err *e)
{
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < v->tasks.count; i++)
        if (v->results[i].is_done)
            add_row(&t, &v->tasks.all[i], &v->results[i]);
    if (s->done > 0 && table_print(&t, terminal_width(), &text, e))
        return -1;
    buf_fmt(&text, "solved %zu/%zu, %" PRIu64 " attempt%s, %" PRIu64 " tokens, %.1f s", s->solved,
            s->total, s->runs, s->runs == 1 ? "" : "s", s->tokens, s->seconds);
    if (s->cost > 0)
        buf_fmt(&text, ", cost %.6g", s->cost);
    buf_str(&text, "\n");
    return buf_check(&text, e) ? -1 : verb_print_text(&text);
}

static json_t *object_of(const struct task *t, const struct result *r)
{
    return json_pack("{s:s, s:b, s:s?, s:I, s:I, s:f, s:f, s:s?, s:s?}", "id", t->id, "solved",
                     r->is_solved, "why", *r->why ? r->why : NULL, "attempts", (json_int_t)r->runs,
                     "tokens", (json_int_t)r->tokens, "cost", r->cost, "seconds", r->seconds,
                     "answer_id", *r->answer_id ? r->answer_id : NULL, "answer", r->answer);
}

static int print_object(json_t *object)
{
    int failed = object ? stage_print(/* stop= */ NULL, object) : ENOMEM;
    json_decref(object);
    return failed;
}

static int print_objects(const struct eval *v, const struct sum *s)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < v->tasks.count; i++)
        if (v->results[i].is_done)
            failed = print_object(object_of(&v->tasks.all[i], &v->results[i]));
    if (!failed)
        failed = print_object(
            json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "solved", (json_int_t)s->solved, "total",
                      (json_int_t)s->total, "attempts", (json_int_t)s->runs, "tokens",
                      (json_int_t)s->tokens, "cost", s->cost, "seconds", s->seconds));
    return run_output_exit(v->notes, failed);
}

int eval_report(const struct eval *v, bool is_json)
{
    struct err e = {0};
    const struct sum s = sum_of(v);
    int code = is_json ? print_objects(v, &s) : print_table(v, &s, &e);
    if (code < 0) {
        note_problem(v->notes, "%s", e.text);
        return EXIT_NO_JAIL;
    }
    return code != EXIT_DONE ? code : s.solved == s.total ? EXIT_DONE : EXIT_ERROR;
}
