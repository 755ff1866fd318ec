#include <stdio.h>
#include <string.h>

#include "base/expect.h"
#include "base/scratch.h"
#include "workspace/search_int.h"

static struct scratch scratch;
static struct text_index *t;
static struct text_reader *r;
static const struct text_filter any = {.kind = -1};
static char places[1][ID_SIZE] = {"ws_a"};

static void put(const char *id, enum place place, uint32_t first, uint32_t column, const char *text)
{
    struct text_change c = {.doc = {.version = 1, .size = 1, .changed_us = 1},
                            .mime = "text/plain"};
    struct text_doc doc;
    struct err why = {0};
    const struct text_chunk chunk = {.text = text,
                                     .len = strlen(text),
                                     .place = place,
                                     .first = first,
                                     .last = first + 9,
                                     .column = column};
    (void)snprintf(c.doc.id, sizeof c.doc.id, "%s", id);
    (void)snprintf((char *)c.doc.sha256, HASH_LEN, "%s", id);
    OK(text_index_note(t, "ws_a", "vault", &c, 1, 1, e));
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    OK(text_index_fill(t, &doc, &chunk, 1, e));
}

static int begin(void **state)
{
    (void)state;
    scratch = scratch_new_fast();
    OK(text_index_open(scratch.path, &t, e));
    put("file_wing", PLACE_LINES, 100, 0,
        "first line\nthe wing of a plane\nand its engine\nlast line");
    put("file_bird", PLACE_LINES, 1, 0, "the wing of a bird");
    put("file_sheet", PLACE_SHEET, 5, 1, "name\tanimal\nAnna\twalrus\nBert\tpelican and seal");
    OK(text_reader_begin(t, (const char(*)[ID_SIZE])places, 1, &any, &r, e));
    return 0;
}

static int end(void **state)
{
    (void)state;
    text_reader_end(r);
    text_index_close(t);
    scratch_done(&scratch);
    return 0;
}

static void a_question_is_words_phrases_beginnings_and_what_must_not_be_there(void **state)
{
    (void)state;
    struct query q;
    OK(query_parse(r, "the wind-tunnel \"swept wing\" aero* -boat load_table", &q, e));
    const char *const terms[] = {"wind", "tunnel", "swept wing", "aero", "load_table"};
    assert_int_equal(q.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(q.terms[i].text, terms[i]);
    assert_true(q.terms[3].is_prefix);
    assert_int_equal(q.without_count, 1);
    assert_string_equal(q.without[0].text, "boat");
    query_done(&q);
}

static void words_that_are_everywhere_count_only_when_there_are_no_others(void **state)
{
    (void)state;
    struct query q;
    OK(query_parse(r, "what is the wing", &q, e));
    assert_int_equal(q.count, 1);
    query_done(&q);
    OK(query_parse(r, "to be or not to be", &q, e));
    assert_int_equal(q.count, 4);
    query_done(&q);
}

static void a_question_without_a_word_is_refused(void **state)
{
    (void)state;
    static char longest[SEARCH_TEXT_MAX + 2];
    const char *const bad[] = {"", " ", "...", "\"\"", "-", longest};
    struct query q;
    memset(longest, 'a', SEARCH_TEXT_MAX + 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err why = {0};
        assert_int_equal(query_parse(r, bad[i], &q, &why), -1);
        assert_int_equal(why.code, ERR_INVALID);
    }
    longest[SEARCH_TEXT_MAX] = '\0';
    OK(query_parse(r, longest, &q, e));
    query_done(&q);
}

static void ask(const char *text, struct query *q, struct text_hits *hits)
{
    OK(query_parse(r, text, q, e));
    OK(search_rank(r, q, 10, hits, e));
}

static void what_has_all_words_comes_first_and_what_has_some_follows(void **state)
{
    (void)state;
    struct query q;
    struct text_hits hits;
    ask("engine wing", &q, &hits);
    assert_int_equal(hits.count, 2);
    assert_string_equal(hits.items[0].doc.id, "file_wing");
    assert_string_equal(hits.items[1].doc.id, "file_bird");
    text_hits_done(&hits);
    query_done(&q);
}

static void a_word_that_nobody_has_stands_for_those_like_it(void **state)
{
    (void)state;
    struct query q;
    struct text_hits hits;
    ask("engnie", &q, &hits);
    assert_int_equal(hits.count, 1);
    assert_string_equal(hits.items[0].doc.id, "file_wing");
    text_hits_done(&hits);
    query_done(&q);
    ask("submarine", &q, &hits);
    assert_int_equal(hits.count, 0);
    text_hits_done(&hits);
    query_done(&q);
}

static void a_snippet_marks_the_words_and_says_on_which_lines_they_are(void **state)
{
    (void)state;
    struct query q;
    struct text_hits hits;
    struct search_cite cite;
    char *snippet = NULL;
    ask("plane engines", &q, &hits);
    OK(search_snippet(r, &q, &hits.items[0], &snippet, &cite, e));
    assert_string_equal(snippet, "first line the wing of a **plane** and its **engine** last line");
    assert_int_equal(cite.first, 101);
    assert_int_equal(cite.last, 102);
    free(snippet);
    text_hits_done(&hits);
    query_done(&q);
}

static void a_word_in_a_sheet_is_cited_by_its_cell(void **state)
{
    (void)state;
    struct query q;
    struct text_hits hits;
    struct search_cite cite;
    char *snippet = NULL;
    ask("seal", &q, &hits);
    OK(search_snippet(r, &q, &hits.items[0], &snippet, &cite, e));
    assert_int_equal(cite.cell_row, 7);
    assert_int_equal(cite.cell_column, 2);
    assert_int_equal(cite.last_column, 2);
    free(snippet);
    text_hits_done(&hits);
    query_done(&q);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_question_is_words_phrases_beginnings_and_what_must_not_be_there),
        TEST(words_that_are_everywhere_count_only_when_there_are_no_others),
        TEST(a_question_without_a_word_is_refused),
        TEST(what_has_all_words_comes_first_and_what_has_some_follows),
        TEST(a_word_that_nobody_has_stands_for_those_like_it),
        TEST(a_snippet_marks_the_words_and_says_on_which_lines_they_are),
        TEST(a_word_in_a_sheet_is_cited_by_its_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
