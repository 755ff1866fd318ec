/* turn_new.c -- from a request that was read to a response that can be made: its conversation, its container, its files. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/model.h"
#include "base/clock.h"
#include "base/scope.h"
#include "openai/chain.h"
#include "openai/conversation.h"
#include "openai/items.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/turn.h"

enum { INSTRUCTIONS_MAX = 4 << 20 };

static void freep_turn(struct oa_turn **t)
{
    oa_turn_free(*t);
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "prepare a response");
}

static struct oa_turn *make(struct oa_call *o, struct oa_request *q)
{
    struct oa_turn *t = calloc(1, sizeof *t);
    if (!t) {
        oa_request_done(q);
        return NULL;
    }
    t->oa = o->oa;
    t->q = *q;
    *q = (struct oa_request){0};
    (void)pthread_mutex_init(&t->lock, NULL); /* cannot fail in glibc */
    t->has_outputs = o->oa->o.has_outputs || t->q.wants_outputs;
    t->is_told = t->q.is_stream || t->q.is_background;
    t->items = json_array();
    t->marks = json_object();
    t->names = json_object();
    t->made = json_array();
    return t;
}

/* What was said before, as it is kept. */
static int read_context(struct oa_turn *t, struct oa_call *o, json_t *context, struct err *e)
{
    struct err why = {0};
    if (t->q.previous)
        return oa_chain_previous(o, t->q.previous, context, e);
    if (!t->q.conversation)
        return 0;
    if (oa_conversation_items(t->oa, o->c->who.principal, t->q.conversation, context, &why) == 0)
        return 0;
    return oa_fail(o, e, why.code, "conversation", NULL, "%s", why.text);
}

static int read_input(struct oa_turn *t, struct oa_call *o, struct err *e)
{
    struct refusal r;
    return oa_items_read(t->q.input, "input", &t->input, &r)
               ? oa_fail(o, e, ERR_INVALID, r.param, r.code, "%s", r.message)
               : 0;
}

/* Files are attached to what came with this request only; what is referred to was attached when it came. */
static int read_items(struct oa_turn *t, struct oa_call *o, struct err *e)
{
    scoped(json_decrefp) json_t *context = json_array();
    scoped(json_decrefp) json_t *resolved = json_copy(t->input);
    if (!context || !resolved)
        return no_memory(e);
    if (read_context(t, o, context, e) || oa_chain_references(o, resolved, context, e))
        return -1;
    scoped(json_decrefp) json_t *all = json_copy(context);
    if (!all || json_array_extend(all, resolved))
        return no_memory(e);
    if (oa_turn_find(t, all, e) || oa_attach(t, o, t->input, e) || oa_told(t, all, t->items, e))
        return -1;
    json_decref(t->input);
    t->input = take(resolved);
    return 0;
}

static int say_instructions(struct oa_turn *t, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(INSTRUCTIONS_MAX);
    if (t->q.instructions)
        buf_fmt(&text, "%s\n\n", t->q.instructions);
    oa_turn_tell_files(t, &text);
    if (buf_check(&text, e))
        return err_wrap(e, "instructions");
    t->instructions = buf_take(&text, NULL);
    return 0;
}

static int begin_object(struct oa_turn *t, struct err *e)
{
    const char *model = t->q.model ? t->q.model : model_name(t->oa->o.model);
    if (card_make_id("resp_", t->id, e))
        return -1;
    t->object = oa_response_make(&t->q, t->id, model, clock_wall_us() / 1000000,
                                 t->q.is_background ? "queued" : "in_progress");
    return t->object ? 0 : no_memory(e);
}

int oa_turn_new(struct oa_call *o, struct oa_request *q, struct oa_turn **ret, struct err *e)
{
    scoped(freep_turn) struct oa_turn *t = make(o, q);
    if (!t || !t->items || !t->marks || !t->names || !t->made)
        return no_memory(e);
    if (caller_new(o->c, &t->caller, e) || read_input(t, o, e) || read_items(t, o, e) ||
        say_instructions(t, e) || begin_object(t, e))
        return -1;
    *ret = take(t);
    return 0;
}
