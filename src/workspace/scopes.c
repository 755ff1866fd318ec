#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/people.h"

const char *const scope_names[] = {"run",   "files:read", "files:write", "share",
                                   "audit", "admin",      NULL};

static uint32_t scope_of(const char *name, size_t len)
{
    for (unsigned i = 0; scope_names[i]; i++)
        if (strlen(scope_names[i]) == len && memcmp(scope_names[i], name, len) == 0)
            return 1u << i;
    return 0;
}

int scopes_parse(const char *text, uint32_t *ret, struct err *e)
{
    uint32_t all = 0;
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        uint32_t bit = scope_of(at, len);
        if (!bit) {
            scoped(buf_done) struct buf names = BUF_INIT(200);
            scopes_print(SCOPE_ALL, &names);
            return err_set(e, ERR_INVALID, "'%.*s' is no scope; there are %s",
                           len < 40 ? (int)len : 40, at, names.bytes);
        }
        all |= bit;
        at += len;
        if (!*at)
            break;
    }
    *ret = all;
    return 0;
}

void scopes_print(uint32_t scopes, struct buf *out)
{
    bool has_any = false;
    for (unsigned i = 0; scope_names[i]; i++)
        if (scopes >> i & 1) {
            buf_fmt(out, "%s%s", has_any ? "," : "", scope_names[i]);
            has_any = true;
        }
}

int who_may(const struct who *w, enum scope scope, struct err *e)
{
    if ((w->scopes & scope) == (uint32_t)scope)
        return 0;
    scoped(buf_done) struct buf missing = BUF_INIT(200);
    scopes_print((uint32_t)scope & ~w->scopes, &missing);
    return err_set(e, ERR_DENIED, "this key lacks the scope %s", missing.bytes);
}

bool who_owns(const struct who *w, const char *principal)
{
    return w->is_admin || strcmp(w->principal, principal) == 0;
}
