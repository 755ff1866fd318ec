#include "cli/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

/* An environment in which nothing is said. */
static int forget(void **state)
{
    (void)state;
    unsetenv("CICADA_URL");
    unsetenv("CICADA_SOCKET");
    unsetenv("CICADA_API_KEY");
    unsetenv("XDG_RUNTIME_DIR");
    return 0;
}

static void a_url_is_taken_with_its_key_and_without_its_slash(void **state)
{
    struct address a;
    struct err e = {0};
    (void)state;
    setenv("CICADA_URL", "https://cicada.example.org:8700/", 1);
    setenv("CICADA_API_KEY", "cik_secret", 1);
    setenv("CICADA_SOCKET", "/ignored", 1);
    assert_int_equal(address_find(&a, &e), 0);
    assert_int_equal(a.kind, ADDRESS_URL);
    assert_true(a.is_named);
    assert_string_equal(a.url, "https://cicada.example.org:8700");
    assert_string_equal(a.key, "cik_secret");
}

static void what_is_no_http_url_is_refused(void **state)
{
    static const char *const cases[] = {
        "cicada.example.org", "ftp://host",      "http://",   "file:///etc",
        "http://me:pw@host",  "http://host?x=1", "http://a b"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address a;
        struct err e = {0};
        setenv("CICADA_URL", cases[i], 1);
        assert_int_equal(address_find(&a, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_key_with_blanks_would_split_the_header_and_is_refused(void **state)
{
    struct address a;
    struct err e = {0};
    (void)state;
    setenv("CICADA_URL", "http://localhost", 1);
    setenv("CICADA_API_KEY", "cik_x\r\nHost: evil", 1);
    assert_int_equal(address_find(&a, &e), -1);
    assert_null(strstr(e.text, "cik_x"));
}

static void a_socket_that_is_named_is_taken_whether_it_answers_or_not(void **state)
{
    struct address a;
    struct err e = {0};
    (void)state;
    setenv("CICADA_SOCKET", "/nowhere/at.sock", 1);
    assert_int_equal(address_find(&a, &e), 0);
    assert_int_equal(a.kind, ADDRESS_SOCKET);
    assert_string_equal(a.socket, "/nowhere/at.sock");
    assert_true(a.is_named);
}

static void off_means_that_none_is_looked_for(void **state)
{
    struct address a;
    struct err e = {0};
    (void)state;
    setenv("CICADA_SOCKET", "off", 1);
    assert_int_equal(address_find(&a, &e), 0);
    assert_int_equal(a.kind, ADDRESS_NONE);
}

static void a_socket_path_that_fits_nowhere_is_refused(void **state)
{
    struct address a;
    struct err e = {0};
    char path[ADDRESS_SOCKET_MAX + 2];
    (void)state;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    setenv("CICADA_SOCKET", path, 1);
    assert_int_equal(address_find(&a, &e), -1);
    path[ADDRESS_SOCKET_MAX] = '\0';
    setenv("CICADA_SOCKET", path, 1);
    assert_int_equal(address_find(&a, &e), 0);
}

static int listen_at(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(name.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void the_users_own_socket_is_found_when_it_answers(void **state)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    struct address a;
    struct err e = {0};
    char path[ADDRESS_SOCKET_MAX + 1];
    uid_t uid;
    (void)state;
    setenv("XDG_RUNTIME_DIR", s.path, 1);
    assert_int_equal(address_own(/* makes_dir= */ true, path, &e), 0);
    assert_false(address_answers(path, &uid));
    scoped(fd_closep) int fd = listen_at(path);
    (void)fd;
    assert_true(address_answers(path, &uid));
    assert_int_equal(uid, geteuid());
    assert_int_equal(address_find(&a, &e), 0);
    if (strcmp(a.socket, "/run/cicada/cicada.sock") != 0) { /* the machine may have one */
        assert_int_equal(a.kind, ADDRESS_SOCKET);
        assert_string_equal(a.socket, path);
        assert_string_equal(a.key, "");
        assert_false(a.is_named);
    }
}

static void a_directory_that_others_may_enter_is_not_used(void **state)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    struct err e = {0};
    char path[ADDRESS_SOCKET_MAX + 1], dir[128];
    (void)state;
    setenv("XDG_RUNTIME_DIR", s.path, 1);
    (void)snprintf(dir, sizeof dir, "%s/cicada", s.path);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(address_own(/* makes_dir= */ true, path, &e), 0);
    assert_int_equal(chmod(dir, 0711), 0);
    assert_int_equal(address_own(/* makes_dir= */ true, path, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_link_in_place_of_the_directory_is_not_followed(void **state)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    struct err e = {0};
    char path[ADDRESS_SOCKET_MAX + 1], dir[128];
    (void)state;
    setenv("XDG_RUNTIME_DIR", s.path, 1);
    (void)snprintf(dir, sizeof dir, "%s/cicada", s.path);
    assert_int_equal(symlink("/tmp", dir), 0);
    assert_int_equal(address_own(/* makes_dir= */ true, path, &e), -1);
}

static void without_a_runtime_directory_it_is_one_of_the_users_own_in_tmp(void **state)
{
    struct err e = {0};
    char path[ADDRESS_SOCKET_MAX + 1], expected[64];
    (void)state;
    (void)snprintf(expected, sizeof expected, "/tmp/cicada-%u/cicada.sock", (unsigned)geteuid());
    if (address_own(/* makes_dir= */ false, path, &e) == 0)
        assert_string_equal(path, expected);
    else
        assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void this_machine_is_known_by_its_names(void **state)
{
    (void)state;
    assert_true(address_is_loopback("http://localhost"));
    assert_true(address_is_loopback("http://LOCALHOST:8700/x"));
    assert_true(address_is_loopback("https://127.0.0.1:1"));
    assert_true(address_is_loopback("http://[::1]:8700"));
    assert_false(address_is_loopback("http://localhost.example.org"));
    assert_false(address_is_loopback("http://127.0.0.1.example.org"));
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_url_is_taken_with_its_key_and_without_its_slash),
        TEST(what_is_no_http_url_is_refused),
        TEST(a_key_with_blanks_would_split_the_header_and_is_refused),
        TEST(a_socket_that_is_named_is_taken_whether_it_answers_or_not),
        TEST(off_means_that_none_is_looked_for),
        TEST(a_socket_path_that_fits_nowhere_is_refused),
        TEST(the_users_own_socket_is_found_when_it_answers),
        TEST(a_directory_that_others_may_enter_is_not_used),
        TEST(a_link_in_place_of_the_directory_is_not_followed),
        TEST(without_a_runtime_directory_it_is_one_of_the_users_own_in_tmp),
        TEST(this_machine_is_known_by_its_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
