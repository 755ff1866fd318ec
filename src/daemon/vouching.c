/* vouching.c -- who else says who somebody is: the issuer of tokens that the configuration names. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "daemon/serve_int.h"
#include "service/issuer.h"
#include "workspace/people.h"

/* What they have to be for: as configured, otherwise this server under its public name, and /mcp there. */
static int choose_audiences(struct server *s, struct issuer_options *o, struct err *e)
{
    const struct config *c = s->config;
    o->audiences = (const char *const *)c->oauth.audience.items;
    o->audience_count = c->oauth.audience.count;
    if (o->audience_count > 0)
        return 0;
    s->audiences[0] = strdup(c->server.public_url);
    if (asprintf(&s->audiences[1], "%s/mcp", c->server.public_url) < 0)
        s->audiences[1] = NULL;
    if (!s->audiences[0] || !s->audiences[1])
        return err_set(e, ERR_NO_MEMORY, "open the issuer");
    o->audiences = (const char *const *)s->audiences;
    o->audience_count = 2;
    return 0;
}

static int add_scopes(const struct config *c, uint32_t *ret, struct err *e)
{
    uint32_t scope;
    for (size_t i = 0; i < c->oauth.default_scopes.count; i++) {
        if (scopes_parse(c->oauth.default_scopes.items[i], &scope, e))
            return -1;
        *ret |= scope;
    }
    return 0;
}

int vouching_open(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    struct issuer_options o = {
        .people = s->people,
        .log = &s->log,
        .url = c->oauth.issuer,
        .jwks_url = c->oauth.jwks_url,
        .admins = (const char *const *)c->oauth.admin_subjects.items,
        .admin_count = c->oauth.admin_subjects.count,
    };
    if (!*c->oauth.issuer)
        return 0;
    return choose_audiences(s, &o, e) || add_scopes(c, &o.default_scopes, e) ||
                   issuer_open(&o, &s->issuer, e)
               ? -1
               : 0;
}

void vouching_close(struct server *s)
{
    issuer_close(s->issuer);
    free(s->audiences[0]);
    free(s->audiences[1]);
}
