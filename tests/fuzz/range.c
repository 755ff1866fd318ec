/* Fuzzes the small headers: Range, If-None-Match, Accept-Encoding. Eight bytes of a size, then the
 * header's value. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "http/range.h"
#include "http/static.h"

#include "fuzz.h"

static void check_range(struct str value, uint64_t size)
{
    struct http_range r = {0};
    switch (http_range_parse(value, size, &r)) {
    case HTTP_RANGE_WHOLE: assert(r.first == 0 && r.len == size); break;
    case HTTP_RANGE_ONE: assert(r.len > 0 && r.first < size && r.len <= size - r.first); break;
    case HTTP_RANGE_BAD: break;
    }
}

static void check_etags(struct str list)
{
    bool is_weak = http_etag_in(list, "\"a\"", /* is_strong= */ false);
    bool is_strong = http_etag_in(list, "\"a\"", /* is_strong= */ true);
    assert(is_weak || !is_strong);
    assert(!http_etag_in(list, "W/\"a\"", /* is_strong= */ true) || str_is(list, "*"));
}

static void check_coding(struct str accept)
{
    struct static_file f = {0};
    f.forms[STATIC_PLAIN] = (struct static_form){.bytes = "", .len = 9, .is_there = true};
    f.forms[STATIC_GZIP] = (struct static_form){.bytes = "", .len = 5, .is_there = true};
    assert(f.forms[static_choose(&f, accept)].is_there);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint64_t size = 0;
    if (len < sizeof size)
        return 0;
    memcpy(&size, bytes, sizeof size);
    len -= sizeof size;
    scoped(freep) char *copy = malloc(len ? len : 1);
    assert(copy);
    memcpy(copy, bytes + sizeof size, len);
    struct str value = {.ptr = copy, .len = len};
    check_range(value, size);
    check_etags(value);
    check_coding(value);
    return 0;
}
