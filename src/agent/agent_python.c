/* agent_python.c -- code of the model is run, and the model told what came of it. */
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/tell.h"
#include "agent/text.h"
#include "base/scope.h"

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

static int set_told(struct loop *l, const struct buf *words, struct err *e)
{
    /* Calls of the same turn are shown to the model as such (model.h). */
    if (item_set(l, "x_turn", json_integer(l->o->questions), e))
        return -1;
    return item_set(l, "x_text", words->failed ? NULL : text_json(view(words)), e);
}

static int told_run(struct loop *l, const json_t *run, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TELL_TEXT_MAX);
    json_t *outputs = NULL, *facts = NULL;
    const char *end = json_string_value(json_object_get(run, "end"));
    l->o->failed_calls += !end || strcmp(end, "ok") != 0;
    tell_words(run, l->has_past, &words);
    if (tell_outputs(run, &outputs, e) || item_set(l, "outputs", outputs, e) ||
        tell_facts(run, &facts, e) || item_set(l, "x_run", facts, e) || set_told(l, &words, e))
        return -1;
    l->not_run = 0;
    l->has_past = true;
    return item_end(l, "completed", e);
}

/* What the model is told is the output, too: whoever asked has to learn why there is none. */
static int set_logs(struct loop *l, const struct buf *words, struct err *e)
{
    json_t *text = words->failed ? NULL : text_json(view(words));
    json_t *outputs =
        text ? json_pack("[{s:s, s:o}]", "type", "logs", "logs", text) : NULL; /* takes text */
    return item_set(l, "outputs", outputs, e);
}

/* The model may try something else, but not for ever. */
static int told_not_run(struct loop *l, const struct err *why, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TELL_TEXT_MAX);
    l->o->failed_calls++;
    tell_not_run(why, &words);
    if (set_logs(l, &words, e) || set_told(l, &words, e) || item_end(l, "failed", e))
        return -1;
    if (++l->not_run < AGENT_NOT_RUN_MAX)
        return 0;
    *e = *why;
    if (e->code == ERR_PROTOCOL) /* of ours: the model's endpoint has said nothing wrong */
        e->code = ERR_INTERNAL;
    return err_wrap(e, "run code");
}

static int told_empty(struct loop *l, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TELL_TEXT_MAX);
    l->o->failed_calls++;
    buf_str(&words, "[There was no code in this call: pass it as {\"code\": \"...\"}.]\n");
    return set_told(l, &words, e) || item_end(l, "incomplete", e) ? -1 : 0;
}

/* In what it runs, if that was not to be had before. */
static int open_again(struct loop *l, struct err *e)
{
    const struct agent_hands *hands = l->w->hands;
    if (*l->container || !hands->open)
        return 0;
    if (hands->open(hands->arg, l->container, e)) {
        l->container[0] = '\0';
        return -1;
    }
    return item_set(l, "container_id", json_string(l->container), e);
}

/* Runs the code of the open item. */
static int run_code(struct loop *l, struct err *e)
{
    const struct buf *code = &l->open.text;
    scoped(json_decrefp) json_t *run = NULL;
    struct err why = {0};
    l->o->calls++;
    if (code->failed || item_set(l, "code", text_json(view(code)), e) ||
        item_set(l, "status", json_string("interpreting"), e))
        return code->failed ? err_set(e, ERR_NO_MEMORY, "the code of a call") : -1;
    if (loop_is_halted(l))
        return err_set(e, ERR_GONE, "halted");
    if (is_blank(view(code)))
        return told_empty(l, e);
    if (l->sink->running)
        l->sink->running(l->sink->arg, l->open.index, l->open.json);
    int failed =
        open_again(l, &why) || l->w->hands->run(l->w->hands->arg, view(code), l->halt, &run, &why);
    if (loop_is_halted(l) || (failed && why.code == ERR_GONE))
        return err_set(e, ERR_GONE, "halted");
    if (failed)
        return told_not_run(l, &why, e);
    if (l->sink->ran)
        l->sink->ran(l->sink->arg, l->open.index, run);
    return told_run(l, run, e);
}

int code_run_call(struct loop *l, const struct model_call *call, struct err *e)
{
    scoped(code_stream_done) struct code_stream code;
    code_stream_init(&code);
    code_stream_feed(&code, view(&call->arguments));
    code_stream_end(&code);
    if (item_begin(l, ITEM_CODE, e))
        return -1;
    item_delta(l, view(&code.code));
    return run_code(l, e);
}

/* The open one: what its arguments still had in store comes now. */
int code_run_live(struct loop *l, struct hearing *t, struct err *e)
{
    size_t before = t->code.code.len;
    code_stream_end(&t->code);
    item_delta(l, (struct str){t->code.code.bytes + before, t->code.code.len - before});
    return run_code(l, e);
}

int code_run_block(struct loop *l, struct hearing *t, struct err *e)
{
    if (l->open.kind != ITEM_CODE) {
        if (item_begin(l, ITEM_CODE, e))
            return -1;
        item_delta(l, view(&t->code.code));
    }
    return run_code(l, e);
}
