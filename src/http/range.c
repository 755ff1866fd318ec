#include "http/range.h"

#include "http/syntax.h"

/* Takes a number from the front of `s`; more than 2^64 is as good as endless. */
static bool take_number(struct str *s, uint64_t *ret)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9'; i++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(s->ptr[i] - '0'), &n))
            n = UINT64_MAX / 10; /* stays too large, whatever follows */
    *s = (struct str){.ptr = s->ptr + i, .len = s->len - i};
    *ret = n;
    return i > 0;
}

static enum http_ranged last_bytes(uint64_t count, uint64_t size, struct http_range *ret)
{
    if (count == 0)
        return HTTP_RANGE_BAD;
    if (size == 0)
        return HTTP_RANGE_WHOLE;
    if (count > size)
        count = size;
    *ret = (struct http_range){.first = size - count, .len = count};
    return HTTP_RANGE_ONE;
}

/* "0-499", "500-", "-500" */
static enum http_ranged one_range(struct str spec, uint64_t size, struct http_range *ret)
{
    uint64_t first = 0, last = UINT64_MAX;
    bool has_first = take_number(&spec, &first);
    if (spec.len == 0 || spec.ptr[0] != '-')
        return HTTP_RANGE_WHOLE;
    spec = (struct str){.ptr = spec.ptr + 1, .len = spec.len - 1};
    bool has_last = take_number(&spec, &last);
    if (spec.len || (!has_first && !has_last))
        return HTTP_RANGE_WHOLE;
    if (!has_first)
        return last_bytes(last, size, ret);
    if (has_last && last < first)
        return HTTP_RANGE_WHOLE;
    if (first >= size)
        return HTTP_RANGE_BAD;
    if (!has_last || last >= size)
        last = size - 1;
    *ret = (struct http_range){.first = first, .len = last - first + 1};
    return HTTP_RANGE_ONE;
}

enum http_ranged http_range_parse(struct str value, uint64_t size, struct http_range *ret)
{
    *ret = (struct http_range){.first = 0, .len = size};
    static const size_t unit = sizeof "bytes=" - 1;
    if (value.len < unit || !http_same((struct str){value.ptr, unit}, "bytes="))
        return HTTP_RANGE_WHOLE;
    struct str list = {.ptr = value.ptr + unit, .len = value.len - unit}, spec, another;
    if (!http_list_next(&list, &spec) || http_list_next(&list, &another))
        return HTTP_RANGE_WHOLE;
    return one_range(spec, size, ret);
}

static bool is_weak(struct str etag)
{
    return etag.len > 2 && memcmp(etag.ptr, "W/", 2) == 0;
}

static struct str opaque(struct str etag)
{
    return is_weak(etag) ? (struct str){etag.ptr + 2, etag.len - 2} : etag;
}

/* Takes an etag from the front of `list`: commas may be part of it. */
static bool take_etag(struct str *list, struct str *ret)
{
    size_t i = 0;
    while (i < list->len && (list->ptr[i] == ' ' || list->ptr[i] == '\t' || list->ptr[i] == ','))
        i++;
    size_t begin = i;
    i += is_weak((struct str){list->ptr + i, list->len - i}) ? 2 : 0;
    if (i >= list->len || list->ptr[i] != '"')
        return false;
    const char *end = memchr(list->ptr + i + 1, '"', list->len - i - 1);
    if (!end)
        return false;
    i = (size_t)(end - list->ptr) + 1;
    *ret = (struct str){.ptr = list->ptr + begin, .len = i - begin};
    *list = (struct str){.ptr = list->ptr + i, .len = list->len - i};
    return true;
}

bool http_etag_in(struct str list, const char *etag, bool is_strong)
{
    struct str ours = str_of(etag), one;
    if (str_is(list, "*"))
        return true;
    while (list.len && take_etag(&list, &one)) {
        if (is_strong && (is_weak(one) || is_weak(ours)))
            continue;
        struct str a = opaque(one), b = opaque(ours);
        if (a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0)
            return true;
    }
    return false;
}
