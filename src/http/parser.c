#include "http/parser.h"

#include <string.h>

#include "http/syntax.h"

static int fail(struct head_fault *fault, int status, const char *reason)
{
    *fault = (struct head_fault){.status = status, .reason = reason};
    return -1;
}

/* ---- the request line ---- */

struct request_line {
    struct str method, target;
    bool is_http11;
};

static int version_of(struct str s, bool *ret_is_http11, struct head_fault *fault)
{
    if (s.len != 8 || memcmp(s.ptr, "HTTP/", 5) != 0 || !syntax_is(s.ptr[5], SYNTAX_DIGIT) ||
        s.ptr[6] != '.' || !syntax_is(s.ptr[7], SYNTAX_DIGIT))
        return fail(fault, 400, "the request line is malformed");
    if (s.ptr[5] != '1' || (s.ptr[7] != '0' && s.ptr[7] != '1'))
        return fail(fault, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    *ret_is_http11 = s.ptr[7] == '1';
    return 0;
}

static int split_line(struct str line, struct request_line *ret, struct head_fault *fault)
{
    size_t method = syntax_span(line, SYNTAX_TOKEN);
    if (method == 0 || method == line.len || line.ptr[method] != ' ')
        return fail(fault, 400, "the request line is malformed");
    if (method > HEAD_METHOD_MAX)
        return fail(fault, 501, "the method is not known");
    struct str rest = str_from(line, method + 1);
    size_t target = syntax_span(rest, SYNTAX_TARGET);
    if (target > HEAD_TARGET_MAX)
        return fail(fault, 414, "the request target is too long");
    if (target == 0 || target == rest.len || rest.ptr[target] != ' ')
        return fail(fault, 400, "the request target is malformed");
    if (version_of(str_from(rest, target + 1), &ret->is_http11, fault))
        return -1;
    ret->method = str_upto(line, method);
    ret->target = str_upto(rest, target);
    return 0;
}

static int split_path(struct str target, struct http_request *r, struct head_fault *fault)
{
    size_t path = str_find(target, '?');
    r->path = str_upto(target, path);
    r->query = path < target.len ? str_from(target, path + 1) : STR_NONE;
    if (str_find(r->path, '\\') < path || !syntax_has_good_escapes(target))
        return fail(fault, 400, "the request target is malformed");
    return 0;
}

/* "http://host/path": what proxies are sent, and every server has to understand. */
static int split_absolute(struct str target, struct http_request *r, struct head_fault *fault)
{
    size_t scheme = str_find(target, ':');
    struct str name = str_upto(target, scheme);
    struct str rest = str_from(target, scheme);
    if ((!http_same(name, "http") && !http_same(name, "https")) || rest.len < 3 ||
        memcmp(rest.ptr, "://", 3) != 0)
        return fail(fault, 400, "the request target is malformed");
    rest = str_from(rest, 3);
    size_t host = 0;
    while (host < rest.len && rest.ptr[host] != '/' && rest.ptr[host] != '?')
        host++;
    r->host = str_upto(rest, host);
    if (!syntax_is_host(r->host))
        return fail(fault, 400, "the host of the request target is malformed");
    if (split_path(str_from(rest, host), r, fault))
        return -1;
    if (r->path.len == 0)
        r->path = str_of("/");
    return 0;
}

static int take_line(struct str line, struct head *h, struct head_fault *fault)
{
    struct request_line l = {0};
    if (split_line(line, &l, fault))
        return -1;
    struct http_request *r = &h->request;
    r->method = l.method;
    h->is_http11 = h->keeps_alive = l.is_http11;
    if (str_is(l.method, "CONNECT"))
        return fail(fault, 501, "this server is not a proxy");
    if (l.target.ptr[0] == '/')
        return split_path(l.target, r, fault);
    if (str_is(l.target, "*")) {
        r->path = l.target;
        return str_is(l.method, "OPTIONS") ? 0 : fail(fault, 400, "only OPTIONS may ask for *");
    }
    return split_absolute(l.target, r, fault);
}

/* ---- the headers ---- */

/* Which of the headers that may come only once have been there. */
struct once {
    struct str host;
    bool has_host, has_length, has_coding;
};

static int take_length(struct head *h, struct once *once, struct str value,
                       struct head_fault *fault)
{
    if (once->has_length)
        return fail(fault, 400, "there is more than one Content-Length");
    once->has_length = true;
    if (value.len == 0 || value.len > 18 || syntax_span(value, SYNTAX_DIGIT) != value.len)
        return fail(fault, 400, "the Content-Length is malformed");
    uint64_t length = 0;
    for (size_t i = 0; i < value.len; i++)
        length = length * 10 + (uint64_t)(value.ptr[i] - '0');
    h->request.has_length = true;
    h->request.length = length;
    return 0;
}

static int take_coding(struct head *h, struct once *once, struct str value,
                       struct head_fault *fault)
{
    if (once->has_coding)
        return fail(fault, 400, "there is more than one Transfer-Encoding");
    once->has_coding = true;
    if (!h->is_http11)
        return fail(fault, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (http_same(value, "chunked")) {
        h->is_chunked = true;
        return 0;
    }
    /* Chunked anywhere but at the very end would make the length of the body a matter of taste. */
    struct str one;
    size_t chunked = 0, last = 0;
    for (size_t i = 1; http_list_next(&value, &one); i++) {
        chunked += http_same(one, "chunked");
        last = http_same(one, "chunked") ? i : 0;
    }
    if (chunked > 1 || (chunked == 1 && !last))
        return fail(fault, 400, "the Transfer-Encoding is malformed");
    return fail(fault, 501, "no Transfer-Encoding but chunked is supported");
}

static void take_connection(struct head *h, struct str value)
{
    struct str one;
    bool closes = false, keeps = false;
    while (http_list_next(&value, &one)) {
        closes = closes || http_same(one, "close");
        keeps = keeps || http_same(one, "keep-alive");
    }
    if (closes)
        h->keeps_alive = false;
    else if (keeps && !h->is_http11)
        h->keeps_alive = true;
}

static int take_expect(struct head *h, struct str value, struct head_fault *fault)
{
    if (!http_same(value, "100-continue"))
        return fail(fault, 417, "nothing but 100-continue may be expected");
    h->expects_continue = h->is_http11;
    return 0;
}

static int take_host(struct once *once, struct str value, struct head_fault *fault)
{
    if (once->has_host)
        return fail(fault, 400, "there is more than one Host");
    once->has_host = true;
    once->host = value;
    return syntax_is_host(value) ? 0 : fail(fault, 400, "the Host is malformed");
}

/* What the headers mean for the connection. */
static int take_header(struct head *h, struct once *once, const struct http_header *header,
                       struct head_fault *fault)
{
    struct str name = header->name, value = header->value;
    if (http_same(name, "host"))
        return take_host(once, value, fault);
    if (http_same(name, "content-length"))
        return take_length(h, once, value, fault);
    if (http_same(name, "transfer-encoding"))
        return take_coding(h, once, value, fault);
    if (http_same(name, "expect"))
        return take_expect(h, value, fault);
    if (http_same(name, "connection"))
        take_connection(h, value);
    return 0;
}

static int split_header(struct str line, struct http_header *ret, struct head_fault *fault)
{
    size_t name = syntax_span(line, SYNTAX_TOKEN);
    if (name == 0 || name == line.len || line.ptr[name] != ':')
        return fail(fault, 400, "a header line is malformed");
    struct str value = str_from(line, name + 1);
    if (syntax_span(value, SYNTAX_VALUE) != value.len)
        return fail(fault, 400, "a header has a forbidden character");
    *ret = (struct http_header){.name = str_upto(line, name), .value = str_trim(value)};
    return 0;
}

/* Takes one line and its CRLF from the front of `rest`. */
static struct str next_line(struct str *rest)
{
    size_t end = str_find(*rest, '\n');
    bool is_whole = end < rest->len;
    struct str line = str_upto(*rest, is_whole && end ? end - 1 : 0);
    *rest = str_from(*rest, is_whole ? end + 1 : end);
    return line;
}

static int check_whole(struct head *h, const struct once *once, struct head_fault *fault)
{
    struct http_request *r = &h->request;
    if (h->is_http11 && !once->has_host)
        return fail(fault, 400, "there is no Host");
    if (once->has_coding && once->has_length)
        return fail(fault, 400, "there are both Content-Length and Transfer-Encoding");
    if (!r->host.ptr)
        r->host = once->host;
    r->has_body = h->is_chunked || r->length > 0;
    return 0;
}

int head_parse(const char *bytes, size_t len, struct head *ret, struct head_fault *fault)
{
    ret->request = (struct http_request){.headers = ret->headers};
    ret->is_chunked = ret->expects_continue = false;

    struct str rest = {.ptr = bytes, .len = len};
    if (len >= 2 && memcmp(bytes, "\r\n", 2) == 0)
        rest = str_from(rest, 2);
    if (take_line(next_line(&rest), ret, fault))
        return -1;

    struct once once = {0};
    struct http_request *r = &ret->request;
    for (struct str line = next_line(&rest); line.len; line = next_line(&rest)) {
        if (r->header_count == HEAD_HEADERS_MAX)
            return fail(fault, 431, "there are too many headers");
        struct http_header *header = &ret->headers[r->header_count++];
        if (split_header(line, header, fault) || take_header(ret, &once, header, fault))
            return -1;
    }
    return check_whole(ret, &once, fault);
}

/* ---- is it whole? ---- */

/* The line [s->line, end) has come, `end` being the index of its LF. */
static int scan_line(struct head_scan *s, const char *bytes, size_t end, struct head_fault *fault)
{
    if (end == s->line || bytes[end - 1] != '\r')
        return fail(fault, 400, "a line does not end in CRLF");
    struct str line = {.ptr = bytes + s->line, .len = end - 1 - s->line};
    if (!s->has_request && (line.len || s->line)) {
        /* Refused now rather than after the rest, which may never come. */
        struct request_line l;
        if (split_line(line, &l, fault))
            return -1;
        s->has_request = true;
    }
    return 0;
}

static int check_size(const struct head_scan *s, size_t len, struct head_fault *fault)
{
    if (!s->has_request && len - s->line > HEAD_METHOD_MAX + HEAD_TARGET_MAX + sizeof "  HTTP/1.1")
        return fail(fault, 414, "the request line is too long");
    if (len >= HEAD_MAX)
        return fail(fault, 431, "the head of the request is too large");
    return 0;
}

int head_scan(struct head_scan *s, const char *bytes, size_t len, size_t *ret_len,
              struct head_fault *fault)
{
    if (len > HEAD_MAX)
        len = HEAD_MAX;
    *ret_len = 0;
    while (s->seen < len) {
        if (s->seen == s->line && !s->has_request && bytes[s->line] != '\r' &&
            !syntax_is(bytes[s->line], SYNTAX_TOKEN))
            return fail(fault, 400, "this is not a request");
        const char *lf = memchr(bytes + s->seen, '\n', len - s->seen);
        if (!lf) {
            s->seen = (uint16_t)len;
            break;
        }
        size_t end = (size_t)(lf - bytes);
        if (scan_line(s, bytes, end, fault))
            return -1;
        if (end - 1 == s->line && s->has_request) {
            *ret_len = end + 1;
            return 0;
        }
        s->line = s->seen = (uint16_t)(end + 1);
    }
    return check_size(s, len, fault);
}
