/* prompts.c -- prompts/list and prompts/get. */
#include "mcp/prompts.h"

#include <string.h>

#include <jansson.h>

#include "mcp/mcp_int.h"
#include "json/write.h"

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

const struct prompt *prompt_find(const char *name)
{
    for (const struct prompt *p = prompts; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

static void write_argument(struct json_writer *w, const struct prompt_argument *a)
{
    jw_object(w);
    put(w, "name", a->name);
    put(w, "title", a->title);
    put(w, "description", a->description);
    jw_key(w, "required");
    jw_bool(w, a->is_required);
    jw_end_object(w);
}

static int list(struct mcp_call *m, struct err *e)
{
    struct json_writer *w = &m->w;
    uint64_t from = 0;
    if (m->mcp->o.has_fixtures)
        return fixture_prompts_list(m, e);
    if (mcp_cursor_read(m, &from, e))
        return -1;
    jw_key(w, "prompts");
    jw_array(w);
    for (const struct prompt *p = prompts; p->name; p++) {
        jw_object(w);
        put(w, "name", p->name);
        put(w, "title", p->title);
        put(w, "description", p->description);
        jw_key(w, "arguments");
        jw_array(w);
        for (int i = 0; i < PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++)
            write_argument(w, &p->arguments[i]);
        jw_end_array(w);
        jw_end_object(w);
    }
    jw_end_array(w);
    return 0;
}

/* ---- getting one ---- */

static int read_arguments(struct mcp_call *m, const struct prompt *p, const char **values,
                          struct err *e)
{
    const json_t *given = json_object_get(m->params, "arguments");
    for (int i = 0; i < PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++) {
        const json_t *value = json_object_get(given, p->arguments[i].name);
        const char *text = json_string_value(value);
        if (value && !text && !json_is_null(value))
            return mcp_fail(m, RPC_PARAMS, e, "%s: a string is needed", p->arguments[i].name);
        values[i] = text && *text ? text : NULL;
        if (!values[i] && p->arguments[i].is_required)
            return mcp_fail(m, RPC_PARAMS, e, "%s: the prompt %s needs it. %s",
                            p->arguments[i].name, p->name, p->arguments[i].description);
    }
    return 0;
}

static int get(struct mcp_call *m, struct err *e)
{
    const char *name = mcp_param(m, "name"), *values[PROMPT_ARGUMENTS_MAX] = {0};
    if (!name)
        return mcp_fail(m, RPC_PARAMS, e, "name: it is needed, as prompts/list gives it");
    if (m->mcp->o.has_fixtures)
        return fixture_prompts_get(m, name, e);
    const struct prompt *p = prompt_find(name);
    if (!p)
        return mcp_fail(m, RPC_PARAMS, e,
                        "there is no prompt %.80s; prompts/list shows what there is", name);
    if (read_arguments(m, p, values, e))
        return -1;
    put(&m->w, "description", p->description);
    jw_key(&m->w, "messages");
    jw_array(&m->w);
    if (p->write(m, values, e))
        return -1;
    jw_end_array(&m->w);
    return 0;
}

static const struct mcp_method items[] = {
    {"prompts/list", METHOD_BOTH | METHOD_CACHED | METHOD_PUBLIC, NULL, list},
    {"prompts/get", METHOD_BOTH, "name", get},
};
const struct mcp_methods methods_prompts = {items, sizeof items / sizeof *items};
