#include "ask/figures.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ask/numbers.h"
#include "base/buf.h"
#include "base/err.h"

/* The figures of an answer as "text=run|text=-|...". */
static const char *figures(const char *answer, const char *one, const char *two)
{
    static char out[2000];
    const struct figure_source sources[] = {{"run_1", str_of(one)}, {"run_2", str_of(two)}};
    struct err e = {0};
    json_t *all = NULL, *each;
    size_t i;
    assert_int_equal(figures_find(str_of(answer), sources, 2, &all, &e), 0);
    out[0] = '\0';
    json_array_foreach(all, i, each)
    {
        const char *run = json_string_value(json_object_get(each, "run_id"));
        size_t len = strlen(out);
        (void)snprintf(out + len, sizeof out - len, "%s%s=%s", i ? "|" : "",
                       json_string_value(json_object_get(each, "text")), run ? run + 4 : "-");
    }
    json_decref(all);
    return out;
}

static void numbers_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        double value;
        bool is_percent;
    } all[] = {{"1,234.5", 1234.5, false},
               {"12 %", 12, true},
               {"3.2e-4", 3.2e-4, false},
               {"$5", 5, false},
               {"1.2 million", 1.2e6, false},
               {"-7", -7, false},
               {"\xe2\x88\x92"
                "7",
                -7, false},
               {"\xe2\x82\xac"
                "3.50",
                3.5, false},
               {"4bn", 4e9, false},
               {"12\xc2\xa0%", 12, true},
               {"-$5", -5, false},
               {"10ms", 10, false},
               {"1,234,567", 1234567, false},
               {"12,34", 12, false},
               {"5e", 5, false},
               {"6.", 6, false}};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct number n;
        size_t at = 0;
        assert_true(number_next(all[i].text, strlen(all[i].text), &at, &n));
        double off = n.value - all[i].value;
        assert_true(off < 1e-12 && off > -1e-12);
        assert_int_equal(n.is_percent, all[i].is_percent);
    }
}

static void parts_of_names_versions_dates_and_times_are_no_numbers(void **state)
{
    static const char *const all[] = {"Q3",      "x_2", "report2.csv", "3.11.2", "2026-07-01",
                                      "12:30",   "1st", "utf-8",       "0x7f3a", "2024.csv",
                                      "07/2026", "#4",  "v1.2",        "22nd",   ""};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct number n;
        size_t at = 0;
        if (number_next(all[i], strlen(all[i]), &at, &n))
            fail_msg("%s is a number", all[i]);
    }
}

static void a_figure_is_found_in_the_output_it_was_rounded_from(void **state)
{
    (void)state;
    assert_string_equal(figures("The total is 1,234.6.", "total 1234.5678", ""), "1,234.6=1");
    assert_string_equal(figures("It grew by 12 %.", "0.1234", ""), "12 %=1");
    assert_string_equal(figures("It grew by 12.3%.", "", "growth: 12.34 %"), "12.3%=2");
    assert_string_equal(figures("1.2 million people", "n=1234567", ""), "1.2 million=1");
    assert_string_equal(figures("p = 3.2e-4", "0.00032", ""), "3.2e-4=1");
    assert_string_equal(figures("It fell by 3.5.", "-3.5", ""), "3.5=1");
    assert_string_equal(figures("A share of 0.25", "25%", ""), "0.25=1");
    assert_string_equal(figures("It cost $5.", "5.0", ""), "$5=1");
}

static void a_figure_that_no_output_has_is_listed_without_a_run(void **state)
{
    (void)state;
    assert_string_equal(figures("It is 42.", "41", "43"), "42=-");
    assert_string_equal(figures("It is 1,234.6.", "1234.5", ""), "1,234.6=-");
    assert_string_equal(figures("There are 5 of them.", "4.7", ""), "5=-");
}

static void the_last_exact_output_wins_over_a_rounded_one(void **state)
{
    (void)state;
    assert_string_equal(figures("about 12.5", "12.5", "12.49"), "12.5=1");
    assert_string_equal(figures("about 12.5", "12.5", "x 12.5"), "12.5=2");
}

static void years_count_only_when_an_output_has_them(void **state)
{
    (void)state;
    assert_string_equal(figures("In 2024 it was 7.", "7", ""), "7=1");
    assert_string_equal(figures("In 2024 it was 7.", "2024 7", ""), "2024=1|7=1");
}

static void numbers_of_lists_marks_links_and_code_are_no_figures(void **state)
{
    (void)state;
    assert_string_equal(figures("1. Berlin 30\n2. Rome 20\n", "30 20 1 2", ""), "30=1|20=1");
    assert_string_equal(figures("It grew [1] and fell [2, 3].", "1 2 3", ""), "");
    assert_string_equal(figures("See [the plot](sandbox:/mnt/data/7.png) 9", "9 7", ""), "9=1");
    assert_string_equal(figures("See [it](https://example.com/?a=7) and 9", "9 7", ""), "9=1");
    assert_string_equal(figures("`x = 5` is 6", "5 6", ""), "6=1");
}

static void a_number_too_large_for_any_use_is_none(void **state)
{
    (void)state;
    assert_string_equal(figures("1e300 million and 9e999999999 and 4", "4", ""), "4=1");
}

static void what_a_model_only_read_has_a_line_and_no_run(void **state)
{
    const struct figure_source sources[] = {{"run_1", str_of("30.04")},
                                            {NULL, str_of("it was 30.0 then\nand 512 crates")}};
    struct err e = {0};
    json_t *all = NULL;
    (void)state;
    assert_int_equal(figures_find(str_of("30.0 and 512"), sources, 2, &all, &e), 0);
    char *text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    assert_string_equal(
        text, "[{\"line\":\"30.04\",\"run_id\":\"run_1\",\"text\":\"30.0\",\"value\":30.0},"
              "{\"line\":\"and 512 crates\",\"run_id\":null,\"text\":\"512\",\"value\":512.0}]");
    free(text);
    json_decref(all);
}

static void each_figure_is_listed_once(void **state)
{
    (void)state;
    assert_string_equal(figures("7 and 7 and 7.0", "7", ""), "7=1|7.0=1");
}

static void any_bytes_are_read_without_harm(void **state)
{
    char bytes[256];
    struct err e = {0};
    (void)state;
    for (unsigned seed = 1; seed < 400; seed++) {
        unsigned r = seed;
        for (size_t i = 0; i < sizeof bytes; i++) {
            r = r * 1103515245U + 12345;
            bytes[i] = "0123456789.,-%eE$ [](`:/\n\xe2\x88\x92kM"[(r >> 16) % 31];
        }
        json_t *all = NULL;
        const struct figure_source source = {"run_1", {bytes, sizeof bytes}};
        assert_int_equal(figures_find((struct str){bytes, sizeof bytes}, &source, 1, &all, &e), 0);
        json_decref(all);
    }
}

static void a_long_text_takes_no_long_time(void **state)
{
    static const char *const pieces[] = {"1, ", "2024 ", "[1, ", "7 `", "1.5e3,", "- - -"};
    enum { LONG = 1 << 18 };
    char *text = malloc(LONG + 16);
    (void)state;
    assert_non_null(text);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        size_t len = strlen(pieces[k]), at = 0;
        for (; at < LONG; at += len)
            memcpy(text + at, pieces[k], len);
        const struct figure_source source = {"run_1", {text, at}};
        struct err e = {0};
        json_t *all = NULL;
        assert_int_equal(figures_find((struct str){text, at}, &source, 1, &all, &e), 0);
        json_decref(all);
    }
    free(text);
}

/* Almost as many as are listed, and then the last of them for ever. */
static void a_number_said_very_often_takes_no_long_time(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(16 << 20);
    for (unsigned i = 0; i < FIGURES_MAX - 1; i++)
        buf_fmt(&text, "%u; ", 3000 + i);
    for (unsigned i = 0; i < 1 << 20; i++)
        buf_fmt(&text, "%u; ", 3000 + FIGURES_MAX - 2);
    assert_false(text.failed);
    struct err e = {0};
    json_t *all = NULL;
    clock_t begun = clock();
    assert_int_equal(figures_find((struct str){text.bytes, text.len}, NULL, 0, &all, &e), 0);
    assert_true(clock() - begun < 3 * CLOCKS_PER_SEC);
    assert_int_equal(json_array_size(all), FIGURES_MAX - 1);
    json_decref(all);
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_people_write_them),
        cmocka_unit_test(parts_of_names_versions_dates_and_times_are_no_numbers),
        cmocka_unit_test(a_figure_is_found_in_the_output_it_was_rounded_from),
        cmocka_unit_test(a_figure_that_no_output_has_is_listed_without_a_run),
        cmocka_unit_test(the_last_exact_output_wins_over_a_rounded_one),
        cmocka_unit_test(years_count_only_when_an_output_has_them),
        cmocka_unit_test(numbers_of_lists_marks_links_and_code_are_no_figures),
        cmocka_unit_test(a_number_too_large_for_any_use_is_none),
        cmocka_unit_test(what_a_model_only_read_has_a_line_and_no_run),
        cmocka_unit_test(each_figure_is_listed_once),
        cmocka_unit_test(a_long_text_takes_no_long_time),
        cmocka_unit_test(a_number_said_very_often_takes_no_long_time),
        cmocka_unit_test(any_bytes_are_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
