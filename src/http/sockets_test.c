/* What sockets.h promises; what only a running server shows is in tests/http. */
#include "http/sockets.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/scope.h"
#include "base/scratch.h"
#include "http/exchange.h"
#include "http/server.h"

static int open_at(const char *text, unsigned mode, struct listening *ret, struct err *e)
{
    struct http_address a = {.text = text, .socket_mode = mode};
    return listening_open(&a, ret, e);
}

static void a_port_is_chosen_and_told(void **state)
{
    (void)state;
    struct err e = {0};
    struct listening l, again;
    assert_int_equal(open_at("127.0.0.1:0", 0, &l, &e), 0);
    assert_memory_equal(l.text, "127.0.0.1:", 10);
    assert_string_not_equal(l.text, "127.0.0.1:0");
    assert_int_equal(open_at(l.text, 0, &again, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    listening_close(&l);
}

static void connections_inherit_what_they_need(void **state)
{
    (void)state;
    struct err e = {0};
    struct listening l;
    assert_int_equal(open_at("127.0.0.1:0", 0, &l, &e), 0);
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(getsockname(l.fd, (struct sockaddr *)&address, &len), 0);
    scoped(fd_closep) int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
    scoped(fd_closep) int fd = accept4(l.fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    int value = 0;
    len = sizeof value;
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
    assert_int_equal(value, 1);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &len), 0);
    assert_int_equal(value, 1);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &len), 0);
    assert_int_equal(value, 70000);
    listening_close(&l);
}

static void malformed_addresses_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",        "8700",        ":80",           "127.0.0.1", "::1:80",       "[::1]",
        "[::1]80", "127.0.0.1:x", "1.2.3.4:99999", "[]:80",     "192.0.2.1:80", "unix:"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        struct listening l;
        assert_int_equal(open_at(bad[i], 0, &l, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct listening l;
    char text[200];
    (void)snprintf(text, sizeof text, "unix:/tmp/%0120d", 0);
    assert_int_equal(open_at(text, 0, &l, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_unix_socket_has_its_mode_and_goes_with_its_server(void **state)
{
    (void)state;
    struct err e = {0};
    struct stat st;
    struct listening l;
    scoped(scratch_done) struct scratch s = scratch_new();
    char text[100];
    (void)snprintf(text, sizeof text, "unix:%s/s", s.path);
    assert_int_equal(open_at(text, 0660, &l, &e), 0);
    assert_int_equal(fstatat(s.fd, "s", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    listening_close(&l);
    assert_int_equal(fstatat(s.fd, "s", &st, 0), -1);
}

static void only_its_own_file_is_removed(void **state)
{
    (void)state;
    struct err e = {0};
    struct listening l;
    scoped(scratch_done) struct scratch s = scratch_new();
    char text[100];
    (void)snprintf(text, sizeof text, "unix:%s/s", s.path);
    assert_int_equal(open_at(text, 0, &l, &e), 0);
    assert_int_equal(unlinkat(s.fd, "s", 0), 0);
    scratch_write(&s, "s", "of somebody else");
    listening_close(&l);
    assert_int_equal(faccessat(s.fd, "s", F_OK, 0), 0);
}

static void check_peer(const char *address, const char *name, bool is_loopback,
                       const unsigned char key[16])
{
    struct listening l = {.fd = -1};
    struct sockaddr_storage from = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&from;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&from;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
        from.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
        from.ss_family = AF_INET6;
    struct http_peer peer;
    unsigned char found[16];
    listening_peer(&l, -1, &from, &peer, found);
    assert_string_equal(peer.address, name);
    assert_int_equal(peer.is_loopback, is_loopback);
    assert_memory_equal(found, key, 16);
}

static void peers_are_named_and_counted(void **state)
{
    (void)state;
    check_peer("192.0.2.7", "192.0.2.7", false, (unsigned char[16]){[12] = 192, 0, 2, 7});
    check_peer("127.1.2.3", "127.1.2.3", true, (unsigned char[16]){[12] = 127, 1, 2, 3});
    check_peer("::ffff:192.0.2.7", "192.0.2.7", false, (unsigned char[16]){[12] = 192, 0, 2, 7});
    check_peer("::1", "::1", true, (unsigned char[16]){0});
    check_peer("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", false,
               (unsigned char[16]){0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_chosen_and_told),
        cmocka_unit_test(connections_inherit_what_they_need),
        cmocka_unit_test(malformed_addresses_are_refused),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(a_unix_socket_has_its_mode_and_goes_with_its_server),
        cmocka_unit_test(only_its_own_file_is_removed),
        cmocka_unit_test(peers_are_named_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
