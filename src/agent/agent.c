#include "agent/agent.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "base/scope.h"

static bool has_code(const json_t *items)
{
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item)
    {
        const char *type = json_string_value(json_object_get(item, "type"));
        if (type && strcmp(type, "code_interpreter_call") == 0)
            return true;
    }
    return false;
}

static int begin(struct loop *l, struct err *e)
{
    l->o->items = json_array();
    l->history = l->w->items ? json_copy((json_t *)l->w->items) : json_array();
    if (!l->o->items || !l->history)
        return err_set(e, ERR_NO_MEMORY, "a conversation");
    l->is_fenced = l->w->code == AGENT_FENCED;
    l->has_past = has_code(l->w->items);
    return choice_read(l->w, &l->choice, e);
}

/* ---- one question ---- */

static void note_answer(struct loop *l, const struct model_answer *a, bool has_failed)
{
    if (*a->name)
        (void)snprintf(l->o->model, sizeof l->o->model, "%s", a->name);
    l->o->status = has_failed ? a->status : 0;
    (void)snprintf(l->o->code, sizeof l->o->code, "%s", has_failed ? a->code : "");
}

/* A model that takes no tools can still write blocks. */
static bool can_do_without_tools(const struct loop *l, const struct model_answer *a)
{
    return a->lacks_tools && l->w->code == AGENT_AUTO && !l->is_fenced && l->open.kind == ITEM_NONE;
}

static int ask(struct loop *l, const struct question *q, struct err *e)
{
    scoped(hearing_done) struct hearing t;
    scoped(model_answer_done) struct model_answer a = {.status = 0};
    hearing_init(&t, l);
    int failed = hearing_ask(&t, q, &a, e);
    note_answer(l, &a, failed != 0);
    if (failed && can_do_without_tools(l, &a)) {
        l->is_fenced = true; /* and it is asked again */
        return 0;
    }
    if (failed)
        return -1;
    l->o->questions++;
    l->is_asked_again = false;
    budget_add(l, q, &t, &a);
    return act(l, &t, &a, e);
}

/* The question, made again if it turns out to be the last. False in *ret_has: there is no budget for it. */
static int prepare(struct loop *l, struct question *ret, bool *ret_has, struct err *e)
{
    uint32_t max = l->w->limits.calls_max ? l->w->limits.calls_max : AGENT_CALLS;
    if (l->o->calls >= max)
        l->limit = AGENT_CALLS_LIMIT;
    enum agent_end before = l->limit;
    if (question_make(l, ret, e))
        return -1;
    *ret_has = budget_check(l, ret);
    if (!*ret_has || l->limit == before)
        return 0;
    question_done(ret);
    return question_make(l, ret, e);
}

static int step(struct loop *l, struct err *e)
{
    scoped(question_done) struct question q = {.items = NULL};
    bool has_budget = true;
    if (loop_is_halted(l))
        return err_set(e, ERR_GONE, "halted");
    if (prepare(l, &q, &has_budget, e))
        return -1;
    if (has_budget)
        return ask(l, &q, e);
    l->is_over = true;
    l->o->end = AGENT_TOKENS_LIMIT;
    return act_say_why(l, e);
}

/* ---- the loop ---- */

int agent_run(struct model *m, const struct agent_wishes *w, const struct agent_sink *sink,
              struct halt *halt, struct agent_outcome *ret, struct err *e)
{
    static const struct agent_sink deaf = {.arg = NULL};
    struct loop l = {.m = m, .w = w, .sink = sink ? sink : &deaf, .halt = halt, .o = ret};
    *ret = (struct agent_outcome){.end = AGENT_ANSWERED};
    int failed = begin(&l, e);
    while (!failed && !l.is_over)
        failed = step(&l, e);
    struct err other = {0}; /* that it failed is known already */
    (void)item_end(&l, "incomplete", &other);
    json_decref(l.history);
    return failed ? -1 : 0;
}

void agent_outcome_done(struct agent_outcome *o)
{
    json_decref(o->items);
    o->items = NULL;
}
