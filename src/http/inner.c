#include "http/inner.h"

#include <stdlib.h>

#include "base/err.h"
#include "http/exchange_int.h"

enum { HEADERS_MAX = 32 << 10 };

int http_inner_new(const struct http_request *request, struct str body, struct buf *out,
                   struct http_exchange **ret, struct err *e)
{
    struct http_exchange *x = calloc(1, sizeof *x);
    if (!x)
        return err_set(e, ERR_NO_MEMORY, "call an operation");
    x->extra = BUF_INIT(HEADERS_MAX);
    x->head_out = BUF_INIT(1);
    x->collect = out;
    x->head.request = *request;
    x->head.request.has_body = x->head.request.has_length = body.ptr != NULL;
    x->head.request.length = x->body_left = body.len;
    x->head.is_http11 = true;
    x->has_read_all = body.len == 0;
    x->in = (struct inbox){.bytes = (char *)body.ptr, .end = body.len}; /* only read */
    *ret = x;
    return 0;
}

void http_inner_body(struct http_exchange *x,
                     int (*read)(void *arg, void *to, size_t size, size_t *ret_len, struct err *e),
                     void *arg, bool has_length, uint64_t length)
{
    x->body_read = read;
    x->body_arg = arg;
    x->has_read_all = false;
    x->head.request.has_body = true;
    x->head.request.has_length = has_length;
    x->head.request.length = has_length ? length : 0;
}

void http_inner_free(struct http_exchange *x)
{
    if (!x)
        return;
    buf_done(&x->extra);
    buf_done(&x->head_out);
    free(x);
}

struct str http_inner_headers(const struct http_exchange *x)
{
    return (struct str){x->extra.bytes, x->extra.len};
}
