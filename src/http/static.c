#include "http/static.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/range.h"
#include "http/syntax.h"

static const struct {
    const char *name, *ending, *mark; /* the mark makes its ETag differ */
} codings[STATIC_CODINGS] = {
    [STATIC_PLAIN] = {"identity", "", ""},
    [STATIC_ZSTD] = {"zstd", ".zst", "-z"},
    [STATIC_BR] = {"br", ".br", "-b"},
    [STATIC_GZIP] = {"gzip", ".gz", "-g"},
};

/* ---- files ---- */

static int open_form(int dir_fd, const char *name, struct static_form *ret, struct err *e)
{
    scoped(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "open the static file %s", name);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID, "%s is not a file", name);
    *ret = (struct static_form){.fd = take_fd(&fd), .len = (uint64_t)st.st_size, .is_there = true};
    return 0;
}

static void set_tag(struct static_file *f, const uint8_t digest[HASH_LEN])
{
    char hex[HASH_HEX_SIZE];
    hash_hex(digest, hex);
    (void)snprintf(f->tag, sizeof f->tag, "%.16s", hex);
}

static int open_codings(int dir_fd, const char *name, struct static_file *f, struct err *e)
{
    for (enum static_coding c = STATIC_ZSTD; c < STATIC_CODINGS; c++) {
        char path[300];
        int len = snprintf(path, sizeof path, "%s%s", name, codings[c].ending);
        if (len < 0 || (size_t)len >= sizeof path)
            return err_set(e, ERR_INVALID, "the name of a static file is too long");
        struct err ignored;
        (void)open_form(dir_fd, path, &f->forms[c], &ignored); /* then there is none */
    }
    return 0;
}

int static_open(int dir_fd, const char *name, const char *type, struct static_file *ret,
                struct err *e)
{
    struct static_file f = {.type = type};
    uint8_t digest[HASH_LEN];
    uint64_t len = 0;
    if (open_form(dir_fd, name, &f.forms[STATIC_PLAIN], e) ||
        hash_fd(f.forms[STATIC_PLAIN].fd, f.forms[STATIC_PLAIN].len, digest, &len, e) ||
        open_codings(dir_fd, name, &f, e)) {
        static_close(&f);
        return -1;
    }
    set_tag(&f, digest);
    *ret = f;
    return 0;
}

int static_embed(const void *bytes, uint64_t len, const char *type, struct static_file *ret,
                 struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    uint8_t digest[HASH_LEN];
    if (hash_init(&h, e) || hash_add(&h, bytes, (size_t)len, e) || hash_end(&h, digest, e))
        return -1;
    *ret = (struct static_file){.type = type};
    ret->forms[STATIC_PLAIN] = (struct static_form){.bytes = bytes, .len = len, .is_there = true};
    set_tag(ret, digest);
    return 0;
}

void static_close(struct static_file *f)
{
    for (enum static_coding c = 0; c < STATIC_CODINGS; c++) {
        if (f->forms[c].is_there && !f->forms[c].bytes)
            (void)close(f->forms[c].fd);
        f->forms[c].is_there = false;
    }
}

/* ---- Accept-Encoding ---- */

/* The thousandths of a weight: "q=0.5" is 500. Nonsense is 0, "not wanted". */
static int weight_of(struct str s)
{
    int weight = 0, unit = 1000;
    if (s.len < 3 || (s.ptr[0] != 'q' && s.ptr[0] != 'Q') || s.ptr[1] != '=' || s.len > 7)
        return 0;
    for (size_t i = 2; i < s.len; i++) {
        if (i == 3 && s.ptr[i] == '.')
            continue;
        if (s.ptr[i] < '0' || s.ptr[i] > '9' || i == 3)
            return 0;
        weight += (s.ptr[i] - '0') * unit;
        unit /= 10;
    }
    return weight <= 1000 ? weight : 0;
}

/* Splits "gzip ; q=0.5". */
static struct str split_weight(struct str one, int *ret_weight)
{
    const char *semicolon = memchr(one.ptr, ';', one.len);
    size_t len = semicolon ? (size_t)(semicolon - one.ptr) : one.len;
    struct str rest = {one.ptr + len, one.len - len};
    while (rest.len && (rest.ptr[0] == ';' || rest.ptr[0] == ' ' || rest.ptr[0] == '\t'))
        rest = (struct str){rest.ptr + 1, rest.len - 1};
    *ret_weight = semicolon ? weight_of(rest) : 1000;
    while (len && (one.ptr[len - 1] == ' ' || one.ptr[len - 1] == '\t'))
        len--;
    return (struct str){one.ptr, len};
}

/* How much the client likes a coding; the plain form is liked a little unless it is refused. */
static int liking(struct str accept, enum static_coding c)
{
    int weight = 0, any = c == STATIC_PLAIN ? 1 : 0;
    bool is_named = false;
    for (struct str one; http_list_next(&accept, &one);) {
        int found = 0;
        struct str name = split_weight(one, &found);
        if (http_same(name, codings[c].name)) {
            weight = found;
            is_named = true;
        } else if (str_is(name, "*") && !is_named) {
            any = found;
        }
    }
    return is_named ? weight : any;
}

enum static_coding static_choose(const struct static_file *f, struct str accept)
{
    enum static_coding best = STATIC_PLAIN;
    int best_liking = liking(accept, STATIC_PLAIN);
    for (enum static_coding c = STATIC_ZSTD; c < STATIC_CODINGS; c++) {
        int weight = f->forms[c].is_there ? liking(accept, c) : 0;
        if (weight > best_liking ||
            (weight && weight == best_liking && f->forms[c].len < f->forms[best].len)) {
            best = c;
            best_liking = weight;
        }
    }
    return best;
}

/* ---- answers ---- */

static int send_form(struct http_exchange *x, const struct static_file *f,
                     const struct static_form *form, struct err *e)
{
    if (http_begin(x, 200, f->type, (int64_t)form->len, e))
        return -1;
    int failed = form->bytes || form->len == 0 ? http_write(x, form->bytes, (size_t)form->len, e)
                                               : http_write_file(x, form->fd, 0, form->len, e);
    return failed ? -1 : http_end(x, e);
}

int static_send(struct http_exchange *x, const struct static_file *f, struct err *e)
{
    const struct http_request *r = http_request(x);
    if (!str_is(r->method, "GET") && !str_is(r->method, "HEAD")) {
        http_add_header(x, "Allow", "GET, HEAD");
        return http_send(x, 405, "text/plain", "", 0, e);
    }
    enum static_coding c = static_choose(f, http_header_get(r, "accept-encoding"));
    char etag[32];
    (void)snprintf(etag, sizeof etag, "\"%s%s\"", f->tag, codings[c].mark);
    http_add_header(x, "ETag", "%s", etag);
    http_add_header(x, "Vary", "Accept-Encoding");
    http_add_header(x, "Cache-Control", "%s",
                    f->is_immutable ? "public, max-age=31536000, immutable" : "no-cache");
    http_add_header(x, "X-Content-Type-Options", "nosniff");
    if (http_etag_in(http_header_get(r, "if-none-match"), etag, /* is_strong= */ false))
        return http_send(x, 304, NULL, NULL, 0, e);
    if (c != STATIC_PLAIN)
        http_add_header(x, "Content-Encoding", "%s", codings[c].name);
    return send_form(x, f, &f->forms[c], e);
}
