#include "cli/report.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/run.h"
#include "json/read.h"

static const struct report who = {"run_1", "ses_1", "full"};

static struct run empty_run(void)
{
    return (struct run){.out = KEEP_INIT(1000), .err = KEEP_INIT(1000), .limits = LIMITS_DEFAULT};
}

/* The object, parsed. The caller frees it. */
static json_t *report(const struct run *run)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    struct err e = {0};
    json_t *object = NULL;
    report_run(&who, run, &out);
    assert_int_equal(buf_check(&out, &e), 0);
    assert_int_equal(out.bytes[out.len - 1], '\n');
    assert_ptr_equal(memchr(out.bytes, '\n', out.len), out.bytes + out.len - 1);
    assert_int_equal(json_read(out.bytes, out.len, &object, &e), 0);
    return object;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void every_field_is_there_even_when_nothing_happened(void **state)
{
    (void)state;
    struct run run = empty_run();
    run.started_wall_us = 1767225600123456; /* 2026-01-01 */
    run.duration_us = 1500;
    run.limits.cpu_milli = 500;
    json_t *o = report(&run);
    assert_string_equal(text(o, "id"), "run_1");
    assert_string_equal(text(o, "session_id"), "ses_1");
    assert_true(json_is_null(json_object_get(o, "workspace_id")));
    assert_string_equal(text(o, "status"), "done");
    assert_string_equal(text(o, "end"), "ok");
    assert_string_equal(text(o, "state"), "fresh");
    assert_string_equal(text(o, "stdout"), "");
    assert_string_equal(text(o, "stderr"), "");
    assert_true(json_is_null(json_object_get(o, "result")));
    assert_true(json_is_null(json_object_get(o, "error")));
    static const char *const lists[] = {"lost", "displays", "files", "not_saved"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_array_size(json_object_get(o, lists[i])), 0);
    assert_string_equal(text(o, "started_at"), "2026-01-01T00:00:00.123Z");
    assert_true(number(o, "duration_ms") == 1.5);
    const json_t *limits = json_object_get(o, "limits");
    assert_true(number(limits, "memory_mb") == 1024 && number(limits, "cpu") == 0.5);
    assert_true(number(limits, "wall_s") == 60 && number(limits, "disk_mb") == 256);
    assert_string_equal(text(o, "tier"), "full");
    assert_null(json_object_get(o, "hint"));
    assert_null(json_object_get(o, "signal"));
    json_decref(o);
}

static void output_that_is_no_text_becomes_text(void **state)
{
    (void)state;
    struct run run = empty_run();
    struct err e = {0};
    assert_int_equal(keep_add(&run.out, "a\0\xff\n", 4, &e), 0);
    json_t *o = report(&run);
    const json_t *out = json_object_get(o, "stdout");
    assert_int_equal(json_string_length(out), 6);
    assert_memory_equal(json_string_value(out), "a\0\xef\xbf\xbd\n", 6);
    json_decref(o);
    keep_done(&run.out);
}

static void what_was_dropped_is_counted(void **state)
{
    (void)state;
    struct run run = empty_run();
    struct err e = {0};
    char many[3000];
    memset(many, 'x', sizeof many);
    assert_int_equal(keep_add(&run.err, many, sizeof many, &e), 0);
    run.displays_dropped = 7;
    json_t *o = report(&run);
    const json_t *truncated = json_object_get(o, "truncated");
    assert_true(number(truncated, "stderr") == 2000 && number(truncated, "stdout") == 0);
    assert_true(number(truncated, "displays") == 7);
    assert_non_null(strstr(text(o, "stderr"), "2000 bytes left out"));
    json_decref(o);
    keep_done(&run.err);
}

static void each_form_of_display_is_shown_as_what_it_is(void **state)
{
    (void)state;
    struct mime entries[] = {
        {"text/plain", FORM_TEXT, "hi", 2},
        {"image/png", FORM_BINARY, "foobar", 6},
        {"application/json", FORM_JSON, "{\"a\": [1,\n2]}", 13},
        {"application/geo+json", FORM_JSON, "NaN", 3},
        {"application/vnd.x+json", FORM_JSON, "1}, \"end\": \"forged\"", 19},
    };
    struct run run = empty_run();
    run.result = (struct display){entries, 5, NULL};
    run.displays = &run.result;
    run.display_count = 1;
    json_t *o = report(&run);
    const json_t *shown[] = {json_object_get(o, "result"),
                             json_array_get(json_object_get(o, "displays"), 0)};
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(text(shown[i], "text/plain"), "hi");
        assert_string_equal(text(shown[i], "image/png"), "Zm9vYmFy");
        const json_t *list = json_object_get(json_object_get(shown[i], "application/json"), "a");
        assert_int_equal(json_array_size(list), 2);
        assert_string_equal(text(shown[i], "application/geo+json"), "NaN");
        assert_string_equal(text(shown[i], "application/vnd.x+json"), "1}, \"end\": \"forged\"");
    }
    assert_string_equal(text(o, "end"), "ok");
    json_decref(o);
}

static void json_that_is_too_deep_is_shown_as_text(void **state)
{
    (void)state;
    char bomb[2000];
    memset(bomb, '[', 1000);
    memset(bomb + 1000, ']', 1000);
    struct mime entry = {"application/json", FORM_JSON, bomb, sizeof bomb};
    struct run run = empty_run();
    run.result = (struct display){&entry, 1, NULL};
    json_t *o = report(&run);
    const json_t *shown = json_object_get(json_object_get(o, "result"), "application/json");
    assert_int_equal(json_string_length(shown), sizeof bomb);
    json_decref(o);
}

static void errors_files_and_hints_are_complete(void **state)
{
    (void)state;
    struct captured_file files[] = {
        {.path = "a.csv",
         .size = 3,
         .change = FILE_CREATED,
         .has_sha256 = true,
         .mime = "text/csv"},
        {.path = "b\xff", .change = FILE_DELETED, .mime = "application/octet-stream"}};
    struct not_captured missed[] = {{.path = "link", .reason = "symbolic link"}};
    struct run run = empty_run();
    run.end = END_ERROR;
    run.error = (struct run_error){"ValueError", "no", "Traceback ...", 3};
    run.files = (struct capture){
        .files = files, .count = 2, .missed = missed, .missed_count = 1, .missed_more = 9};
    (void)snprintf(run.hint, sizeof run.hint, "do this");
    json_t *o = report(&run);
    const json_t *error = json_object_get(o, "error");
    assert_string_equal(text(error, "name"), "ValueError");
    assert_string_equal(text(error, "message"), "no");
    assert_string_equal(text(error, "traceback"), "Traceback ...");
    assert_true(number(error, "line") == 3);
    const json_t *first = json_array_get(json_object_get(o, "files"), 0);
    assert_string_equal(text(first, "change"), "created");
    assert_int_equal(strlen(text(first, "sha256")), 64);
    const json_t *second = json_array_get(json_object_get(o, "files"), 1);
    assert_string_equal(text(second, "path"), "b\xef\xbf\xbd");
    assert_true(json_is_null(json_object_get(second, "sha256")));
    const json_t *lost = json_array_get(json_object_get(o, "not_saved"), 0);
    assert_string_equal(text(lost, "reason"), "symbolic link");
    assert_true(number(json_object_get(o, "truncated"), "not_saved") == 9);
    assert_string_equal(text(o, "hint"), "do this");
    json_decref(o);
}

static void what_was_lost_is_listed_by_name(void **state)
{
    (void)state;
    struct run run = empty_run();
    struct err e = {0};
    run.state = STATE_WOKEN;
    assert_int_equal(names_add(&run.lost, "g: a generator", 14, &e), 0);
    assert_int_equal(names_add(&run.lost, "/tmp/x", 6, &e), 0);
    json_t *o = report(&run);
    const json_t *lost = json_object_get(o, "lost");
    assert_string_equal(text(o, "state"), "woken");
    assert_int_equal(json_array_size(lost), 2);
    assert_string_equal(json_string_value(json_array_get(lost, 0)), "g");
    assert_string_equal(json_string_value(json_array_get(lost, 1)), "/tmp/x");
    json_decref(o);
    names_done(&run.lost);
}

static void a_crash_names_its_signal_or_exit_code(void **state)
{
    (void)state;
    struct run run = empty_run();
    run.end = END_CRASHED;
    run.crash_signal = SIGSEGV;
    json_t *o = report(&run);
    assert_string_equal(text(o, "signal"), "SIGSEGV");
    json_decref(o);
    run.crash_signal = 0;
    run.crash_code = 3;
    o = report(&run);
    assert_true(number(o, "exit_code") == 3);
    json_decref(o);
}

static void a_failure_says_its_code_and_what_to_do(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    struct err failed = {0}, e = {0};
    err_set(&failed, ERR_UNAVAILABLE, "no \"jail\"");
    report_failure(&failed, &out);
    json_t *o = NULL;
    assert_int_equal(json_read(out.bytes, out.len, &o, &e), 0);
    const json_t *error = json_object_get(o, "error");
    assert_string_equal(text(error, "code"), "unavailable");
    assert_string_equal(text(error, "message"), "no \"jail\"");
    assert_non_null(text(error, "hint"));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_there_even_when_nothing_happened),
        cmocka_unit_test(output_that_is_no_text_becomes_text),
        cmocka_unit_test(what_was_dropped_is_counted),
        cmocka_unit_test(each_form_of_display_is_shown_as_what_it_is),
        cmocka_unit_test(json_that_is_too_deep_is_shown_as_text),
        cmocka_unit_test(errors_files_and_hints_are_complete),
        cmocka_unit_test(what_was_lost_is_listed_by_name),
        cmocka_unit_test(a_crash_names_its_signal_or_exit_code),
        cmocka_unit_test(a_failure_says_its_code_and_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
