#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/counters.h"

static int text_file(const char *text)
{
    int fd = memfd_create("counter", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

/* Whether such counters could be read. *ret begins with ones. */
static int read_texts(const char *cpu, const char *now, const char *peak, struct jail_event *ret)
{
    struct counters c = {{text_file(cpu), text_file(now), text_file(peak)}};
    *ret = (struct jail_event){.cpu_us = 1, .memory_now = 1, .memory_peak = 1, .disk_bytes = 1};
    int failed = counters_read(&c, ret);
    counters_done(&c);
    assert_int_equal(c.fds[JAIL_COUNTER_PEAK], -1);
    return failed;
}

static void version_1_counts_in_nanoseconds(void **state)
{
    struct jail_event event;
    (void)state;
    assert_int_equal(read_texts("12345678\n", "4096\n", "8192\n", &event), 0);
    assert_int_equal(event.cpu_us, 12345);
    assert_int_equal(event.memory_now, 4096);
    assert_int_equal(event.memory_peak, 8192);
    assert_int_equal(event.disk_bytes, 1);
}

static void version_2_has_a_line_in_microseconds(void **state)
{
    struct jail_event event;
    (void)state;
    assert_int_equal(
        read_texts("usage_usec 777\nuser_usec 700\nsystem_usec 77\n", "0\n", "1\n", &event), 0);
    assert_int_equal(event.cpu_us, 777);
    assert_int_equal(event.memory_now, 0);
}

static void they_are_read_anew_every_time(void **state)
{
    struct counters c = {{text_file("1000\n"), text_file("1\n"), text_file("2\n")}};
    struct jail_event event = {0};
    (void)state;
    assert_int_equal(counters_read(&c, &event), 0);
    assert_int_equal(pwrite(c.fds[JAIL_COUNTER_CPU], "9000\n", 5, 0), 5);
    assert_int_equal(counters_read(&c, &event), 0);
    assert_int_equal(event.cpu_us, 9);
    counters_done(&c);
}

static void one_that_says_nothing_changes_nothing(void **state)
{
    static const char *const texts[][3] = {
        {"", "1\n", "1\n"},
        {"x\n", "1\n", "1\n"},
        {"5000\n", "\n", "1\n"},
        {"5000\n", "1\n", "99999999999999999999\n"},
        {"usage_usec\n", "1\n", "1\n"},
    };
    struct counters none = COUNTERS_NONE;
    struct jail_event event;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_texts(texts[i][0], texts[i][1], texts[i][2], &event), -1);
        assert_int_equal(event.cpu_us, 1);
        assert_int_equal(event.memory_now, 1);
        assert_int_equal(event.memory_peak, 1);
    }
    assert_int_equal(counters_read(&none, &event), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_counts_in_nanoseconds),
        cmocka_unit_test(version_2_has_a_line_in_microseconds),
        cmocka_unit_test(they_are_read_anew_every_time),
        cmocka_unit_test(one_that_says_nothing_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
