#include "cli/eval_tasks.h"

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

static void every_kind_of_expectation_is_read(void **state)
{
    static const char text[] =
        "{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"number\":1.5,\"tolerance\":0.1}}\n"
        "\n"
        "{\"id\":\"b\",\"question\":\"q\",\"files\":[\"x.csv\",\"d/y.csv\"],\"expect\":{\"text\":\"yes\"}}\r\n"
        "{\"id\":\"c\",\"question\":\"q\",\"expect\":{\"contains\":[\"one\",\"two\"]}}\n"
        "  \t\n"
        "{\"id\":\"d\",\"question\":\"q\",\"expect\":{\"regex\":\"^\\\\d+$\"}}\n"
        "{\"id\":\"e\",\"question\":\"q\",\"expect\":{\"file\":\"out.csv\"}}";
    scoped(tasks_done) struct tasks t = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(tasks_read(text, strlen(text), &t, &e), 0);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.all[0].kind, TASK_NUMBER);
    assert_true(t.all[0].number == 1.5 && t.all[0].tolerance == 0.1);
    assert_int_equal(t.all[1].kind, TASK_TEXT);
    assert_int_equal(t.all[1].line, 3);
    assert_int_equal(json_array_size(t.all[1].files), 2);
    assert_int_equal(t.all[2].kind, TASK_CONTAINS);
    assert_int_equal(t.all[3].kind, TASK_REGEX);
    assert_int_equal(t.all[4].kind, TASK_FILE);
    assert_string_equal(t.all[4].id, "e");
    assert_null(t.all[4].sha256);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
    static const struct {
        const char *line, *told;
    } cases[] = {
        {"{", "line 2: not JSON"},
        {"[]", "line 2: a task has to be a JSON object"},
        {"{\"question\":\"q\",\"expect\":{\"number\":1}}", "line 2: \"id\""},
        {"{\"id\":\"a b\",\"question\":\"q\",\"expect\":{\"number\":1}}", "line 2: \"id\""},
        {"{\"id\":\"ok\",\"question\":\"q\",\"expect\":{\"number\":1}}",
         "line 2: line 1 has the id 'ok', too"},
        {"{\"id\":\"a\",\"question\":\"\",\"expect\":{\"number\":1}}", "line 2: \"question\""},
        {"{\"id\":\"a\",\"question\":\"q\"}", "line 2: \"expect\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{}}", "one of number, text"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"number\":1,\"text\":\"1\"}}",
         "one of number"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"numbr\":1}}", "did you mean 'number'?"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"number\":\"1\"}}", "\"number\" has to be"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"number\":1,\"tolerance\":-1}}",
         "\"tolerance\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"text\":\"a\",\"tolerance\":1}}",
         "belongs to"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"text\":\"a\",\"sha256\":\"a\"}}",
         "belongs to"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"contains\":[]}}", "\"contains\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"contains\":[1]}}", "\"contains\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"regex\":\"(\"}}",
         "regular expression is wrong"},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"file\":\"../x\"}}", "\"file\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"expect\":{\"file\":\"x\",\"sha256\":\"AA\"}}",
         "\"sha256\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"files\":[\"../x\"],\"expect\":{\"number\":1}}",
         "\"files\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"files\":[\"/x\"],\"expect\":{\"number\":1}}",
         "\"files\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"files\":[\"x/\"],\"expect\":{\"number\":1}}",
         "\"files\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"files\":\"x\",\"expect\":{\"number\":1}}",
         "\"files\""},
        {"{\"id\":\"a\",\"question\":\"a\\u0000b\",\"expect\":{\"number\":1}}", "\"question\""},
        {"{\"id\":\"a\",\"question\":\"q\",\"file\":[],\"expect\":{\"number\":1}}",
         "did you mean 'files'?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(tasks_done) struct tasks t = {0};
        scoped(buf_done) struct buf text = BUF_INIT(4096);
        struct err e = {0};
        buf_fmt(&text, "{\"id\":\"ok\",\"question\":\"q\",\"expect\":{\"number\":1}}\n%s\n",
                cases[i].line);
        assert_int_equal(tasks_read(text.bytes, text.len, &t, &e), -1);
        if (!strstr(e.text, cases[i].told) || strncmp(e.text, "line 2: ", 8) != 0)
            fail_msg("%s\n  was told as: %s", cases[i].line, e.text);
    }
}

static void a_file_without_tasks_is_an_error(void **state)
{
    scoped(tasks_done) struct tasks t = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(tasks_read("\n \n", 3, &t, &e), -1);
    assert_non_null(strstr(e.text, "no task"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_expectation_is_read),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(a_file_without_tasks_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
