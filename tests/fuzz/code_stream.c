/* Fuzzes the code in arguments that are still coming: it is the same however they are cut, it only grows, and of JSON it is
 * what a parser finds. The first byte says where the text is cut. */
#include "agent/code_stream.h"

#include <assert.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/read.h"

#include "fuzz.h"

/* In pieces of `size` bytes; 0: at once. */
static void read_all(struct code_stream *s, struct str text, size_t size)
{
    code_stream_init(s);
    while (text.len > 0) {
        size_t used = size && size < text.len ? size : text.len, before = s->code.len;
        char last = before ? s->code.bytes[before - 1] : 0;
        code_stream_feed(s, (struct str){text.ptr, used});
        assert(s->code.len >= before && (!before || s->code.bytes[before - 1] == last));
        text = (struct str){text.ptr + used, text.len - used};
    }
    code_stream_end(s);
    assert(s->state == CODE_OVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    scoped(code_stream_done) struct code_stream whole = {0}, pieces = {0};
    scoped(json_decrefp) json_t *json = NULL;
    struct err e = {0};
    if (len == 0 || len > 1 << 16)
        return 0;
    struct str text = {(const char *)bytes + 1, len - 1};
    read_all(&whole, text, 0);
    read_all(&pieces, text, (bytes[0] & 15u) + 1);
    assert(whole.code.len == pieces.code.len);
    assert(whole.code.len == 0 || memcmp(whole.code.bytes, pieces.code.bytes, whole.code.len) == 0);
    if (utf8_is_valid(text.ptr, text.len))
        assert(utf8_is_valid(whole.code.bytes, whole.code.len));
    if (json_read(text.ptr, text.len, &json, &e))
        return 0;
    const json_t *code = json_object_get(json, "code");
    if (json_is_string(code) && !memchr(json_string_value(code), 0, json_string_length(code)))
        assert(json_string_length(code) == whole.code.len &&
               memcmp(json_string_value(code), whole.code.len ? whole.code.bytes : "",
                      whole.code.len) == 0);
    return 0;
}
