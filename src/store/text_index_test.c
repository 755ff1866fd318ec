#include <stdio.h>
#include <string.h>

#include "base/expect.h"
#include "base/scratch.h"
#include "store/text_find.h"
#include "store/text_index.h"

static struct scratch scratch;
static struct text_index *t;

static int begin(void **state)
{
    (void)state;
    scratch = scratch_new_fast();
    OK(text_index_open(scratch.path, &t, e));
    return 0;
}

static int end(void **state)
{
    (void)state;
    text_index_close(t);
    scratch_done(&scratch);
    return 0;
}

/* ---- what tests say ---- */

static struct text_change change_of(const char *id, const char *path, uint64_t version,
                                    char content)
{
    struct text_change c = {.doc = {.version = version, .size = 10, .changed_us = 1000},
                            .mime = "text/plain"};
    (void)snprintf(c.doc.id, sizeof c.doc.id, "%s", id);
    (void)snprintf(c.doc.path, sizeof c.doc.path, "%s", path);
    memset(c.doc.sha256, content, HASH_LEN);
    return c;
}

static void note(const char *ws, const char *id, const char *path, uint64_t version, char content)
{
    const struct text_change c = change_of(id, path, version, content);
    OK(text_index_note(t, ws, "vault", &c, 1, version, e));
}

static void fill(const char *text)
{
    struct text_doc doc;
    struct err why = {0};
    const struct text_chunk chunk = {
        .text = text, .len = strlen(text), .place = PLACE_LINES, .first = 1, .last = 3};
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    OK(text_index_fill(t, &doc, &chunk, 1, e));
}

static void find_in(const char *ws, const struct text_filter *filter, const char *word,
                    struct text_hits *ret)
{
    char places[1][ID_SIZE] = {""};
    struct text_reader *r;
    const struct text_term term = {.text = word, .weight = 1};
    const struct text_plan plan = {.terms = &term, .count = 1, .limit = 10};
    (void)snprintf(places[0], ID_SIZE, "%s", ws);
    OK(text_reader_begin(t, (const char(*)[ID_SIZE])places, 1, filter, &r, e));
    OK(text_find(r, &plan, ret, e));
    text_reader_end(r);
}

static size_t count_in(const char *ws, const char *word)
{
    const struct text_filter filter = {.kind = -1};
    struct text_hits hits;
    find_in(ws, &filter, word, &hits);
    size_t count = hits.count;
    text_hits_done(&hits);
    return count;
}

/* ---- tests ---- */

static void what_was_filled_is_found_in_its_workspace_alone(void **state)
{
    (void)state;
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("an engine that runs");
    note("ws_b", "file_2", "b.txt", 1, 'b');
    fill("another engine");
    assert_int_equal(count_in("ws_a", "engines"), 1);
    assert_int_equal(count_in("ws_b", "engine"), 1);
    assert_int_equal(count_in("ws_b", "running"), 0);
    assert_int_equal(count_in("ws_none", "engine"), 0);
    /* The word that stands for a workspace is no word of its texts. */
    assert_int_equal(count_in("ws_a", "zw1"), 0);
}

static void a_new_content_is_pending_and_the_old_one_found_until_it_is_read(void **state)
{
    (void)state;
    struct text_counts counts;
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("flamingo");
    note("ws_a", "file_1", "a.txt", 2, 'b');
    OK(text_index_count(t, "ws_a", &counts, e));
    assert_int_equal(counts.docs[DOC_PENDING], 1);
    assert_int_equal(count_in("ws_a", "flamingo"), 1);
    fill("ostrich");
    assert_int_equal(count_in("ws_a", "flamingo"), 0);
    assert_int_equal(count_in("ws_a", "ostrich"), 1);
    OK(text_index_count(t, "ws_a", &counts, e));
    assert_int_equal(counts.docs[DOC_READY], 1);
    assert_int_equal(counts.chunks, 1);
}

static void what_is_moved_keeps_its_text_under_the_new_name(void **state)
{
    (void)state;
    struct text_doc doc;
    struct err why = {0};
    note("ws_a", "file_1", "old.txt", 1, 'a');
    fill("penguin");
    note("ws_a", "file_1", "new.txt", 2, 'a');
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 0);
    assert_int_equal(count_in("ws_a", "new"), 1);
    assert_int_equal(count_in("ws_a", "old"), 0);
    assert_int_equal(count_in("ws_a", "penguin"), 1);
}

static void what_is_gone_is_not_found(void **state)
{
    (void)state;
    bool has_more = true;
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("walrus");
    struct text_change gone = change_of("file_1", "a.txt", 2, 'a');
    gone.is_gone = true;
    OK(text_index_note(t, "ws_a", "vault", &gone, 1, 2, e));
    assert_int_equal(count_in("ws_a", "walrus"), 0);
    note("ws_a", "file_2", "b.txt", 1, 'b');
    fill("walrus");
    while (has_more)
        OK(text_index_forget(t, "ws_a", &has_more, e));
    assert_int_equal(count_in("ws_a", "walrus"), 0);
}

static void a_vault_reads_equal_bytes_once(void **state)
{
    (void)state;
    struct text_doc doc;
    struct err why = {0};
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("dolphin");
    note("ws_b", "file_2", "b.txt", 1, 'a');
    assert_int_equal(text_index_next(t, "vault", &doc, &why), 1);
    assert_int_equal(text_index_reuse(t, &doc, &why), 1);
    assert_int_equal(count_in("ws_b", "dolphin"), 1);
    const struct text_change other = change_of("file_3", "c.txt", 1, 'a');
    OK(text_index_note(t, "ws_c", "another vault", &other, 1, 1, e));
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    assert_int_equal(text_index_reuse(t, &doc, &why), 0);
}

static void a_failure_is_told_with_its_reason(void **state)
{
    (void)state;
    struct text_doc doc;
    struct text_problem *list = NULL;
    size_t count = 0;
    struct err why = {0};
    note("ws_a", "file_1", "bad.pdf", 1, 'a');
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    OK(text_index_settle(t, &doc, DOC_FAILED, "it is damaged", e));
    OK(text_index_problems(t, "ws_a", DOC_FAILED, 10, &list, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(list[0].doc.path, "bad.pdf");
    assert_string_equal(list[0].reason, "it is damaged");
    free(list);
}

static void exactly_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    static char text[CHUNK_TEXT_MAX + 2];
    struct text_doc doc;
    struct err why = {0};
    memset(text, 'x', sizeof text - 1);
    struct text_chunk chunk = {.text = text, .len = CHUNK_TEXT_MAX};
    note("ws_a", "file_1", "a.txt", 1, 'a');
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    OK(text_index_fill(t, &doc, &chunk, 1, e));
    chunk.len++;
    assert_int_equal(text_index_fill(t, &doc, &chunk, 1, &why), -1);
    assert_int_equal(why.code, ERR_LIMIT);
}

static void runs_are_found_by_who_ran_them(void **state)
{
    (void)state;
    struct text_change run = change_of("run_1", "", 0, 'r');
    struct text_hits hits;
    run.doc.kind = DOC_RUN;
    (void)snprintf(run.doc.principal, ID_SIZE, "prn_anna");
    OK(text_index_note(t, "ws_a", "vault", &run, 1, 0, e));
    fill("albatross");
    const char *const who[] = {"prn_anna", "prn_bert", NULL};
    for (int kind = -1; kind <= DOC_RUN; kind++)
        for (size_t i = 0; i < 3; i++) {
            const struct text_filter filter = {.kind = kind, .principal = who[i]};
            find_in("ws_a", &filter, "albatross", &hits);
            assert_int_equal(hits.count, kind == DOC_FILE || i == 1 ? 0 : 1);
            text_hits_done(&hits);
        }
}

static void a_mistyped_word_has_similar_ones(void **state)
{
    (void)state;
    const struct text_filter filter = {.kind = -1};
    char places[1][ID_SIZE] = {"ws_a"};
    char *words[TEXT_SIMILAR_MAX];
    struct text_reader *r;
    size_t count = 0;
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("the revenue of loadSalesTable and a hippopotamus");
    OK(text_reader_begin(t, (const char(*)[ID_SIZE])places, 1, &filter, &r, e));
    const char *const asked[] = {"reveneu", "salestable", "hipopotamus", "zebra"};
    const char *const liked[] = {"revenue", "loadsalestable", "hippopotamus", NULL};
    for (size_t i = 0; i < 4; i++) {
        OK(text_similar(r, asked[i], words, &count, e));
        assert_int_equal(count, liked[i] ? 1 : 0);
        if (count)
            assert_string_equal(words[0], liked[i]);
        while (count)
            free(words[--count]);
    }
    text_reader_end(r);
}

static void what_is_no_index_is_made_anew(void **state)
{
    (void)state;
    char path[4200];
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("walrus");
    text_index_close(t);
    (void)snprintf(path, sizeof path, "%s/search.db", scratch.path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("this is no database, and long enough to be read as one", f) > 0);
    assert_int_equal(fclose(f), 0);
    OK(text_index_open(scratch.path, &t, e));
    assert_int_equal(count_in("ws_a", "walrus"), 0);
    note("ws_a", "file_1", "a.txt", 1, 'a');
    fill("walrus");
    assert_int_equal(count_in("ws_a", "walrus"), 1);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_filled_is_found_in_its_workspace_alone),
        TEST(a_new_content_is_pending_and_the_old_one_found_until_it_is_read),
        TEST(what_is_moved_keeps_its_text_under_the_new_name),
        TEST(what_is_gone_is_not_found),
        TEST(a_vault_reads_equal_bytes_once),
        TEST(a_failure_is_told_with_its_reason),
        TEST(exactly_the_limit_fits_and_one_more_does_not),
        TEST(runs_are_found_by_who_ran_them),
        TEST(a_mistyped_word_has_similar_ones),
        TEST(what_is_no_index_is_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
