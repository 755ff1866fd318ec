#include "base/base64.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { BATCH = 4096 }; /* characters handed to the buf at a time; a multiple of 4 */

static void encode_group(const uint8_t *from, size_t len, char *to)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)from[0] << 16;
    if (len > 1)
        bits |= (uint32_t)from[1] << 8;
    if (len > 2)
        bits |= from[2];
    to[0] = alphabet[bits >> 18];
    to[1] = alphabet[bits >> 12 & 63];
    to[2] = len > 1 ? alphabet[bits >> 6 & 63] : '=';
    to[3] = len > 2 ? alphabet[bits & 63] : '=';
}

void base64_add(struct buf *out, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    char batch[BATCH];
    size_t used = 0;
    for (size_t left = len; left > 0;) {
        size_t group_len = left < 3 ? left : 3;
        encode_group(at, group_len, batch + used);
        used += 4;
        at += group_len;
        left -= group_len;
        if (used == sizeof batch || left == 0) {
            buf_add(out, batch, used);
            used = 0;
        }
    }
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters to `count` bytes; the rest of them are padding. */
static int decode_group(const char *at, unsigned count, unsigned char ret[3])
{
    unsigned bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        int v = i <= count ? value_of(at[i]) : at[i] == '=' ? 0 : -1;
        if (v < 0)
            return -1;
        bits = bits << 6 | (unsigned)v;
    }
    for (unsigned i = 0; i < 3; i++)
        ret[i] = (unsigned char)(bits >> (16 - 8 * i));
    /* What lies behind the last byte must be zero, or two texts would mean the same. */
    return (count == 1 && (ret[1] || ret[2])) || (count == 2 && ret[2]) ? -1 : 0;
}

int base64_decode(const char *text, size_t len, struct buf *out, struct err *e)
{
    for (size_t at = 0; at < len; at += 4) {
        unsigned char bytes[3];
        unsigned count = 3;
        if (len - at == 4 && text[at + 3] == '=')
            count = text[at + 2] == '=' ? 1 : 2;
        if (len - at < 4 || decode_group(text + at, count, bytes))
            return err_set(e, ERR_INVALID, "not base64 at character %zu", at);
        buf_add(out, bytes, count);
    }
    return 0;
}

int base64url_decode(const char *text, size_t len, struct buf *out, struct err *e)
{
    for (size_t at = 0; at < len; at += 4) {
        char group[4] = {'=', '=', '=', '='};
        unsigned char bytes[3];
        size_t count = len - at < 4 ? len - at : 4;
        for (size_t i = 0; i < count; i++) {
            char c = text[at + i];
            group[i] = c == '-' ? '+' : c == '_' ? '/' : c == '+' || c == '/' ? '*' : c;
        }
        if (count < 2 || decode_group(group, (unsigned)count - 1, bytes))
            return err_set(e, ERR_INVALID, "not base64url at character %zu", at);
        buf_add(out, bytes, count - 1);
    }
    return 0;
}
