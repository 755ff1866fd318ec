#include "service/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void notes_come_in_order_and_after_the_one_that_was_seen(void **state)
{
    (void)state;
    struct err e = {0};
    struct journal j = {0};
    assert_null(journal_after(&j, 0));
    assert_int_equal(journal_add(&j, NOTE_STARTED, "{}", 2, &e), 0);
    assert_int_equal(journal_add(&j, NOTE_STDOUT, "a\0b", 3, &e), 0);
    assert_int_equal(journal_add(&j, NOTE_DONE, "{}", 2, &e), 0);
    const struct note *n = journal_after(&j, 0);
    assert_int_equal(n->id, 1);
    n = journal_after(&j, n->id);
    assert_int_equal(n->kind, NOTE_STDOUT);
    assert_memory_equal(n->text, "a\0b", 4);
    n = journal_after(&j, n->id);
    assert_int_equal(n->kind, NOTE_DONE);
    assert_null(journal_after(&j, n->id));
    assert_null(journal_after(&j, 99));
    journal_done(&j);
}

static void output_is_dropped_oldest_first_and_what_matters_stays(void **state)
{
    (void)state;
    struct err e = {0};
    struct journal j = {0};
    enum { BIG = 1 << 20 };
    char *big = calloc(1, BIG);
    assert_int_equal(journal_add(&j, NOTE_STARTED, "{}", 2, &e), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(journal_add(&j, NOTE_STDOUT, big, BIG, &e), 0);
    assert_int_equal(journal_add(&j, NOTE_ERROR, "{}", 2, &e), 0);
    assert_true(j.bytes <= JOURNAL_BYTES_MAX + 4);
    const struct note *n = journal_after(&j, 0);
    assert_int_equal(n->kind, NOTE_STARTED);
    n = journal_after(&j, n->id);
    assert_int_equal(n->kind, NOTE_STDOUT);
    assert_int_equal(n->id, 2 + j.dropped); /* the gap can be seen */
    assert_int_equal(j.last->kind, NOTE_ERROR);
    free(big);
    journal_done(&j);
}

static void exactly_as_many_notes_as_allowed_fit(void **state)
{
    (void)state;
    struct err e = {0};
    struct journal j = {0};
    for (int i = 0; i < JOURNAL_NOTES_MAX; i++)
        assert_int_equal(journal_add(&j, NOTE_STDERR, "x", 1, &e), 0);
    assert_int_equal(j.dropped, 0);
    assert_int_equal(journal_add(&j, NOTE_STDERR, "x", 1, &e), 0);
    assert_int_equal(j.dropped, 1);
    assert_int_equal(journal_after(&j, 0)->id, 2);
    journal_done(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_come_in_order_and_after_the_one_that_was_seen),
        cmocka_unit_test(output_is_dropped_oldest_first_and_what_matters_stays),
        cmocka_unit_test(exactly_as_many_notes_as_allowed_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
