/* Fuzzes the head of a request. The first byte says how the rest is cut: in pieces or at once, the
 * same has to be found. What is found has to lie within the bytes and be what parser.h promises. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/parser.h"
#include "http/syntax.h"

#include "fuzz.h"

struct text {
    const char *bytes;
    size_t len;
};

static void check_within(struct text t, struct str s)
{
    if (s.len)
        assert((s.ptr >= t.bytes && s.ptr + s.len <= t.bytes + t.len) || str_is(s, "/"));
}

static void check_line(struct text t, struct str s)
{
    check_within(t, s);
    for (size_t i = 0; i < s.len; i++)
        assert(s.ptr[i] != '\r' && s.ptr[i] != '\n' && s.ptr[i] != '\0');
}

static void check_head(struct text t, const struct head *h)
{
    const struct http_request *r = &h->request;
    assert(http_is_token(r->method) && r->method.len <= HEAD_METHOD_MAX);
    assert(r->path.len && (r->path.ptr[0] == '/' || str_is(r->path, "*")));
    assert(!h->is_http11 || r->host.len);
    assert(!(h->is_chunked && r->has_length));
    assert(r->has_body == (h->is_chunked || r->length > 0));
    assert(r->header_count <= HEAD_HEADERS_MAX);
    check_line(t, r->path);
    check_line(t, r->query);
    check_line(t, r->host);
    for (size_t i = 0; i < r->header_count; i++) {
        assert(http_is_token(r->headers[i].name));
        check_line(t, r->headers[i].name);
        check_line(t, r->headers[i].value);
        assert(http_header_get(r, "x").ptr || !http_same(r->headers[i].name, "x"));
    }
}

static void check_query(const struct http_request *r)
{
    struct err e = {0};
    scoped(buf_done) struct buf b = BUF_INIT(HEAD_MAX);
    /* The parser has looked at every escape already. */
    assert(http_query_get(r, "a", &b, &e) >= 0);
    assert(!b.bytes || strlen(b.bytes) == b.len);
    scoped(buf_done) struct buf path = BUF_INIT(HEAD_MAX);
    assert(http_decode(r->path, /* is_form= */ false, &path, &e) == 0);
}

/* In pieces of `step` bytes. Returns the length of the head, 0: more is needed, -1: refused. */
static long scan(struct text t, size_t step)
{
    struct head_scan s = {0};
    size_t len = 0, found = 0;
    struct head_fault fault = {0};
    do {
        len = len + step < t.len ? len + step : t.len;
        char *copy = malloc(len ? len : 1); /* of exactly that size */
        assert(copy);
        memcpy(copy, t.bytes, len);
        int failed = head_scan(&s, copy, len, &found, &fault);
        free(copy);
        if (failed) {
            assert(fault.status >= 400 && fault.status < 600 && fault.reason);
            return -1;
        }
    } while (!found && len < t.len);
    return (long)found;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct text t = {.bytes = (const char *)bytes + 1, .len = len - 1};
    long whole = scan(t, t.len + 1);
    assert(scan(t, (size_t)bytes[0] + 1 + t.len / 64) == whole); /* few pieces: each is copied */
    if (whole <= 0)
        return 0;
    t.len = (size_t)whole;
    scoped(freep) char *copy = malloc(t.len);
    assert(copy);
    memcpy(copy, t.bytes, t.len);
    t.bytes = copy;
    struct head h;
    struct head_fault fault = {0};
    if (head_parse(t.bytes, t.len, &h, &fault)) {
        assert(fault.status >= 400 && fault.status < 600 && fault.reason);
        return 0;
    }
    check_head(t, &h);
    check_query(&h.request);
    return 0;
}
