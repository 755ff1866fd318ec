#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/err.h"
#include "service/outside.h"

static const struct outside nothing = {0};

/* An address out of text, of either family. */
static const struct sockaddr *address(const char *text)
{
    static struct sockaddr_in four;
    static struct sockaddr_in6 six;
    four = (struct sockaddr_in){.sin_family = AF_INET};
    six = (struct sockaddr_in6){.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return (const struct sockaddr *)&four;
    if (inet_pton(AF_INET6, text, &six.sin6_addr) != 1)
        fail_msg("%s is no address", text);
    return (const struct sockaddr *)&six;
}

static void both_ends_of_every_network_that_is_not_public_are_refused(void **state)
{
    (void)state;
    static const char *const inside[] = {"0.0.0.0",
                                         "0.255.255.255",
                                         "10.0.0.0",
                                         "10.255.255.255",
                                         "100.64.0.0",
                                         "100.127.255.255",
                                         "127.0.0.0",
                                         "127.0.0.1",
                                         "127.255.255.255",
                                         "169.254.0.0",
                                         "169.254.169.254",
                                         "169.254.255.255",
                                         "172.16.0.0",
                                         "172.31.255.255",
                                         "192.0.0.0",
                                         "192.0.0.192",
                                         "192.0.0.255",
                                         "192.0.2.0",
                                         "192.0.2.255",
                                         "192.88.99.0",
                                         "192.88.99.255",
                                         "192.168.0.0",
                                         "192.168.255.255",
                                         "198.18.0.0",
                                         "198.19.255.255",
                                         "198.51.100.0",
                                         "198.51.100.255",
                                         "203.0.113.0",
                                         "203.0.113.255",
                                         "168.63.129.16",
                                         "224.0.0.0",
                                         "239.255.255.255",
                                         "240.0.0.0",
                                         "255.255.255.255",
                                         "100.100.100.200",
                                         "::",
                                         "::1",
                                         "::2",
                                         "::127.0.0.1",
                                         "::8.8.8.8",
                                         "::ffff:127.0.0.1",
                                         "::ffff:8.8.8.8",
                                         "::ffff:0:8.8.8.8",
                                         "64:ff9b::7f00:1",
                                         "64:ff9b::808:808",
                                         "64:ff9b:1::1",
                                         "100::1",
                                         "1fff:ffff::1",
                                         "2001::1",
                                         "2001:0:7f00:1::",
                                         "2001:2::1",
                                         "2001:10::1",
                                         "2001:20::1",
                                         "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
                                         "2001:db8::",
                                         "2001:db8:ffff:ffff::1",
                                         "2002::1",
                                         "2002:7f00:1::1",
                                         "2002:ffff::1",
                                         "3fff::1",
                                         "3fff:fff:ffff::1",
                                         "4000::1",
                                         "5f00::1",
                                         "fc00::1",
                                         "fd00::1",
                                         "fd00:ec2::254",
                                         "fdff::1",
                                         "fe80::1",
                                         "febf:ffff::1",
                                         "fec0::1",
                                         "ff00::1",
                                         "ff02::1",
                                         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (outside_is_public(address(inside[i])) ||
            outside_may(&nothing, "x.example", address(inside[i])) ||
            outside_may_name(&nothing, inside[i]))
            fail_msg("%s is not public", inside[i]);
}

static void what_lies_beside_them_is_public(void **state)
{
    (void)state;
    static const char *const beside[] = {
        "1.0.0.0",         "9.255.255.255",   "11.0.0.0",         "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",        "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",       "191.255.255.255",
        "192.0.1.0",       "192.0.3.0",       "192.88.98.255",    "192.88.100.0",
        "192.167.255.255", "192.169.0.0",     "198.17.255.255",   "198.20.0.0",
        "198.51.99.255",   "198.51.101.0",    "203.0.112.255",    "203.0.114.0",
        "168.63.129.15",   "168.63.129.17",   "223.255.255.255",  "8.8.8.8",
        "2000::1",         "2001:200::1",     "2001:db7:ffff::1", "2001:db9::1",
        "2003::1",         "2606:4700::1111", "2a00::1",          "3ffe::1",
        "3fff:1000::1"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (!outside_is_public(address(beside[i])) || !outside_may_name(&nothing, beside[i]))
            fail_msg("%s is public", beside[i]);
}

/* Every first half of an IPv4 address, against the plain list of what is refused. */
static void all_of_ipv4_is_as_the_registry_says(void **state)
{
    (void)state;
    for (uint32_t high = 0; high < 65536; high++) {
        struct sockaddr_in a = {.sin_family = AF_INET};
        a.sin_addr.s_addr = htonl(high << 16 | 0x4d4d); /* x.y.77.77: in none of the small ones */
        uint32_t first = high >> 8, second = high & 255;
        bool is_refused =
            first == 0 || first == 10 || first == 127 || first >= 224 ||
            (first == 100 && second >= 64 && second < 128) || (first == 169 && second == 254) ||
            (first == 172 && second >= 16 && second < 32) || (first == 192 && second == 168) ||
            (first == 198 && (second == 18 || second == 19));
        assert_int_equal(outside_is_public((const struct sockaddr *)&a), !is_refused);
    }
}

static void other_families_are_refused(void **state)
{
    (void)state;
    const struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    static const char *const all[] = {"0.0.0.0/0", "::/0", "x.example"};
    const struct outside o = {all, 3};
    assert_false(outside_is_public((const struct sockaddr *)&un));
    assert_false(outside_may(&o, "x.example", (const struct sockaddr *)&un));
}

static void what_the_operator_allows_is_allowed_and_nothing_beside_it(void **state)
{
    (void)state;
    static const char *const rules[] = {"10.1.0.0/16", "127.0.0.1", "fd00:7::/33", "Hooks.internal",
                                        "192.168.7.0/25"};
    const struct outside o = {rules, 5};
    assert_true(outside_may(&o, "a", address("10.1.255.255")));
    assert_false(outside_may(&o, "a", address("10.2.0.0")));
    assert_true(outside_may(&o, "a", address("127.0.0.1")));
    assert_false(outside_may(&o, "a", address("127.0.0.2")));
    assert_false(outside_may(&o, "a", address("::ffff:127.0.0.1")));
    assert_false(outside_may(&o, "a", address("::1")));
    assert_true(outside_may(&o, "a", address("fd00:7:7fff::1")));
    assert_false(outside_may(&o, "a", address("fd00:7:8000::1")));
    assert_true(outside_may(&o, "a", address("192.168.7.127")));
    assert_false(outside_may(&o, "a", address("192.168.7.128")));
    assert_true(outside_may(&o, "hooks.INTERNAL", address("10.9.9.9")));
    assert_false(outside_may(&o, "xhooks.internal", address("10.9.9.9")));
    assert_false(outside_may(&o, "hooks.internal.example", address("10.9.9.9")));
    assert_true(outside_may(&o, "a", address("8.8.8.8")));
}

static void names_of_this_host_are_refused_and_others_wait_for_their_address(void **state)
{
    (void)state;
    static const char *const local[] = {"localhost",   "LOCALHOST",       "localhost.",
                                        "a.localhost", "a.b.localhost..", "ip6-localhost"};
    static const char *const rule[] = {"127.0.0.0/8"};
    const struct outside o = {rule, 1};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        assert_false(outside_may_name(&nothing, local[i]));
        assert_true(outside_may_name(&o, local[i]));
    }
    assert_true(outside_may_name(&nothing, "notlocalhost"));
    assert_true(outside_may_name(&nothing, "localhost.example.org"));
    assert_true(outside_may_name(&nothing, "example.org"));
}

static void rules_are_addresses_networks_and_names(void **state)
{
    (void)state;
    struct err e;
    static const char *const right[] = {"10.0.0.0/8", "10.0.0.1", "0.0.0.0/0",         "::/0",
                                        "fd00::/8",   "::1",      "hooks.example.org", "a",
                                        "my_host-1"};
    static const char *const wrong[] = {
        "",   "10.0.0.0/33", "::/129", "10.0.0/8", "300.1.1.1", "10.0.0.0/", "10.0.0.0/8x", "-a",
        ".a", "a..b",        "a b",    "http://a", "a/8",       "[::1]",     "1234"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(outside_rule_check(right[i], &e), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (outside_rule_check(wrong[i], &e) == 0 || e.code != ERR_INVALID)
            fail_msg("'%s' is no rule", wrong[i]);
}

static void ports_of_other_services_are_closed(void **state)
{
    (void)state;
    static const uint16_t open[] = {80, 443, 8080, 8443, 8700, 3000, 5000, 65535};
    static const uint16_t closed[] = {0, 22, 25, 53, 445, 2375, 3306, 5432, 6379, 11211, 27017};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        assert_true(outside_may_port(open[i]));
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        assert_false(outside_may_port(closed[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_of_every_network_that_is_not_public_are_refused),
        cmocka_unit_test(what_lies_beside_them_is_public),
        cmocka_unit_test(all_of_ipv4_is_as_the_registry_says),
        cmocka_unit_test(other_families_are_refused),
        cmocka_unit_test(what_the_operator_allows_is_allowed_and_nothing_beside_it),
        cmocka_unit_test(names_of_this_host_are_refused_and_others_wait_for_their_address),
        cmocka_unit_test(rules_are_addresses_networks_and_names),
        cmocka_unit_test(ports_of_other_services_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
