/* acts.c -- what a request leaves in the audit.
 *
 * Every operation that needs a key, a link or a signature is an act, and so is whatever changes something
 * without one (signing in). It begins when the handler does, so that the entry goes along with what that
 * writes (workspace/acts.h); one that was refused on the way there is told of afterwards. Tokens are in no
 * entry: nothing of an address that is a secret itself, and no signature.
 */
#include <string.h>

#include <jansson.h>

#include "api/api_int.h"
#include "api/inner.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/auditor.h"
#include "json/write.h"

enum { QUERY_TOLD_MAX = 512, AGENT_SIZE = AUDIT_TEXT_MAX + 1, DETAIL_MAX = 8 << 10 };

/* The entry of a request, and what it points to. */
struct telling {
    struct audit_entry entry;
    char agent[AGENT_SIZE];
    struct buf detail;
};

static void telling_done(struct telling *t)
{
    buf_done(&t->detail);
}

static bool is_safe(const struct op *op)
{
    return strcmp(op->method, "GET") == 0 || strcmp(op->method, "HEAD") == 0;
}

/* Health, metrics, the description of the API: nobody's business and everybody's. A dialect's door tells
 * only of whom it did not let in. */
static bool is_told(const struct call *c)
{
    bool is_door = c->op && (c->op->flags & OP_DOOR) && *c->who.principal;
    return c->op && !is_door && !((c->op->flags & OP_PUBLIC) && is_safe(c->op));
}

static bool is_secret(const struct call *c)
{
    return (c->op->flags & (OP_PUBLIC | OP_SHARE)) != 0 || c->is_admitted;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *via(const struct call *c, const char *agent)
{
    if (c->via)
        return c->via;
    if (c->op->flags & OP_SHARE)
        return "share";
    if (c->is_admitted)
        return "signature";
    return begins(agent, "cicada/") ? "cli" : "rest";
}

/* What the pieces of the address name. Of a workspace that was not found, what was asked for: whoever
 * looks after it learns that somebody tried. */
static void tell_address(const struct call *c, struct audit_entry *a)
{
    bool has_workspace = c->op->needs >= NEEDS_READ && c->op->needs <= NEEDS_OWN;
    size_t count = 0; /* of its own pieces: what follows them is left from another's try */
    for (const char *at = c->op->path; (at = strchr(at, '{')); at++)
        count += strncmp(at, "{path...}", 9) != 0;
    for (size_t i = has_workspace; i < count && i < OP_PARAMS_MAX; i++) {
        const char *param = c->param[i];
        if (begins(param, "ses_"))
            a->session = param;
        else if (begins(param, "run_"))
            a->run = param;
        else if (*param)
            a->object = param;
    }
    if (has_workspace)
        a->workspace = *c->ws.id ? c->ws.id : c->param[0];
    a->path =
        strstr(c->op->path, "...}") ? c->rest : json_string_value(json_object_get(c->json, "path"));
}

static void tell_query(const struct call *c, struct telling *t)
{
    struct str query = c->request->query;
    if (query.len == 0 || has_signature(c->request))
        return;
    t->detail = BUF_INIT(DETAIL_MAX);
    struct json_writer w = JSON_WRITER(&t->detail);
    jw_object(&w);
    jw_key(&w, "query");
    jw_str(&w, query.ptr, query.len < QUERY_TOLD_MAX ? query.len : QUERY_TOLD_MAX);
    jw_end_object(&w);
    t->entry.detail = t->detail.failed ? NULL : t->detail.bytes;
}

static void tell_share(const struct call *c, struct audit_entry *a)
{
    a->workspace = c->share->ws.id;
    a->object = c->share->share.id;
    a->path = strstr(c->op->path, "...}") ? c->rest : NULL;
}

static void prepare(const struct call *c, struct telling *t)
{
    struct str agent = http_header_get(c->request, "User-Agent");
    size_t len = agent.len < AGENT_SIZE ? agent.len : AGENT_SIZE - 1;
    if (len)
        memcpy(t->agent, agent.ptr, len);
    t->entry = (struct audit_entry){.event = c->op->name,
                                    .principal = c->who.principal,
                                    .behalf = c->who.parent,
                                    .key = c->who.key,
                                    .via = via(c, t->agent),
                                    .peer = c->request->peer->address,
                                    .agent = t->agent,
                                    .request = c->id,
                                    .is_read = is_safe(c->op) || c->once.state == ONCE_AGAIN};
    if (c->share)
        tell_share(c, &t->entry);
    else if (c->is_admitted || !is_secret(c))
        tell_address(c, &t->entry);
    if (!is_secret(c))
        tell_query(c, t);
}

int call_act_begin(struct call *c, struct err *e)
{
    scoped(telling_done) struct telling t = {0};
    if (!is_told(c))
        return 0;
    prepare(c, &t);
    return act_begin(&c->act, auditor_meta(c->api->o.auditor), &t.entry, e);
}

/* Whoever may not see that something is there is told that it is not. */
static enum audit_result result_of(const struct call *c, int failed, const struct err *e)
{
    if (!failed)
        return AUDIT_OK;
    bool is_refused = e->code == ERR_UNAUTHORIZED || e->code == ERR_DENIED ||
                      e->code == ERR_LOCKED || (e->code == ERR_NOT_FOUND && !c->act.meta);
    return is_refused ? AUDIT_DENIED : AUDIT_ERROR;
}

/* One that never began: it was refused on its way. */
static void tell_refused(struct call *c, enum audit_result result, const struct err *e)
{
    scoped(telling_done) struct telling t = {0};
    struct err lost = {0}; /* the store has stopped, and says so itself */
    uint64_t left_out = 0;
    bool is_stranger = !*c->who.principal;
    if (is_stranger && !auditor_tells_of_stranger(c->api->o.auditor, &left_out))
        return;
    prepare(c, &t);
    if (left_out) {
        buf_done(&t.detail);
        t.detail = BUF_INIT(DETAIL_MAX);
        buf_fmt(&t.detail, "{\"left_out\":%llu}", (unsigned long long)left_out);
        t.entry.detail = t.detail.bytes;
    }
    t.entry.at_us = clock_wall_us();
    t.entry.result = result;
    t.entry.reason = err_wire(e->code);
    (void)audit_post(auditor_meta(c->api->o.auditor), &t.entry, &lost);
}

void call_act_denied(struct call *c, const char *what)
{
    scoped(telling_done) struct telling t = {0};
    struct err lost = {0}; /* the store has stopped, and says so itself */
    prepare(c, &t);
    t.entry.via = "mcp";
    t.entry.object = what;
    t.entry.at_us = clock_wall_us();
    t.entry.result = AUDIT_DENIED;
    t.entry.reason = err_wire(ERR_DENIED);
    (void)audit_post(auditor_meta(c->api->o.auditor), &t.entry, &lost);
}

void call_act_end(struct call *c, int failed, const struct err *e)
{
    enum audit_result result = result_of(c, failed, e);
    if (c->act.meta)
        act_end(&c->act, result, failed ? err_wire(e->code) : NULL);
    else if (failed && is_told(c))
        tell_refused(c, result, e);
}
