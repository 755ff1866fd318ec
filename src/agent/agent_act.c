/* agent_act.c -- an answer is whole: what it calls is done, and the model told of it; or it was the last. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/halt.h"
#include "base/scope.h"
#include "json/read.h"

static struct str view(const struct buf *b)
{
    return (struct str){b->bytes, b->len};
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!strchr(" \t\r\n", s.ptr[i]) || !s.ptr[i])
            return false;
    return true;
}

bool loop_is_halted(const struct loop *l)
{
    return l->halt && halt_is(l->halt);
}

/* ---- the answer ---- */

static int say(struct loop *l, struct str text, struct err *e)
{
    if (item_begin(l, ITEM_MESSAGE, e))
        return -1;
    item_delta(l, text);
    return item_end(l, "completed", e);
}

/* There has to be an answer, and it has to be true. */
int act_say_why(struct loop *l, struct err *e)
{
    char text[200];
    if (l->limit == AGENT_CALLS_LIMIT)
        (void)snprintf(
            text, sizeof text,
            "I could not finish: all %u calls that are allowed were used, and the model gave no answer "
            "after that.",
            l->o->calls);
    else if (l->limit == AGENT_TOKENS_LIMIT)
        (void)snprintf(text, sizeof text,
                       "I could not finish: the budget of tokens for this answer is used up.");
    else
        (void)snprintf(text, sizeof text, "The model gave no answer.");
    return say(l, str_of(text), e);
}

static int conclude(struct loop *l, const struct hearing *t, struct err *e)
{
    bool is_late = !is_blank(view(&t->late));
    if (is_late && l->open.kind != ITEM_MESSAGE && item_begin(l, ITEM_MESSAGE, e))
        return -1;
    if (is_late)
        item_delta(l, view(&t->late));
    bool has_text = l->open.kind == ITEM_MESSAGE;
    if (item_end(l, "completed", e))
        return -1;
    if (!has_text && !l->was_empty && l->limit == AGENT_ANSWERED) {
        l->was_empty = l->is_asked_again = true;
        return 0;
    }
    l->is_over = true;
    l->o->end = l->limit;
    return has_text ? 0 : act_say_why(l, e);
}

/* It was cut off, and what is not whole is not run. */
static int stop(struct loop *l, enum agent_end end, struct err *e)
{
    l->is_over = true;
    l->o->end = end;
    if (l->open.kind == ITEM_NONE)
        return 0;
    return item_end(l, "incomplete", e);
}

/* ---- calls ---- */

static uint32_t calls_max(const struct loop *l)
{
    return l->w->limits.calls_max ? l->w->limits.calls_max : AGENT_CALLS;
}

static int do_call(struct loop *l, struct hearing *t, const struct model_call *call, bool is_live,
                   struct err *e)
{
    const struct agent_tool *tool;
    enum agent_target target = choice_target(l, call->name, &tool);
    if (target == TARGET_FUNCTION || l->limit != AGENT_ANSWERED)
        return 0; /* later, or not at all */
    if (loop_is_halted(l))
        return err_set(e, ERR_GONE, "halted");
    if (is_live)
        return code_run_live(l, t, e);
    if (l->o->calls >= calls_max(l))
        return 0; /* ignored; the next question is the last */
    if (target == TARGET_PYTHON)
        return code_run_call(l, call, e);
    return target == TARGET_OURS ? tool_call(l, tool, call, e) : tool_unknown(l, call, e);
}

/* The caller's functions come last: it is their turn then. */
static int hand_over(struct loop *l, const struct hearing *t, const struct model_answer *a,
                     struct err *e)
{
    const struct agent_tool *tool;
    for (size_t i = 0; i < a->call_count; i++) {
        const struct model_call *call = &a->calls[i];
        if (choice_target(l, call->name, &tool) != TARGET_FUNCTION)
            continue;
        bool is_open = i == 0 && t->is_live;
        if ((!is_open && tool_begin(l, call, e)) || item_end(l, "completed", e))
            return -1;
        l->is_over = true;
        l->o->end = AGENT_FUNCTION;
    }
    return 0;
}

static int do_calls(struct loop *l, struct hearing *t, const struct model_answer *a, struct err *e)
{
    bool is_code = t->is_live && l->open.kind == ITEM_CODE;
    l->has_called = true;
    if (!t->is_live && item_end(l, "completed", e))
        return -1;
    for (size_t i = 0; i < a->call_count; i++)
        if (do_call(l, t, &a->calls[i], is_code && i == 0, e))
            return -1;
    bool is_open = l->open.kind == ITEM_CALL;
    if (!is_open && !is_blank(view(&t->late)) && say(l, view(&t->late), e))
        return -1;
    return hand_over(l, t, a, e);
}

/* Whether there is a call that can still be answered. */
static bool has_calls(const struct loop *l, const struct model_answer *a)
{
    const struct agent_tool *tool;
    if (l->limit == AGENT_ANSWERED)
        return a->call_count > 0;
    for (size_t i = 0; i < a->call_count; i++)
        if (choice_target(l, a->calls[i].name, &tool) == TARGET_FUNCTION)
            return true;
    return false;
}

/* {"name", "arguments"} in a block. What is no such thing is the call of a function that does not exist. */
static int do_block(struct loop *l, struct hearing *t, struct err *e)
{
    scoped(json_decrefp) json_t *json = NULL;
    struct err why = {0}; /* then it is told */
    struct str text = view(&t->code.code);
    char id[ID_SIZE], name[65] = "tool_call";
    struct model_call call = {.id = id, .name = name, .arguments = BUF_INIT(MODEL_TEXT_MAX)};
    const struct model_answer only = {.calls = &call, .call_count = 1};
    if (id_make("call_", id, e))
        return -1;
    if (json_read(text.ptr ? text.ptr : "", text.len, &json, &why) == 0 &&
        json_is_string(json_object_get(json, "name"))) {
        scoped(freep) char *arguments =
            json_dumps(json_object_get(json, "arguments"), JSON_COMPACT);
        (void)snprintf(name, sizeof name, "%s", json_string_value(json_object_get(json, "name")));
        buf_str(&call.arguments, arguments ? arguments : "{}");
    } else {
        buf_add(&call.arguments, text.ptr, text.len);
    }
    int failed = do_calls(l, t, &only, e);
    buf_done(&call.arguments);
    return failed;
}

int act(struct loop *l, struct hearing *t, struct model_answer *a, struct err *e)
{
    if (a->finish == MODEL_LENGTH && !(l->is_fenced && t->has_block))
        return stop(l, AGENT_OUTPUT_LIMIT, e);
    if (a->finish == MODEL_FILTER)
        return stop(l, AGENT_FILTERED, e);
    if (t->has_block)
        return t->is_call ? do_block(l, t, e) : code_run_block(l, t, e);
    if (has_calls(l, a))
        return do_calls(l, t, a, e);
    return conclude(l, t, e);
}
