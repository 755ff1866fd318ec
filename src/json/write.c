#include "json/write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/scope.h"
#include "base/utf8.h"

static bool in_object(const struct json_writer *w)
{
    return w->depth > 0 && (w->is_object >> (w->depth - 1) & 1);
}

/* What comes before any value: the comma, or nothing after a key. */
static void before_value(struct json_writer *w)
{
    assert(w->depth > 0 || !w->is_begun); /* one value per document */
    assert(in_object(w) == w->has_key);   /* in an object after a key, in an array without one */
    if (w->needs_comma && !w->has_key)
        buf_str(w->out, ",");
    w->is_begun = true;
    w->has_key = false;
    w->needs_comma = true;
}

static void open_level(struct json_writer *w, bool is_object)
{
    before_value(w);
    assert(w->depth < JSON_DEPTH_MAX);
    uint64_t bit = (uint64_t)1 << w->depth++;
    w->is_object = is_object ? w->is_object | bit : w->is_object & ~bit;
    w->needs_comma = false;
    buf_str(w->out, is_object ? "{" : "[");
}

static void close_level(struct json_writer *w, bool is_object)
{
    assert(w->depth > 0 && in_object(w) == is_object && !w->has_key);
    w->depth--;
    w->needs_comma = true;
    buf_str(w->out, is_object ? "}" : "]");
}

void jw_object(struct json_writer *w)
{
    open_level(w, true);
}

void jw_end_object(struct json_writer *w)
{
    close_level(w, true);
}

void jw_array(struct json_writer *w)
{
    open_level(w, false);
}

void jw_end_array(struct json_writer *w)
{
    close_level(w, false);
}

/* The escape for the byte or, for U+2028 and U+2029, the three bytes at `at`, and how many bytes it
 * stands for; NULL if the byte can stay. The bytes are UTF-8. */
static const char *escape_of(const char *at, size_t left, char space[8], size_t *ret_len)
{
    unsigned char c = (unsigned char)*at;
    *ret_len = 1;
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case 0xe2:
        *ret_len = 3;
        if (left >= 3 && memcmp(at, "\xe2\x80\xa8", 3) == 0)
            return "\\u2028";
        if (left >= 3 && memcmp(at, "\xe2\x80\xa9", 3) == 0)
            return "\\u2029";
        return NULL;
    default: break;
    }
    if (c >= 0x20 && c != 0x7f)
        return NULL;
    (void)snprintf(space, 8, "\\u%04x", c);
    return space;
}

static void put_escaped(struct buf *out, const char *bytes, size_t len)
{
    if (len == 0)
        return; /* and `bytes` may be NULL */
    size_t from = 0;
    for (size_t at = 0; at < len; at++) {
        char space[8];
        size_t escaped_len;
        const char *instead = escape_of(bytes + at, len - at, space, &escaped_len);
        if (!instead)
            continue;
        buf_add(out, bytes + from, at - from);
        buf_str(out, instead);
        from = at + escaped_len;
        at = from - 1;
    }
    buf_add(out, bytes + from, len - from);
}

static void put_string(struct buf *out, const char *bytes, size_t len)
{
    buf_str(out, "\"");
    if (utf8_is_valid(bytes, len)) {
        put_escaped(out, bytes, len);
    } else {
        scoped(buf_done) struct buf clean = BUF_INIT(out->max);
        utf8_clean(bytes, len, &clean);
        put_escaped(out, clean.bytes, clean.len);
        out->failed |= clean.failed; /* then it would not have fitted into `out` either */
    }
    buf_str(out, "\"");
}

void jw_key_str(struct json_writer *w, const char *bytes, size_t len)
{
    assert(in_object(w) && !w->has_key);
    if (w->needs_comma)
        buf_str(w->out, ",");
    put_string(w->out, bytes, len);
    buf_str(w->out, ":");
    w->has_key = true;
}

void jw_key(struct json_writer *w, const char *key)
{
    jw_key_str(w, key, strlen(key));
}

void jw_str(struct json_writer *w, const char *bytes, size_t len)
{
    before_value(w);
    put_string(w->out, bytes, len);
}

void jw_text(struct json_writer *w, const char *text)
{
    if (text)
        jw_str(w, text, strlen(text));
    else
        jw_null(w);
}

void jw_base64(struct json_writer *w, const void *bytes, size_t len)
{
    before_value(w);
    buf_str(w->out, "\"");
    base64_add(w->out, bytes, len);
    buf_str(w->out, "\"");
}

void jw_u64(struct json_writer *w, uint64_t v)
{
    before_value(w);
    buf_fmt(w->out, "%" PRIu64, v);
}

void jw_i64(struct json_writer *w, int64_t v)
{
    before_value(w);
    buf_fmt(w->out, "%" PRId64, v);
}

void jw_decimal(struct json_writer *w, uint64_t v, unsigned places)
{
    assert(places <= 9);
    before_value(w);
    uint64_t unit = 1;
    for (unsigned i = 0; i < places; i++)
        unit *= 10;
    uint64_t whole = v / unit, rest = v % unit;
    for (; places > 0 && rest % 10 == 0; places--)
        rest /= 10;
    buf_fmt(w->out, "%" PRIu64, whole);
    if (places > 0)
        buf_fmt(w->out, ".%0*" PRIu64, (int)places, rest);
}

void jw_bool(struct json_writer *w, bool v)
{
    jw_raw(w, v ? "true" : "false", v ? 4 : 5);
}

void jw_null(struct json_writer *w)
{
    jw_raw(w, "null", 4);
}

void jw_raw(struct json_writer *w, const char *json, size_t len)
{
    assert(len > 0);
    before_value(w);
    buf_add(w->out, json, len);
}

void jw_finish(const struct json_writer *w)
{
    assert(w->depth == 0 && w->is_begun);
}
