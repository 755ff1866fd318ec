/* What disposition.h promises. */
#include "api/disposition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void check(const char *path, const char *expected)
{
    scoped(buf_done) struct buf b = BUF_INIT(4096);
    disposition_write(&b, path, /* is_inline= */ false);
    assert_string_equal(b.bytes, expected);
}

static void a_plain_name_is_given_once_and_without_its_directory(void **state)
{
    (void)state;
    check("plots/final plot (2).png", "attachment; filename=\"final plot (2).png\"");
    scoped(buf_done) struct buf b = BUF_INIT(100);
    disposition_write(&b, "a.html", /* is_inline= */ true);
    assert_string_equal(b.bytes, "inline; filename=\"a.html\"");
}

static void other_names_are_given_twice(void **state)
{
    (void)state;
    check("Größe.csv", "attachment; filename=\"Gr__e.csv\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.csv");
    check("\xf0\x9f\xa6\x97", "attachment; filename=\"_\"; filename*=UTF-8''%F0%9F%A6%97");
}

static void what_could_end_the_value_does_not(void **state)
{
    (void)state;
    check("a\"; x=\"b", "attachment; filename=\"a_; x=_b\"; filename*=UTF-8''a%22%3B%20x%3D%22b");
    check("a\\", "attachment; filename=\"a_\"; filename*=UTF-8''a%5C");
    check("100%41.txt", "attachment; filename=\"100_41.txt\"; filename*=UTF-8''100%2541.txt");
    check("a\r\nb", "attachment; filename=\"a__b\"; filename*=UTF-8''a%0D%0Ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_name_is_given_once_and_without_its_directory),
        cmocka_unit_test(other_names_are_given_twice),
        cmocka_unit_test(what_could_end_the_value_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
