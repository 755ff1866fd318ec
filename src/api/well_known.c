/* well_known.c -- what this server says about itself to clients that look for who gives tokens for it: the metadata
 * of a protected resource (RFC 9728), under the two addresses at which clients of MCP look. */
#include "api/api_int.h"
#include "api/challenge.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/issuer.h"
#include "json/write.h"

enum { URL_MAX = 1024 };

static void put_scopes(struct json_writer *w, uint32_t scopes)
{
    if (!scopes)
        return; /* everybody has them all: an issuer need not know them */
    jw_key(w, "scopes_supported");
    jw_array(w);
    for (unsigned i = 0; scope_names[i]; i++)
        if (scopes & 1u << i)
            jw_text(w, scope_names[i]);
    jw_end_array(w);
}

static void put_one(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_array(w);
    jw_text(w, text);
    jw_end_array(w);
}

static int get_metadata(struct call *c, struct err *e)
{
    const struct issuer *issuer = c->api->o.issuer;
    struct json_writer w = JSON_WRITER(&c->out);
    scoped(buf_done) struct buf url = BUF_INIT(URL_MAX);
    write_base_url(c, &url);
    buf_str(&url, "/mcp");
    if (buf_check(&url, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "resource");
    jw_text(&w, url.bytes);
    jw_key(&w, "resource_name");
    jw_text(&w, "cicada");
    if (issuer)
        put_one(&w, "authorization_servers", issuer_url(issuer));
    put_scopes(&w, issuer ? issuer_scopes(issuer) : SCOPE_ALL & ~(uint32_t)SCOPE_ADMIN);
    put_one(&w, "bearer_methods_supported", "header");
    jw_end_object(&w);
    return 0;
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/.well-known/oauth-protected-resource",
     .name = "getResourceMetadata",
     .summary = "Which server gives tokens for this one (RFC 9728).",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     .status = 200,
     .answer = "ResourceMetadata",
     .run = get_metadata},
    {.method = "GET",
     .path = "/.well-known/oauth-protected-resource/mcp",
     .name = "getMcpResourceMetadata",
     .summary = "The same, where clients of MCP look for it.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     .status = 200,
     .answer = "ResourceMetadata",
     .run = get_metadata},
};

const struct op_table well_known = {ops, sizeof ops / sizeof *ops};
