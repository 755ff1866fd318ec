#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "service/outside.h"
#include "service/transfer.h"
#include "service/webhooks_int.h"

static const struct outside nothing = {0};

static void urls_of_the_public_web_are_taken(void **state)
{
    (void)state;
    struct err e = {0};
    static const char *const right[] = {
        "https://example.org/hook", "http://example.org", "https://example.org:8443/a?b=c",
        "HTTPS://EXAMPLE.ORG/",     "http://8.8.8.8/",    "http://[2606:4700::1111]/",
        "https://a.b.c.d.e/"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (transfer_check_url(&nothing, right[i], &e))
            fail_msg("%s: %s", right[i], e.text);
}

static void urls_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "example.org",
                                        "/hook",
                                        "//example.org/",
                                        "ftp://example.org/",
                                        "file:///etc/passwd",
                                        "gopher://example.org/",
                                        "dict://example.org/",
                                        "unix:/run/x",
                                        "https://",
                                        "https://user@example.org/",
                                        "https://user:pass@example.org/",
                                        "https://:pass@example.org/",
                                        "https://example.org:22/",
                                        "https://example.org:0/",
                                        "https://example.org:6379/",
                                        "https://example.org:70000/",
                                        "http://exa mple.org/",
                                        "http://example.org/\r\nX: y",
                                        "http://127.0.0.1/",
                                        "http://127.1/",
                                        "http://2130706433/",
                                        "http://0x7f000001/",
                                        "http://0x7f.1/",
                                        "http://0177.0.0.1/",
                                        "http://017700000001/",
                                        "http://0/",
                                        "http://0.0.0.0/",
                                        "http://10.0.0.1/",
                                        "http://192.168.1.1/",
                                        "http://172.16.0.1/",
                                        "http://169.254.169.254/latest/meta-data/",
                                        "http://2852039166/",
                                        "http://100.64.0.1/",
                                        "http://[::1]/",
                                        "http://[::]/",
                                        "http://[::ffff:127.0.0.1]/",
                                        "http://[::ffff:7f00:1]/",
                                        "http://[::127.0.0.1]/",
                                        "http://[64:ff9b::7f00:1]/",
                                        "http://[2002:7f00:1::]/",
                                        "http://[fe80::1]/",
                                        "http://[fe80::1%25eth0]/",
                                        "http://[fd00::1]/",
                                        "http://[ff02::1]/",
                                        "http://localhost/",
                                        "http://LOCALHOST:8080/",
                                        "http://localhost./",
                                        "http://a.localhost/",
                                        "http://\xc3\xa9.example/",
                                        "http://224.0.0.1/",
                                        "http://255.255.255.255/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        if (transfer_check_url(&nothing, wrong[i], &e) == 0 || e.code != ERR_INVALID)
            fail_msg("%s was taken", wrong[i]);
    }
}

static void the_longest_url_fits_and_one_more_does_not(void **state)
{
    (void)state;
    struct err e = {0};
    char url[TRANSFER_URL_MAX + 2] = "https://example.org/";
    memset(url + strlen(url), 'a', TRANSFER_URL_MAX - strlen(url));
    assert_int_equal(strlen(url), TRANSFER_URL_MAX);
    assert_int_equal(transfer_check_url(&nothing, url, &e), 0);
    url[TRANSFER_URL_MAX] = 'a';
    assert_int_equal(transfer_check_url(&nothing, url, &e), -1);
}

static void the_signature_is_hmac_over_time_and_body(void **state)
{
    (void)state;
    struct err e;
    char hex[HASH_HEX_SIZE];
    /* python3: hmac.new(b"whsec_0123456789", b'1767225600.{"a":1}', "sha256").hexdigest() */
    assert_int_equal(transfer_sign("whsec_0123456789", 1767225600, "{\"a\":1}", 7, hex, &e), 0);
    assert_string_equal(hex, "75ee0ffc27eb208b8ad82d439eab189d15b0b8cdb002731b0aa016b94c290fe0");
}

static void waits_double_up_to_an_hour_give_or_take_a_fifth(void **state)
{
    (void)state;
    static const int64_t seconds[] = {5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600};
    for (uint32_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        assert_int_equal(webhook_delay_us(5, i + 1, 0), seconds[i] * 800000);
        assert_int_equal(webhook_delay_us(5, i + 1, 200000), seconds[i] * 1000000);
        assert_int_equal(webhook_delay_us(5, i + 1, 400000), seconds[i] * 1200000);
        assert_int_equal(webhook_delay_us(5, i + 1, 400001), seconds[i] * 800000);
    }
    assert_int_equal(webhook_delay_us(5, UINT32_MAX, 200000), 3600 * INT64_C(1000000));
}

/* A listener on loopback would answer: what is refused is the address, after the name was resolved. */
static void the_address_is_asked_for_when_the_socket_is_made(void **state)
{
    (void)state;
    struct err e = {0};
    struct transfer *t = NULL;
    struct transfer_result r;
    static const char *const by_name[] = {"localhost"};
    static const char *const other[] = {"192.168.0.0/16"};
    const struct outside named = {by_name, 1}, elsewhere = {other, 1};
    const struct transfer_what what = {.url = "http://localhost:9999/",
                                       .secret = "0123456789abcdef",
                                       .delivery = "d",
                                       .type = "t",
                                       .body = "{}",
                                       .len = 2,
                                       .now_s = 1};
    assert_int_equal(transfer_new(&elsewhere, &what, &t, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(transfer_new(&named, &what, &t, &e), 0);
    transfer_now(t, &r);
    assert_false(r.is_delivered);
    assert_null(strstr(r.error, "public internet")); /* allowed, and nobody is there */
    transfer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_of_the_public_web_are_taken),
        cmocka_unit_test(urls_that_lead_elsewhere_are_refused),
        cmocka_unit_test(the_longest_url_fits_and_one_more_does_not),
        cmocka_unit_test(the_signature_is_hmac_over_time_and_body),
        cmocka_unit_test(waits_double_up_to_an_hour_give_or_take_a_fifth),
        cmocka_unit_test(the_address_is_asked_for_when_the_socket_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
