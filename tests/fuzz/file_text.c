/* Fuzzes what read_file and edit_file do with the bytes of a file: decoding, lines, tables, edits. The first
 * byte is how long the pieces are, the second how long the piece is that is to be replaced. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_decode.h"
#include "mcp/file_edits.h"
#include "mcp/file_lines.h"
#include "mcp/file_table.h"

#include "fuzz.h"

enum { OUT_MAX = 1 << 20, SHOWN_MAX = 8 << 10 };

/* Whatever the pieces are, the same comes out. */
static void show(const char *bytes, size_t len, size_t piece, struct buf *lines_out,
                 struct buf *table_out)
{
    scoped(buf_done) struct buf text = BUF_INIT(OUT_MAX);
    struct decoder d = {.encoding = encoding_of(bytes, len)};
    struct lines l = {.skip = 1, .limit = 50, .text_max = SHOWN_MAX, .out = lines_out};
    scoped(file_table_done) struct table t = {.limit = 50, .text_max = SHOWN_MAX, .out = table_out};
    decoder_feed(&d, bytes, len, &text);
    for (size_t at = 0; at < text.len; at += piece) {
        size_t some = piece < text.len - at ? piece : text.len - at;
        lines_feed(&l, text.bytes + at, some);
    }
    lines_end(&l);
    table_feed(&t, text.bytes ? text.bytes : "", text.len);
    table_end(&t);
    assert(l.shown <= l.count && t.shown <= t.rows);
    assert(!lines_out->failed && !table_out->failed);
}

static void change(const char *bytes, size_t len, size_t old_len)
{
    scoped(buf_done) struct buf made = BUF_INIT(OUT_MAX), said = BUF_INIT(OUT_MAX);
    struct edit_fault fault = {0};
    struct err e = {0};
    uint64_t replaced = 0;
    const struct edit edit = {.old_text = {bytes, old_len}, .new_text = str_of("new\n")};
    struct str text = {bytes + old_len, len - old_len};
    if (edits_apply(&edit, 1, text, &made, &replaced, &fault, &e))
        edits_explain(text, edit.old_text, &said);
    else
        assert(replaced == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2)
        return 0;
    const char *text = (const char *)bytes + 2;
    scoped(buf_done) struct buf one = BUF_INIT(OUT_MAX), other = BUF_INIT(OUT_MAX);
    scoped(buf_done) struct buf table = BUF_INIT(OUT_MAX), table_too = BUF_INIT(OUT_MAX);
    len -= 2;
    show(text, len, bytes[0] + 1, &one, &table);
    show(text, len, len + 1, &other, &table_too);
    assert(one.len == other.len && (!one.len || memcmp(one.bytes, other.bytes, one.len) == 0));
    change(text, len, bytes[1] < len ? bytes[1] : len);
    return 0;
}
