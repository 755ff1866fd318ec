/* tools.c -- tools/list and tools/call. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/inner.h"
#include "api/op.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "mcp/mcp_int.h"
#include "mcp/params.h"
#include "json/fields.h"
#include "json/read.h"

static const struct mcp_tool *const product[] = {
    &tool_run_code,     &tool_get_execution, &tool_manage_session, &tool_list_files,
    &tool_read_file,    &tool_write_file,    &tool_edit_file,      &tool_search_files,
    &tool_transfer_url, &tool_manage_file,   &tool_file_versions,  &tool_lock_file,
    &tool_share,        &tool_workspace,     &tool_audit_log,
};
enum { PRODUCT = sizeof product / sizeof *product };

static const struct mcp_tool *tool_at(const struct mcp_call *m, size_t index)
{
    if (m->mcp->o.has_fixtures)
        return fixture_tool_at(index);
    return index < PRODUCT ? product[index] : NULL;
}

static bool has_scope(const struct mcp_call *m, const struct mcp_tool *t)
{
    return t->scope == 0 || (m->c->who.scopes & t->scope);
}

static bool is_listed(const struct mcp_call *m, const struct mcp_tool *t)
{
    return has_scope(m, t) && (!m->is_core || m->mcp->o.has_fixtures || t->flags & TOOL_CORE);
}

const struct mcp_tool *mcp_tool_at(const struct mcp_call *m, size_t index)
{
    const struct mcp_tool *t;
    for (size_t i = 0; (t = tool_at(m, i)); i++)
        if (is_listed(m, t) && index-- == 0)
            return t;
    return NULL;
}

/* ---- the list ---- */

static void write_annotations(const struct mcp_tool *t, struct json_writer *w)
{
    const struct {
        const char *name;
        unsigned flag;
    } hints[] = {{"readOnlyHint", TOOL_READS},
                 {"destructiveHint", TOOL_DESTROYS},
                 {"idempotentHint", TOOL_REPEATS},
                 {"openWorldHint", TOOL_OPEN}};
    jw_key(w, "annotations");
    jw_object(w);
    jw_key(w, "title");
    jw_text(w, t->title);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        jw_key(w, hints[i].name);
        jw_bool(w, t->flags & hints[i].flag);
    }
    jw_end_object(w);
}

static void write_output(const struct mcp_call *m, const struct mcp_tool *t, struct json_writer *w)
{
    json_t *schema = json_object_get(m->mcp->outputs, t->name);
    scoped(freep) char *text = schema ? json_dumps(schema, JSON_COMPACT) : NULL;
    if (!text || strcmp(m->version, "2025-06-18") < 0)
        return;
    jw_key(w, "outputSchema");
    jw_raw(w, text, strlen(text));
}

static void write_tool(const struct mcp_call *m, const struct mcp_tool *t, struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "name");
    jw_text(w, t->name);
    if (t->title) {
        jw_key(w, "title");
        jw_text(w, t->title);
    }
    jw_key(w, "description");
    jw_text(w, t->description);
    jw_key(w, "inputSchema");
    if (t->schema)
        jw_raw(w, t->schema, strlen(t->schema));
    else
        fields_schema_plain(t->fields, w);
    if (!m->mcp->o.has_fixtures) {
        write_output(m, t, w);
        write_annotations(t, w);
    }
    jw_end_object(w);
}

static int list(struct mcp_call *m, struct err *e)
{
    const struct mcp_tool *t;
    uint64_t from = 0;
    if (mcp_cursor_read(m, &from, e))
        return -1;
    jw_key(&m->w, "tools");
    jw_array(&m->w);
    for (size_t i = from; (t = mcp_tool_at(m, i)); i++)
        write_tool(m, t, &m->w);
    jw_end_array(&m->w);
    return 0;
}

/* ---- the call ---- */

static int find_tool(struct mcp_call *m, struct err *e)
{
    const char *name = mcp_param(m, "name");
    const struct mcp_tool *t;
    for (size_t i = 0; name && (t = tool_at(m, i)); i++)
        if (strcmp(t->name, name) == 0) {
            m->tool = t;
            break;
        }
    if (!m->tool)
        return mcp_fail(m, RPC_PARAMS, e, "There is no tool %.100s. See tools/list.",
                        name ? name : "without a name");
    if (has_scope(m, m->tool))
        return 0;
    m->missing = m->tool->scope;
    m->http_status = 403;
    call_act_denied(m->c, name);
    return mcp_fail(m, RPC_INVALID, e, "The key has not the scope that %.60s needs.", name);
}

/* The arguments as the tool wants them. What is wrong with them is for the model to read. */
static int decode(struct mcp_call *m, json_t *arguments, struct err *e)
{
    if (m->tool->schema) {
        m->in = arguments;
        return 0;
    }
    m->in = calloc(1, m->tool->size);
    if (!m->in)
        return err_set(e, ERR_NO_MEMORY, "call a tool");
    if (fields_read(m->tool->fields, arguments, m->in, e) == 0)
        return 0;
    free(take(m->in));
    return -1;
}

static int run_tool(struct mcp_call *m, json_t *arguments, struct err *e)
{
    const char *principal = m->c->who.principal;
    if (decode(m, arguments, e))
        return -1;
    int failed = turnstile_enter(&m->mcp->turnstile, principal, e);
    if (!failed) {
        failed = m->tool->run(m, e);
        turnstile_leave(&m->mcp->turnstile, principal);
    }
    if (!m->tool->schema) {
        fields_done(m->tool->fields, m->in);
        free(take(m->in));
    }
    return failed;
}

static int call(struct mcp_call *m, struct err *e)
{
    json_t *arguments = json_object_get(m->params, "arguments");
    if (find_tool(m, e))
        return -1;
    if (arguments && !json_is_object(arguments))
        return mcp_fail(m, RPC_PARAMS, e, "arguments must be an object.");
    if (m->tool->flags & TOOL_TASK && mcp_need_tasks(m, e))
        return -1;
    if (m->is_modern && m->tool->schema && params_check(m, arguments, e))
        return -1;
    arguments = arguments ? json_incref(arguments) : json_object();
    reply_begin(m);
    int failed = run_tool(m, arguments, e);
    if (failed && m->error == 0)
        reply_error(m, e);
    if (m->error == 0 && !m->is_later && strcmp(m->result_type, "complete") == 0)
        mcp_write_reply(m, &m->w);
    reply_done(m);
    json_decref(arguments);
    return m->error ? -1 : 0;
}

static const struct mcp_method items[] = {
    {"tools/list", METHOD_BOTH | METHOD_CACHED, NULL, list},
    {"tools/call", METHOD_BOTH, "name", call},
};

const struct mcp_methods methods_tools = {items, sizeof items / sizeof *items};
