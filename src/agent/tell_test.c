#include "agent/tell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

/* A run that ended well, with these members besides or instead. */
static json_t *run_with(const char *members)
{
    json_t *run = json_loads(
        "{\"id\":\"run_1\",\"end\":\"ok\",\"state\":\"kept\",\"stdout\":\"\",\"stderr\":\"\",\"result\":null,"
        "\"displays\":[],\"error\":null,\"files\":[],\"not_saved\":[],\"lost\":[],\"duration_ms\":1500.5}",
        0, NULL);
    scoped(json_decrefp) json_t *more = json_loads(members, JSON_ALLOW_NUL, NULL);
    assert_non_null(run);
    assert_non_null(more);
    assert_int_equal(json_object_update(run, more), 0);
    return run;
}

static void check_text(const char *members, bool has_past, const char *expected)
{
    scoped(json_decrefp) json_t *run = run_with(members);
    scoped(buf_done) struct buf out = BUF_INIT(TELL_TEXT_MAX);
    tell_words(run, has_past, &out);
    assert_string_equal(out.bytes, expected);
}

static void what_was_printed_comes_first_and_bare(void **state)
{
    (void)state;
    check_text("{\"stdout\":\"42\\n\"}", false, "42\n");
    check_text("{\"result\":{\"text/plain\":\"42\"}}", false, "42\n");
    check_text("{\"stdout\":\"a\",\"stderr\":\"b\",\"result\":{\"text/plain\":\"c\"}}", false,
               "a\n[stderr]\nb\nc\n");
    check_text("{}", false, "[The code ran and printed nothing.]\n");
    check_text("{\"stdout\":\"\\u001b[31mred\\u001b[0m\\n1%\\r2%\\n\"}", false, "red\n2%\n");
}

static void a_traceback_is_told_whole(void **state)
{
    (void)state;
    check_text(
        "{\"end\":\"error\",\"stdout\":\"before\\n\",\"error\":{\"name\":\"KeyError\",\"message\":\"'x'\","
        "\"line\":1,\"traceback\":\"Traceback (most recent call last):\\n  line 1\\nKeyError: 'x'\"}}",
        false, "before\nTraceback (most recent call last):\n  line 1\nKeyError: 'x'\n");
    check_text(
        "{\"end\":\"error\",\"error\":{\"name\":\"E\",\"message\":\"only this\",\"traceback\":\"\"}}",
        false, "only this\n");
}

static void figures_and_files_are_told_of(void **state)
{
    (void)state;
    check_text(
        "{\"displays\":[{\"image/png\":\"aGk=\",\"text/plain\":\"<Figure>\"},{\"text/html\":\"<b>t</b>\"}],"
        "\"result\":{\"image/svg+xml\":\"<svg/>\"},"
        "\"files\":[{\"path\":\"a.csv\",\"size\":12,\"change\":\"created\"},"
        "{\"path\":\"b\",\"size\":0,\"change\":\"deleted\"},"
        "{\"path\":\"c\",\"size\":1,\"change\":\"modified\",\"kept_as\":\"c 2\"}],"
        "\"not_saved\":[{\"path\":\"s\",\"reason\":\"a socket\"}],"
        "\"updated\":[{\"path\":\"u\",\"change\":\"created\"}],"
        "\"not_brought\":[{\"path\":\"v\",\"reason\":\"no room\"}],\"hint\":\"do this\"}",
        false,
        "[figure 1: image/png, shown to the user]\n<b>t</b>\n"
        "[figure 2: image/svg+xml, shown to the user]\n"
        "[file created: /mnt/data/a.csv, 12 bytes]\n[file deleted: /mnt/data/b]\n"
        "[file modified: /mnt/data/c, 1 bytes, kept as /mnt/data/c 2: others changed the file "
        "too]\n"
        "[not saved: /mnt/data/s: a socket]\n"
        "[created by others since the last run: /mnt/data/u]\n"
        "[changed by others, but not brought: /mnt/data/v: no room]\n[hint: do this]\n");
}

static void every_bad_end_says_what_to_do(void **state)
{
    (void)state;
    static const char *const ends[] = {"timeout",   "memory",  "output_limit", "disk",
                                       "cancelled", "crashed", "killed"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char members[100], head[32];
        scoped(buf_done) struct buf out = BUF_INIT(TELL_TEXT_MAX);
        (void)snprintf(members, sizeof members, "{\"end\":\"%s\",\"stdout\":\"x\"}", ends[i]);
        (void)snprintf(head, sizeof head, "x\n[%s: The ", ends[i]);
        scoped(json_decrefp) json_t *run = run_with(members);
        tell_words(run, false, &out);
        if (strcmp(ends[i], "disk") != 0)
            assert_memory_equal(out.bytes, head, strlen(head));
        assert_non_null(strstr(out.bytes, "It ran for 1.5 s."));
    }
}

static void variables_that_are_gone_are_missed_only_if_there_were_any(void **state)
{
    (void)state;
    scoped(buf_done) struct buf first = BUF_INIT(9999), later = BUF_INIT(9999),
                                lost = BUF_INIT(9999);
    scoped(json_decrefp) json_t *fresh = run_with("{\"state\":\"fresh\",\"stdout\":\"x\\n\"}");
    scoped(json_decrefp) json_t *gone =
        run_with("{\"state\":\"lost\",\"lost\":[\"g: a generator\"]}");
    tell_words(fresh, false, &first);
    assert_string_equal(first.bytes, "x\n");
    tell_words(fresh, true, &later);
    assert_non_null(
        strstr(later.bytes,
               "variables and imports of earlier runs are gone, files in /mnt/data are there"));
    tell_words(gone, false, &lost);
    assert_non_null(strstr(lost.bytes, "are gone, files"));
    assert_non_null(strstr(lost.bytes, "[lost while the interpreter slept: g: a generator]"));
}

static void what_is_long_stays_within_limits(void **state)
{
    (void)state;
    scoped(buf_done) struct buf lines = BUF_INIT(1 << 20), out = BUF_INIT(TELL_TEXT_MAX);
    for (int i = 0; i < 20000; i++)
        buf_fmt(&lines, "line %d\n", i);
    json_t *long_text = json_stringn(lines.bytes, lines.len);
    scoped(json_decrefp) json_t *run = run_with("{\"end\":\"error\"}");
    json_object_set(run, "stdout", long_text);
    json_object_set(run, "stderr", long_text);
    json_object_set_new(run, "result", json_pack("{s:O}", "text/plain", long_text));
    json_object_set_new(run, "error", json_pack("{s:O}", "traceback", long_text));
    json_object_set_new(
        run, "displays",
        json_pack("[{s:O},{s:O}]", "text/plain", long_text, "text/plain", long_text));
    json_decref(long_text);
    tell_words(run, false, &out);
    assert_false(out.failed);
    assert_true(out.len < 70000);
    assert_non_null(strstr(out.bytes, "line 19999\n[stderr]\nline 0\n"));
    assert_non_null(strstr(out.bytes, "left out; print less"));
}

static void outputs_are_logs_and_images_in_order(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *run = run_with(
        "{\"end\":\"error\",\"stdout\":\"a\\n\",\"stderr\":\"b\",\"displays\":[{\"image/png\":\"aGk=\"},{\"text/plain\":\"t\"},"
        "{\"image/svg+xml\":\"<svg/>\"}],\"error\":{\"traceback\":\"Traceback\\nE: no\"}}");
    scoped(json_decrefp) json_t *got = NULL;
    scoped(json_decrefp) json_t *expected = json_loads(
        "[{\"type\":\"logs\",\"logs\":\"a\\nb\"},{\"type\":\"image\",\"url\":\"data:image/png;base64,aGk=\"},"
        "{\"type\":\"logs\",\"logs\":\"t\"},{\"type\":\"image\",\"url\":\"data:image/svg+xml;base64,PHN2Zy8+\"},"
        "{\"type\":\"logs\",\"logs\":\"Traceback\\nE: no\"}]",
        0, NULL);
    struct err e = {0};
    assert_int_equal(tell_outputs(run, &got, &e), 0);
    assert_true(json_equal(got, expected));
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *run = run_with("{\"stdout\":\"x\\u001b\\u00e9y\\u0000z\"}");
    scoped(json_decrefp) json_t *got = NULL;
    struct err e = {0};
    assert_int_equal(tell_outputs(run, &got, &e), 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(got, 0), "logs")),
                        "x\xEF\xBF\xBDy\xEF\xBF\xBDz");
}

static void nothing_gives_no_outputs(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *run = run_with("{}"), *got = NULL;
    struct err e = {0};
    assert_int_equal(tell_outputs(run, &got, &e), 0);
    assert_int_equal(json_array_size(got), 0);
}

static void an_image_that_is_too_large_is_told_in_words(void **state)
{
    (void)state;
    size_t len = TELL_IMAGE_MAX + 1000;
    char *large = malloc(len);
    assert_non_null(large);
    memset(large, 'A', len);
    scoped(json_decrefp) json_t *run = run_with("{}"), *got = NULL;
    json_object_set_new(run, "displays", json_pack("[{s:s%}]", "image/png", large, len));
    free(large);
    struct err e = {0};
    assert_int_equal(tell_outputs(run, &got, &e), 0);
    assert_int_equal(json_array_size(got), 1);
    assert_non_null(
        strstr(json_string_value(json_object_get(json_array_get(got, 0), "logs")), "too large"));
}

/* 90 MB, as one text and as many. */
static void outputs_that_are_very_long_are_shortened(void **state)
{
    (void)state;
    for (size_t pieces = 1; pieces <= 30; pieces += 29) {
        size_t len = (size_t)(90 << 20) / pieces;
        char *large = malloc(len);
        assert_non_null(large);
        memset(large, 'A', len);
        scoped(json_decrefp) json_t *run = run_with("{\"stdout\":\"begin\\n\"}"), *got = NULL;
        json_t *displays = json_array();
        for (size_t i = 0; i < pieces; i++)
            json_array_append_new(displays, json_pack("{s:s%}", "text/plain", large, len));
        free(large);
        json_object_set_new(run, "displays", displays);
        json_object_set_new(run, "result", json_pack("{s:s}", "text/plain", "the end"));
        struct err e = {0};
        assert_int_equal(tell_outputs(run, &got, &e), 0);
        assert_int_equal(json_array_size(got), 1);
        const char *logs = json_string_value(json_object_get(json_array_get(got, 0), "logs"));
        assert_true(strlen(logs) < TELL_LOGS_MAX + 500);
        assert_true(strncmp(logs, "begin\n", 6) == 0);
        assert_non_null(strstr(logs, "left out; and more"));
        assert_non_null(strstr(logs, "the end"));
    }
}

static void facts_and_files_are_what_is_kept_of_it(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *run = run_with(
        "{\"end\":\"error\",\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":3,\"traceback\":\"T\"},"
        "\"files\":[{\"path\":\"a\",\"change\":\"created\",\"size\":1,\"mime\":\"text/csv\",\"kept_as\":\"a 2\"},"
        "{\"path\":\"b\",\"change\":\"deleted\",\"size\":0,\"mime\":\"text/csv\"}]}");
    scoped(json_decrefp) json_t *facts = NULL, *files = NULL;
    struct err e = {0};
    assert_int_equal(tell_facts(run, &facts, &e), 0);
    assert_int_equal(tell_files(run, &files, &e), 0);
    scoped(json_decrefp) json_t *as = json_loads(
        "{\"id\":\"run_1\",\"end\":\"error\",\"duration_ms\":1500.5,\"state\":\"kept\",\"error\":"
        "{\"name\":\"E\",\"message\":\"m\",\"line\":3}}",
        0, NULL);
    scoped(json_decrefp) json_t *as_files = json_loads(
        "[{\"path\":\"a 2\",\"change\":\"created\",\"size\":1,\"mime\":\"text/csv\"}]", 0, NULL);
    assert_true(json_equal(facts, as));
    assert_true(json_equal(files, as_files));
}

static void the_last_images_are_shown_to_a_model(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *outputs = json_array(), *content = json_array();
    for (int i = 0; i < 6; i++) {
        char url[40];
        (void)snprintf(url, sizeof url, "data:image/png;base64,%d", i);
        json_array_append_new(outputs, json_pack("{s:s,s:s}", "type", "image", "url", url));
        json_array_append_new(outputs, json_pack("{s:s,s:s}", "type", "logs", "logs", "x"));
    }
    assert_int_equal(tell_images(outputs, content), 4);
    assert_int_equal(json_array_size(content), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(content, 0), "image_url")),
                        "data:image/png;base64,2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_printed_comes_first_and_bare),
        cmocka_unit_test(a_traceback_is_told_whole),
        cmocka_unit_test(figures_and_files_are_told_of),
        cmocka_unit_test(every_bad_end_says_what_to_do),
        cmocka_unit_test(variables_that_are_gone_are_missed_only_if_there_were_any),
        cmocka_unit_test(what_is_long_stays_within_limits),
        cmocka_unit_test(outputs_are_logs_and_images_in_order),
        cmocka_unit_test(bytes_that_are_no_text_do_no_harm),
        cmocka_unit_test(nothing_gives_no_outputs),
        cmocka_unit_test(an_image_that_is_too_large_is_told_in_words),
        cmocka_unit_test(outputs_that_are_very_long_are_shortened),
        cmocka_unit_test(facts_and_files_are_what_is_kept_of_it),
        cmocka_unit_test(the_last_images_are_shown_to_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
