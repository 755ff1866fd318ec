/* door.c -- /mcp: one address for both eras. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/mcp_door.h"
#include "api/op.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "mcp/ask.h"
#include "mcp/cancel.h"
#include "mcp/dispatch.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"
#include "mcp/stream.h"
#include "json/read.h"

static struct str version_header(const struct call *c)
{
    return http_header_get(c->request, "MCP-Protocol-Version");
}

static bool is_json(struct str type)
{
    static const char json[] = "application/json";
    return type.ptr && type.len >= sizeof json - 1 &&
           strncasecmp(type.ptr, json, sizeof json - 1) == 0;
}

/* ---- the stateless era ---- */

static void serve_modern(struct mcp_call *m)
{
    struct rpc_fault fault = {0};
    if (m->rpc->kind != RPC_REQUEST) {
        mcp_answer_accepted(m);
        return;
    }
    if (rpc_check_modern(m->rpc, version_header(m->c), &fault)) {
        mcp_answer_fault(m, &fault);
        return;
    }
    m->version = MCP_VERSION_MODERN;
    m->client = json_object_get(m->rpc->meta, MCP_META "clientCapabilities");
    mcp_dispatch(m);
}

/* ---- the era with sessions ---- */

/* The session that the request belongs to, held; or the fault. */
static int find_session(struct mcp_call *m, struct rpc_fault *fault)
{
    struct str id = http_header_get(m->c->request, "Mcp-Session-Id");
    if (!id.ptr) {
        *fault = (struct rpc_fault){RPC_INVALID, 400,
                                    "The header Mcp-Session-Id is missing: send initialize first.",
                                    false};
        return -1;
    }
    m->session = mcp_session_find(m->mcp->sessions, m->c->who.principal, id);
    if (!m->session) {
        *fault = (struct rpc_fault){
            RPC_INVALID, 404, "This session is not known, or has ended: send initialize.", false};
        return -1;
    }
    m->version = m->session->version;
    m->client = m->session->client;
    return 0;
}

static void take_notification(struct mcp_call *m)
{
    if (strcmp(m->rpc->method, "notifications/cancelled") == 0)
        flights_cancel(m->session, json_object_get(m->params, "requestId"));
    mcp_answer_accepted(m);
}

static void serve_legacy(struct mcp_call *m)
{
    struct rpc_fault fault = {0};
    bool is_first = m->rpc->kind == RPC_REQUEST && strcmp(m->rpc->method, "initialize") == 0;
    m->version = MCP_VERSION_LEGACY;
    if (!is_first && find_session(m, &fault)) {
        mcp_answer_fault(m, &fault);
        return;
    }
    if (m->rpc->kind == RPC_NOTIFICATION) {
        take_notification(m);
    } else if (m->rpc->kind == RPC_RESPONSE) {
        asked_answer(m->session, m->rpc);
        mcp_answer_accepted(m);
    } else {
        mcp_dispatch(m);
    }
    mcp_session_unref(m->session);
}

/* ---- the three ways in ---- */

static int post(struct mcp_call *m, struct err *e)
{
    scoped(buf_done) struct buf raw = BUF_INIT(MCP_MESSAGE_MAX + 1);
    scoped(rpc_done) struct rpc_message rpc = {0};
    struct rpc_fault fault = {0};
    if (!is_json(http_header_get(m->c->request, "Content-Type")))
        return err_set(e, ERR_UNSUPPORTED, "a message has to be application/json");
    if (http_read_all(m->c->x, MCP_MESSAGE_MAX, &raw, e))
        return -1;
    m->rpc = &rpc;
    int failed = rpc_read((struct str){raw.bytes, raw.len}, version_header(m->c), &rpc, &fault);
    m->params = rpc.params;
    m->is_modern = rpc.is_modern;
    if (failed)
        mcp_answer_fault(m, &fault);
    else if (rpc.is_modern)
        serve_modern(m);
    else
        serve_legacy(m);
    buf_done(&m->error_data);
    return 0;
}

static int need_session(struct mcp_call *m, struct err *e)
{
    struct rpc_fault fault = {0};
    if (!http_header_get(m->c->request, "Mcp-Session-Id").ptr) {
        m->c->hint = "POST a message; only sessions of 2025-11-25 and before have a stream to GET.";
        http_add_header(m->c->x, "Allow", "POST");
        return err_set(e, ERR_METHOD, "only a session can be listened to or ended");
    }
    if (find_session(m, &fault))
        return err_set(e, ERR_NOT_FOUND, "%s", fault.text);
    return 0;
}

static int get(struct mcp_call *m, struct err *e)
{
    struct str last = http_header_get(m->c->request, "Last-Event-ID");
    if (need_session(m, e))
        return -1;
    int failed = last.ptr && last.len > 0 ? mcp_stream_resume(m, last, e) : hub_legacy_stream(m, e);
    mcp_session_unref(m->session);
    return failed;
}

static int end(struct mcp_call *m, struct err *e)
{
    if (need_session(m, e))
        return -1;
    mcp_session_end(m->mcp, m->session);
    mcp_session_unref(m->session);
    m->c->status = 204;
    return 0;
}

int mcp_handle(void *arg, struct call *c, struct err *e)
{
    const struct mcp_query *query = c->query;
    struct mcp_call m = {.mcp = arg,
                         .c = c,
                         .workspace = query->workspace,
                         .is_core = query->profile == MCP_PROFILE_CORE,
                         .error_data = BUF_INIT(64 << 10)};
    if (str_is(c->request->method, "POST"))
        return post(&m, e);
    return str_is(c->request->method, "GET") ? get(&m, e) : end(&m, e);
}

/* ---- as a whole ---- */

int mcp_open(const struct mcp_options *options, struct mcp **ret, struct err *e)
{
    struct mcp *mcp = calloc(1, sizeof *mcp);
    if (!mcp)
        return err_set(e, ERR_NO_MEMORY, "open MCP");
    mcp->o = *options;
    turnstile_init(&mcp->turnstile, options->calls_max);
    mcp->outputs = json_loads(mcp_outputs, 0, NULL);
    if (!mcp->outputs)
        err_set(e, ERR_INTERNAL, "outputs.json is not JSON");
    if (!mcp->outputs || mcp_sessions_open(&mcp->sessions, e) || hub_open(mcp, &mcp->hub, e) ||
        (options->has_fixtures && fixtures_open(mcp->hub, &mcp->fixtures, e))) {
        mcp_close(mcp);
        return -1;
    }
    *ret = mcp;
    return 0;
}

void mcp_stop(struct mcp *mcp)
{
    atomic_store(&mcp->is_stopping, true);
    fixtures_stop(mcp->fixtures);
    mcp_sessions_stop(mcp, mcp->sessions);
    hub_stop(mcp->hub);
}

void mcp_close(struct mcp *mcp)
{
    if (!mcp)
        return;
    fixtures_close(mcp->fixtures);
    hub_close(mcp->hub);
    mcp_sessions_close(mcp->sessions);
    json_decref(mcp->outputs);
    turnstile_done(&mcp->turnstile);
    free(mcp);
}
