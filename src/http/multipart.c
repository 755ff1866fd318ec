/* multipart.c
 *
 *     preamble --boundary CRLF head CRLF bytes CRLF--boundary CRLF head ... CRLF--boundary-- epilogue
 *
 * The buffer begins with a CRLF that the body does not have, so that the first delimiter is like all
 * others. [at, known) has no delimiter in it; what follows has not been looked at, or is shorter than
 * a delimiter, or begins with one (found).
 */
#include "http/multipart.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "http/params.h"
#include "http/syntax.h"

enum { BUFFER_SIZE = 64 << 10 };

enum state { PREAMBLE, IN_PART, ENDED, BROKEN };

struct multipart {
    multipart_read_fn *read;
    void *arg;
    enum state state;
    unsigned part_count;
    char delimiter[4 + MULTIPART_BOUNDARY_MAX];
    size_t delimiter_len;
    size_t at, known, end;
    bool found; /* a delimiter begins at `known` */
    struct multipart_part part;
    char filename[PARAM_VALUE_MAX + 1];
    char buffer[BUFFER_SIZE];
};

static int fail(struct multipart *m, enum err_code code, const char *why, struct err *e)
{
    m->state = BROKEN;
    return err_set(e, code, "%s", why);
}

static int malformed(struct multipart *m, struct err *e)
{
    return fail(m, ERR_INVALID, "the multipart body is malformed", e);
}

/* ---- the beginning ---- */

static bool is_boundary(const struct param *p)
{
    static const char allowed[] = "'()+_,-./:=? ";
    if (p->len == 0 || p->len > MULTIPART_BOUNDARY_MAX || p->value[p->len - 1] == ' ')
        return false;
    for (size_t i = 0; i < p->len; i++) {
        char c = p->value[i], l = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(l >= 'a' && l <= 'z') && !strchr(allowed, c))
            return false;
    }
    return true;
}

static int find_boundary(struct str type, struct param *ret, struct err *e)
{
    struct param p = {0};
    bool has_one = false;
    if (!http_same(params_word(&type), "multipart/form-data"))
        return err_set(e, ERR_UNSUPPORTED, "the body has to be multipart/form-data");
    int more = 1;
    while ((more = params_next(&type, &p)) == 1) {
        if (!http_same(p.name, "boundary"))
            continue;
        if (has_one)
            break;
        has_one = true;
        *ret = p;
    }
    if (more || !has_one || !is_boundary(ret))
        return err_set(e, ERR_INVALID, "the boundary of the multipart body is malformed");
    return 0;
}

int multipart_new(struct str content_type, multipart_read_fn *read, void *arg,
                  struct multipart **ret, struct err *e)
{
    struct param boundary = {0};
    if (find_boundary(content_type, &boundary, e))
        return -1;
    struct multipart *m = malloc(sizeof *m);
    if (!m)
        return err_set(e, ERR_NO_MEMORY, "read a multipart body");
    m->read = read;
    m->arg = arg;
    m->state = PREAMBLE;
    m->part_count = 0;
    m->found = false;
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.value, boundary.len);
    m->delimiter_len = 4 + boundary.len;
    memcpy(m->buffer, "\r\n", 2);
    m->at = m->known = 0;
    m->end = 2;
    *ret = m;
    return 0;
}

void multipart_free(struct multipart *m)
{
    free(m);
}

void multipart_freep(struct multipart **m)
{
    multipart_free(*m);
}

/* ---- the buffer ---- */

static void check(const struct multipart *m)
{
    assert(m->at <= m->known && m->known <= m->end && m->end <= BUFFER_SIZE);
}

/* Gets more bytes behind what is there. */
static int fill(struct multipart *m, struct err *e)
{
    if (m->at) {
        memmove(m->buffer, m->buffer + m->at, m->end - m->at);
        m->known -= m->at;
        m->end -= m->at;
        m->at = 0;
    }
    assert(m->end < BUFFER_SIZE);
    size_t len = 0;
    if (m->read(m->arg, m->buffer + m->end, BUFFER_SIZE - m->end, &len, e)) {
        m->state = BROKEN;
        return -1;
    }
    if (len == 0)
        return fail(m, ERR_INVALID, "the multipart body ends early", e);
    m->end += len;
    check(m);
    return 0;
}

/* Looks for the delimiter from `known` on. */
static void look(struct multipart *m)
{
    const char *from = m->buffer + m->known;
    const char *hit = memmem(from, m->end - m->known, m->delimiter, m->delimiter_len);
    if (hit) {
        m->found = true;
        m->known = (size_t)(hit - m->buffer);
    } else if (m->end - m->known >= m->delimiter_len) {
        m->known = m->end - m->delimiter_len + 1;
    }
    check(m);
}

/* Makes [at, known) not empty, or `found`. */
static int advance(struct multipart *m, struct err *e)
{
    while (m->at == m->known && !m->found) {
        look(m);
        if (m->at == m->known && !m->found && fill(m, e))
            return -1;
    }
    return 0;
}

/* ---- heads ---- */

static int take_disposition(struct multipart *m, struct str value, struct err *e)
{
    struct param p = {0};
    bool has_name = false;
    int more = 1;
    if (!http_same(params_word(&value), "form-data"))
        return malformed(m, e);
    while ((more = params_next(&value, &p)) == 1) {
        if (http_same(p.name, "name")) {
            if (has_name || p.len > MULTIPART_NAME_MAX)
                return malformed(m, e);
            has_name = true;
            memcpy(m->part.name, p.value, p.len + 1);
        } else if (http_same(p.name, "filename")) {
            if (m->part.filename)
                return malformed(m, e);
            memcpy(m->filename, p.value, p.len + 1);
            m->part.filename = m->filename;
        }
    }
    return more || !has_name ? malformed(m, e) : 0;
}

static int take_type(struct multipart *m, struct str value, struct err *e)
{
    if (value.len > MULTIPART_NAME_MAX)
        return malformed(m, e);
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < ' ' || value.ptr[i] == 127)
            return malformed(m, e);
    memcpy(m->part.type, value.ptr, value.len);
    m->part.type[value.len] = '\0';
    return 0;
}

static int take_line(struct multipart *m, struct str line, bool *has_disposition, struct err *e)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon)
        return malformed(m, e);
    struct str name = {line.ptr, (size_t)(colon - line.ptr)};
    if (!http_is_token(name))
        return malformed(m, e);
    struct str value = str_trim(str_from(line, name.len + 1));
    if (http_same(name, "content-type"))
        return take_type(m, value, e);
    if (!http_same(name, "content-disposition"))
        return 0;
    if (*has_disposition)
        return malformed(m, e);
    *has_disposition = true;
    return take_disposition(m, value, e);
}

/* Lines that each end in CRLF. */
static int take_head(struct multipart *m, struct str head, struct err *e)
{
    bool has_disposition = false;
    m->part.filename = NULL;
    memcpy(m->part.type, "text/plain", sizeof "text/plain");
    while (head.len) {
        const char *end = memmem(head.ptr, head.len, "\r\n", 2);
        assert(end);
        struct str line = {head.ptr, (size_t)(end - head.ptr)};
        if (take_line(m, line, &has_disposition, e))
            return -1;
        head = (struct str){end + 2, head.len - line.len - 2};
    }
    return has_disposition ? 0 : malformed(m, e);
}

/* Reads until the bytes from `at` on have `text` in them, at most `max` bytes from there. */
static int read_until(struct multipart *m, const char *text, size_t max, size_t *ret_len,
                      struct err *e)
{
    for (;;) {
        size_t len = m->end - m->at < max ? m->end - m->at : max;
        const char *hit = memmem(m->buffer + m->at, len, text, strlen(text));
        if (hit) {
            *ret_len = (size_t)(hit - m->buffer) - m->at;
            return 0;
        }
        if (len == max)
            return fail(m, ERR_TOO_LARGE, "the head of a part is too large", e);
        if (fill(m, e))
            return -1;
    }
}

/* What follows a delimiter: blanks and CRLF, or "--" and the end. */
static int read_delimiter(struct multipart *m, struct err *e)
{
    m->found = false;
    m->at = m->known = m->known + m->delimiter_len;
    while (m->end - m->at < 2)
        if (fill(m, e))
            return -1;
    if (memcmp(m->buffer + m->at, "--", 2) == 0) {
        m->state = ENDED;
        return 0;
    }
    size_t len = 0;
    if (read_until(m, "\r\n", 64, &len, e))
        return malformed(m, e);
    for (size_t i = 0; i < len; i++)
        if (m->buffer[m->at + i] != ' ' && m->buffer[m->at + i] != '\t')
            return malformed(m, e);
    m->at += len; /* before the CRLF, so that an empty head ends like every other */
    m->known = m->at;
    return 0;
}

static int read_head(struct multipart *m, struct err *e)
{
    size_t len = 0;
    if (++m->part_count > MULTIPART_PARTS_MAX)
        return fail(m, ERR_TOO_LARGE, "the multipart body has too many parts", e);
    if (read_until(m, "\r\n\r\n", MULTIPART_HEAD_MAX, &len, e))
        return -1;
    struct str head = {m->buffer + m->at + 2, len}; /* with the CRLF of its last line */
    if (take_head(m, head, e))
        return -1;
    m->at += len + 4;
    m->known = m->at;
    m->state = IN_PART;
    return 0;
}

int multipart_next(struct multipart *m, const struct multipart_part **ret, struct err *e)
{
    if (m->state == BROKEN)
        return malformed(m, e);
    while (m->state != ENDED && !m->found) {
        m->at = m->known;
        if (advance(m, e))
            return -1;
    }
    if (m->state != ENDED && (read_delimiter(m, e) || (m->state != ENDED && read_head(m, e))))
        return -1;
    *ret = m->state == ENDED ? NULL : &m->part;
    return 0;
}

int multipart_read(struct multipart *m, void *to, size_t size, size_t *ret_len, struct err *e)
{
    *ret_len = 0;
    if (m->state == BROKEN)
        return malformed(m, e);
    if (m->state != IN_PART || size == 0)
        return 0;
    if (advance(m, e))
        return -1;
    size_t len = m->known - m->at < size ? m->known - m->at : size;
    memcpy(to, m->buffer + m->at, len);
    m->at += len;
    *ret_len = len;
    return 0;
}
