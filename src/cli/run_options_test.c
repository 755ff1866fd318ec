#include "cli/run_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "wire/jail.h"

static int parse(char **words, struct run_options *o, struct err *e)
{
    int count = 0;
    while (words[count])
        count++;
    return run_options_parse(count, words, o, e);
}

#define PARSE(o, e, ...) parse((char *[]){__VA_ARGS__, NULL}, o, e)

#define CHECK_ERROR(message, ...)                              \
    do {                                                       \
        scoped(run_options_done) struct run_options bad = {0}; \
        struct err why = {0};                                  \
        assert_int_equal(PARSE(&bad, &why, __VA_ARGS__), -1);  \
        assert_int_equal(why.code, ERR_INVALID);               \
        assert_string_equal(why.text, message);                \
    } while (0)

static void pieces_keep_their_order(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "-c", "a", "b.py", "-c", "c"), 0);
    assert_int_equal(o.piece_count, 3);
    assert_int_equal(o.pieces[0].kind, PIECE_TEXT);
    assert_string_equal(o.pieces[1].word, "b.py");
    assert_int_equal(o.pieces[1].kind, PIECE_FILE);
    assert_string_equal(o.pieces[2].word, "c");
}

static void limits_are_read_in_the_units_of_their_options(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "--memory", "512", "--disk=2G", "--output", "64k", "--cpu",
                           "0.5", "--timeout", "2.25", "--pids", "64", "x"),
                     0);
    assert_int_equal(o.limits.memory_bytes, 512 * MIB);
    assert_int_equal(o.limits.disk_bytes, 2 * GIB);
    assert_int_equal(o.limits.file_bytes, 2 * GIB);
    assert_int_equal(o.limits.output_bytes, 64 * KIB);
    assert_int_equal(o.limits.cpu_milli, 500);
    assert_int_equal(o.limits.wall_ms, 2250);
    assert_int_equal(o.limits.pids, 64);
}

static void without_options_the_defaults_hold(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    uint8_t got[JAIL_SPEC_SIZE], preset[JAIL_SPEC_SIZE];
    assert_int_equal(PARSE(&o, &e, "x"), 0);
    jail_spec_put(&(struct jail_spec){.limits = o.limits}, got);
    jail_spec_put(&(struct jail_spec){.limits = LIMITS_DEFAULT}, preset);
    assert_memory_equal(got, preset, sizeof preset);
}

static void all_output_that_is_kept_is_also_read(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "--output", "64M", "x"), 0);
    assert_true(o.limits.drain_bytes >= 2 * o.limits.output_bytes);
}

static void limits_out_of_range_name_the_range(void **state)
{
    (void)state;
    CHECK_ERROR("--memory: 31 is not between 32 and 1048576 MiB", "--memory", "31", "x");
    CHECK_ERROR("--memory: '2X' is not a size such as 512, 512M or 2G", "--memory", "2X", "x");
    CHECK_ERROR("--timeout: 0 is not between 0.1 and 86400 seconds", "--timeout", "0", "x");
    CHECK_ERROR("--timeout: '-1' is not a number such as 1 or 0.5", "--timeout", "-1", "x");
    CHECK_ERROR("--cpu: 2000 is not between 0.01 and 1024 cores", "--cpu", "2000", "x");
    CHECK_ERROR("--output: 10 is not between 1024 and 67108864 bytes", "--output", "10", "x");
    CHECK_ERROR("--pids: 3 is not between 4 and 32768", "--pids", "3", "x");
    CHECK_ERROR("--pids: 'many' is not a whole number", "--pids", "many", "x");
}

static void files_are_brought_under_their_own_or_a_given_name(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "-f", "/some/where/a.csv", "-f", "b=data/c.csv", "-f", "dir///",
                           "-f", "d=/mnt/data/e", "x"),
                     0);
    assert_int_equal(o.guest_count, 4);
    assert_string_equal(o.guests[0].path, "/some/where/a.csv");
    assert_string_equal(o.guests[0].name, "a.csv");
    assert_string_equal(o.guests[1].path, "b");
    assert_string_equal(o.guests[1].name, "data/c.csv");
    assert_string_equal(o.guests[2].path, "dir");
    assert_string_equal(o.guests[2].name, "dir");
    assert_string_equal(o.guests[3].name, "e");
}

static void a_file_with_an_equals_sign_is_meant_as_a_whole_if_it_exists(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    char path[128], renamed[160];
    scratch_write(&s, "a=b", "");
    (void)snprintf(path, sizeof path, "%s/a=b", s.path);
    (void)snprintf(renamed, sizeof renamed, "%s=c", path);
    assert_int_equal(PARSE(&o, &e, "-f", path, "-f", renamed, "x"), 0);
    assert_string_equal(o.guests[0].name, "a=b");
    assert_string_equal(o.guests[1].path, path);
    assert_string_equal(o.guests[1].name, "c");
}

static void the_current_directory_needs_a_name(void **state)
{
    (void)state;
    CHECK_ERROR("-f .: what should it be called? Write -f .=NAME", "-f", ".", "x");
    CHECK_ERROR("-f /: what should it be called? Write -f /=NAME", "-f", "/", "x");
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "-f", ".=here", "x"), 0);
    assert_string_equal(o.guests[0].path, ".");
}

static void variables_need_a_name_and_a_value(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "--env", "A_1=x=y", "--env", "B=", "x"), 0);
    assert_string_equal(o.env[0], "A_1=x=y");
    assert_string_equal(o.env[1], "B=");
    assert_null(o.env[2]);
    CHECK_ERROR("--env: 'PATH' is not NAME=VALUE", "--env", "PATH", "x");
    CHECK_ERROR("--env: '=x' is not NAME=VALUE", "--env", "=x", "x");
    CHECK_ERROR("--env: '1A=x' is not NAME=VALUE", "--env", "1A=x", "x");
    CHECK_ERROR("--env: 'A B=x' is not NAME=VALUE", "--env", "A B=x", "x");
}

static void a_second_file_is_refused_with_advice(void **state)
{
    (void)state;
    CHECK_ERROR("one FILE at a time, and 'arg' is a second one; bring data with -f, set sys.argv "
                "with -c before FILE",
                "a.py", "arg");
    CHECK_ERROR("--json and --show exclude each other; leave out one", "--json", "--show", "x");
}

static void an_image_is_used_unless_told_otherwise(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options o = {0}, cold = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&o, &e, "x"), 0);
    assert_false(o.is_cold);
    assert_int_equal(PARSE(&cold, &e, "--cold", "x"), 0);
    assert_true(cold.is_cold);
}

static void the_most_pieces_and_one_more(void **state)
{
    (void)state;
    char *words[2 * PIECES_MAX + 3];
    for (size_t i = 0; i <= PIECES_MAX; i++) {
        words[2 * i] = "-c";
        words[2 * i + 1] = "1";
    }
    scoped(run_options_done) struct run_options o = {0}, over = {0};
    struct err e = {0};
    assert_int_equal(run_options_parse(2 * PIECES_MAX, words, &o, &e), 0);
    assert_int_equal(run_options_parse(2 * PIECES_MAX + 2, words, &over, &e), -1);
}

static void the_code_of_a_file_is_read_and_called_by_its_last_name(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(run_options_done) struct run_options o = {0};
    struct err e = {0};
    char path[128];
    scratch_write(&s, "job.py", "print(1)\n");
    (void)snprintf(path, sizeof path, "%s/job.py", s.path);
    assert_int_equal(PARSE(&o, &e, path, "--stdin", "one\ntwo"), 0);
    assert_int_equal(run_options_read(&o, /* has_terminal= */ true, &e), 0);
    assert_string_equal(o.pieces[0].code, "print(1)\n");
    assert_string_equal(o.pieces[0].name, "job.py");
    assert_string_equal(o.stdin_text, "one\ntwo");
}

static void a_file_says_its_language_unless_an_option_does(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(run_options_done) struct run_options own = {0}, told = {0}, bad = {0}, zone = {0};
    struct err e = {0};
    char path[128];
    scratch_write(&s, "job.sh", "true\n");
    (void)snprintf(path, sizeof path, "%s/job.sh", s.path);
    assert_int_equal(PARSE(&own, &e, "-c", "1", path), 0);
    assert_int_equal(run_options_read(&own, true, &e), 0);
    assert_int_equal(own.pieces[0].language, LANGUAGE_PYTHON);
    assert_int_equal(own.pieces[1].language, LANGUAGE_BASH);
    assert_int_equal(PARSE(&told, &e, "-c", "1", path, "-l", "javascript"), 0);
    assert_int_equal(run_options_read(&told, true, &e), 0);
    assert_int_equal(told.pieces[0].language, LANGUAGE_JAVASCRIPT);
    assert_int_equal(told.pieces[1].language, LANGUAGE_JAVASCRIPT);
    assert_int_equal(PARSE(&bad, &e, "-c", "1", "--language", "ruby"), -1);
    assert_string_equal(
        e.text, "--language: 'ruby' is no language known here; write python, bash or javascript");
    assert_int_equal(PARSE(&zone, &e, "-c", "1", "--tz", "../etc"), -1);
    assert_non_null(strstr(e.text, "--tz: there is no time zone of that name"));
}

static void what_cannot_be_read_is_said_with_its_name(void **state)
{
    (void)state;
    scoped(run_options_done) struct run_options missing = {0}, dir = {0}, none = {0}, both = {0};
    struct err e = {0};
    assert_int_equal(PARSE(&missing, &e, "no/such.py"), 0);
    assert_int_equal(run_options_read(&missing, true, &e), -1);
    assert_string_equal(e.text, "cannot read no/such.py: No such file or directory");

    assert_int_equal(PARSE(&dir, &e, "/tmp"), 0);
    assert_int_equal(run_options_read(&dir, true, &e), -1);
    assert_string_equal(e.text, "/tmp is a directory; name a file in it");

    assert_int_equal(PARSE(&none, &e, "--json"), 0);
    assert_int_equal(run_options_read(&none, true, &e), -1);
    assert_string_equal(
        e.text, "nothing to run; give a FILE, -c CODE, or - to read code from standard input");

    assert_int_equal(PARSE(&both, &e, "-", "--stdin", "-"), 0);
    assert_int_equal(run_options_read(&both, true, &e), -1);
    assert_non_null(strstr(e.text, "cannot be both"));
}

static void the_largest_code_and_one_byte_more(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(run_options_done) struct run_options fits = {0}, over = {0};
    struct err e = {0};
    char path[128];
    scratch_write(&s, "big.py", "");
    (void)snprintf(path, sizeof path, "%s/big.py", s.path);
    assert_int_equal(truncate(path, CODE_MAX), 0);
    assert_int_equal(PARSE(&fits, &e, path), 0);
    assert_int_equal(run_options_read(&fits, true, &e), 0);
    assert_int_equal(fits.pieces[0].code_len, CODE_MAX);
    assert_int_equal(truncate(path, CODE_MAX + 1), 0);
    assert_int_equal(PARSE(&over, &e, path), 0);
    assert_int_equal(run_options_read(&over, true, &e), -1);
    assert_non_null(strstr(e.text, "larger than 4 MiB"));
    assert_non_null(strstr(e.text, "bring it with -f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_keep_their_order),
        cmocka_unit_test(limits_are_read_in_the_units_of_their_options),
        cmocka_unit_test(without_options_the_defaults_hold),
        cmocka_unit_test(all_output_that_is_kept_is_also_read),
        cmocka_unit_test(limits_out_of_range_name_the_range),
        cmocka_unit_test(files_are_brought_under_their_own_or_a_given_name),
        cmocka_unit_test(a_file_with_an_equals_sign_is_meant_as_a_whole_if_it_exists),
        cmocka_unit_test(the_current_directory_needs_a_name),
        cmocka_unit_test(variables_need_a_name_and_a_value),
        cmocka_unit_test(a_second_file_is_refused_with_advice),
        cmocka_unit_test(an_image_is_used_unless_told_otherwise),
        cmocka_unit_test(the_most_pieces_and_one_more),
        cmocka_unit_test(the_code_of_a_file_is_read_and_called_by_its_last_name),
        cmocka_unit_test(a_file_says_its_language_unless_an_option_does),
        cmocka_unit_test(what_cannot_be_read_is_said_with_its_name),
        cmocka_unit_test(the_largest_code_and_one_byte_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
