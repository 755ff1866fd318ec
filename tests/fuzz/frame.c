/* Fuzzes the frame reader, the parser that faces hostile code.
 *
 * The first four bytes of an input say in which chunks the rest arrives. Beyond not crashing, three
 * things must hold: fields lie inside their frame and fill it; how the bytes are cut changes nothing
 * about what is read; and writing what was read gives the same bytes again.
 */
#include "wire/frame.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "fuzz.h"

enum { PATTERN = 4, OUT_MAX = 4 << 20 };

/* Appends the frame to `out` as a writer would write it, checking each field on the way. */
static void write_again(const struct frame *frame, struct buf *out)
{
    size_t filled = 0;
    size_t mark = frame_begin(out, frame->kind);
    for (struct field f = {0}; field_next(frame, &f);) {
        assert(f.bytes >= frame->payload + FIELD_HEAD);
        assert(f.len <= frame->len && f.bytes + f.len <= frame->payload + frame->len);
        filled += FIELD_HEAD + f.len;
        assert(f.next == filled);

        struct field first;
        assert(field_find(frame, f.tag, &first));
        assert(first.tag == f.tag && first.bytes <= f.bytes);
        (void)field_u32(&f, 0);
        field_put(out, f.tag, f.bytes, f.len);
    }
    assert(filled == frame->len);
    frame_end(out, mark);
}

/* Reads `len` bytes in chunks that follow the pattern; every frame lands in `out`. Returns the last
 * word of frame_next. */
static int read_in_chunks(const uint8_t *bytes, size_t len, const uint8_t pattern[PATTERN],
                          struct buf *out)
{
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    int verdict = 0;
    for (size_t at = 0, turn = 0; at < len && verdict >= 0; turn++) {
        size_t chunk = pattern[turn % PATTERN] == UINT8_MAX ? len : pattern[turn % PATTERN] + 1u;
        if (chunk > len - at)
            chunk = len - at;
        assert(frame_room(&r) >= chunk);
        assert(frame_fill(&r, bytes + at, chunk, &e) == 0);
        at += chunk;

        struct frame frame;
        while ((verdict = frame_next(&r, &frame, &e)) == 1)
            write_again(&frame, out);
    }
    assert(verdict == 0 || (verdict == -1 && e.code == ERR_PROTOCOL && e.text[0]));
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const uint8_t at_once[PATTERN] = {UINT8_MAX, UINT8_MAX, UINT8_MAX, UINT8_MAX};
    if (len < PATTERN || len > OUT_MAX)
        return 0;
    const uint8_t *stream = bytes + PATTERN;
    len -= PATTERN;

    scoped(buf_done) struct buf cut = BUF_INIT(OUT_MAX), whole = BUF_INIT(OUT_MAX);
    int verdict = read_in_chunks(stream, len, bytes, &cut);
    assert(read_in_chunks(stream, len, at_once, &whole) == verdict);
    assert(!cut.failed && cut.len == whole.len);
    assert(cut.len == 0 || memcmp(cut.bytes, whole.bytes, cut.len) == 0);
    assert(cut.len == 0 || memcmp(cut.bytes, stream, cut.len) == 0);
    return 0;
}
