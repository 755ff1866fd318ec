#include "meaning/pieces.h"

#include "base/expect.h"
#include "meaning/weights_fixture.h"

/* Cuts the text with these pieces and holds the tokens against `expected`, ended by -1. */
static void check(const struct fixture_piece *pieces, size_t count, const char *text,
                  const int *expected)
{
    struct fixture *f = fixture_new(pieces, count);
    struct weights *w = NULL;
    uint16_t tokens[FIXTURE_TOKENS];
    size_t found = 0, i = 0;
    OK(weights_read(f->bytes, f->len, &w, e));
    OK(pieces_cut(w, str_of(text), tokens, FIXTURE_TOKENS, &found, e));
    for (; expected[i] >= 0; i++) {
        assert_true(i < found);
        assert_int_equal(tokens[i], expected[i]);
    }
    assert_int_equal(found, i);
    weights_close(w);
    free(f);
}

#define TOKENS(...) ((const int[]){__VA_ARGS__, -1})
#define CHECK(pieces, text, tokens) check(pieces, sizeof(pieces) / sizeof *(pieces), text, tokens)

static const struct fixture_piece words[] = {
    {"a", -1}, {"ab", -3}, {"abc", -4}, {"b", -1}, {"c", -3}, {"é", -1}, {"éa", -1},
};

static void the_scores_decide_not_the_length(void **state)
{
    (void)state;
    CHECK(words, "ab", TOKENS(1, 4)); /* -2, where ab is -3 */
    CHECK(words, "abc", TOKENS(3));   /* -4, where a b c is -5 and ab c -6 */
    CHECK(words, "aab", TOKENS(1, 1, 4));
    CHECK(words, "éab", TOKENS(7, 4));
}

static void of_equals_the_later_piece_wins(void **state)
{
    (void)state;
    static const struct fixture_piece even[] = {{"a", -1}, {"aa", -2}, {"aaa", -3}};
    CHECK(even, "aaa", TOKENS(1, 1, 1));
}

static void unknown_characters_in_a_row_are_one_token(void **state)
{
    (void)state;
    CHECK(words, "axyzb", TOKENS(1, 0, 4));
    CHECK(words, "日本a語", TOKENS(0, 1, 0));
    CHECK(words, "x", TOKENS(0));
}

static void nothing_is_no_token(void **state)
{
    (void)state;
    CHECK(words, "", TOKENS(-1));
}

static void as_many_tokens_as_are_looked_at_and_no_more(void **state)
{
    (void)state;
    CHECK(words, "aaaaaa", TOKENS(1, 1, 1, 1, 1, 1));
    CHECK(words, "aaaaaac", TOKENS(1, 1, 1, 1, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scores_decide_not_the_length),
        cmocka_unit_test(of_equals_the_later_piece_wins),
        cmocka_unit_test(unknown_characters_in_a_row_are_one_token),
        cmocka_unit_test(nothing_is_no_token),
        cmocka_unit_test(as_many_tokens_as_are_looked_at_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
