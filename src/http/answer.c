#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "http/exchange_int.h"
#include "http/syntax.h"

enum {
    SMALL_FILE = 16 << 10, /* read and sent together with the head */
    FILE_PIECE = 1 << 20,
};

bool http_has_begun(const struct http_exchange *x)
{
    return x->answer != ANSWER_NONE;
}

int http_status(const struct http_exchange *x)
{
    return x->status;
}

uint64_t http_bytes_out(const struct http_exchange *x)
{
    return x->bytes_out;
}

/* ---- sending ---- */

static int gone(struct http_exchange *x, struct err *e)
{
    x->is_gone = true;
    return err_set(e, ERR_GONE, "the client has left or does not read");
}

static void advance(struct iovec **pieces, int *count, size_t len)
{
    while (*count && len >= (*pieces)->iov_len) {
        len -= (*pieces)->iov_len;
        (*pieces)++;
        (*count)--;
    }
    if (*count) {
        (*pieces)->iov_base = (char *)(*pieces)->iov_base + len;
        (*pieces)->iov_len -= len;
    }
}

/* Of an exchange from inside: kept, as far as it may be. */
static int collect(struct http_exchange *x, const struct iovec *pieces, int count, struct err *e)
{
    for (int i = 0; i < count; i++)
        buf_add(x->collect, pieces[i].iov_base, pieces[i].iov_len);
    return x->collect->failed ? err_set(e, ERR_TOO_LARGE, "the answer is too large") : 0;
}

int answer_send(struct http_exchange *x, struct iovec *pieces, int count, struct err *e)
{
    if (x->is_gone)
        return gone(x, e);
    if (x->collect)
        return collect(x, pieces, count, e);
    for (advance(&pieces, &count, 0); count; advance(&pieces, &count, 0)) {
        ssize_t n = transport_write(&x->conn->io, pieces, count);
        if (n > 0) {
            exchange_moved(&x->writing, (size_t)n);
            advance(&pieces, &count, (size_t)n);
        } else if (n != TRANSPORT_AGAIN || !exchange_wait(x, POLLOUT, &x->writing)) {
            return gone(x, e);
        }
    }
    return 0;
}

/* Sends `pieces[1..]` after the head, if that is still here. */
static int send_after_head(struct http_exchange *x, struct iovec *pieces, int count, struct err *e)
{
    pieces[0] = (struct iovec){x->head_out.bytes, x->head_out.len};
    int failed = answer_send(x, pieces, count, e);
    x->head_out.len = 0;
    if (x->head_out.bytes)
        x->head_out.bytes[0] = '\0';
    return failed;
}

/* ---- the head ---- */

static bool is_framing(const char *name)
{
    struct str s = str_of(name);
    return http_same(s, "content-length") || http_same(s, "transfer-encoding") ||
           http_same(s, "connection");
}

/* What could end the line becomes a blank: the value may be from anybody. */
static void add_header(struct buf *b, const char *name, const char *value)
{
    buf_fmt(b, "%s: ", name);
    for (const char *c = value; *c; c++) {
        bool is_text = ((unsigned char)*c >= ' ' && *c != 127) || *c == '\t';
        buf_add(b, is_text ? c : " ", 1);
    }
    buf_str(b, "\r\n");
}

void http_add_header(struct http_exchange *x, const char *name, const char *fmt, ...)
{
    assert(x->answer == ANSWER_NONE && http_is_token(str_of(name)) && !is_framing(name));
    scoped(freep) char *value = NULL;
    va_list ap;
    va_start(ap, fmt);
    int len = vasprintf(&value, fmt, ap);
    va_end(ap);
    if (len < 0) {
        value = NULL;
        x->extra.failed = true;
        return;
    }
    add_header(&x->extra, name, value);
}

bool answer_must_close(const struct http_exchange *x, int status)
{
    if (x->has_read_all)
        return false;
    /* Nobody waits for the rest of a body that was refused (exchange_drain). */
    size_t here = x->in.end - x->in.at;
    if (status >= 400 && (x->head.is_chunked ? here == 0 : x->body_left > here))
        return true;
    /* Who was not told to go on may send the body or not: nobody can say what comes next. */
    return x->is_malformed || x->owes_continue ||
           (!x->head.is_chunked && x->body_left > UNREAD_MAX);
}

static void add_framing(struct http_exchange *x, int64_t length)
{
    struct buf *b = &x->head_out;
    bool has_none = x->status == 204 || x->status == 304;
    if (!has_none && x->has_promised)
        buf_fmt(b, "Content-Length: %" PRId64 "\r\n", length);
    else if (!has_none && x->is_chunked)
        buf_str(b, "Transfer-Encoding: chunked\r\n");
    if (x->closes)
        buf_str(b, "Connection: close\r\n");
    else if (!x->head.is_http11)
        buf_str(b, "Connection: keep-alive\r\n");
    buf_str(b, "\r\n");
}

static int begin(struct http_exchange *x, int status, const char *type, int64_t length,
                 struct err *e)
{
    assert(x->answer == ANSWER_NONE && status >= 200 && status <= 599);
    if (x->is_gone)
        return gone(x, e);
    x->is_bodyless = status == 204 || status == 304 || str_is(x->head.request.method, "HEAD");
    x->has_promised = length >= 0;
    x->left = length >= 0 ? (uint64_t)length : 0;
    x->status = status;
    x->answer = ANSWER_BEGUN;
    if (x->collect) { /* its headers stay in x->extra */
        if (type)
            add_header(&x->extra, "Content-Type", type);
        return 0;
    }
    x->answer = ANSWER_NONE;
    x->is_chunked = length < 0 && x->head.is_http11;
    bool ends_by_close = length < 0 && !x->head.is_http11 && !x->is_bodyless;
    bool is_draining = atomic_load_explicit(&x->server->is_draining, memory_order_relaxed);
    x->closes = x->closes || ends_by_close || is_draining || answer_must_close(x, status);

    struct buf *b = &x->head_out;
    buf_fmt(b, "HTTP/1.1 %d ", status);
    buf_str(b, http_reason(status));
    buf_str(b, "\r\nDate: ");
    buf_str(b, http_date_text(&x->date));
    buf_str(b, "\r\n");
    if (type)
        add_header(b, "Content-Type", type);
    buf_add(b, x->extra.bytes, x->extra.len);
    add_framing(x, length);
    if (x->extra.failed || b->failed) {
        buf_done(b);
        x->status = 0;
        return err_set(e, ERR_INTERNAL, "the headers of the answer are too large");
    }
    x->answer = ANSWER_BEGUN;
    return 0;
}

int http_begin(struct http_exchange *x, int status, const char *type, int64_t length, struct err *e)
{
    if (begin(x, status, type, length, e))
        return -1;
    /* With a length the rest follows at once and goes out together with the head. */
    struct iovec pieces[1];
    return length < 0 ? send_after_head(x, pieces, 1, e) : 0;
}

/* ---- the body ---- */

static void count(struct http_exchange *x, uint64_t len)
{
    assert(x->answer == ANSWER_BEGUN && (!x->has_promised || len <= x->left));
    if (x->has_promised)
        x->left -= len;
    x->bytes_out += len;
}

int http_write(struct http_exchange *x, const void *bytes, size_t len, struct err *e)
{
    count(x, len);
    if (x->is_bodyless || len == 0)
        return x->is_gone ? gone(x, e) : 0;
    char size[24] = "";
    struct iovec pieces[4] = {{NULL, 0}, {size, 0}, {(void *)bytes, len}, {"", 0}};
    if (x->is_chunked) {
        pieces[1].iov_len = (size_t)snprintf(size, sizeof size, "%zx\r\n", len);
        pieces[3] = (struct iovec){"\r\n", 2};
    }
    return send_after_head(x, pieces, 4, e);
}

static int shrunk(struct http_exchange *x, struct err *e)
{
    x->is_gone = true; /* the rest of the answer does not exist: nothing more can be said */
    return err_set(e, ERR_INTERNAL, "a file became shorter while it was sent");
}

static int copy_file(struct http_exchange *x, int fd, uint64_t offset, uint64_t len, struct err *e)
{
    char piece[SMALL_FILE];
    while (len) {
        size_t want = len < sizeof piece ? (size_t)len : sizeof piece;
        ssize_t n = pread(fd, piece, want, (off_t)offset);
        if (n <= 0)
            return shrunk(x, e);
        if (http_write(x, piece, (size_t)n, e))
            return -1;
        offset += (uint64_t)n;
        len -= (uint64_t)n;
    }
    return 0;
}

static int send_file(struct http_exchange *x, int fd, uint64_t offset, uint64_t len, struct err *e)
{
    off_t at = (off_t)offset;
    while (len) {
        size_t want = len < FILE_PIECE ? (size_t)len : FILE_PIECE;
        ssize_t n = transport_send_file(&x->conn->io, fd, &at, want);
        if (n == 0)
            return shrunk(x, e);
        if (n > 0) {
            exchange_moved(&x->writing, (size_t)n);
            len -= (uint64_t)n;
        } else if (n != TRANSPORT_AGAIN || !exchange_wait(x, POLLOUT, &x->writing)) {
            return gone(x, e);
        }
    }
    return 0;
}

int http_write_file(struct http_exchange *x, int fd, uint64_t offset, uint64_t len, struct err *e)
{
    if (len <= SMALL_FILE || x->collect || x->conn->io.ssl || x->is_chunked || x->is_bodyless) {
        if (!x->is_bodyless)
            return copy_file(x, fd, offset, len, e);
        count(x, len);
        return 0;
    }
    struct iovec pieces[1];
    count(x, len);
    if (send_after_head(x, pieces, 1, e))
        return -1;
    return send_file(x, fd, offset, len, e);
}

int http_end(struct http_exchange *x, struct err *e)
{
    assert(x->answer == ANSWER_BEGUN);
    if (x->is_gone)
        return gone(x, e);
    if (x->has_promised && x->left && !x->is_bodyless)
        return err_set(e, ERR_INTERNAL, "the answer is shorter than its Content-Length");
    struct iovec pieces[2] = {{NULL, 0}, {"", 0}};
    if (x->is_chunked && !x->is_bodyless)
        pieces[1] = (struct iovec){"0\r\n\r\n", 5};
    if (send_after_head(x, pieces, 2, e))
        return -1;
    x->answer = ANSWER_ENDED;
    return 0;
}

int http_send(struct http_exchange *x, int status, const char *type, const void *bytes, size_t len,
              struct err *e)
{
    if (status == 204 || status == 304)
        len = 0;
    if (begin(x, status, type, (int64_t)len, e) || http_write(x, bytes, len, e))
        return -1;
    return http_end(x, e);
}
