/* answer_end.c -- what came of a question: text, figures, citations, how it ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/answer.h"
#include "ask/figures.h"
#include "ask/flight.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"

/* ---- the text ---- */

static void add_content(const json_t *content, struct buf *out)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        buf_add(out, json_string_value(content), json_string_length(content));
    json_array_foreach(content, i, part)
    {
        const json_t *text = json_object_get(part, "text");
        text = text ? text : json_object_get(part, "refusal");
        if (json_is_string(text))
            buf_add(out, json_string_value(text), json_string_length(text));
    }
}

/* The last thing the model said, if nothing came after it. */
static void last_message(const json_t *items, struct buf *out)
{
    for (size_t i = json_array_size(items); i > 0; i--) {
        const json_t *item = json_array_get(items, i - 1);
        const char *type = text_at(item, "type");
        if (strcmp(type, "message") == 0) {
            add_content(json_object_get(item, "content"), out);
            return;
        }
        if (strcmp(type, "reasoning") != 0)
            return;
    }
}

/* ---- figures and citations ---- */

/* What runs wrote, and what tools showed the model. */
struct outputs {
    struct buf *texts; /* of runs */
    struct figure_source *sources;
    size_t run_count, count;
};

static void outputs_done(struct outputs *o)
{
    for (size_t i = 0; i < o->run_count; i++)
        buf_done(&o->texts[i]);
    free(o->texts);
    free(o->sources);
}

static void read_run(struct outputs *o, const json_t *run)
{
    struct buf *text = &o->texts[o->run_count++];
    *text = BUF_INIT(KEEP_MAX);
    run_output(run, text);
    o->sources[o->count++] = (struct figure_source){
        text_at(run, "id"), {text->bytes ? text->bytes : "", text->failed ? 0 : text->len}};
}

static void read_shown(struct outputs *o, const json_t *item)
{
    const json_t *text = json_object_get(item, "output");
    if (strcmp(text_at(item, "type"), "function_call_output") == 0 && json_is_string(text))
        o->sources[o->count++] =
            (struct figure_source){NULL, {json_string_value(text), json_string_length(text)}};
}

static int read_outputs(const struct answer *a, struct outputs *ret, struct err *e)
{
    size_t runs = json_array_size(a->runs), items = json_array_size(a->items), i;
    json_t *one;
    ret->texts = calloc(runs + 1, sizeof *ret->texts);
    ret->sources = calloc(runs + items + 1, sizeof *ret->sources);
    if (!ret->texts || !ret->sources)
        return err_set(e, ERR_NO_MEMORY, "look for figures");
    json_array_foreach(a->runs, i, one)
    {
        read_run(ret, one);
    }
    json_array_foreach(a->items, i, one)
    {
        read_shown(ret, one);
    }
    return 0;
}

static int set_figures(struct answer *a, struct str text, struct err *e)
{
    scoped(outputs_done) struct outputs outputs = {0};
    json_t *figures = NULL;
    if (read_outputs(a, &outputs, e) ||
        figures_find(text, outputs.sources, outputs.count, &figures, e))
        return -1;
    return json_object_set_new(a->object, "figures", figures);
}

static int set_citations(struct answer *a, struct str text, struct err *e)
{
    json_t *citations = NULL, *unknown = NULL;
    if (!a->searches && !a->marks.all)
        return 0;
    if (marks_cite(&a->marks, text, &citations, &unknown, e))
        return -1;
    (void)json_object_set_new(a->object, "citations", citations);
    (void)json_object_set_new(a->object, "unknown_marks", unknown);
    return 0;
}

/* ---- the end ---- */

static void set_end(struct answer *a, const char *end, const char *code, const char *message)
{
    (void)json_object_set_new(a->object, "end", json_string(end));
    if (code)
        (void)json_object_set_new(a->object, "error",
                                  json_pack("{s:s, s:s}", "code", code, "message", message));
}

static void end_at_limit(struct answer *a, const char *fmt, uint64_t number)
{
    char text[300];
    (void)snprintf(text, sizeof text, fmt, (unsigned long long)number);
    set_end(a, "limit", err_wire(ERR_LIMIT), text);
}

static void end_well(struct answer *a, const struct agent_outcome *o)
{
    switch (o->end) {
    case AGENT_ANSWERED: set_end(a, "ok", NULL, NULL); return;
    case AGENT_CALLS_LIMIT:
        end_at_limit(
            a,
            "the limit of %llu runs and searches was reached; the answer is what the model could "
            "say by then: ask again in the same session, or with a larger max_runs",
            a->limits.calls_max);
        return;
    case AGENT_TOKENS_LIMIT:
        end_at_limit(a,
                     "the limit of tokens or of cost was reached after %llu questions to the model",
                     o->questions);
        return;
    case AGENT_OUTPUT_LIMIT:
        end_at_limit(a, "the model stopped because its answer got too long (question %llu)",
                     o->questions);
        return;
    case AGENT_FILTERED:
        set_end(a, "failed", "filtered", "the model's endpoint held its answer back");
        return;
    case AGENT_FUNCTION: break;
    }
    set_end(a, "failed", err_wire(ERR_PROTOCOL), "the model called a function that there is not");
}

static bool is_fault(enum err_code code)
{
    return code == ERR_INTERNAL || code == ERR_DAMAGED || code == ERR_NONE;
}

static void end_badly(struct answer *a, const struct err *e)
{
    if (alarm_clear(a->ask->alarms, &a->alarm)) {
        end_at_limit(a, "the time of %llu ms for this question was over; its runs are listed",
                     (uint64_t)a->timeout_ms);
        return;
    }
    if (e->code == ERR_GONE && flights_are_stopping(a->ask->o.flights)) {
        set_end(a, "failed", err_wire(ERR_UNAVAILABLE), answer_stopped);
        return;
    }
    if (e->code == ERR_GONE) {
        set_end(a, "cancelled", NULL, NULL);
        return;
    }
    if (is_fault(e->code))
        log_line(a->ask->o.log, LOG_WARNING, "a question could not be answered",
                 LOG_STR("answer", a->card.id), LOG_STR("why", e->text));
    set_end(a, "failed", err_wire(e->code), is_fault(e->code) ? "something went wrong" : e->text);
}

static void set_usage(struct answer *a, const struct agent_outcome *o)
{
    const struct model_usage *u = &o->usage;
    json_t *usage = json_pack("{s:I, s:I, s:I, s:I}", "input_tokens", (json_int_t)u->input,
                              "output_tokens", (json_int_t)u->output, "total_tokens",
                              (json_int_t)u->input + (json_int_t)u->output, "questions",
                              (json_int_t)o->questions);
    if (usage && (a->limits.price_in || a->limits.price_out))
        (void)json_object_set_new(usage, "cost", json_real((double)o->cost / 1e6));
    if (usage)
        (void)json_object_set_new(a->object, "usage", usage);
    if (*o->model)
        (void)json_object_set_new(a->object, "model", json_string(o->model));
}

/* Pictures are kept with the runs; a second time they would only be large. */
static void drop_pictures(json_t *items)
{
    size_t i, k;
    json_t *item, *output;
    json_array_foreach(items, i, item)
    {
        json_t *outputs = json_object_get(item, "outputs"), *kept = json_array();
        json_array_foreach(outputs, k, output)
        {
            if (strcmp(text_at(output, "type"), "image") != 0)
                (void)json_array_append(kept, output);
        }
        if (outputs && kept)
            (void)json_object_set(item, "outputs", kept);
        json_decref(kept);
    }
}

void answer_end(struct answer *a, const struct agent_outcome *o, int failed, const struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(MODEL_TEXT_MAX + 1);
    struct err trouble = {0};
    if (o->items) {
        json_decref(a->items);
        a->items = json_incref(o->items);
        drop_pictures(a->items);
    }
    last_message(a->items, &text);
    struct str said = {text.bytes ? text.bytes : "", text.failed ? 0 : text.len};
    (void)json_object_set_new(a->object, "answer", json_stringn(said.ptr, said.len));
    if (failed)
        end_badly(a, e);
    else
        end_well(a, o);
    set_usage(a, o);
    if (set_figures(a, said, &trouble) || set_citations(a, said, &trouble))
        log_line(a->ask->o.log, LOG_WARNING, "the figures of an answer could not be listed",
                 LOG_STR("answer", a->card.id), LOG_STR("why", trouble.text));
}

json_t *answer_record(struct answer *a)
{
    uint64_t events = a->flight ? flight_count(a->flight) : 0;
    json_t *marks = marks_write(&a->marks);
    return json_pack("{s:O, s:O, s:O, s:O, s:o, s:I}", "answer", a->object, "asked", a->asked,
                     "items", a->items, "runs", a->runs, "marks", marks, "events",
                     (json_int_t)events);
}
