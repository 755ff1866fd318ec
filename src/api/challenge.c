#include "api/challenge.h"

#include "api/api_int.h"
#include "base/buf.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"

enum { URL_MAX = 1024, VALUE_MAX = 2048 };

/* A proxy says whether it speaks TLS. */
void write_base_url(const struct call *c, struct buf *out)
{
    const struct http_request *r = c->request;
    const struct api_options *o = &c->api->o;
    bool is_tls = r->peer->is_tls || http_same(http_header_get(r, "X-Forwarded-Proto"), "https");
    struct str host = r->peer->is_unix ? str_of(o->listen) : r->host;
    if (*o->public_url)
        buf_str(out, o->public_url);
    else if (host.len)
        buf_fmt(out, "http%s://%.*s", is_tls ? "s" : "", (int)host.len, host.ptr);
}

/* What is between quotes: the Host is a stranger's word. */
static bool is_plain(const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->bytes[i] <= ' ' || text->bytes[i] == '"' || text->bytes[i] == '\\' ||
            text->bytes[i] == 127)
            return false;
    return text->len > 0 && !text->failed;
}

static void add_metadata(const struct call *c, struct buf *value)
{
    scoped(buf_done) struct buf url = BUF_INIT(URL_MAX);
    write_base_url(c, &url);
    if (is_plain(&url))
        buf_fmt(value, ", resource_metadata=\"%s/.well-known/oauth-protected-resource/mcp\"",
                url.bytes);
}

static void send(struct call *c, const struct buf *value)
{
    if (!value->failed)
        http_add_header(c->x, "WWW-Authenticate", "%s", value->bytes);
}

void challenge_unauthorized(struct call *c)
{
    scoped(buf_done) struct buf value = BUF_INIT(VALUE_MAX);
    bool is_door = c->op && c->op->flags & OP_DOOR;
    buf_str(&value, "Bearer realm=\"cicada\"");
    if (is_door && call_bearer(c->request).ptr)
        buf_str(&value, ", error=\"invalid_token\"");
    if (is_door)
        add_metadata(c, &value);
    send(c, &value);
}

void challenge_scope(struct call *c, uint32_t scopes)
{
    scoped(buf_done) struct buf value = BUF_INIT(VALUE_MAX);
    buf_str(&value, "Bearer error=\"insufficient_scope\", scope=\"");
    bool is_first = true;
    for (unsigned i = 0; scope_names[i]; i++)
        if (scopes & 1u << i) {
            buf_fmt(&value, "%s%s", is_first ? "" : " ", scope_names[i]);
            is_first = false;
        }
    buf_str(&value, "\"");
    add_metadata(c, &value);
    send(c, &value);
}
