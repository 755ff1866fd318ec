#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static const char replacement[] = "\xEF\xBF\xBD";

static bool continues(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The length of a character that begins with `lead`; 0 when none does. */
static size_t length_by_lead(uint8_t lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

/* After four of the leads the second byte has a narrower range: the rest would be overlong forms,
 * surrogates, or beyond U+10FFFF. */
static bool second_fits(uint8_t lead, uint8_t second)
{
    switch (lead) {
    case 0xE0: return second >= 0xA0 && second <= 0xBF;
    case 0xED: return second >= 0x80 && second <= 0x9F;
    case 0xF0: return second >= 0x90 && second <= 0xBF;
    case 0xF4: return second >= 0x80 && second <= 0x8F;
    default: return continues(second);
    }
}

/* How many bytes at the front are a character or the beginning of one. *ret_need is the length the
 * whole character would have; 0, and so is the result, when nothing begins here. */
static size_t prefix(const uint8_t *at, size_t len, size_t *ret_need)
{
    size_t need = length_by_lead(at[0]);
    *ret_need = need;
    if (need < 2)
        return need;
    if (len < 2 || !second_fits(at[0], at[1]))
        return 1;
    size_t have = 2;
    while (have < need && have < len && continues(at[have]))
        have++;
    return have;
}

/* How far the bytes are well-formed. */
static size_t valid_length(const uint8_t *at, size_t len)
{
    size_t done = 0;
    while (done < len) {
        size_t need, have = prefix(at + done, len - done, &need);
        if (need == 0 || have < need)
            break;
        done += need;
    }
    return done;
}

bool utf8_is_valid(const char *bytes, size_t len)
{
    return valid_length((const uint8_t *)bytes, len) == len;
}

void utf8_clean(const char *bytes, size_t len, struct buf *out)
{
    const uint8_t *at = (const uint8_t *)bytes;
    while (len > 0) {
        size_t good = valid_length(at, len);
        buf_add(out, at, good);
        at += good;
        len -= good;
        if (len == 0)
            break;
        size_t need, have = prefix(at, len, &need);
        size_t bad = have ? have : 1;
        buf_add(out, replacement, sizeof replacement - 1);
        at += bad;
        len -= bad;
    }
}

size_t utf8_cut(const char *bytes, size_t len)
{
    const uint8_t *at = (const uint8_t *)bytes;
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        size_t need, have = prefix(at + len - back, back, &need);
        if (need > back && have == back)
            return len - back;
        if (!continues(at[len - back]))
            break;
    }
    return len;
}

size_t utf8_skip(const char *bytes, size_t len)
{
    size_t skip = 0;
    while (skip < 3 && skip < len && continues((uint8_t)bytes[skip]))
        skip++;
    return skip;
}
