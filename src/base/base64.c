#include "base/base64.h"

#include <stdint.h>

#include "base/buf.h"

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
