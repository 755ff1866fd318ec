/* agent_tools.c -- functions besides python: ours are called, the caller's handed over, others told not to exist. */
#include <string.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/text.h"
#include "base/scope.h"
#include "json/read.h"

enum { TOOL_TEXT_MAX = 256 << 10 };

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

static json_t *make_output(const char *call_id, const struct buf *words)
{
    char id[ID_SIZE];
    struct err e = {0};
    if (words->failed || id_make("fco_", id, &e))
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", id, "type", "function_call_output",
                     "status", "completed", "call_id", text_json(str_of(call_id)), "output",
                     text_json(view(words)));
}

int tool_begin(struct loop *l, const struct model_call *call, struct err *e)
{
    if (item_begin_call(l, call->id, call->name, e))
        return -1;
    item_delta(l, view(&call->arguments));
    return 0;
}

/* Its text, or why there is none. */
static void get_text(struct loop *l, const struct agent_tool *tool, const struct model_call *call,
                     struct buf *words)
{
    scoped(json_decrefp) json_t *arguments = NULL;
    scoped(buf_done) struct buf text = BUF_INIT(TOOL_TEXT_MAX);
    struct err why = {0};
    struct str given = is_blank(view(&call->arguments)) ? str_of("{}") : view(&call->arguments);
    if (json_read(given.ptr, given.len, &arguments, &why)) {
        buf_fmt(
            words,
            "error: the arguments of %s are no JSON: %s. Call it again with an object as its parameters say.",
            tool->name, why.text);
    } else if (!json_is_object(arguments)) {
        buf_fmt(words, "error: the arguments of %s have to be an object. Call it again.",
                tool->name);
    } else if (tool->call(tool->arg, arguments, l->halt, &text, &why) || buf_check(&text, &why)) {
        buf_fmt(words, "error: %s", why.text);
    } else {
        buf_add(words, text.bytes, text.len);
        return;
    }
    l->o->failed_calls++;
}

int tool_call(struct loop *l, const struct agent_tool *tool, const struct model_call *call,
              struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(TOOL_TEXT_MAX + 1024);
    l->o->calls++;
    if (tool_begin(l, call, e) || item_end(l, "completed", e))
        return -1;
    get_text(l, tool, call, &words);
    if (loop_is_halted(l))
        return err_set(e, ERR_GONE, "halted");
    return item_add(l, make_output(call->id, &words), e);
}

static void list_names(const struct loop *l, struct buf *out)
{
    size_t i, told = 0;
    json_t *one;
    if (choice_has_python(l) && ++told)
        buf_str(out, "python");
    for (i = 0; i < l->w->tool_count; i++)
        if (choice_allows(l, l->w->tools[i].name))
            buf_fmt(out, "%s%s", told++ ? ", " : "", l->w->tools[i].name);
    json_array_foreach(l->w->functions, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && choice_allows(l, name))
            buf_fmt(out, "%s%.64s", told++ ? ", " : "", name);
    }
    if (told == 0)
        buf_str(out, "none");
}

/* Between the model and us: nobody else sees it. */
int tool_unknown(struct loop *l, const struct model_call *call, struct err *e)
{
    scoped(buf_done) struct buf words = BUF_INIT(64 << 10);
    l->o->calls++;
    l->o->failed_calls++;
    buf_fmt(&words, "error: there is no function \"%.64s\". There are: ", call->name);
    list_names(l, &words);
    return history_add(l,
                       json_pack("{s:s, s:o, s:o, s:o}", "type", "function_call", "call_id",
                                 text_json(str_of(call->id)), "name", text_json(str_of(call->name)),
                                 "arguments", text_json(view(&call->arguments))),
                       e) ||
                   history_add(l, make_output(call->id, &words), e)
               ? -1
               : 0;
}
