#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"

struct str http_header_get(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (http_same(r->headers[i].name, name))
            return r->headers[i].value.ptr ? r->headers[i].value : str_of("");
    return STR_NONE;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape at text[0] stands for, or -1. */
static int unescape(struct str text)
{
    if (text.len < 3)
        return -1;
    int high = hex_of(text.ptr[1]), low = hex_of(text.ptr[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

int http_decode(struct str text, bool is_form, struct buf *ret, struct err *e)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int byte = unescape((struct str){text.ptr + i, text.len - i});
            if (byte <= 0)
                return err_set(e, ERR_INVALID, "the address has a broken %%XX escape");
            c = (char)byte;
            i += 2;
        } else if (c == '+' && is_form) {
            c = ' ';
        } else if (c == '\0') {
            return err_set(e, ERR_INVALID, "the address has a NUL");
        }
        buf_add(ret, &c, 1);
    }
    return buf_check(ret, e);
}

/* Whether `text`, escapes and all, is `name`. */
static bool is_named(struct str text, const char *name)
{
    struct err e;
    scoped(buf_done) struct buf decoded = BUF_INIT(256);
    if (http_decode(text, /* is_form= */ true, &decoded, &e))
        return false;
    return str_is((struct str){decoded.bytes, decoded.len}, name);
}

static struct str cut(struct str *rest, char at)
{
    const char *found = rest->len ? memchr(rest->ptr, at, rest->len) : NULL;
    size_t len = found ? (size_t)(found - rest->ptr) : rest->len;
    struct str head = {.ptr = rest->ptr, .len = len};
    size_t used = found ? len + 1 : len;
    *rest = (struct str){.ptr = rest->ptr ? rest->ptr + used : NULL, .len = rest->len - used};
    return head;
}

int http_query_get(const struct http_request *r, const char *name, struct buf *ret, struct err *e)
{
    for (struct str rest = r->query; rest.len;) {
        struct str value = cut(&rest, '&');
        struct str key = cut(&value, '=');
        if (!is_named(key, name))
            continue;
        if (http_decode(value, /* is_form= */ true, ret, e))
            return err_wrap(e, "parameter %.40s", name);
        return 1;
    }
    return 0;
}
