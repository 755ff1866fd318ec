#include "base/parse.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

/* Reads digits from *at and moves it past them. False without a digit or on overflow. */
static int digits(const char **at, uint64_t *ret)
{
    const char *p = *at;
    uint64_t v = 0;
    if (*p < '0' || *p > '9')
        return 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return 0;
    *at = p;
    *ret = v;
    return 1;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct err *e)
{
    const char *at = text;
    uint64_t v;
    if (!digits(&at, &v) || *at)
        return err_set(e, ERR_INVALID, "'%.40s' is not a whole number", text);
    if (v < min || v > max)
        return err_set(e, ERR_INVALID, "%.40s is not between %llu and %llu", text,
                       (unsigned long long)min, (unsigned long long)max);
    *ret = v;
    return 0;
}

/* The factor a size suffix stands for; 0 for an unknown one. */
static uint64_t factor(const char *suffix, uint64_t unit)
{
    static const char letters[] = "kmgt";
    if (!*suffix)
        return unit;
    const char *found = strchr(letters, tolower((unsigned char)*suffix));
    const char *rest = suffix + 1;
    if (!found || (*rest && strcasecmp(rest, "b") != 0 && strcasecmp(rest, "ib") != 0))
        return 0;
    return (uint64_t)1 << (10 * (found - letters + 1));
}

int parse_size(const char *text, uint64_t unit, uint64_t *ret, struct err *e)
{
    const char *at = text;
    uint64_t v, times, bytes;
    if (!digits(&at, &v) || !(times = factor(at, unit)))
        return err_set(e, ERR_INVALID, "'%.40s' is not a size such as 512, 512M or 2G", text);
    if (__builtin_mul_overflow(v, times, &bytes))
        return err_set(e, ERR_INVALID, "%.40s is too large", text);
    *ret = bytes;
    return 0;
}

int parse_milli(const char *text, uint64_t *ret, struct err *e)
{
    const char *at = text;
    uint64_t whole, milli = 0;
    if (!digits(&at, &whole))
        goto bad;
    if (*at == '.') {
        uint64_t unit = 100;
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
            milli += (uint64_t)(*at - '0') * unit;
        if (at[-1] == '.')
            goto bad;
    }
    if (*at || whole > UINT32_MAX)
        goto bad;
    *ret = whole * 1000 + milli;
    return 0;

bad:
    return err_set(e, ERR_INVALID, "'%.40s' is not a number such as 1 or 0.5", text);
}
