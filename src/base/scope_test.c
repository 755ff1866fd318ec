#include "base/scope.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int open_in_a_scope(int *ret_seen)
{
    scoped(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret_seen = fd;
    return is_open(fd);
}

static int open_and_give_away(void)
{
    scoped(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return take_fd(&fd);
}

static void leaving_the_scope_closes_the_descriptor(void **state)
{
    (void)state;
    int seen = -1;
    assert_true(open_in_a_scope(&seen));
    assert_true(seen >= 0);
    assert_false(is_open(seen));
}

static void a_descriptor_that_was_taken_stays_open(void **state)
{
    (void)state;
    scoped(fd_closep) int fd = open_and_give_away();
    assert_true(is_open(fd));
}

static void taking_leaves_the_empty_value_behind(void **state)
{
    (void)state;
    int fd = 7;
    assert_int_equal(take_fd(&fd), 7);
    assert_int_equal(fd, -1);

    char word[] = "word", *text = word;
    char *mine = take(text);
    assert_ptr_equal(mine, word);
    assert_null(text);
}

static void the_empty_values_are_cleaned_up_without_harm(void **state)
{
    (void)state;
    scoped(fd_closep) int fd = -1;
    scoped(freep) char *text = NULL;
    assert_int_equal(fd, -1);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaving_the_scope_closes_the_descriptor),
        cmocka_unit_test(a_descriptor_that_was_taken_stays_open),
        cmocka_unit_test(taking_leaves_the_empty_value_behind),
        cmocka_unit_test(the_empty_values_are_cleaned_up_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
