#include "cli/ask_options.h"

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

enum { WORDS_MAX = 12 };

static int parse(const char *const *words, struct ask_options *o, struct err *e)
{
    char *copy[WORDS_MAX];
    int count = 0;
    for (; words[count]; count++)
        copy[count] = (char *)words[count];
    return ask_options_parse(count, copy, o, e);
}

#define PARSE(o, e, ...) parse((const char *const[]){__VA_ARGS__, NULL}, o, e)

static void a_workspace_alone_is_searched(void **state)
{
    struct err e = {0};
    static const struct {
        const char *words[6];
        bool is_searching;
    } cases[] = {
        {{"q"}, false},
        {{"-w", "x", "q"}, true},
        {{"-w", "x", "-f", "a.csv", "q"}, false},
        {{"-w", "x", "--no-search", "q"}, false},
        {{"-f", "a.csv", "--search", "q"}, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(ask_options_done) struct ask_options o = {0};
        assert_int_equal(parse(cases[i].words, &o, &e), 0);
        assert_int_equal(o.wish.is_searching, cases[i].is_searching);
    }
}

static void files_keep_their_names_or_get_others(void **state)
{
    scoped(ask_options_done) struct ask_options o = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(PARSE(&o, &e, "-f", "d/a.csv", "-fb.csv=in/c.csv", "how many?"), 0);
    assert_int_equal(o.wish.file_count, 2);
    assert_string_equal(o.guests[0].path, "d/a.csv");
    assert_string_equal(o.wish.files[0], "a.csv");
    assert_string_equal(o.guests[1].path, "b.csv");
    assert_string_equal(o.wish.files[1], "in/c.csv");
    assert_int_equal(ask_options_read(&o, /* has_terminal= */ true, &e), 0);
    assert_string_equal(o.wish.question, "how many?");
}

static void a_mistake_is_told_with_what_to_write(void **state)
{
    static const struct {
        const char *words[5], *told;
    } cases[] = {
        {{"which", "cities"}, "put the question in quotes"},
        {{"q", "/"}, "a file is named by -f /"},
        {{"--list", "q"}, "take no question"},
        {{"--transcript", "ans_1", "--format", "html"}, "markdown, notebook or json"},
        {{"--format", "json", "q"}, "belongs to --transcript"},
        {{"--max-runs", "0", "q"}, "--max-runs"},
        {{"--timeout", "soon", "q"}, "--timeout"},
        {{"--model", "", "q"}, "a name is empty"},
        {{"--show-cod", "q"}, "did you mean --show-code?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(ask_options_done) struct ask_options o = {0};
        struct err e = {0};
        assert_int_equal(parse(cases[i].words, &o, &e), -1);
        if (!strstr(e.text, cases[i].told))
            fail_msg("case %zu was told as: %s", i, e.text);
    }
}

static void nobody_is_waited_for_who_said_nothing(void **state)
{
    scoped(ask_options_done) struct ask_options o = {0};
    struct err e = {0};
    (void)state;
    assert_int_equal(PARSE(&o, &e, "--json"), 0);
    assert_int_equal(ask_options_read(&o, /* has_terminal= */ true, &e), -1);
    assert_non_null(strstr(e.text, "what is the question?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workspace_alone_is_searched),
        cmocka_unit_test(files_keep_their_names_or_get_others),
        cmocka_unit_test(a_mistake_is_told_with_what_to_write),
        cmocka_unit_test(nobody_is_waited_for_who_said_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
