#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void an_id_is_its_prefix_and_24_plain_characters(void **state)
{
    (void)state;
    struct err e = {0};
    char id[ID_SIZE];
    assert_int_equal(id_make("run_", id, &e), 0);
    assert_int_equal(strlen(id), 28);
    assert_memory_equal(id, "run_", 4);
    assert_int_equal(strspn(id + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 24);
}

static void the_longest_prefix_still_makes_an_id_of_64_characters(void **state)
{
    (void)state;
    struct err e = {0};
    char id[ID_SIZE];
    assert_int_equal(id_make("0123456789012345678901234567890123456789", id, &e), 0);
    assert_int_equal(strlen(id), 64);
}

static void a_secret_is_as_long_as_was_asked(void **state)
{
    (void)state;
    struct err e = {0};
    char id[ID_SIZE];
    assert_int_equal(id_make_long("cik_", 36, id, &e), 0);
    assert_int_equal(strlen(id), 40);
    assert_int_equal(strspn(id + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 36);
    assert_int_equal(id_make_long("cik_", 60, id, &e), 0);
    assert_int_equal(strlen(id), 64);
}

/* 1000 ids of 24 characters: each of the 32 letters is expected 750 times. A letter that is
 * missing, or far from that, means that bits are lost on the way. */
static void all_letters_are_about_equally_likely_and_no_id_comes_twice(void **state)
{
    (void)state;
    static char ids[1000][ID_SIZE];
    unsigned seen[256] = {0};
    struct err e = {0};
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(id_make("", ids[i], &e), 0);
        for (const char *c = ids[i]; *c; c++)
            seen[(uint8_t)*c]++;
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
    for (const char *c = "0123456789abcdefghjkmnpqrstvwxyz"; *c; c++)
        assert_in_range(seen[(uint8_t)*c], 550, 950);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_its_prefix_and_24_plain_characters),
        cmocka_unit_test(the_longest_prefix_still_makes_an_id_of_64_characters),
        cmocka_unit_test(a_secret_is_as_long_as_was_asked),
        cmocka_unit_test(all_letters_are_about_equally_likely_and_no_id_comes_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
