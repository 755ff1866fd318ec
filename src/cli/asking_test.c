#include "cli/asking.h"

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

static void what_is_not_said_is_left_to_the_server(void **state)
{
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    (void)state;
    asking_request(&(struct ask_wish){.question = "why \"so\"?"}, &out);
    assert_string_equal(out.bytes,
                        "{\"question\":\"why \\\"so\\\"?\",\"search\":false,\"verify\":false}");
}

static void everything_that_is_said_is_asked_for(void **state)
{
    const struct ask_wish wish = {.question = "q",
                                  .workspace = "w",
                                  .session = "ses_1",
                                  .model = "m",
                                  .instructions = "be brief",
                                  .files = {"a.csv", "d/b.csv"},
                                  .file_count = 2,
                                  .is_searching = true,
                                  .is_verified = true,
                                  .max_runs = 3,
                                  .max_tokens = 1000,
                                  .timeout_s = 60};
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    (void)state;
    asking_request(&wish, &out);
    assert_string_equal(
        out.bytes, "{\"question\":\"q\",\"workspace\":\"w\",\"session\":\"ses_1\",\"model\":\"m\","
                   "\"instructions\":\"be brief\",\"files\":[\"a.csv\",\"d/b.csv\"],"
                   "\"search\":true,\"verify\":true,\"max_runs\":3,\"max_tokens\":1000,"
                   "\"timeout_s\":60}");
}

static void a_question_that_is_too_long_is_not_sent(void **state)
{
    scoped(buf_done) struct buf out = BUF_INIT(16);
    struct asking a = {0};
    struct err e = {0};
    (void)state;
    asking_request(&(struct ask_wish){.question = "longer than it may be"}, &out);
    assert_int_equal(asking_run(&a, &out, &e), -1);
    assert_non_null(strstr(e.text, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_is_left_to_the_server),
        cmocka_unit_test(everything_that_is_said_is_asked_for),
        cmocka_unit_test(a_question_that_is_too_long_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
