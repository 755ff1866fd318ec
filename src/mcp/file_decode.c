#include "mcp/file_decode.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

/* ---- which ---- */

static bool begins(const char *bytes, size_t len, const char *mark, size_t mark_len)
{
    return len >= mark_len && memcmp(bytes, mark, mark_len) == 0;
}

/* More than one in fifty is a control character that no text has. */
static bool is_odd(const char *bytes, size_t len)
{
    size_t odd = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        odd += c < 32 && !strchr("\t\n\r\f\v\x1b", c);
    }
    return odd > len / 50;
}

enum encoding encoding_of(const char *bytes, size_t len)
{
    if (len > ENCODING_LOOK_MAX)
        len = ENCODING_LOOK_MAX;
    if (begins(bytes, len, "\xef\xbb\xbf", 3))
        return ENCODING_UTF8_MARK;
    if (begins(bytes, len, "\xff\xfe", 2))
        return ENCODING_UTF16_LE;
    if (begins(bytes, len, "\xfe\xff", 2))
        return ENCODING_UTF16_BE;
    if (len > 0 && memchr(bytes, '\0', len))
        return ENCODING_BINARY;
    if (utf8_is_valid(bytes, utf8_cut(bytes, len)))
        return ENCODING_UTF8;
    return is_odd(bytes, len) ? ENCODING_BINARY : ENCODING_LATIN1;
}

const char *encoding_name(enum encoding encoding)
{
    switch (encoding) {
    case ENCODING_UTF8: return "utf-8";
    case ENCODING_UTF8_MARK: return "utf-8 with a byte order mark";
    case ENCODING_UTF16_LE: return "utf-16le";
    case ENCODING_UTF16_BE: return "utf-16be";
    case ENCODING_LATIN1: return "latin-1";
    case ENCODING_BINARY: break;
    }
    return "binary";
}

/* ---- decoding ---- */

static void put_char(struct buf *out, uint32_t c)
{
    char utf8[4];
    size_t len = 0;
    if (c < 0x80) {
        utf8[len++] = (char)c;
    } else if (c < 0x800) {
        utf8[len++] = (char)(0xc0 | c >> 6);
        utf8[len++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        utf8[len++] = (char)(0xe0 | c >> 12);
        utf8[len++] = (char)(0x80 | (c >> 6 & 0x3f));
        utf8[len++] = (char)(0x80 | (c & 0x3f));
    } else {
        utf8[len++] = (char)(0xf0 | c >> 18);
        utf8[len++] = (char)(0x80 | (c >> 12 & 0x3f));
        utf8[len++] = (char)(0x80 | (c >> 6 & 0x3f));
        utf8[len++] = (char)(0x80 | (c & 0x3f));
    }
    buf_add(out, utf8, len);
}

/* What Windows-1252 has where Latin-1 has control characters; 0: nothing, it is one. */
static const uint16_t windows[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

static void feed_latin1(const char *bytes, size_t len, struct buf *out)
{
    size_t plain = 0; /* bytes before i that stand for themselves and were not put yet */
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x80)
            continue;
        buf_add(out, bytes + plain, i - plain);
        put_char(out, c < 0xa0 && windows[c - 0x80] ? windows[c - 0x80] : c);
        plain = i + 1;
    }
    buf_add(out, bytes + plain, len - plain);
}

static uint32_t unit_at(const struct decoder *d, size_t at)
{
    uint32_t one = d->held[at], other = d->held[at + 1];
    return d->encoding == ENCODING_UTF16_LE ? other << 8 | one : one << 8 | other;
}

/* Puts the character that is held, if it is whole; halves of pairs that stand alone become U+FFFD. */
static void put_held(struct decoder *d, struct buf *out)
{
    uint32_t first = unit_at(d, 0);
    bool is_high = first >= 0xd800 && first < 0xdc00, is_low = first >= 0xdc00 && first < 0xe000;
    if (is_high && d->held_len < 4)
        return;
    uint32_t second = d->held_len == 4 ? unit_at(d, 2) : 0;
    bool is_pair = is_high && second >= 0xdc00 && second < 0xe000;
    if (is_pair)
        put_char(out, 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
    else
        put_char(out, is_high || is_low ? 0xfffd : first);
    size_t used = is_pair ? 4 : 2;
    memmove(d->held, d->held + used, d->held_len - used);
    d->held_len -= used;
}

static void feed_utf16(struct decoder *d, const char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        d->held[d->held_len++] = (unsigned char)bytes[i];
        while (d->held_len == 2 || d->held_len == 4) {
            size_t before = d->held_len;
            put_held(d, out);
            if (d->held_len == before)
                break;
        }
    }
}

void decoder_feed(struct decoder *d, const char *bytes, size_t len, struct buf *out)
{
    bool is_first = !d->is_begun;
    d->is_begun = d->is_begun || len > 0;
    size_t mark = d->encoding == ENCODING_UTF8_MARK                                      ? 3
                  : d->encoding == ENCODING_UTF16_LE || d->encoding == ENCODING_UTF16_BE ? 2
                                                                                         : 0;
    if (is_first && len >= mark) {
        bytes += mark;
        len -= mark;
    }
    switch (d->encoding) {
    case ENCODING_LATIN1: feed_latin1(bytes, len, out); break;
    case ENCODING_UTF16_LE:
    case ENCODING_UTF16_BE: feed_utf16(d, bytes, len, out); break;
    case ENCODING_UTF8:
    case ENCODING_UTF8_MARK:
    case ENCODING_BINARY: buf_add(out, bytes, len); break;
    }
}
