/* What notify.h promises. The tests are systemd. */
#include "daemon/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

/* A socket with that name ('@': abstract), which NOTIFY_SOCKET then says. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(address.sun_path, name, len);
    if (*name == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static int listen_somewhere(void)
{
    char name[64];
    (void)snprintf(name, sizeof name, "@cicada-test-notify-%d", (int)getpid());
    return listen_at(name);
}

/* The next datagram; "" if there is none. */
static const char *heard(int fd)
{
    static char text[1024];
    ssize_t n = recv(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static int forget(void **state)
{
    (void)state;
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    return 0;
}

static void without_systemd_nothing_happens(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = {.fd = 77};
    assert_int_equal(notify_open(&n, &e), 0);
    assert_int_equal(n.fd, -1);
    assert_int_equal(notify_watchdog_ms(&n), -1);
    notify_ready(&n, "listening");
    notify_watchdog(&n);
    notify_stopping(&n);
    notify_close(&n);
}

static void each_step_is_one_datagram(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    scoped(fd_closep) int fd = listen_somewhere();
    assert_int_equal(notify_open(&n, &e), 0);
    notify_ready(&n, "listening on %s", "127.0.0.1:1");
    assert_string_equal(heard(fd), "READY=1\nSTATUS=listening on 127.0.0.1:1");
    notify_status(&n, "%d sessions", 3);
    assert_string_equal(heard(fd), "STATUS=3 sessions");
    notify_stopping(&n);
    assert_string_equal(heard(fd), "STOPPING=1\nSTATUS=stopping");
    notify_watchdog(&n);
    assert_string_equal(heard(fd), ""); /* nobody asked for one */
    notify_close(&n);
}

static void a_reload_says_since_when(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    scoped(fd_closep) int fd = listen_somewhere();
    assert_int_equal(notify_open(&n, &e), 0);
    int64_t before_us = clock_us();
    notify_reloading(&n);
    long long at_us = 0;
    assert_int_equal(sscanf(heard(fd), "RELOADING=1\nMONOTONIC_USEC=%lld", &at_us), 1);
    assert_true(at_us >= before_us && at_us <= clock_us());
    notify_close(&n);
}

static void a_path_works_as_well(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    scoped(scratch_done) struct scratch s = scratch_new();
    char name[100];
    (void)snprintf(name, sizeof name, "%s/notify", s.path);
    scoped(fd_closep) int fd = listen_at(name);
    assert_int_equal(notify_open(&n, &e), 0);
    notify_ready(&n, "here");
    assert_string_equal(heard(fd), "READY=1\nSTATUS=here");
    notify_close(&n);
}

static void a_status_is_one_line_and_not_too_long(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    scoped(fd_closep) int fd = listen_somewhere();
    char text[2 * NOTIFY_STATUS_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(notify_open(&n, &e), 0);
    notify_status(&n, "a\nREADY=1");
    assert_string_equal(heard(fd), "STATUS=a READY=1");
    notify_ready(&n, "%s", text);
    assert_int_equal(strlen(heard(fd)), strlen("READY=1\nSTATUS=") + NOTIFY_STATUS_MAX - 1);
    notify_close(&n);
}

static void the_watchdog_is_fed_twice_as_often_as_it_bites(void **state)
{
    (void)state;
    static const struct {
        const char *us;
        int ms;
    } rows[] = {{"30000000", 15000}, {"1000000", 500}, {"1", 1}, {"99999999999999999", INT32_MAX}};
    struct err e = {0};
    scoped(fd_closep) int fd = listen_somewhere();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct notify n = NOTIFY_NONE;
        assert_int_equal(setenv("WATCHDOG_USEC", rows[i].us, 1), 0);
        assert_int_equal(notify_open(&n, &e), 0);
        assert_int_equal(notify_watchdog_ms(&n), rows[i].ms);
        notify_watchdog(&n);
        assert_string_equal(heard(fd), "WATCHDOG=1");
        notify_close(&n);
    }
}

static void a_watchdog_of_another_process_is_left_alone(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    scoped(fd_closep) int fd = listen_somewhere();
    (void)fd;
    char pid[16];
    assert_int_equal(setenv("WATCHDOG_USEC", "1000000", 1), 0);
    assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0);
    assert_int_equal(notify_open(&n, &e), 0);
    assert_int_equal(notify_watchdog_ms(&n), -1);
    notify_close(&n);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
    assert_int_equal(notify_open(&n, &e), 0);
    assert_int_equal(notify_watchdog_ms(&n), 500);
    notify_close(&n);
}

static void what_systemd_would_not_say_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"relative", "@", "/", "vsock:2:1"};
    struct notify n = NOTIFY_NONE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err e = {0};
        assert_int_equal(setenv("NOTIFY_SOCKET", names[i], 1), 0);
        assert_int_equal(notify_open(&n, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    struct err e = {0};
    char longest[200];
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", longest, 1), 0);
    assert_int_equal(notify_open(&n, &e), -1);
    assert_int_equal(setenv("NOTIFY_SOCKET", "@x", 1), 0);
    assert_int_equal(setenv("WATCHDOG_USEC", "often", 1), 0);
    assert_int_equal(notify_open(&n, &e), -1);
    assert_string_equal(e.text, "WATCHDOG_USEC: 'often' is not a whole number");
}

static void nobody_listening_is_no_failure(void **state)
{
    (void)state;
    struct err e = {0};
    struct notify n = NOTIFY_NONE;
    assert_int_equal(setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1), 0);
    assert_int_equal(notify_open(&n, &e), 0);
    notify_ready(&n, "ready");
    notify_close(&n);
    notify_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_systemd_nothing_happens, forget),
        cmocka_unit_test_teardown(each_step_is_one_datagram, forget),
        cmocka_unit_test_teardown(a_reload_says_since_when, forget),
        cmocka_unit_test_teardown(a_path_works_as_well, forget),
        cmocka_unit_test_teardown(a_status_is_one_line_and_not_too_long, forget),
        cmocka_unit_test_teardown(the_watchdog_is_fed_twice_as_often_as_it_bites, forget),
        cmocka_unit_test_teardown(a_watchdog_of_another_process_is_left_alone, forget),
        cmocka_unit_test_teardown(what_systemd_would_not_say_is_refused, forget),
        cmocka_unit_test_teardown(nobody_listening_is_no_failure, forget),
    };
    (void)forget(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
