#include "cli/run_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"
#include "json/read.h"

static json_t *value_of(const char *text)
{
    struct err e = {0};
    json_t *value = NULL;
    assert_int_equal(json_read(text, strlen(text), &value, &e), 0);
    return value;
}

static int read_run(const char *text, struct run *run, struct err *e)
{
    scoped(json_decrefp) json_t *object = value_of(text);
    return run_read(object, run, e);
}

static void every_field_that_is_shown_is_read(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(
        read_run("{\"id\":\"run_1\",\"end\":\"memory\",\"state\":\"kept\",\"stdout\":\"out\\n\","
                 "\"stderr\":\"err\",\"result\":{\"text/plain\":\"4\"},"
                 "\"displays\":[{\"image/png\":\"iVBORw==\",\"text/plain\":\"<Figure>\"}],"
                 "\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":3,\"traceback\":\"t\"},"
                 "\"files\":[{\"path\":\"a/b\",\"size\":5,\"change\":\"modified\"}],"
                 "\"truncated\":{\"stdout\":0,\"displays\":2},\"duration_ms\":1.5,"
                 "\"peak_memory_bytes\":99,\"limits\":{\"memory_mb\":512,\"wall_s\":2.5},"
                 "\"hint\":\"less\"}",
                 &run, &e),
        0);
    assert_int_equal(run.end, END_MEMORY);
    assert_int_equal(run.state, STATE_KEPT);
    assert_string_equal(run.out.head.bytes, "out\n");
    assert_string_equal(run.err.head.bytes, "err");
    assert_string_equal(run.result.entries[0].bytes, "4");
    assert_int_equal(run.display_count, 1);
    assert_int_equal(run.displays[0].entries[0].form, FORM_BINARY);
    assert_int_equal(run.displays[0].entries[0].len, 4);
    assert_memory_equal(run.displays[0].entries[0].bytes, "\x89PNG", 4);
    assert_string_equal(run.error.traceback, "t");
    assert_int_equal(run.error.line, 3);
    assert_string_equal(run.files.files[0].path, "a/b");
    assert_int_equal(run.files.files[0].change, FILE_MODIFIED);
    assert_int_equal(run.displays_dropped, 2);
    assert_int_equal(run.duration_us, 1500);
    assert_int_equal(run.limits.memory_bytes, 512 * MIB);
    assert_int_equal(run.limits.wall_ms, 2500);
    assert_string_equal(run.hint, "less");
    run_done(&run);
}

static void an_object_with_nothing_but_its_end_is_enough(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(read_run("{\"end\":\"ok\"}", &run, &e), 0);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.out.total, 0);
    assert_null(run.error.name);
    run_done(&run);
}

static void fields_of_other_types_are_as_if_missing(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(read_run("{\"end\":\"ok\",\"stdout\":7,\"displays\":{},\"result\":[1],"
                              "\"error\":\"x\",\"files\":\"f\",\"limits\":null,\"hint\":[]}",
                              &run, &e),
                     0);
    assert_int_equal(run.display_count, 0);
    assert_int_equal(run.result.count, 0);
    run_done(&run);
}

static void a_run_that_has_not_ended_is_refused(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(read_run("{\"status\":\"running\",\"end\":null}", &run, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(read_run("[]", &run, &e), -1);
}

static void long_output_becomes_head_and_tail_again(void **state)
{
    struct run run;
    struct err e = {0};
    scoped(buf_done) struct buf text = BUF_INIT(1000);
    (void)state;
    assert_int_equal(read_run("{\"end\":\"ok\",\"truncated\":{\"stdout\":1000},"
                              "\"stdout\":\"head\\n[... 1000 bytes left out ...]\\ntailend\"}",
                              &run, &e),
                     0);
    assert_int_equal(run.out.total, 4 + 1000 + 7);
    assert_int_equal(keep_dropped(&run.out), 1000);
    keep_text(&run.out, &text);
    assert_string_equal(text.bytes, "head\n[... 1000 bytes left out ...]\ntailend");
    run_done(&run);
}

static void a_line_the_code_printed_itself_is_no_gap(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(read_run("{\"end\":\"ok\",\"truncated\":{\"stdout\":0},"
                              "\"stdout\":\"\\n[... 0 bytes left out ...]\\n\"}",
                              &run, &e),
                     0);
    assert_int_equal(keep_dropped(&run.out), 0);
    assert_int_equal(run.out.total, strlen("\n[... 0 bytes left out ...]\n"));
    run_done(&run);
}

static void types_decide_what_is_text_and_what_is_base64(void **state)
{
    struct display d;
    struct err e = {0};
    (void)state;
    scoped(json_decrefp) json_t *bundle =
        value_of("{\"image/svg+xml\":\"<svg/>\",\"application/json\":{\"a\":[1,0.1]},"
                 "\"image/jpeg\":\"not base64!\",\"image/png\":\"AAEC\",\"text/html\":\"AAEC\"}");
    assert_int_equal(display_read(bundle, &d, &e), 0);
    assert_int_equal(d.count, 5);
    for (size_t i = 0; i < d.count; i++) {
        const struct mime *m = &d.entries[i];
        if (strcmp(m->type, "image/png") == 0)
            assert_int_equal(m->form, FORM_BINARY);
        else if (strcmp(m->type, "application/json") == 0)
            assert_string_equal(m->bytes, "{\"a\":[1,0.1]}");
        else
            assert_int_equal(m->form, FORM_TEXT);
    }
    display_done(&d);
}

static void a_crash_names_its_signal(void **state)
{
    struct run run;
    struct err e = {0};
    (void)state;
    assert_int_equal(read_run("{\"end\":\"crashed\",\"signal\":\"SIGSEGV\"}", &run, &e), 0);
    assert_int_equal(run.crash_signal, SIGSEGV);
    run_done(&run);
    assert_int_equal(read_run("{\"end\":\"crashed\",\"exit_code\":7}", &run, &e), 0);
    assert_int_equal(run.crash_signal, 0);
    assert_int_equal(run.crash_code, 7);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_that_is_shown_is_read),
        cmocka_unit_test(an_object_with_nothing_but_its_end_is_enough),
        cmocka_unit_test(fields_of_other_types_are_as_if_missing),
        cmocka_unit_test(a_run_that_has_not_ended_is_refused),
        cmocka_unit_test(long_output_becomes_head_and_tail_again),
        cmocka_unit_test(a_line_the_code_printed_itself_is_no_gap),
        cmocka_unit_test(types_decide_what_is_text_and_what_is_base64),
        cmocka_unit_test(a_crash_names_its_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
