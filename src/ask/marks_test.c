/* What marks.h promises. */
#include "ask/marks.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void add(struct marks *m, const char *path, uint64_t version, uint64_t page, size_t number)
{
    const struct mark_place place = {"ws_1", path, version, page, ""};
    struct err e = {0};
    size_t got = 0;
    assert_int_equal(marks_add(m, &place, &got, &e), 0);
    assert_int_equal(got, number);
}

/* "mark@start-end ... ?unknown" */
static const char *cited(const struct marks *m, const char *text)
{
    static char out[1000];
    json_t *citations = NULL, *unknown = NULL, *one;
    struct err e = {0};
    size_t i, len = 0;
    assert_int_equal(marks_cite(m, str_of(text), &citations, &unknown, &e), 0);
    out[0] = '\0';
    json_array_foreach(citations, i, one)
    {
        len += (size_t)snprintf(out + len, sizeof out - len, "%d@%d-%d ",
                                (int)json_integer_value(json_object_get(one, "mark")),
                                (int)json_integer_value(json_object_get(one, "start")),
                                (int)json_integer_value(json_object_get(one, "end")));
    }
    json_array_foreach(unknown, i, one)
    {
        len += (size_t)snprintf(out + len, sizeof out - len, "?%d ", (int)json_integer_value(one));
    }
    json_decref(citations);
    json_decref(unknown);
    return out;
}

static void a_place_has_one_number(void **state)
{
    struct marks m = {0};
    (void)state;
    add(&m, "a.pdf", 1, 2, 1);
    add(&m, "a.pdf", 1, 3, 2);
    add(&m, "a.pdf", 1, 2, 1);
    add(&m, "a.pdf", 2, 2, 3);
    marks_done(&m);
}

static void marks_are_cited_where_they_stand_in_code_points(void **state)
{
    struct marks m = {0};
    (void)state;
    add(&m, "a.pdf", 1, 2, 1);
    add(&m, "b.md", 4, 0, 2);
    assert_string_equal(cited(&m, "It grew [1]. It fell[2]."), "1@8-11 2@20-23 ");
    assert_string_equal(cited(&m, "\xf0\x9f\x98\x80\xe6\x97\xa5 [1]"), "1@3-6 ");
    assert_string_equal(cited(&m, "both [1, 2]"), "1@5-11 2@5-11 ");
    assert_string_equal(cited(&m, "[1][2][1]"), "1@0-3 2@3-6 1@6-9 ");
    marks_done(&m);
}

static void a_citation_says_file_version_page_and_address(void **state)
{
    struct marks m = {0};
    json_t *citations = NULL, *unknown = NULL;
    struct err e = {0};
    (void)state;
    add(&m, "a b.pdf", 7, 12, 1);
    assert_int_equal(marks_cite(&m, str_of("[1]"), &citations, &unknown, &e), 0);
    char *text = json_dumps(citations, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text,
                        "[{\"end\":3,\"kind\":\"file\",\"mark\":1,\"page\":12,\"path\":\"a b.pdf\","
                        "\"start\":0,\"url\":\"/api/v1/workspaces/ws_1/files/a%20b.pdf?version=7"
                        "#page=12\",\"version\":7}]");
    free(text);
    json_decref(citations);
    json_decref(unknown);
    marks_done(&m);
}

static void marks_that_stand_for_nothing_are_told(void **state)
{
    struct marks m = {0};
    (void)state;
    assert_string_equal(cited(&m, "[1]"), "?1 ");
    add(&m, "a.pdf", 1, 0, 1);
    assert_string_equal(cited(&m, "[1] [7] [0] [7]"), "1@0-3 ?7 ?0 ");
    marks_done(&m);
}

static void code_links_and_other_brackets_are_no_marks(void **state)
{
    struct marks m = {0};
    (void)state;
    add(&m, "a.pdf", 1, 0, 1);
    assert_string_equal(cited(&m, "`x[1]` and [1](http://a) and [a] [] [ 1] [1.5] [12345] [1, [1"),
                        "");
    assert_string_equal(cited(&m, "```\nx[1]\n```\n[1]"), "1@13-16 ");
    marks_done(&m);
}

static void a_conversation_goes_on_with_its_numbers(void **state)
{
    struct marks m = {0}, later = {0};
    struct err e = {0};
    (void)state;
    add(&m, "a.pdf", 1, 0, 1);
    add(&m, "b.pdf", 1, 0, 2);
    json_t *kept = marks_write(&m);
    assert_int_equal(marks_read(&later, kept, &e), 0);
    add(&later, "c.pdf", 1, 0, 3);
    add(&later, "b.pdf", 1, 0, 2);
    json_decref(kept);
    marks_done(&m);
    marks_done(&later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_has_one_number),
        cmocka_unit_test(marks_are_cited_where_they_stand_in_code_points),
        cmocka_unit_test(a_citation_says_file_version_page_and_address),
        cmocka_unit_test(marks_that_stand_for_nothing_are_told),
        cmocka_unit_test(code_links_and_other_brackets_are_no_marks),
        cmocka_unit_test(a_conversation_goes_on_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
