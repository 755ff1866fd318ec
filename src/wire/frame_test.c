/* What frame.h promises, from the side of a reader whose peer is hostile. */
#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scope.h"

static void put_display(struct buf *out)
{
    size_t mark = frame_begin(out, FRAME_DISPLAY);
    field_put(out, FIELD_MIME, "text/plain", 10);
    field_put(out, FIELD_FORM, "\1", 1);
    field_put(out, FIELD_DATA, "a\0b", 3);
    field_put_u32(out, FIELD_LINE, 0x01020304);
    frame_end(out, mark);
}

static void check_display(const struct frame *frame)
{
    assert_int_equal(frame->kind, FRAME_DISPLAY);
    static const enum field_tag tags[] = {FIELD_MIME, FIELD_FORM, FIELD_DATA, FIELD_LINE};
    static const size_t lens[] = {10, 1, 3, 4};
    size_t count = 0;
    for (struct field f = {0}; field_next(frame, &f); count++) {
        assert_in_range(count, 0, 3);
        assert_int_equal(f.tag, tags[count]);
        assert_int_equal(f.len, lens[count]);
    }
    assert_int_equal(count, 4);
}

static void what_was_written_is_what_is_read(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    struct frame frame;
    put_display(&out);
    assert_int_equal(buf_check(&out, &e), 0);
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    check_display(&frame);
    assert_int_equal(frame_next(&r, &frame, &e), 0);
}

static void the_bytes_are_the_ones_the_header_specifies(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    size_t mark = frame_begin(&out, FRAME_ASK);
    field_put(&out, FIELD_TOPIC, "vars", 4);
    frame_end(&out, mark);
    static const uint8_t expected[] = {12,  0,   0,   0,  3, 0, 0, 0, /* length, kind */
                                       5,   0,   0,   0,  4, 0, 0, 0, /* tag, length */
                                       'v', 'a', 'r', 's'};
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.bytes, expected, sizeof expected);
}

/* A sleeping session or a kernel of the last version may be at the other end. */
static void numbers_on_the_wire_stay_what_they_are(void **state)
{
    (void)state;
    static const enum frame_kind asked[] = {FRAME_RUN,     FRAME_ACK,   FRAME_ASK,  FRAME_ENTER,
                                            FRAME_WARM,    FRAME_SLEEP, FRAME_COPY, FRAME_SAVE,
                                            FRAME_RESTORE, FRAME_RESEED};
    static const enum frame_kind told[] = {
        FRAME_HELLO, FRAME_SYNC,     FRAME_DISPLAY, FRAME_CLEAR, FRAME_RESULT,
        FRAME_ERROR, FRAME_DONE,     FRAME_REPLY,   FRAME_SLEPT, FRAME_REFUSED,
        FRAME_SAVED, FRAME_PROGRESS, FRAME_READS};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        assert_int_equal(asked[i], 1 + i);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_int_equal(told[i], 64 + i);
    assert_int_equal(FIELD_CODE, 1);
    assert_int_equal(FIELD_WAIT, 16);
    assert_int_equal(FIELD_STAYS, 17);
    assert_int_equal(FIELD_LOST, 18);
    assert_int_equal(FIELD_PATH, 20);
    assert_int_equal(FIELD_PARTIAL, 22);
}

static void frames_come_out_whole_however_the_bytes_are_cut(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    for (int i = 0; i < 3; i++)
        put_display(&out);
    for (size_t chunk = 1; chunk <= out.len; chunk++) {
        scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
        struct err e = {0};
        struct frame frame;
        int seen = 0;
        for (size_t at = 0; at < out.len; at += chunk) {
            size_t len = out.len - at < chunk ? out.len - at : chunk;
            assert_int_equal(frame_fill(&r, out.bytes + at, len, &e), 0);
            for (; frame_next(&r, &frame, &e) == 1; seen++)
                check_display(&frame);
        }
        assert_int_equal(seen, 3);
        assert_int_equal(frame_next(&r, &frame, &e), 0);
    }
}

static void a_frame_without_fields_is_a_frame(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    struct frame frame;
    frame_end(&out, frame_begin(&out, FRAME_DONE));
    frame_end(&out, frame_begin(&out, FRAME_SYNC));
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    assert_int_equal(frame.kind, FRAME_DONE);
    assert_false(field_next(&frame, &(struct field){0}));
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    assert_int_equal(frame.kind, FRAME_SYNC);
    assert_int_equal(frame_next(&r, &frame, &e), 0);
}

/* Feeds `len` bytes and returns what frame_next says about them. */
static int verdict(const uint8_t *bytes, size_t len, struct err *e)
{
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct frame frame;
    assert_int_equal(frame_fill(&r, bytes, len, e), 0);
    return frame_next(&r, &frame, e);
}

static void the_largest_length_is_waited_for_and_one_more_is_refused(void **state)
{
    (void)state;
    uint8_t head[FRAME_HEAD] = {0};
    struct err e = {0};
    head[4] = FRAME_REPLY;
    put_u32(head, FRAME_PAYLOAD_MAX);
    assert_int_equal(verdict(head, sizeof head, &e), 0);
    put_u32(head, FRAME_PAYLOAD_MAX + 1);
    assert_int_equal(verdict(head, sizeof head, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    put_u32(head, UINT32_MAX);
    assert_int_equal(verdict(head, sizeof head, &e), -1);
}

static void a_frame_of_the_largest_size_is_read(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD);
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    struct frame frame;
    size_t data_len = FRAME_PAYLOAD_MAX - FIELD_HEAD;
    scoped(freep) char *zeros = calloc(1, data_len);
    assert_non_null(zeros);
    size_t mark = frame_begin(&out, FRAME_REPLY);
    field_put(&out, FIELD_DATA, zeros, data_len);
    frame_end(&out, mark);
    assert_int_equal(buf_check(&out, &e), 0);

    assert_int_equal(frame_room(&r), out.len);
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_room(&r), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    assert_int_equal(frame.len, FRAME_PAYLOAD_MAX);
    assert_int_equal(frame_room(&r), out.len);
}

static void more_than_there_is_room_for_is_refused(void **state)
{
    (void)state;
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    size_t len = frame_room(&r) + 1;
    scoped(freep) char *zeros = calloc(1, len);
    assert_non_null(zeros);
    assert_int_equal(frame_fill(&r, zeros, len, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void the_three_zero_bytes_of_a_head_must_be_zero(void **state)
{
    (void)state;
    for (int i = 5; i < FRAME_HEAD; i++) {
        uint8_t head[FRAME_HEAD] = {0, 0, 0, 0, FRAME_DONE};
        struct err e = {0};
        assert_int_equal(verdict(head, sizeof head, &e), 1);
        head[i] = 1;
        assert_int_equal(verdict(head, sizeof head, &e), -1);
        assert_int_equal(e.code, ERR_PROTOCOL);
    }
}

/* A frame with one field of 4 bytes whose length field is forged. */
static int verdict_of_field_len(uint32_t field_len, struct err *e)
{
    uint8_t bytes[FRAME_HEAD + FIELD_HEAD + 4] = {0};
    put_u32(bytes, FIELD_HEAD + 4);
    bytes[4] = FRAME_HELLO;
    put_u16(bytes + FRAME_HEAD, FIELD_VERSION);
    put_u32(bytes + FRAME_HEAD + 4, field_len);
    return verdict(bytes, sizeof bytes, e);
}

static void a_field_may_not_reach_past_its_frame(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(verdict_of_field_len(4, &e), 1);
    assert_int_equal(verdict_of_field_len(5, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(verdict_of_field_len(UINT32_MAX, &e), -1);
    assert_int_equal(verdict_of_field_len(UINT32_MAX - FIELD_HEAD + 1, &e), -1);
}

static void a_field_may_not_stop_short_of_its_frame(void **state)
{
    (void)state;
    struct err e = {0};
    for (uint32_t field_len = 0; field_len < 4; field_len++)
        assert_int_equal(verdict_of_field_len(field_len, &e), -1);
}

static void the_zero_of_a_field_head_must_be_zero(void **state)
{
    (void)state;
    uint8_t bytes[FRAME_HEAD + FIELD_HEAD] = {FIELD_HEAD, 0, 0, 0, FRAME_HELLO};
    struct err e = {0};
    bytes[FRAME_HEAD] = FIELD_VERSION;
    assert_int_equal(verdict(bytes, sizeof bytes, &e), 1);
    bytes[FRAME_HEAD + 2] = 1;
    assert_int_equal(verdict(bytes, sizeof bytes, &e), -1);
}

static void find_gives_the_first_of_its_tag(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    scoped(frame_reader_done) struct frame_reader r = FRAME_READER_INIT;
    struct err e = {0};
    struct frame frame;
    struct field f = {0};
    size_t mark = frame_begin(&out, FRAME_RUN);
    field_put(&out, FIELD_CODE, "1+1", 3);
    field_put(&out, FIELD_ENV, "A=1", 3);
    field_put(&out, FIELD_ENV, "B=2", 3);
    frame_end(&out, mark);
    assert_int_equal(frame_fill(&r, out.bytes, out.len, &e), 0);
    assert_int_equal(frame_next(&r, &frame, &e), 1);
    assert_true(field_find(&frame, FIELD_ENV, &f));
    assert_memory_equal(f.bytes, "A=1", 3);
    assert_false(field_find(&frame, FIELD_STDIN, &f));
    assert_memory_equal(f.bytes, "A=1", 3);
}

static void a_number_has_the_length_of_a_number_or_is_the_preset(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x04, 0x03, 0x02, 0x01, 0xff};
    static const uint32_t expected[] = {99, 4, 99, 99, 0x01020304, 99};
    for (size_t len = 0; len <= sizeof bytes; len++) {
        struct field f = {.bytes = bytes, .len = len};
        assert_int_equal(field_u32(&f, 99), expected[len]);
    }
}

static void a_frame_too_large_for_its_buf_fails_the_buf_alone(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(20);
    struct err e = {0};
    size_t mark = frame_begin(&out, FRAME_RUN);
    field_put(&out, FIELD_CODE, "a piece of code", 15);
    frame_end(&out, mark);
    assert_int_equal(buf_check(&out, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_what_is_read),
        cmocka_unit_test(the_bytes_are_the_ones_the_header_specifies),
        cmocka_unit_test(numbers_on_the_wire_stay_what_they_are),
        cmocka_unit_test(frames_come_out_whole_however_the_bytes_are_cut),
        cmocka_unit_test(a_frame_without_fields_is_a_frame),
        cmocka_unit_test(the_largest_length_is_waited_for_and_one_more_is_refused),
        cmocka_unit_test(a_frame_of_the_largest_size_is_read),
        cmocka_unit_test(more_than_there_is_room_for_is_refused),
        cmocka_unit_test(the_three_zero_bytes_of_a_head_must_be_zero),
        cmocka_unit_test(a_field_may_not_reach_past_its_frame),
        cmocka_unit_test(a_field_may_not_stop_short_of_its_frame),
        cmocka_unit_test(the_zero_of_a_field_head_must_be_zero),
        cmocka_unit_test(find_gives_the_first_of_its_tag),
        cmocka_unit_test(a_number_has_the_length_of_a_number_or_is_the_preset),
        cmocka_unit_test(a_frame_too_large_for_its_buf_fails_the_buf_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
