/* agent_question.c -- what the model is asked: the conversation as it fits, what it may call, what it has to know. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/context.h"
#include "agent/fenced.h"
#include "agent/prompt.h"
#include "agent/tell.h"
#include "agent/text.h"
#include "base/scope.h"
#include "json/read.h"

enum { INSTRUCTIONS_MAX = 4 << 20, ROOM_MIN = 1000 };

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "a question to the model");
}

void question_done(struct question *q)
{
    buf_done(&q->instructions);
    json_decref(q->items);
    json_decref(q->tools);
    json_decref(q->choice);
    *q = (struct question){.items = NULL};
}

/* ---- tools ---- */

static int add_tool(json_t *to, const struct agent_tool *tool, struct err *e)
{
    scoped(json_decrefp) json_t *parameters = NULL;
    if (json_read(tool->parameters, strlen(tool->parameters), &parameters, e))
        return err_wrap(e, "the parameters of %s", tool->name);
    json_t *one = json_pack("{s:s, s:s, s:O}", "name", tool->name, "description", tool->description,
                            "parameters", parameters);
    return one && json_array_append_new(to, one) == 0 ? 0 : no_memory(e);
}

static int add_functions(const struct loop *l, json_t *to, struct err *e)
{
    size_t i;
    json_t *one;
    json_array_foreach(l->w->functions, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && choice_allows(l, name) && json_array_append(to, one))
            return no_memory(e);
    }
    return 0;
}

static int make_tools(const struct loop *l, json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *all = json_array();
    bool has_python =
        !l->is_fenced && l->w->hands && (choice_has_python(l) || l->choice.mode == MODE_NONE);
    if (!all || (has_python && json_array_append_new(all, json_loads(prompt_python_tool, 0, NULL))))
        return no_memory(e);
    for (size_t i = 0; i < l->w->tool_count; i++)
        if (choice_allows(l, l->w->tools[i].name) && add_tool(all, &l->w->tools[i], e))
            return -1;
    if (add_functions(l, all, e))
        return -1;
    if (json_array_size(all) > 0)
        *ret = take(all);
    return 0;
}

/* What has to be called is so once; for ever it would never end. */
static json_t *make_choice(const struct loop *l)
{
    bool is_first = l->o->questions == 0;
    if (l->limit != AGENT_ANSWERED || l->choice.mode == MODE_NONE)
        return json_string("none");
    if (is_first && l->choice.mode == MODE_REQUIRED)
        return json_string("required");
    if (is_first && l->choice.mode == MODE_NAMED)
        return json_pack("{s:s}", "name", l->choice.name);
    return json_string("auto");
}

/* ---- the conversation ---- */

/* What it has to know now; "": nothing. */
static void last_words(const struct loop *l, char *text, size_t size)
{
    *text = '\0';
    if (l->limit == AGENT_CALLS_LIMIT)
        (void)snprintf(
            text, size,
            "[All %u calls that are allowed have been made, and no more will be. Answer now, in words, with what you "
            "have. Say honestly what is not known or did not work.]",
            l->o->calls);
    else if (l->limit != AGENT_ANSWERED)
        (void)snprintf(
            text, size,
            "[There is no budget for more steps. Answer now, in words, with what you have. "
            "Say honestly what is not known or did not work.]");
    else if (l->is_asked_again)
        (void)snprintf(text, size,
                       "[The last answer was empty. Go on, or give the answer in words.]");
}

/* Puts `words` at the end of the last output, where every kind of model reads them; or else says them. */
static int add_words(json_t *items, const char *words, struct err *e)
{
    size_t last = json_array_size(items) - 1; /* SIZE_MAX: there is none */
    const json_t *item = json_array_get(items, last);
    scoped(buf_done) struct buf text = BUF_INIT(MODEL_TEXT_MAX);
    const char *key = json_is_string(json_object_get(item, "x_text")) ? "x_text" : "output";
    const json_t *told = json_object_get(item, key);
    if (!json_is_string(told)) {
        json_t *message =
            json_pack("{s:s, s:s, s:s}", "type", "message", "role", "user", "content", words);
        return message && json_array_append_new(items, message) == 0 ? 0 : no_memory(e);
    }
    buf_add(&text, json_string_value(told), json_string_length(told));
    buf_fmt(&text, "\n%s\n", words);
    json_t *copy = text.failed ? NULL : json_copy((json_t *)item);
    if (!copy || json_object_set_new(copy, key, text_json((struct str){text.bytes, text.len}))) {
        json_decref(copy);
        return no_memory(e);
    }
    return json_array_set_new(items, last, copy) == 0 ? 0 : no_memory(e);
}

/* What the last run showed, if nothing was said since. */
static int make_images(const struct loop *l, json_t **ret, struct err *e)
{
    const json_t *last = json_array_get(l->history, json_array_size(l->history) - 1);
    const json_t *outputs = json_object_get(last, "outputs");
    *ret = NULL;
    if (json_array_size(outputs) == 0 || !model_has_images(l->m))
        return 0;
    scoped(json_decrefp) json_t *content =
        json_pack("[{s:s, s:s}]", "type", "input_text", "text",
                  "[what the code has shown, for you to look at]");
    if (!content)
        return no_memory(e);
    (void)tell_images(outputs, content);
    if (json_array_size(content) == 1)
        return 0;
    *ret = json_pack("{s:s, s:s, s:O}", "type", "message", "role", "user", "content", content);
    return *ret ? 0 : no_memory(e);
}

static int make_items(struct loop *l, uint64_t room, json_t **ret, struct err *e)
{
    char words[300];
    scoped(json_decrefp) json_t *all = json_copy(l->history), *fitting = NULL, *images = NULL;
    last_words(l, words, sizeof words);
    if (!all || (*words && add_words(all, words, e)) || make_images(l, &images, e))
        return all ? -1 : no_memory(e);
    uint64_t shown = images ? (uint64_t)TELL_SHOWN_TO_MODEL * CONTEXT_IMAGE_TOKENS : 0;
    if (context_fit(all, room > shown ? room - shown : 0, &fitting, e))
        return -1;
    if (l->is_fenced) {
        json_t *messages = NULL;
        if (fenced_items(fitting, &messages, e))
            return -1;
        json_decref(fitting);
        fitting = messages;
    }
    if (images && json_array_append(fitting, images))
        return no_memory(e);
    *ret = take(fitting);
    return 0;
}

/* ---- the whole ---- */

static uint64_t tools_tokens(const json_t *tools)
{
    return tools ? context_text_tokens(json_dumpb(tools, NULL, 0, JSON_COMPACT)) : 0;
}

/* Whether a model without tools has to be told that it has to run code now. */
static bool must_run(const struct loop *l)
{
    return l->o->questions == 0 &&
           (l->choice.mode == MODE_REQUIRED ||
            (l->choice.mode == MODE_NAMED && strcmp(l->choice.name, prompt_python_name) == 0));
}

static int write_instructions(const struct loop *l, const json_t *functions, struct buf *out,
                              struct err *e)
{
    const struct prompt p = {.has_python = choice_has_python(l),
                             .is_fenced = l->is_fenced,
                             .must_run = must_run(l),
                             .functions = l->choice.mode == MODE_NONE ? NULL : functions,
                             .own = l->w->instructions};
    *out = BUF_INIT(INSTRUCTIONS_MAX);
    prompt_write(&p, out);
    return buf_check(out, e) ? err_wrap(e, "instructions") : 0;
}

static int fill(struct loop *l, struct question *q, struct err *e)
{
    uint64_t max = l->w->limits.context_tokens ? l->w->limits.context_tokens : AGENT_CONTEXT;
    if (make_tools(l, &q->tools, e) || write_instructions(l, q->tools, &q->instructions, e))
        return -1;
    if (l->is_fenced) {
        json_decref(q->tools);
        q->tools = NULL;
    }
    uint64_t around = context_text_tokens(q->instructions.len) + tools_tokens(q->tools);
    if (make_items(l, max > around + ROOM_MIN ? max - around : ROOM_MIN, &q->items, e))
        return -1;
    if (q->tools && !(q->choice = make_choice(l)))
        return no_memory(e);
    q->tokens = around + context_tokens(q->items);
    return 0;
}

int question_make(struct loop *l, struct question *ret, struct err *e)
{
    *ret = (struct question){.items = NULL};
    if (fill(l, ret, e)) {
        question_done(ret);
        return -1;
    }
    ret->q = (struct model_question){
        .model = l->w->model,
        .instructions = ret->instructions.len ? ret->instructions.bytes : NULL,
        .items = ret->items,
        .tools = ret->tools,
        .choice = ret->choice,
        .is_parallel = l->w->is_parallel,
        .params = l->w->params,
    };
    return 0;
}
