/* agent_hear.c -- one answer of the model, while it comes.
 *
 * What is said becomes a message at once, and the first call an item at once if it can be known that it comes next; further
 * calls wait until what is before them is done. Blocks of Python are looked for in what is said:
 *     AGENT_FENCED   a block becomes an item while it comes, and its end is the end of the answer
 *     AGENT_AUTO     a block is held back until it is known whether something follows it: then it is said, otherwise run
 */
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/text.h"
#include "base/scope.h"

enum { COPY_MAX = 3 * MODEL_TEXT_MAX };

static void on_part(void *arg, const struct fence_part *p);
static void on_words(void *arg, bool is_thought, struct str delta);

void hearing_init(struct hearing *t, struct loop *l)
{
    *t = (struct hearing){
        .l = l, .held = BUF_INIT(MODEL_TEXT_MAX), .late = BUF_INIT(MODEL_TEXT_MAX)};
    t->is_watching =
        l->choice.mode != MODE_NONE && l->limit == AGENT_ANSWERED &&
        (l->is_fenced || (choice_has_python(l) && l->w->code == AGENT_AUTO && !l->has_called));
    code_stream_init(&t->code);
    fence_init(&t->fence, l->is_fenced, on_part, t);
    think_init(&t->think, on_words, t);
}

void hearing_done(struct hearing *t)
{
    code_stream_done(&t->code);
    buf_done(&t->held);
    buf_done(&t->late);
}

static bool has_failed(const struct hearing *t)
{
    return t->e.code != ERR_NONE;
}

static struct str view(const struct buf *b)
{
    return (struct str){b->bytes, b->len};
}

static struct str without_blanks(struct str s)
{
    while (s.len > 0 && strchr(" \t\r\n", *s.ptr) && *s.ptr)
        s = (struct str){s.ptr + 1, s.len - 1};
    return s;
}

/* ---- what is said ---- */

/* A message begins with something that can be seen. */
static void say(struct hearing *t, struct str text)
{
    struct loop *l = t->l;
    if (l->open.kind != ITEM_MESSAGE)
        text = without_blanks(text);
    if (text.len == 0 || has_failed(t))
        return;
    if (l->open.kind != ITEM_MESSAGE && item_begin(l, ITEM_MESSAGE, &t->e))
        return;
    item_delta(l, text);
}

/* Code of a block, as an item that is open; the line end before the closing fence is no part of it. */
static void show_code(struct hearing *t, struct str code)
{
    struct buf *all = &t->code.code;
    size_t before = all->len;
    if (code.len == 0)
        return;
    if (t->has_newline)
        buf_str(all, "\n");
    t->has_newline = code.ptr[code.len - 1] == '\n';
    buf_add(all, code.ptr, code.len - t->has_newline);
    if (t->l->open.kind == ITEM_CODE)
        item_delta(t->l, (struct str){all->bytes + before, all->len - before});
}

/* It was no call. */
static void release(struct hearing *t)
{
    if (!t->is_holding)
        return;
    t->is_holding = t->has_newline = false;
    say(t, view(&t->held));
    buf_done(&t->held);
    buf_done(&t->code.code);
}

static void hold(struct hearing *t, const struct fence_part *p)
{
    if (p->kind == FENCE_OPEN) {
        release(t);
        t->is_holding = true;
    }
    if (p->kind == FENCE_TEXT && (!t->is_holding || without_blanks(p->raw).len > 0)) {
        release(t);
        say(t, p->raw);
        return;
    }
    buf_add(&t->held, p->raw.ptr, p->raw.len);
    if (p->kind == FENCE_CODE)
        show_code(t, p->code);
}

static void take_block(struct hearing *t, const struct fence_part *p)
{
    if (t->has_block)
        return; /* nothing more is wanted */
    if (p->kind == FENCE_TEXT)
        say(t, p->raw);
    else if (p->kind == FENCE_OPEN && p->is_call)
        t->is_call = item_end(t->l, "completed", &t->e) == 0;
    else if (p->kind == FENCE_OPEN)
        (void)item_begin(t->l, ITEM_CODE, &t->e); /* t->e is looked at */
    else if (p->kind == FENCE_CODE)
        show_code(t, p->code);
    else
        t->has_block = true;
}

static void on_part(void *arg, const struct fence_part *p)
{
    struct hearing *t = arg;
    if (has_failed(t))
        return;
    if (t->l->is_fenced)
        take_block(t, p);
    else
        hold(t, p);
}

/* ---- what comes ---- */

/* What is thought comes before what it is about, or not at all. */
static void reason(struct hearing *t, struct str delta)
{
    struct loop *l = t->l;
    bool is_open = l->open.kind == ITEM_REASONING;
    if (!is_open && (l->open.kind != ITEM_NONE || without_blanks(delta).len == 0))
        return;
    if (is_open || item_begin(l, ITEM_REASONING, &t->e) == 0)
        item_delta(l, delta);
}

static void on_words(void *arg, bool is_thought, struct str delta)
{
    struct hearing *t = arg;
    if (is_thought)
        reason(t, delta);
    else if (t->is_watching)
        fence_feed(&t->fence, delta);
    else
        say(t, delta);
}

static int on_text(void *arg, struct str raw)
{
    struct hearing *t = arg;
    scoped(buf_done) struct buf copy = BUF_INIT(COPY_MAX);
    struct str delta = text_clean(raw, &copy);
    t->text_seen += raw.len;
    t->bytes += raw.len;
    if (t->calls_seen > 0)
        buf_add(&t->late, delta.ptr, delta.len);
    else if (delta.len > 0)
        think_feed(&t->think, delta);
    return has_failed(t) || (t->l->is_fenced && t->has_block) ? -1 : 0;
}

static int on_reasoning(void *arg, struct str raw)
{
    struct hearing *t = arg;
    scoped(buf_done) struct buf copy = BUF_INIT(COPY_MAX);
    t->bytes += raw.len;
    if (raw.len > 0)
        reason(t, text_clean(raw, &copy));
    return has_failed(t) ? -1 : 0;
}

static int on_refusal(void *arg, struct str raw)
{
    struct hearing *t = arg;
    struct loop *l = t->l;
    scoped(buf_done) struct buf copy = BUF_INIT(COPY_MAX);
    if (raw.len == 0 || t->calls_seen > 0)
        return 0;
    t->bytes += raw.len;
    if (l->open.kind != ITEM_MESSAGE && item_begin(l, ITEM_MESSAGE, &t->e))
        return -1;
    item_refuse(l, text_clean(raw, &copy));
    return 0;
}

/* ---- calls ---- */

/* All that was said before a call has been said. */
static void stop_watching(struct hearing *t)
{
    think_end(&t->think);
    if (!t->is_watching)
        return;
    fence_end(&t->fence);
    release(t);
    t->is_watching = false;
}

/* The first one, if nothing can come before it. */
static int begin_live(struct hearing *t, const char *id, const char *name)
{
    struct loop *l = t->l;
    const struct agent_tool *tool;
    enum agent_target target = choice_target(l, name, &tool);
    bool is_alone = !l->w->hands && l->w->tool_count == 0;
    if (l->limit != AGENT_ANSWERED)
        return 0;
    if (target == TARGET_PYTHON)
        t->is_live = item_begin(l, ITEM_CODE, &t->e) == 0;
    else if (target == TARGET_FUNCTION && is_alone)
        t->is_live = item_begin_call(l, id, name, &t->e) == 0;
    return has_failed(t) ? -1 : 0;
}

static int on_call(void *arg, size_t index, const char *id, const char *name)
{
    struct hearing *t = arg;
    stop_watching(t);
    t->calls_seen++;
    return index == 0 && t->calls_seen == 1 && !has_failed(t) ? begin_live(t, id, name)
                                                              : -has_failed(t);
}

static int on_arguments(void *arg, size_t index, struct str delta)
{
    struct hearing *t = arg;
    struct loop *l = t->l;
    size_t before = t->code.code.len;
    t->bytes += delta.len;
    if (index > 0 || !t->is_live || delta.len == 0)
        return 0;
    if (l->open.kind == ITEM_CALL) {
        item_delta(l, delta);
        return 0;
    }
    code_stream_feed(&t->code, delta);
    item_delta(l, (struct str){t->code.code.bytes + before, t->code.code.len - before});
    return 0;
}

/* ---- the whole ---- */

/* What an endpoint said without streaming it, and the block that may have been the end. */
static void finish(struct hearing *t, const struct model_answer *a)
{
    if (a->text.len > t->text_seen && !(t->l->is_fenced && t->has_block))
        (void)on_text(t, (struct str){a->text.bytes + t->text_seen, a->text.len - t->text_seen});
    think_end(&t->think);
    if (!t->is_watching || has_failed(t) || t->has_block)
        return;
    if (a->call_count > 0 || a->finish == MODEL_LENGTH || a->finish == MODEL_FILTER) {
        stop_watching(t);
        t->has_block = false; /* one that is not whole */
        return;
    }
    fence_end(&t->fence);
    t->has_block = t->has_block || t->is_holding;
}

int hearing_ask(struct hearing *t, const struct question *q, struct model_answer *a, struct err *e)
{
    const struct model_sink sink = {.text = on_text,
                                    .reasoning = on_reasoning,
                                    .refusal = on_refusal,
                                    .call = on_call,
                                    .arguments = on_arguments,
                                    .arg = t};
    int failed = model_ask(t->l->m, &q->q, &sink, t->l->halt, a, e);
    if (failed && t->has_block && !has_failed(t) && e->code == ERR_GONE)
        failed = 0; /* it was stopped here, on purpose */
    if (!failed)
        finish(t, a);
    if (has_failed(t)) {
        *e = t->e;
        return -1;
    }
    return failed;
}
