#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int http;
    const char *wire;
} codes[ERR_COUNT] = {
#define ERR(name, http, wire) [ERR_##name] = {http, wire},
#include "base/err.def"

#undef err_set /* for the analyzer they are macros */
#undef err_sys
#undef err_wrap
#undef ERR
};

static enum err_code code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT: return ERR_NOT_FOUND;
    case EACCES:
    case EPERM: return ERR_DENIED;
    case EEXIST:
    case EBUSY: return ERR_CONFLICT;
    case ENOSPC:
    case EDQUOT: return ERR_NO_SPACE;
    case EMFILE: return ERR_LIMIT;
    case ENOMEM: return ERR_NO_MEMORY;
    case EINVAL: return ERR_INVALID;
    default: return ERR_INTERNAL;
    }
}

static size_t append(struct err *e, size_t at, const char *s)
{
    while (*s && at < sizeof e->text - 1)
        e->text[at++] = *s++;
    if (at < sizeof e->text)
        e->text[at] = '\0';
    return at;
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    assert(code > ERR_NONE && code < ERR_COUNT);

    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
    char what[sizeof e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    const char *why = strerrordesc_np(errnum);
    return err_set(e, code_of_errno(errnum), "%s: %s", what, why ? why : "unknown errno");
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    /* Wrapping a success would turn it into a failure nobody caused. */
    assert(e->code != ERR_NONE);

    char inner[sizeof e->text];
    memcpy(inner, e->text, sizeof inner);

    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);

    /* When both do not fit, the cause is what gets cut: the outer words say where to look. */
    size_t used = n < 0 ? 0 : (size_t)n;
    used = append(e, used, ": ");
    append(e, used, inner);
    return -1;
}

const char *err_wire(enum err_code code)
{
    assert(code < ERR_COUNT);
    return codes[code].wire;
}

int err_http(enum err_code code)
{
    assert(code < ERR_COUNT);
    return codes[code].http;
}
