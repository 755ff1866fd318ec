#include "session/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

/* A frame in the making, and a reader to get it back from. */
struct message {
    struct buf bytes;
    size_t mark;
    struct frame_reader reader;
    struct frame frame;
};

static struct message message_begin(enum frame_kind kind)
{
    struct message m = {.bytes = BUF_INIT(2 << 20), .reader = FRAME_READER_INIT};
    m.mark = frame_begin(&m.bytes, kind);
    return m;
}

static void put(struct message *m, enum field_tag tag, const char *text)
{
    field_put(&m->bytes, tag, text, strlen(text));
}

static void put_entry(struct message *m, const char *type, uint8_t form, const char *text)
{
    put(m, FIELD_MIME, type);
    field_put(&m->bytes, FIELD_FORM, &form, 1);
    put(m, FIELD_DATA, text);
}

static const struct frame *message_end(struct message *m)
{
    struct err e = {0};
    frame_end(&m->bytes, m->mark);
    assert_int_equal(frame_fill(&m->reader, m->bytes.bytes, m->bytes.len, &e), 0);
    assert_int_equal(frame_next(&m->reader, &m->frame, &e), 1);
    return &m->frame;
}

static void message_done(struct message *m)
{
    buf_done(&m->bytes);
    frame_reader_done(&m->reader);
}

static struct display read_display(struct message *m)
{
    struct display d = {0};
    struct err e = {0};
    assert_int_equal(display_from_frame(message_end(m), &d, &e), 0);
    return d;
}

static void a_bundle_is_copied_in_order(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    put_entry(&m, "image/png", FORM_BINARY, "\x89PNG");
    put_entry(&m, "application/vnd.plotly.v1+json", FORM_JSON, "{}");
    put_entry(&m, "text/plain", FORM_TEXT, "");
    put(&m, FIELD_ID, "chart-1");
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, 3);
    assert_string_equal(d.entries[0].type, "image/png");
    assert_int_equal(d.entries[0].form, FORM_BINARY);
    assert_int_equal(d.entries[0].len, 4);
    assert_memory_equal(d.entries[0].bytes, "\x89PNG", 5);
    assert_string_equal(d.entries[1].type, "application/vnd.plotly.v1+json");
    assert_int_equal(d.entries[2].len, 0);
    assert_string_equal(d.id, "chart-1");
    assert_int_equal(display_bytes(&d), 6);
}

static void data_may_hold_nuls(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    put(&m, FIELD_MIME, "text/plain");
    field_put(&m.bytes, FIELD_DATA, "a\0b", 3);
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, 1);
    assert_int_equal(d.entries[0].form, FORM_TEXT);
    assert_int_equal(d.entries[0].len, 3);
    assert_memory_equal(d.entries[0].bytes, "a\0b", 4);
}

static void an_implausible_type_is_left_out(void **state)
{
    (void)state;
    static const char *const types[] = {
        "",
        "text",
        "/plain",
        "text/",
        "text/pl ain",
        "text/plain\n",
        "text/a/b",
        "text/pl\"ain",
        ".text/plain",
        "text/plain;charset=utf-8",
        "<script>/x",
    };
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        put_entry(&m, types[i], FORM_TEXT, "x");
    put(&m, FIELD_MIME, "with/nul");
    field_put(&m.bytes, FIELD_MIME, "text/pl\0ain", 11);
    put(&m, FIELD_DATA, "x");
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, 0);
    assert_null(d.id);
}

static void a_type_name_of_127_characters_passes_and_one_of_128_does_not(void **state)
{
    (void)state;
    char type[140];
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    for (int len = 127; len <= 128; len++) {
        memset(type, 'a', sizeof type);
        memcpy(type, "x/", 2);
        type[2 + len] = '\0';
        put_entry(&m, type, FORM_TEXT, "x");
    }
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, 1);
    assert_int_equal(strlen(d.entries[0].type), 129);
}

static void entries_without_form_sense_or_data_are_left_out(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    put_entry(&m, "a/unknown-form", 9, "x");
    put_entry(&m, "a/no-form", 0, "x");
    put(&m, FIELD_DATA, "of nothing");
    put(&m, FIELD_MIME, "a/no-data");
    put_entry(&m, "a/good", FORM_TEXT, "first");
    put_entry(&m, "a/good", FORM_TEXT, "second");
    put(&m, FIELD_DATA, "too many");
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, 1);
    assert_string_equal(d.entries[0].type, "a/good");
    assert_string_equal(d.entries[0].bytes, "first");
}

static void the_limit_of_entries_fits_and_one_more_does_not(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    for (int i = 0; i <= DISPLAY_ENTRIES_MAX; i++) {
        char type[32];
        snprintf(type, sizeof type, "t/%d", i);
        put_entry(&m, type, FORM_TEXT, "x");
    }
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(d.count, DISPLAY_ENTRIES_MAX);
    assert_string_equal(d.entries[DISPLAY_ENTRIES_MAX - 1].type, "t/31");
}

static void an_id_is_cut_at_its_limit_and_at_a_nul(void **state)
{
    (void)state;
    char long_id[DISPLAY_ID_MAX + 2];
    memset(long_id, 'i', sizeof long_id);
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    field_put(&m.bytes, FIELD_ID, long_id, sizeof long_id);
    scoped(display_done) struct display d = read_display(&m);
    assert_int_equal(strlen(d.id), DISPLAY_ID_MAX);

    scoped(message_done) struct message other = message_begin(FRAME_DISPLAY);
    field_put(&other.bytes, FIELD_ID, "a\0b", 3);
    scoped(display_done) struct display cut = read_display(&other);
    assert_string_equal(cut.id, "a");
}

static struct run_error read_error(struct message *m)
{
    struct run_error error = {0};
    struct err e = {0};
    assert_int_equal(run_error_from_frame(message_end(m), &error, &e), 0);
    return error;
}

static void an_error_is_copied_with_its_line(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_ERROR);
    put(&m, FIELD_NAME, "ZeroDivisionError");
    put(&m, FIELD_MESSAGE, "division by zero");
    field_put_u32(&m.bytes, FIELD_LINE, 7);
    put(&m, FIELD_TRACEBACK, "Traceback (most recent call last): ...");
    scoped(run_error_done) struct run_error error = read_error(&m);
    assert_string_equal(error.name, "ZeroDivisionError");
    assert_string_equal(error.message, "division by zero");
    assert_string_equal(error.traceback, "Traceback (most recent call last): ...");
    assert_int_equal(error.line, 7);
}

static void an_empty_error_is_still_an_error(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_ERROR);
    scoped(run_error_done) struct run_error error = read_error(&m);
    assert_string_equal(error.name, "");
    assert_string_equal(error.message, "");
    assert_string_equal(error.traceback, "");
    assert_int_equal(error.line, 0);
}

static void a_nul_in_a_message_is_shown_and_does_not_end_it(void **state)
{
    (void)state;
    scoped(message_done) struct message m = message_begin(FRAME_ERROR);
    field_put(&m.bytes, FIELD_MESSAGE, "\0a\0", 3);
    scoped(run_error_done) struct run_error error = read_error(&m);
    assert_string_equal(error.message, "\xE2\x90\x80"
                                       "a"
                                       "\xE2\x90\x80");
}

static void a_traceback_at_the_limit_stays_and_past_it_keeps_head_and_tail(void **state)
{
    (void)state;
    scoped(freep) char *text = malloc(TRACEBACK_MAX + 2);
    assert_non_null(text);
    memset(text, 't', TRACEBACK_MAX + 1);
    text[TRACEBACK_MAX] = 'Z';
    text[TRACEBACK_MAX + 1] = '\0';

    scoped(message_done) struct message longer = message_begin(FRAME_ERROR);
    put(&longer, FIELD_TRACEBACK, text);
    scoped(run_error_done) struct run_error cut = read_error(&longer);
    assert_non_null(strstr(cut.traceback, "\n[... 1 bytes left out ...]\n"));
    assert_int_equal(cut.traceback[strlen(cut.traceback) - 1], 'Z');

    text[TRACEBACK_MAX] = '\0';
    scoped(message_done) struct message fitting = message_begin(FRAME_ERROR);
    put(&fitting, FIELD_TRACEBACK, text);
    scoped(run_error_done) struct run_error whole = read_error(&fitting);
    assert_string_equal(whole.traceback, text);
}

static void every_end_and_state_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (enum run_end a = 0; a < END_COUNT; a++)
        for (enum run_end b = 0; b < a; b++)
            assert_string_not_equal(run_end_name(a), run_end_name(b));
    assert_string_equal(run_end_name(END_OUTPUT_LIMIT), "output_limit");
    assert_string_equal(run_state_name(STATE_FRESH), "fresh");
    assert_string_equal(run_state_name(STATE_KEPT), "kept");
    assert_string_equal(run_state_name(STATE_LOST), "lost");
}

static void languages_are_known_by_name_and_by_file(void **state)
{
    (void)state;
    enum run_language got;
    struct err e = {0};
    for (enum run_language l = 0; l < LANGUAGE_COUNT; l++) {
        assert_int_equal(run_language_parse(run_language_name(l), &got, &e), 0);
        assert_int_equal(got, l);
    }
    assert_int_equal(run_language_parse("node", &got, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.text, "python, bash or javascript"));
    assert_int_equal(run_language_of_file("a.sh"), LANGUAGE_BASH);
    assert_int_equal(run_language_of_file("a.min.js"), LANGUAGE_JAVASCRIPT);
    assert_int_equal(run_language_of_file("a.mjs"), LANGUAGE_JAVASCRIPT);
    assert_int_equal(run_language_of_file("a.py"), LANGUAGE_PYTHON);
    assert_int_equal(run_language_of_file("a.sh.txt"), LANGUAGE_PYTHON);
    assert_int_equal(run_language_of_file("sh"), LANGUAGE_PYTHON);
}

static void a_full_run_and_an_empty_one_can_be_done_twice(void **state)
{
    (void)state;
    struct err e = {0};
    struct run run = {.out = KEEP_INIT(10), .err = KEEP_INIT(10)};
    scoped(message_done) struct message m = message_begin(FRAME_DISPLAY);
    put_entry(&m, "text/plain", FORM_TEXT, "x");
    const struct frame *frame = message_end(&m);
    run.displays = calloc(2, sizeof *run.displays);
    assert_non_null(run.displays);
    run.display_count = 2;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(display_from_frame(frame, &run.displays[i], &e), 0);
    assert_int_equal(display_from_frame(frame, &run.result, &e), 0);
    assert_int_equal(run_error_from_frame(frame, &run.error, &e), 0);
    assert_int_equal(keep_add(&run.out, "0123456789A", 11, &e), 0);
    run_done(&run);
    run_done(&run);
    assert_int_equal(run.display_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bundle_is_copied_in_order),
        cmocka_unit_test(data_may_hold_nuls),
        cmocka_unit_test(an_implausible_type_is_left_out),
        cmocka_unit_test(a_type_name_of_127_characters_passes_and_one_of_128_does_not),
        cmocka_unit_test(entries_without_form_sense_or_data_are_left_out),
        cmocka_unit_test(the_limit_of_entries_fits_and_one_more_does_not),
        cmocka_unit_test(an_id_is_cut_at_its_limit_and_at_a_nul),
        cmocka_unit_test(an_error_is_copied_with_its_line),
        cmocka_unit_test(an_empty_error_is_still_an_error),
        cmocka_unit_test(a_nul_in_a_message_is_shown_and_does_not_end_it),
        cmocka_unit_test(a_traceback_at_the_limit_stays_and_past_it_keeps_head_and_tail),
        cmocka_unit_test(every_end_and_state_has_a_name_of_its_own),
        cmocka_unit_test(languages_are_known_by_name_and_by_file),
        cmocka_unit_test(a_full_run_and_an_empty_one_can_be_done_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
