#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"
#include "cli/table.h"

static int64_t fake_us;

static int64_t fake_clock(void)
{
    return fake_us;
}

/* A progress that writes to one end of a pipe; the other end is read here. */
struct watched {
    struct progress progress;
    int read_fd;
};

static struct watched begin(uint64_t total, size_t files)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct watched w = {.progress = {.fd = fds[1], .now_us = fake_clock}, .read_fd = fds[0]};
    fake_us = 5000000;
    progress_begin(&w.progress, total, files);
    return w;
}

/* What was written in the end; "" if nothing was. */
static const char *end(struct watched *w, char space[4096])
{
    (void)close(w->progress.fd);
    ssize_t len = read(w->read_fd, space, 4095);
    space[len > 0 ? len : 0] = '\0';
    (void)close(w->read_fd);
    return space;
}

static void nothing_is_shown_in_the_first_second(void **state)
{
    char text[4096];
    struct watched w = begin(100 << 20, 1);
    (void)state;
    progress_file(&w.progress, "a.bin");
    for (int i = 0; i < 9; i++) {
        fake_us += 100000;
        progress_moved(&w.progress, 1 << 20);
    }
    progress_clear(&w.progress);
    assert_string_equal(end(&w, text), "");
}

static void later_the_line_changes_four_times_a_second(void **state)
{
    char text[4096];
    struct watched w = begin(100 << 20, 1);
    (void)state;
    progress_file(&w.progress, "a.bin");
    size_t lines = 0;
    for (int i = 0; i < 40; i++) {
        fake_us += 50000;
        progress_moved(&w.progress, 1 << 20);
    }
    progress_clear(&w.progress);
    for (const char *at = end(&w, text); (at = strstr(at, "a.bin")); at++)
        lines++;
    assert_int_equal(lines, 5);
    assert_string_equal(text + strlen(text) - 4, "\r\033[K");
}

static void nothing_at_all_is_shown_without_a_terminal(void **state)
{
    struct progress p = {.fd = -1, .now_us = fake_clock};
    (void)state;
    fake_us = 0;
    progress_begin(&p, 10, 1);
    fake_us = 10000000;
    progress_moved(&p, 10);
    assert_int_equal(p.done, 10);
    assert_false(p.is_shown);
}

static void check(const struct progress *p, int64_t now_us, size_t width, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    progress_text(p, now_us, width, &out);
    assert_string_equal(out.bytes, expected);
}

static void the_line_has_bytes_rate_and_time_left(void **state)
{
    struct progress p = {.fd = -1, .now_us = fake_clock, .name = "a.bin"};
    (void)state;
    fake_us = 0;
    progress_begin(&p, 128 << 20, 1);
    p.done = p.moved = 32 << 20;
    check(&p, 4000000, 90,
          "a.bin  25 % [#######-----------------------]  32 MiB of 128 MiB  8 MiB/s  0:12 left");
    check(&p, 4000000, 64, "a.bin  25 % [##---------]  32 MiB of 128 MiB  8 MiB/s  0:12 left");
    check(&p, 4000000, 62, "a.bin  25 %  32 MiB of 128 MiB  8 MiB/s  0:12 left");
}

static void what_lay_there_already_is_no_speed(void **state)
{
    struct progress p = {.fd = -1, .now_us = fake_clock, .name = "a"};
    (void)state;
    fake_us = 0;
    progress_begin(&p, 100 << 20, 1);
    progress_skipped(&p, 50 << 20);
    progress_moved(&p, 1 << 20);
    check(&p, 1000000, 50, "a  51 %  51 MiB of 100 MiB  1 MiB/s  0:49 left");
    progress_undone(&p, 11 << 20);
    check(&p, 1000000, 50, "a  40 %  40 MiB of 100 MiB  1 MiB/s  1:00 left");
}

static void the_rate_is_that_of_the_last_seconds(void **state)
{
    char text[4096];
    struct watched w = begin(1000 << 20, 1);
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    (void)state;
    progress_file(&w.progress, "a");
    for (int i = 0; i < 40; i++) { /* ten seconds, slowly */
        fake_us += 250000;
        progress_moved(&w.progress, 1 << 18);
    }
    for (int i = 0; i < 20; i++) { /* five, fast */
        fake_us += 250000;
        progress_moved(&w.progress, 1 << 22);
    }
    progress_text(&w.progress, fake_us, 200, &out);
    (void)end(&w, text);
    assert_non_null(strstr(out.bytes, "16 MiB/s"));
}

static void without_a_size_there_is_no_bar_and_with_many_files_their_number(void **state)
{
    struct progress p = {.fd = -1, .now_us = fake_clock, .name = "-"};
    (void)state;
    fake_us = 0;
    progress_begin(&p, 0, 1);
    progress_moved(&p, 3 << 20);
    check(&p, 3000000, 80, "-  3 MiB  1 MiB/s");
    progress_begin(&p, 0, 12);
    progress_file(&p, "x\033[2J");
    check(&p, 0, 80, "x?[2J  0 B  1/12 files");
}

static void the_line_fits_whatever_the_width(void **state)
{
    struct progress p = {.fd = -1, .now_us = fake_clock};
    (void)state;
    p.name = "a-name-that-is-rather-long-for-one-line-of-a-terminal";
    fake_us = 0;
    progress_begin(&p, (uint64_t)5 << 40, 3000);
    p.done = p.moved = 1;
    for (size_t width = 1; width < 200; width++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        progress_text(&p, 1000000, width, &out);
        assert_true(text_width(out.bytes) <= width);
    }
}

int main(void)
{
    text_locale();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_in_the_first_second),
        cmocka_unit_test(later_the_line_changes_four_times_a_second),
        cmocka_unit_test(nothing_at_all_is_shown_without_a_terminal),
        cmocka_unit_test(the_line_has_bytes_rate_and_time_left),
        cmocka_unit_test(what_lay_there_already_is_no_speed),
        cmocka_unit_test(the_rate_is_that_of_the_last_seconds),
        cmocka_unit_test(without_a_size_there_is_no_bar_and_with_many_files_their_number),
        cmocka_unit_test(the_line_fits_whatever_the_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
