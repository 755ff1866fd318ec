/* guard.c -- where a request may come from.
 *
 * A web page that somebody visits can make their browser send requests to 127.0.0.1, under a host
 * name of its own (DNS rebinding) or as a cross-origin request. So over loopback the Host must be one
 * of ours, and a request with an Origin must come from the same origin, or from one that was allowed.
 */
#include <string.h>
#include <strings.h>

#include "api/api_int.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"

enum { ALLOW_PARAMS_MAX = 32, ALLOW_PARAM_MAX = 100 }; /* names, and bytes of each */

/* "example.org:8700" without the port, "[::1]:80" without port and brackets. */
static struct str host_name(struct str host)
{
    if (host.len > 0 && host.ptr[0] == '[') {
        const char *end = memchr(host.ptr, ']', host.len);
        return end ? (struct str){host.ptr + 1, (size_t)(end - host.ptr - 1)} : host;
    }
    const char *colon = memchr(host.ptr ? host.ptr : "", ':', host.len);
    return colon ? (struct str){host.ptr, (size_t)(colon - host.ptr)} : host;
}

static bool is_text(struct str s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.ptr ? s.ptr : "", text, s.len) == 0;
}

static bool is_listed(struct str s, const struct api_texts *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_text(s, list->items[i]) || strcmp(list->items[i], "*") == 0)
            return true;
    return false;
}

static bool is_loopback_name(struct str name)
{
    return is_text(name, "localhost") || is_text(name, "127.0.0.1") || is_text(name, "::1");
}

/* Whether the origin is this very host: "http://127.0.0.1:8700" for "127.0.0.1:8700". */
static bool is_same_origin(struct str origin, struct str host)
{
    const char *slashes = memmem(origin.ptr, origin.len, "://", 3);
    if (!slashes)
        return false;
    struct str rest = {slashes + 3, origin.len - (size_t)(slashes + 3 - origin.ptr)};
    return rest.len == host.len && strncasecmp(rest.ptr, host.ptr, host.len) == 0;
}

static int check_origin(struct call *c, struct err *e)
{
    struct str origin = http_header_get(c->request, "Origin");
    if (!origin.ptr || is_same_origin(origin, c->request->host))
        return 0;
    if (!is_listed(origin, &c->api->o.origins))
        return err_set(e, ERR_DENIED, "requests from this origin are not allowed here");
    http_add_header(c->x, "Access-Control-Allow-Origin", "%.*s", (int)origin.len, origin.ptr);
    http_add_header(c->x, "Access-Control-Expose-Headers",
                    "X-Request-Id, Retry-After, Idempotent-Replayed, ETag, Content-Range, "
                    "Content-Disposition, X-File-Version, Upload-Offset, Mcp-Session-Id, "
                    "WWW-Authenticate");
    http_add_header(c->x, "Vary", "Origin");
    return 0;
}

int guard_check(struct call *c, struct err *e)
{
    const struct http_peer *peer = c->request->peer;
    struct str name = host_name(c->request->host);
    http_add_header(c->x, "X-Content-Type-Options", "nosniff");
    if (!peer->is_unix && peer->is_loopback && !is_loopback_name(name) &&
        !is_listed(name, &c->api->o.hosts)) {
        c->hint = "Use 127.0.0.1 or localhost, or add the name to [server] hosts.";
        return err_set(e, ERR_DENIED, "this server does not know itself by that Host");
    }
    return check_origin(c, e);
}

bool guard_is_preflight(const struct call *c)
{
    return str_is(c->request->method, "OPTIONS") &&
           http_header_get(c->request, "Access-Control-Request-Method").ptr != NULL;
}

static bool has_prefix(struct str name, const char *prefix)
{
    size_t len = strlen(prefix);
    return name.len > len && strncasecmp(name.ptr, prefix, len) == 0;
}

/* Clients of MCP repeat arguments of a tool in headers named after them, OpenAI's tell of themselves in headers of their
 * own. A wildcard would not stand for these, so that those which are asked for are listed. */
static void allow_params(const struct call *c, struct buf *out)
{
    struct str asked = http_header_get(c->request, "Access-Control-Request-Headers"), name;
    for (unsigned count = 0; count < ALLOW_PARAMS_MAX && http_list_next(&asked, &name);)
        if ((has_prefix(name, "mcp-param-") || has_prefix(name, "x-stainless-")) &&
            name.len <= ALLOW_PARAM_MAX && http_is_token(name)) {
            buf_fmt(out, ", %.*s", (int)name.len, name.ptr);
            count++;
        }
}

static void allow_headers(struct call *c)
{
    scoped(buf_done) struct buf names = BUF_INIT(4 << 10);
    buf_str(&names,
            "Authorization, Accept, Content-Type, Idempotency-Key, Last-Event-ID, X-API-Key, "
            "API-Key, OpenAI-Organization, OpenAI-Project, OpenAI-Beta, "
            "If-Match, If-None-Match, If-Range, Range, X-Content-SHA256, Lock-Token, "
            "X-Share-Password, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id");
    allow_params(c, &names);
    if (!names.failed)
        http_add_header(c->x, "Access-Control-Allow-Headers", "%s", names.bytes);
}

void guard_answer_preflight(struct call *c, struct err *e)
{
    if (guard_check(c, e)) {
        write_error(&c->out, e->code, e->text, c->hint, c->id);
        (void)http_send(c->x, err_http(e->code), "application/json", c->out.bytes, c->out.len, e);
        return;
    }
    http_add_header(c->x, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
    allow_headers(c);
    http_add_header(c->x, "Access-Control-Max-Age", "600");
    (void)http_send(c->x, 204, NULL, NULL, 0, e);
}
