#include "meaning/meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "meaning/normal.h"
#include "meaning/weights_fixture.h"

static void meaning_closep(struct meaning **m)
{
    meaning_close(*m);
}

static struct meaning *opened(const struct meaning_options *options)
{
    struct meaning *m = NULL;
    OK(meaning_open(options, &m, e));
    return m;
}

static void check_reason(struct meaning *m, const char *says)
{
    struct err why = {0};
    struct str text = str_of("a");
    int8_t vector[1];
    assert_int_equal(meaning_ready(m, &why), -1);
    assert_int_equal(why.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(why.text, says));
    assert_int_equal(meaning_dim(m), 0);
    FAILS(ERR_UNAVAILABLE, meaning_encode(m, &text, 1, vector, e));
}

/* A file of weights with the words a and b. */
static void write_weights(const struct scratch *s, char path[128])
{
    static const struct fixture_piece words[] = {{"a", -1}, {"b", -1}, {NORMAL_BLANK, -1}};
    scoped(freep) struct fixture *f = fixture_new(words, 3);
    scoped(hash_done) struct hash h = {0};
    OK(hash_init(&h, e) || hash_add(&h, f->bytes + 128, f->len - 128, e) ||
       hash_end(&h, f->bytes + 72, e));
    snprintf(path, 128, "%s/weights", s->path);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(f->bytes, 1, f->len, out), f->len);
    assert_int_equal(fclose(out), 0);
}

static void without_weights_it_says_how_to_get_them(void **state)
{
    (void)state;
    scoped(meaning_closep) struct meaning *none = opened(&(struct meaning_options){0});
    scoped(meaning_closep) struct meaning *gone =
        opened(&(struct meaning_options){.file = "/nonexistent/weights"});
    check_reason(none, "./dev encoder");
    check_reason(gone, "./dev encoder");
    assert_string_equal(meaning_model(none), "use-lite-q8");
}

static void damaged_weights_are_not_used(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128];
    scratch_write(&s, "weights",
                  "these are none, but they are long enough to be looked at: "
                  "one hundred and twenty-eight bytes are what a head has, and a "
                  "few more follow here");
    snprintf(path, sizeof path, "%s/weights", s.path);
    scoped(meaning_closep) struct meaning *m = opened(&(struct meaning_options){.file = path});
    check_reason(m, "cannot be used");
}

static void switched_off_it_says_so(void **state)
{
    (void)state;
    scoped(meaning_closep) struct meaning *m = opened(&(struct meaning_options){.is_off = true});
    check_reason(m, "switched off");
}

static void texts_become_vectors(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128];
    write_weights(&s, path);
    scoped(meaning_closep) struct meaning *m = opened(&(struct meaning_options){.file = path});
    const struct str texts[] = {str_of("a b"), str_of(""), str_of("b"), str_of("a   b ")};
    int8_t v[4 * 8];
    OK(meaning_ready(m, e));
    assert_string_equal(meaning_model(m), "tiny");
    assert_int_equal(meaning_dim(m), 8);
    OK(meaning_encode(m, texts, 4, v, e));
    assert_true(meaning_cosine(v, v + 24, 8) > 0.9999F);
    assert_true(meaning_cosine(v, v + 16, 8) < 0.99F);
    assert_true(meaning_cosine(v, v + 8, 8) == 0);
}

static void as_many_texts_as_allowed_and_one_more(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128];
    write_weights(&s, path);
    scoped(meaning_closep) struct meaning *m = opened(&(struct meaning_options){.file = path});
    scoped(freep) struct str *texts = calloc(MEANING_COUNT_MAX + 1, sizeof *texts);
    scoped(freep) int8_t *vectors = malloc((MEANING_COUNT_MAX + 1) * 8);
    OK(meaning_encode(m, texts, MEANING_COUNT_MAX, vectors, e));
    FAILS(ERR_LIMIT, meaning_encode(m, texts, MEANING_COUNT_MAX + 1, vectors, e));
}

static void an_endpoint_with_a_known_dimension_is_not_asked(void **state)
{
    (void)state;
    const struct meaning_options o = {.url = "http://127.0.0.1:1/v1", .model = "m", .dim = 16};
    scoped(meaning_closep) struct meaning *m = opened(&o);
    const struct str text = str_of("a");
    int8_t vector[16];
    OK(meaning_ready(m, e));
    assert_int_equal(meaning_dim(m), 16);
    FAILS(ERR_UNAVAILABLE, meaning_encode(m, &text, 1, vector, e));
}

static void an_endpoint_that_is_not_there_is_told_of_without_asking_again(void **state)
{
    (void)state;
    const struct meaning_options o = {.url = "http://127.0.0.1:1/v1", .model = "m"};
    scoped(meaning_closep) struct meaning *m = opened(&o);
    check_reason(m, "cannot be reached");
    check_reason(m, "cannot be reached"); /* what came of it the last time */
}

static void options_that_contradict_are_refused(void **state)
{
    (void)state;
    struct meaning *m = NULL;
    const struct meaning_options no_model = {.url = "http://127.0.0.1:1/v1"};
    const struct meaning_options fits = {
        .url = "http://127.0.0.1:1/v1", .model = "m", .dim = MEANING_DIM_MAX};
    struct meaning_options exceeds = fits;
    exceeds.dim++;
    FAILS(ERR_INVALID, meaning_open(&no_model, &m, e));
    FAILS(ERR_INVALID, meaning_open(&exceeds, &m, e));
    OK(meaning_open(&fits, &m, e));
    meaning_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_weights_it_says_how_to_get_them),
        cmocka_unit_test(damaged_weights_are_not_used),
        cmocka_unit_test(switched_off_it_says_so),
        cmocka_unit_test(texts_become_vectors),
        cmocka_unit_test(as_many_texts_as_allowed_and_one_more),
        cmocka_unit_test(an_endpoint_with_a_known_dimension_is_not_asked),
        cmocka_unit_test(an_endpoint_that_is_not_there_is_told_of_without_asking_again),
        cmocka_unit_test(options_that_contradict_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
