#include "cli/note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void check_printable(const char *bytes, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    printable(bytes, strlen(bytes), &out);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
}

static void nothing_a_terminal_obeys_gets_through(void **state)
{
    (void)state;
    check_printable("a\033[31mb\r\n\x7f", "a?[31mb???");
    check_printable("\xc2\x9b"
                    "31m",
                    "?31m"); /* CSI as one character */
    check_printable("\xc2\xa0\xc3\xa9\xe6\x97\xa5", "\xc2\xa0\xc3\xa9\xe6\x97\xa5");
    check_printable("\xff", "\xef\xbf\xbd");
    check_printable("", "");
}

static void lines_and_tabs_of_a_text_stay(void **state)
{
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    static const char text[] = "a\tb\n\033c\r\n\nd";
    (void)state;
    printable_lines(text, strlen(text), &out);
    assert_string_equal(out.bytes, "a\tb\n?c?\n\nd");
}

static void a_text_of_several_lines_is_several_notes(void **state)
{
    int ends[2];
    char space[200];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct notes n = {.fd = ends[1]};
    note_lines(&n, "one\n  two\033\n");
    note_lines(&n, "");
    (void)close(ends[1]);
    ssize_t len = read(ends[0], space, sizeof space - 1), more = 0;
    while (len > 0 && (more = read(ends[0], space + len, sizeof space - 1 - (size_t)len)) > 0)
        len += more;
    space[len > 0 ? len : 0] = '\0';
    assert_string_equal(space, "cicada: one\ncicada:   two?\n");
    (void)close(ends[0]);
}

static const char *noted(struct notes *n, int fd, char *space, size_t size)
{
    note(n, "saved %s", "a\033b");
    ssize_t len = read(fd, space, size - 1);
    assert_true(len > 0);
    space[len] = '\0';
    return space;
}

static void a_note_is_one_line_and_coloured_only_on_demand(void **state)
{
    (void)state;
    int ends[2];
    char space[200];
    assert_int_equal(pipe(ends), 0);
    struct notes n = {.fd = ends[1]};
    assert_string_equal(noted(&n, ends[0], space, sizeof space), "cicada: saved a?b\n");
    n.is_coloured = true;
    assert_string_equal(noted(&n, ends[0], space, sizeof space),
                        "\033[2mcicada: \033[0msaved a?b\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_note_ends_the_line_before_it_once(void **state)
{
    (void)state;
    int ends[2];
    char space[200];
    assert_int_equal(pipe(ends), 0);
    struct notes n = {.fd = ends[1], .is_mid_line = true};
    assert_string_equal(noted(&n, ends[0], space, sizeof space), "\ncicada: saved a?b\n");
    assert_string_equal(noted(&n, ends[0], space, sizeof space), "cicada: saved a?b\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void sizes_are_short_and_have_a_unit(void **state)
{
    (void)state;
    char space[SIZE_TEXT];
    assert_string_equal(size_text(0, space), "0 B");
    assert_string_equal(size_text(1023, space), "1023 B");
    assert_string_equal(size_text(1024, space), "1 KiB");
    assert_string_equal(size_text(1536, space), "1.5 KiB");
    assert_string_equal(size_text(512 << 20, space), "512 MiB");
    assert_string_equal(size_text((1 << 20) - 1, space), "1 MiB");
    assert_string_equal(size_text(UINT64_MAX, space), "16 EiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_a_terminal_obeys_gets_through),
        cmocka_unit_test(lines_and_tabs_of_a_text_stay),
        cmocka_unit_test(a_text_of_several_lines_is_several_notes),
        cmocka_unit_test(a_note_is_one_line_and_coloured_only_on_demand),
        cmocka_unit_test(a_note_ends_the_line_before_it_once),
        cmocka_unit_test(sizes_are_short_and_have_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
