/* admit.c -- who asks, and whether they may: the only place where that is decided. */
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "http/exchange.h"
#include "service/issuer.h"
#include "workspace/files.h"
#include "workspace/rates.h"

struct str call_bearer(const struct http_request *r)
{
    struct str value = http_header_get(r, "Authorization");
    if (value.ptr && value.len > 7 && strncasecmp(value.ptr, "Bearer ", 7) == 0) {
        value = (struct str){value.ptr + 7, value.len - 7};
        while (value.len > 0 && *value.ptr == ' ')
            value = (struct str){value.ptr + 1, value.len - 1};
        return value;
    }
    struct str key = http_header_get(r, "X-API-Key");
    return key.ptr ? key : http_header_get(r, "api-key"); /* as clients of Azure send it */
}

int refuse_wait(struct call *c, int64_t wait_ms)
{
    c->retry_after_s = (uint32_t)(wait_ms / 1000 + 1);
    return -1;
}

bool has_signature(const struct http_request *r)
{
    static const char name[] = "signature=";
    const char *at =
        r->query.len ? memmem(r->query.ptr, r->query.len, name, sizeof name - 1) : NULL;
    return at && (at == r->query.ptr || at[-1] == '&');
}

/* By a token of the issuer, or a key. */
static int recognise(struct call *c, struct str secret, struct err *e)
{
    const struct api_options *o = &c->api->o;
    if (!o->issuer || !issuer_takes(secret)) {
        if (people_who(o->people, secret, clock_wall_us(), &c->who, e) == 0)
            return 0;
        return err_set(e, ERR_UNAUTHORIZED, "this key is not known, has expired or was revoked");
    }
    if (issuer_who(o->issuer, secret, clock_wall_us(), &c->who, e) == 0)
        return 0;
    if (e->code == ERR_UNAUTHORIZED)
        c->hint = "Get a new token from the issuer of this server, or use a key.";
    else if (e->code == ERR_DENIED)
        c->hint = "Ask who runs this server.";
    return -1;
}

int identify(struct call *c, struct err *e)
{
    const struct api_options *o = &c->api->o;
    const struct http_peer *peer = c->request->peer;
    struct str secret = call_bearer(c->request);
    int64_t wait_ms = 0;
    bool is_ours = peer->is_unix && (peer->uid == o->local_uid || peer->uid == 0);
    if (c->op->flags & OP_PUBLIC || (c->op->flags & OP_DOOR && o->mcp_is_open))
        return 0;
    if (c->op->flags & OP_SHARE || (c->op->admit && has_signature(c->request)))
        return c->op->admit(c, e);
    if (!secret.ptr && is_ours) {
        people_local(o->people, &c->who);
        return 0;
    }
    if (!secret.ptr)
        return err_set(e, ERR_UNAUTHORIZED, "this needs a key");
    if (recognise(c, secret, e) == 0)
        return 0; /* also from where others guess: behind a proxy all have one address */
    if (e->code != ERR_UNAUTHORIZED)
        return -1;
    if (rates_peer(o->rates, peer->address, &wait_ms, e))
        return refuse_wait(c, wait_ms);
    rates_peer_failed(o->rates, peer->address);
    return -1;
}

/* ---- may they ---- */

static bool is_right(enum op_needs needs)
{
    return needs >= NEEDS_READ && needs <= NEEDS_OWN;
}

/* The workspace of the address. A signed address was made by somebody who had the right. */
static int find_workspace(struct call *c, struct err *e)
{
    struct files *files = c->api->o.files;
    if (!is_right(c->op->needs))
        return 0;
    if (c->is_admitted)
        return files_workspace_known(files, c->param[0], &c->ws, e);
    return files_workspace(files, &c->who, c->param[0], (enum right)c->op->needs, &c->ws, e);
}

int may(struct call *c, struct err *e)
{
    if (c->op->scope && who_may(&c->who, c->op->scope, e))
        return -1;
    return find_workspace(c, e);
}

int may_this(struct call *c, struct err *e)
{
    enum scope scope = 0;
    enum op_needs needs = NEEDS_NOT_SAID;
    if (!c->op->demand)
        return 0;
    c->op->demand(c, &scope, &needs);
    if (scope && who_may(&c->who, scope, e))
        return -1;
    return is_right(needs) ? rights_check(c->api->o.files, &c->who, &c->ws, (enum right)needs, e)
                           : 0;
}
