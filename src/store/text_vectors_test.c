#include "store/text_vectors.h"

#include <stdio.h>
#include <string.h>

#include "base/expect.h"
#include "base/scratch.h"
#include "store/text_index.h"

enum { DIM = 4 };

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

static void add(const char *ws, const char *id, const char *path, enum doc_kind kind,
                size_t chunk_count)
{
    struct text_change c = {.doc = {.kind = kind, .version = 1, .changed_us = 1000},
                            .mime = "text/plain"};
    struct text_chunk chunks[20];
    struct text_doc doc;
    struct err why = {0};
    (void)snprintf(c.doc.id, sizeof c.doc.id, "%s", id);
    (void)snprintf(c.doc.path, sizeof c.doc.path, "%s", path);
    (void)snprintf((char *)c.doc.sha256, HASH_LEN, "%s", id);
    for (size_t i = 0; i < chunk_count; i++)
        chunks[i] =
            (struct text_chunk){.text = id, .len = strlen(id), .place = PLACE_LINES, .first = 1};
    OK(text_index_note(t, ws, "vault", &c, 1, 1, e));
    assert_int_equal(text_index_next(t, NULL, &doc, &why), 1);
    OK(text_index_fill(t, &doc, chunks, chunk_count, e));
}

/* Gives every chunk that waits a vector; returns how many did. */
static size_t read_all(const char *model)
{
    size_t count = 0;
    struct text_batch b;
    struct err e = {0};
    int got;
    while ((got = text_vectors_next(t, model, DIM, &b, &e)) == 1) {
        int8_t vectors[TEXT_VECTORS_BATCH * DIM];
        memset(vectors, 7, sizeof vectors);
        count += b.count;
        assert_int_equal(text_vectors_put(t, &b, DIM, vectors, &e), 0);
        text_batch_done(&b);
    }
    assert_int_equal(got, 0);
    return count;
}

static uint64_t count_of(const char *ws)
{
    uint64_t count = 0;
    OK(text_vectors_count(t, ws, &count, e));
    return count;
}

static int count_one(void *arg, int64_t doc, int64_t chunk, const int8_t *vector)
{
    size_t *count = arg;
    assert_true(doc > 0 && chunk > 0 && vector[DIM - 1] == 7);
    ++*count;
    return 0;
}

static size_t seen(const char *ws, const struct text_filter *filter)
{
    char places[1][ID_SIZE] = {""};
    struct text_reader *r = NULL;
    size_t count = 0;
    bool has_any = false;
    (void)snprintf(places[0], ID_SIZE, "%s", ws);
    OK(text_reader_begin(t, (const char(*)[ID_SIZE])places, 1, filter, &r, e));
    OK(text_vectors_any(r, "m", DIM, &has_any, e));
    OK(text_vectors_scan(r, "m", DIM, count_one, &count, e));
    assert_true(has_any || count == 0);
    text_reader_end(r);
    return count;
}

/* ---- tests ---- */

static void only_files_of_workspaces_that_want_them_get_vectors(void **state)
{
    (void)state;
    add("ws_a", "file_1", "a.txt", DOC_FILE, 1);
    add("ws_b", "file_2", "b.txt", DOC_FILE, 1);
    add("ws_a", "run_1", "", DOC_RUN, 1);
    assert_int_equal(read_all("m"), 0);
    OK(text_vectors_want(t, "ws_a", "m", DIM, e));
    assert_int_equal(read_all("m"), 1);
    assert_int_equal(read_all("m"), 0);
    assert_int_equal(count_of("ws_a"), 1);
    assert_int_equal(count_of("ws_b"), 0);
    const struct text_filter any = {.kind = -1};
    assert_int_equal(seen("ws_a", &any), 1);
    assert_int_equal(seen("ws_b", &any), 0);
}

static void more_than_a_batch_comes_in_several(void **state)
{
    (void)state;
    OK(text_vectors_want(t, "ws_c", "m", DIM, e)); /* not known yet: nothing happens */
    add("ws_c", "file_3", "c.txt", DOC_FILE, 2 * TEXT_VECTORS_BATCH);
    add("ws_c", "file_4", "d.txt", DOC_FILE, 3);
    OK(text_vectors_want(t, "ws_c", "m", DIM, e));
    assert_int_equal(read_all("m"), 2 * TEXT_VECTORS_BATCH + 3);
    add("ws_c", "file_5", "e.txt", DOC_FILE, 1);
    assert_int_equal(read_all("m"), 1);
}

static void they_go_with_their_documents(void **state)
{
    (void)state;
    OK(text_index_remove(t, DOC_FILE, "file_4", e));
    assert_int_equal(count_of("ws_c"), 2 * TEXT_VECTORS_BATCH + 1);
    /* Numbers of chunks are not used again: what comes next is not taken for what was there. */
    OK(text_index_remove(t, DOC_FILE, "file_5", e));
    add("ws_c", "file_6", "f.txt", DOC_FILE, 1);
    assert_int_equal(read_all("m"), 1);
}

static void filters_are_those_of_words(void **state)
{
    (void)state;
    assert_int_equal(seen("ws_c", &(struct text_filter){.kind = -1, .prefix = "f."}), 1);
    assert_int_equal(seen("ws_c", &(struct text_filter){.kind = -1, .glob = "*.md"}), 0);
    assert_int_equal(seen("ws_c", &(struct text_filter){.kind = -1, .before_us = 1000}), 0);
}

static void another_model_means_all_of_them_anew(void **state)
{
    (void)state;
    OK(text_vectors_want(t, "ws_a", "m", DIM, e));
    assert_int_equal(count_of("ws_a"), 1); /* nothing has changed */
    OK(text_vectors_want(t, "ws_a", "other", DIM, e));
    assert_int_equal(count_of("ws_a"), 0);
    assert_int_equal(read_all("m"), 0);
    assert_int_equal(read_all("other"), 1);
    OK(text_vectors_want(t, "ws_a", NULL, 0, e));
    assert_int_equal(count_of("ws_a"), 0);
    assert_int_equal(read_all("other"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_files_of_workspaces_that_want_them_get_vectors),
        cmocka_unit_test(more_than_a_batch_comes_in_several),
        cmocka_unit_test(they_go_with_their_documents),
        cmocka_unit_test(filters_are_those_of_words),
        cmocka_unit_test(another_model_means_all_of_them_anew),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
