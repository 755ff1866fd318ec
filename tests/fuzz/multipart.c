/* Fuzzes multipart/form-data. Up to the first LF the input is the Content-Type, then come a byte that
 * says how the body is cut and the body: the same parts have to come out as when it is not cut. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/multipart.h"

#include "fuzz.h"

struct body {
    const uint8_t *bytes;
    size_t len, step;
};

static int read_body(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    struct body *b = arg;
    (void)e;
    size_t n = b->step < b->len ? b->step : b->len;
    n = n < size ? n : size;
    if (n)
        memcpy(to, b->bytes, n);
    b->bytes += n;
    b->len -= n;
    *ret_len = n;
    return 0;
}

static int read_part(struct multipart *m, size_t size, struct buf *out, struct err *e)
{
    char piece[256];
    size_t len = 0;
    do {
        if (multipart_read(m, piece, size, &len, e))
            return -1;
        assert(len <= size);
        buf_add(out, piece, len);
    } while (len);
    return 0;
}

/* Everything as text, up to the failure if there is one. */
static int parts(struct str type, struct body b, size_t size, struct buf *out, struct err *e)
{
    scoped(multipart_freep) struct multipart *m = NULL;
    if (multipart_new(type, read_body, &b, &m, e))
        return -1;
    const struct multipart_part *p = NULL;
    for (;;) {
        if (multipart_next(m, &p, e))
            return -1;
        if (!p)
            return 0;
        buf_fmt(out, "\n%s|%s|%s|", p->name, p->filename ? p->filename : "", p->type);
        if (read_part(m, size, out, e))
            return -1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const uint8_t *lf = len ? memchr(bytes, '\n', len) : NULL;
    if (!lf || lf + 1 == bytes + len)
        return 0;
    size_t type_len = (size_t)(lf - bytes);
    scoped(freep) char *type = malloc(type_len ? type_len : 1);
    assert(type);
    memcpy(type, bytes, type_len);
    struct str t = {.ptr = type, .len = type_len};
    struct body whole = {.bytes = lf + 2, .len = len - type_len - 2, .step = SIZE_MAX};
    struct body cut = whole;
    cut.step = (size_t)lf[1] + 1;

    struct err e = {0}, e_cut = {0};
    scoped(buf_done) struct buf a = BUF_INIT(4 << 20), b = BUF_INIT(4 << 20);
    int failed = parts(t, whole, 256, &a, &e);
    assert(parts(t, cut, cut.step, &b, &e_cut) == failed);
    if (!failed) {
        assert(a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0));
    } else {
        assert(e.code == ERR_INVALID || e.code == ERR_TOO_LARGE || e.code == ERR_UNSUPPORTED);
    }
    return 0;
}
