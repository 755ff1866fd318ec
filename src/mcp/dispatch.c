#include "mcp/dispatch.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/challenge.h"
#include "api/op.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "mcp/cancel.h"
#include "mcp/mcp_int.h"
#include "mcp/stream.h"

enum { TTL_MS = 300000, TTL_PRIVATE_MS = 5000 };

static const struct mcp_methods *const tables[] = {
    &methods_life,       &methods_tools,  &methods_resources, &methods_prompts,
    &methods_completion, &methods_listen, &methods_tasks};

static const struct mcp_method *find_method(const struct mcp_call *m)
{
    unsigned era = m->is_modern ? METHOD_MODERN : METHOD_LEGACY;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (size_t j = 0; j < tables[i]->count; j++) {
            const struct mcp_method *method = &tables[i]->items[j];
            if ((method->flags & era) && strcmp(method->name, m->rpc->method) == 0)
                return method;
        }
    return NULL;
}

int mcp_fail(struct mcp_call *m, int code, struct err *e, const char *fmt, ...)
{
    va_list ap;
    m->error = code;
    va_start(ap, fmt);
    (void)vsnprintf(m->error_text, sizeof m->error_text, fmt, ap);
    va_end(ap);
    return err_set(e, ERR_INVALID, "%s", m->error_text);
}

const char *mcp_param(const struct mcp_call *m, const char *name)
{
    return json_string_value(json_object_get(m->params, name));
}

/* ---- the answer ---- */

static void write_error(struct mcp_call *m, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "code");
    jw_i64(&w, m->error);
    jw_key(&w, "message");
    jw_text(&w, m->error_text);
    if (m->error_data.len) {
        jw_key(&w, "data");
        jw_raw(&w, m->error_data.bytes, m->error_data.len);
    }
    jw_end_object(&w);
}

static void write_message(struct mcp_call *m, struct buf *out)
{
    buf_str(out, "{\"jsonrpc\":\"2.0\"");
    if (m->rpc->id || m->error == 0 || !m->is_modern) {
        buf_str(out, ",\"id\":");
        rpc_write_id(out, m->rpc->id);
    }
    buf_str(out, m->error ? ",\"error\":" : ",\"result\":");
    if (m->error)
        write_error(m, out);
    else
        buf_add(out, m->result.bytes, m->result.len);
    buf_str(out, "}");
}

static void send_json(struct mcp_call *m, const struct buf *text)
{
    struct call *c = m->c;
    struct err gone = {0};
    c->status = m->error && m->http_status ? m->http_status : 200;
    c->is_answered = true;
    if (c->status == 403 && m->missing)
        challenge_scope(c, (uint32_t)m->missing);
    http_add_header(c->x, "Cache-Control", "no-store");
    (void)http_send(c->x, c->status, "application/json", text->bytes, text->len, &gone);
}

static void answer(struct mcp_call *m)
{
    scoped(buf_done) struct buf text = BUF_INIT(MCP_RESULT_MAX + (64 << 10));
    bool has_left = m->c->is_answered && !m->stream; /* while it was begun elsewhere */
    if (m->is_parked || m->is_later || has_left)
        return;
    write_message(m, &text);
    if (text.failed || m->result.failed) {
        struct err ignored = {0};
        buf_done(&text);
        (void)mcp_fail(m, RPC_INTERNAL, &ignored, "The answer is too large. Ask for less at once.");
        write_message(m, &text);
    }
    if (m->stream)
        mcp_stream_end(m, (struct str){text.bytes, text.len});
    else
        send_json(m, &text);
}

void mcp_answer_accepted(struct mcp_call *m)
{
    struct err gone = {0};
    m->c->status = 202;
    m->c->is_answered = true;
    (void)http_send(m->c->x, 202, NULL, "", 0, &gone);
}

static void write_versions(struct mcp_call *m)
{
    struct json_writer w = JSON_WRITER(&m->error_data);
    jw_object(&w);
    jw_key(&w, "supported");
    mcp_write_versions(&w);
    jw_key(&w, "requested");
    jw_text(&w, m->rpc->claim);
    jw_end_object(&w);
}

void mcp_answer_fault(struct mcp_call *m, const struct rpc_fault *fault)
{
    m->error = fault->code;
    m->http_status = fault->status;
    (void)snprintf(m->error_text, sizeof m->error_text, "%s", fault->text);
    if (fault->tells_versions)
        write_versions(m);
    answer(m);
}

/* ---- running it ---- */

static int bad_header(struct mcp_call *m, struct err *e, const char *name)
{
    m->http_status = 400;
    return mcp_fail(m, RPC_HEADER, e, "The header %s is missing or not what the message says.",
                    name);
}

/* The headers repeat what a proxy may want to know. */
static int check_headers(struct mcp_call *m, struct err *e)
{
    const struct http_request *r = m->c->request;
    const char *by = m->method ? m->method->named_by : NULL;
    if (!rpc_header_is(http_header_get(r, "Mcp-Method"), m->rpc->method))
        return bad_header(m, e, "Mcp-Method");
    const char *name = by ? mcp_param(m, by) : NULL;
    if (name && !rpc_header_is(http_header_get(r, "Mcp-Name"), name))
        return bad_header(m, e, "Mcp-Name");
    return 0;
}

static int check_level(struct mcp_call *m, struct err *e)
{
    const json_t *level = json_object_get(m->rpc->meta, MCP_META "logLevel");
    if (!level || mcp_level(json_string_value(level)) >= 0)
        return 0;
    return mcp_fail(m, RPC_PARAMS, e,
                    "There is no such logLevel: say debug, info, warning, error.");
}

static int no_method(struct mcp_call *m, struct err *e)
{
    m->http_status = m->is_modern ? 404 : 200;
    return mcp_fail(m, RPC_NO_METHOD, e, "There is no method %.100s here.", m->rpc->method);
}

int mcp_need_tasks(struct mcp_call *m, struct err *e)
{
    if (mcp_takes_tasks(m))
        return 0;
    m->http_status = 400;
    buf_str(&m->error_data, "{\"requiredCapabilities\":{\"extensions\":{\"" MCP_TASKS "\":{}}}}");
    return mcp_fail(m, RPC_CAPABILITY, e,
                    "This needs a client that knows the extension " MCP_TASKS ".");
}

/* What every result of the stateless era has. */
static void end_result(struct mcp_call *m)
{
    if (m->is_modern) {
        jw_key(&m->w, "resultType");
        jw_text(&m->w, m->result_type);
        if (m->method->flags & METHOD_CACHED && strcmp(m->result_type, "complete") == 0) {
            bool is_public = m->method->flags & METHOD_PUBLIC;
            jw_key(&m->w, "ttlMs");
            jw_i64(&m->w, m->ttl_ms ? m->ttl_ms : is_public ? TTL_MS : TTL_PRIVATE_MS);
            jw_key(&m->w, "cacheScope");
            jw_text(&m->w, is_public ? "public" : "private");
        }
        jw_key(&m->w, "_meta");
        jw_object(&m->w);
        jw_key(&m->w, MCP_META "serverInfo");
        mcp_write_info(&m->w);
        jw_end_object(&m->w);
    }
    jw_end_object(&m->w);
}

static int run(struct mcp_call *m, struct err *e)
{
    m->method = find_method(m);
    if (m->is_modern && check_headers(m, e))
        return -1;
    if (!m->method)
        return no_method(m, e);
    if (m->is_modern && check_level(m, e))
        return -1;
    if (m->method->flags & METHOD_TASKS && mcp_need_tasks(m, e))
        return -1;
    jw_object(&m->w);
    return m->method->run(m, e);
}

/* An error that a handler did not tell in the protocol's own words. */
static void explain(struct mcp_call *m, const struct err *e)
{
    bool is_ours = e->code == ERR_INTERNAL || e->code == ERR_PROTOCOL || e->code == ERR_DAMAGED;
    m->error = e->code == ERR_INVALID || e->code == ERR_NOT_FOUND ? RPC_PARAMS : RPC_INTERNAL;
    (void)snprintf(m->error_text, sizeof m->error_text, "%s",
                   is_ours ? "Something went wrong in the server." : e->text);
}

/* Whoever called a request off does not want its response any more. */
static void say_nothing(struct mcp_call *m)
{
    if (m->stream)
        mcp_stream_cut(m);
    else
        mcp_answer_accepted(m);
}

void mcp_dispatch(struct mcp_call *m)
{
    struct err e = {0};
    struct mcp_flight flight;
    m->result = BUF_INIT(MCP_RESULT_MAX);
    m->error_data = BUF_INIT(64 << 10);
    m->w = JSON_WRITER(&m->result);
    m->result_type = "complete";
    flight_begin(m, &flight);
    int failed = run(m, &e);
    if (failed && m->error == 0)
        explain(m, &e);
    if (!failed && !m->is_parked && !m->is_later)
        end_result(m);
    bool is_called_off = !m->is_modern && mcp_is_cancelled(m);
    flight_end(m);
    if (is_called_off && !m->is_parked && !m->is_later)
        say_nothing(m);
    else
        answer(m);
    mcp_stream_unref(m->stream);
    buf_done(&m->result);
    buf_done(&m->error_data);
}
