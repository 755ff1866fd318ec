#include "cli/eval_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/eval_tasks.h"

static void numbers_are_found_as_people_write_them(void **state)
{
    static const char text[] = "In 2024 it was 1,234,567.5, or -3.5e2 (\xe2\x88\x92"
                               "7), 3-4, v2, .5 and 12,34 or 1,2345; well-9.";
    static const double wanted[] = {2024, 1234567.5, -350, -7, 3, 4, 2, 0.5, 12, 34, 1, 2345, 9};
    const char *at = text;
    double got;
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(next_number(&at, &got));
        if (got != wanted[i])
            fail_msg("number %zu is %g, not %g", i, got, wanted[i]);
    }
    assert_false(next_number(&at, &got));
}

/* Whether an answer solves a task with this expectation. */
static bool is_solved(const char *expect, const char *answer, const char *sha256, const char *told)
{
    scoped(tasks_done) struct tasks t = {0};
    scoped(buf_done) struct buf line = BUF_INIT(4096), why = BUF_INIT(4096);
    struct err e = {0};
    bool solved = false;
    buf_fmt(&line, "{\"id\":\"a\",\"question\":\"q\",\"expect\":%s}", expect);
    if (tasks_read(line.bytes, line.len, &t, &e) ||
        check_answer(&t.all[0], answer, sha256, &solved, &why, &e))
        fail_msg("%s: %s", expect, e.text);
    if (!solved && !strstr(why.bytes ? why.bytes : "", told))
        fail_msg("%s: told as %s", expect, why.bytes);
    return solved;
}

static void a_number_may_be_as_far_away_as_the_tolerance(void **state)
{
    (void)state;
    assert_true(is_solved("{\"number\":42}", "It is 42.", NULL, ""));
    assert_true(is_solved("{\"number\":0.1}", "0.1", NULL, ""));
    assert_true(is_solved("{\"number\":42,\"tolerance\":0.5}", "about 41.5", NULL, ""));
    assert_false(is_solved("{\"number\":42,\"tolerance\":0.5}", "about 41.4", NULL,
                           "expected 42 within 0.5; the answer has 41.4"));
    assert_false(is_solved("{\"number\":42}", "no idea", NULL, "has no number"));
    assert_false(is_solved("{\"number\":42}", "1 2 3 4 5 6", NULL, "1, 2, 3, 4, 5 and others"));
}

static void a_text_is_the_whole_answer(void **state)
{
    (void)state;
    assert_true(is_solved("{\"text\":\"Oslo\"}", " Oslo\n", NULL, ""));
    assert_false(is_solved("{\"text\":\"Oslo\"}", "Oslo!", NULL, "the answer is \"Oslo!\""));
}

static void all_parts_have_to_be_there(void **state)
{
    (void)state;
    assert_true(is_solved("{\"contains\":[\"oslo\",\"Rome\"]}", "Oslo, then ROME", NULL, ""));
    assert_false(is_solved("{\"contains\":[\"oslo\",\"Rome\"]}", "Oslo", NULL,
                           "not in the answer: \"Rome\""));
}

static void an_expression_may_fit_anywhere_and_takes_no_forever(void **state)
{
    static const char hard[] =
        "{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"regex\":\"(a+)+$\"}}";
    scoped(tasks_done) struct tasks t = {0};
    scoped(buf_done) struct buf why = BUF_INIT(4096);
    struct err e = {0};
    bool solved;
    (void)state;
    assert_true(is_solved("{\"regex\":\"\\\\b4[12]\\\\b\"}", "so: 42", NULL, ""));
    assert_false(is_solved("{\"regex\":\"^4\"}", "so: 42", NULL, "nothing in the answer fits"));
    assert_int_equal(tasks_read(hard, strlen(hard), &t, &e), 0);
    assert_int_equal(check_answer(&t.all[0], "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", NULL,
                                  &solved, &why, &e),
                     -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void a_file_is_there_or_has_its_content(void **state)
{
    char expect[128], hex[65] = {0};
    (void)state;
    memset(hex, 'a', 64);
    (void)snprintf(expect, sizeof expect, "{\"file\":\"o.csv\",\"sha256\":\"%s\"}", hex);
    assert_true(is_solved("{\"file\":\"o.csv\"}", "", "00", ""));
    assert_false(is_solved("{\"file\":\"o.csv\"}", "", NULL, "there is no file o.csv"));
    assert_true(is_solved(expect, "", hex, ""));
    assert_false(is_solved(expect, "", "00", "is another"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_found_as_people_write_them),
        cmocka_unit_test(a_number_may_be_as_far_away_as_the_tolerance),
        cmocka_unit_test(a_text_is_the_whole_answer),
        cmocka_unit_test(all_parts_have_to_be_there),
        cmocka_unit_test(an_expression_may_fit_anywhere_and_takes_no_forever),
        cmocka_unit_test(a_file_is_there_or_has_its_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
