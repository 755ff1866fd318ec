#include <stdio.h>
#include <string.h>

#include "base/expect.h"
#include "service/extractor.h"
#include "service/indexer.h"
#include "store/rows.h"

static int say(struct extracted *t, const char *line)
{
    return extracted_line(t, line, strlen(line));
}

static void pieces_and_an_end_make_a_text(void **state)
{
    (void)state;
    struct extracted t = {0};
    assert_int_equal(
        say(&t, "{\"p\":2,\"a\":7,\"b\":7,\"c\":0,\"l\":\"L\",\"t\":\"T\",\"x\":\"words\"}"), 0);
    assert_int_equal(say(&t, "{\"end\":\"all\"}"), 0);
    assert_true(t.is_over);
    assert_int_equal(t.state, DOC_READY);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.chunks[0].place, PLACE_PAGE);
    assert_int_equal(t.chunks[0].first, 7);
    assert_string_equal(t.chunks[0].text, "words");
    assert_string_equal(t.chunks[0].label, "L");
    assert_string_equal(t.chunks[0].title, "T");
    assert_int_equal(say(&t, "{\"end\":\"all\"}"), -1); /* nothing follows the end */
    extracted_done(&t);
}

static void what_is_not_as_it_should_be_is_refused(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",
        "hello",
        "[]",
        "{}",
        "{\"end\":1}",
        "{\"x\":\"words\"}",
        "{\"p\":8,\"a\":1,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"w\"}",
        "{\"p\":1,\"a\":2,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"w\"}",
        "{\"p\":1,\"a\":-1,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"w\"}",
        "{\"p\":1,\"a\":1,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":7}",
        "{\"p\":1,\"a\":1,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"a\\u0000b\"}",
        "{\"p\":1,\"a\":1,\"b\":1e99,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"w\"}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct extracted t = {0};
        assert_int_equal(say(&t, odd[i]), -1);
        extracted_done(&t);
    }
}

static void the_longest_chunk_fits_and_one_more_byte_does_not(void **state)
{
    (void)state;
    static char line[CHUNK_TEXT_MAX + 200], text[CHUNK_TEXT_MAX + 2];
    for (size_t more = 0; more < 2; more++) {
        struct extracted t = {0};
        memset(text, 'x', CHUNK_TEXT_MAX + more);
        (void)snprintf(line, sizeof line,
                       "{\"p\":1,\"a\":1,\"b\":1,\"c\":0,\"l\":\"\",\"t\":\"\",\"x\":\"%s\"}",
                       text);
        assert_int_equal(say(&t, line), more ? -1 : 0);
        extracted_done(&t);
    }
}

static void a_run_is_its_code_and_what_it_printed(void **state)
{
    (void)state;
    struct extracted t;
    const char code[] = "a = 1\nprint(a)\n";
    const char object[] =
        "{\"stdout\":\"one\\ntwo\\n\",\"stderr\":\"\",\"error\":{\"name\":\"KeyError\"}}";
    const struct run_row run = {
        .code = code, .code_len = strlen(code), .object = object, .object_len = strlen(object)};
    OK(index_run_text(&run, &t, e));
    assert_int_equal(t.count, 3);
    assert_int_equal(t.chunks[0].place, PLACE_CODE);
    assert_int_equal(t.chunks[0].first, 1);
    assert_int_equal(t.chunks[0].last, 2);
    assert_int_equal(t.chunks[1].place, PLACE_OUTPUT);
    assert_int_equal(t.chunks[2].len, strlen("KeyError"));
    extracted_done(&t);
}

static void lines_of_long_code_are_counted_through(void **state)
{
    (void)state;
    static char code[60 * 1000 + 1];
    struct extracted t;
    for (size_t i = 0; i < 1000; i++)
        (void)snprintf(code + 60 * i, 61, "%-59zu\n", i);
    const struct run_row run = {.code = code, .code_len = 60 * 1000};
    OK(index_run_text(&run, &t, e));
    assert_true(t.count > 10);
    uint32_t next = 1;
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.chunks[i].first, next);
        assert_true(t.chunks[i].len <= CHUNK_TEXT_MAX);
        next = t.chunks[i].last + 1;
    }
    assert_int_equal(next, 1001);
    extracted_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_and_an_end_make_a_text),
        cmocka_unit_test(what_is_not_as_it_should_be_is_refused),
        cmocka_unit_test(the_longest_chunk_fits_and_one_more_byte_does_not),
        cmocka_unit_test(a_run_is_its_code_and_what_it_printed),
        cmocka_unit_test(lines_of_long_code_are_counted_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
