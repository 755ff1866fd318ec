#include "cli/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

enum { CODE = 1, JSON, VERBOSE, TIMEOUT };

static const struct option table[] = {
    {CODE, 'c', "code", "CODE", "run this"},
    {JSON, 0, "json", NULL, "as JSON"},
    {VERBOSE, 'v', "verbose", NULL, "say more\non two lines"},
    {TIMEOUT, 't', "timeout", "SECONDS", "how long"},
    {0},
};

/* Parses the words and writes what came as "id=value " for each. */
static const char *parse(char **words, struct buf *out, struct err *e)
{
    int count = 0;
    while (words[count])
        count++;
    struct args a = ARGS(count, words, table);
    struct arg arg;
    int got;
    while ((got = args_next(&a, &arg, e)) == 1)
        buf_fmt(out, "%d=%s ", arg.id, arg.value ? arg.value : "");
    if (got < 0)
        buf_str(out, "error");
    return out->bytes ? out->bytes : "";
}

#define CHECK(expected, ...)                                   \
    do {                                                       \
        scoped(buf_done) struct buf out = BUF_INIT(1000);      \
        struct err e = {0};                                    \
        char *words[] = {__VA_ARGS__, NULL};                   \
        assert_string_equal(parse(words, &out, &e), expected); \
    } while (0)

#define CHECK_ERROR(message, ...)                             \
    do {                                                      \
        scoped(buf_done) struct buf out = BUF_INIT(1000);     \
        struct err e = {0};                                   \
        char *words[] = {__VA_ARGS__, NULL};                  \
        assert_string_equal(parse(words, &out, &e), "error"); \
        assert_int_equal(e.code, ERR_INVALID);                \
        assert_string_equal(e.text, message);                 \
    } while (0)

static void values_come_in_every_usual_spelling(void **state)
{
    (void)state;
    CHECK("1=x ", "-c", "x");
    CHECK("1=x ", "-cx");
    CHECK("1=x ", "--code", "x");
    CHECK("1=x ", "--code=x");
    CHECK("1= ", "--code=");
    CHECK("1=a=b ", "--code=a=b");
    CHECK("1=--json ", "-c", "--json");
    CHECK("1=-- ", "-c", "--");
}

static void options_and_operands_may_be_mixed(void **state)
{
    (void)state;
    CHECK("0=a 2= 0=b ", "a", "--json", "b");
    CHECK("0=- ", "-");
}

static void after_two_dashes_everything_is_an_operand(void **state)
{
    (void)state;
    CHECK("2= 0=--json 0=-- ", "--json", "--", "--json", "--");
}

static void short_options_share_a_word(void **state)
{
    (void)state;
    CHECK("3= 3= 1=x ", "-vvcx");
    CHECK("3= 1=x ", "-vc", "x");
}

static void mistakes_are_answered_with_what_to_write(void **state)
{
    (void)state;
    CHECK_ERROR("there is no option --timout; did you mean --timeout?", "--timout=5");
    CHECK_ERROR("there is no option --colour", "--colour");
    CHECK_ERROR("there is no option -x", "-x");
    CHECK_ERROR("--timeout needs a value: --timeout SECONDS", "--timeout");
    CHECK_ERROR("-c needs a value: -c CODE", "-c");
    CHECK_ERROR("--json takes no value", "--json=yes");
}

static void a_very_long_unknown_option_is_cut(void **state)
{
    (void)state;
    char word[2000] = "--";
    memset(word + 2, 'x', sizeof word - 3);
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    struct err e = {0};
    char *words[] = {word, NULL};
    assert_string_equal(parse(words, &out, &e), "error");
    assert_true(strlen(e.text) < 100);
}

static void help_lists_every_option_in_columns(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(2000);
    args_help(table, &out);
    assert_string_equal(out.bytes, "  -c, --code CODE         run this\n"
                                   "      --json              as JSON\n"
                                   "  -v, --verbose           say more\n"
                                   "                          on two lines\n"
                                   "  -t, --timeout SECONDS   how long\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_in_every_usual_spelling),
        cmocka_unit_test(options_and_operands_may_be_mixed),
        cmocka_unit_test(after_two_dashes_everything_is_an_operand),
        cmocka_unit_test(short_options_share_a_word),
        cmocka_unit_test(mistakes_are_answered_with_what_to_write),
        cmocka_unit_test(a_very_long_unknown_option_is_cut),
        cmocka_unit_test(help_lists_every_option_in_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
