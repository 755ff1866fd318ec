/* What parser.h promises. The long table of what has to be refused is in tests/http/test_strict.py. */
#include "http/parser.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"

/* Scans and parses a head in memory of exactly its size, so that a sanitizer sees one byte too many.
 * Returns the status of the fault; 0: it is good; 1: it is not whole. */
static int status_of(const char *text, size_t len, struct head *ret, char **ret_bytes)
{
    char *bytes = malloc(len ? len : 1);
    assert_non_null(bytes);
    memcpy(bytes, text, len);
    *ret_bytes = bytes;
    struct head_scan scan = {0};
    struct head_fault fault = {0};
    size_t head_len = 0;
    if (head_scan(&scan, bytes, len, &head_len, &fault))
        return fault.status;
    if (!head_len)
        return 1;
    return head_parse(bytes, head_len, ret, &fault) ? fault.status : 0;
}

static int status(const char *text)
{
    struct head h;
    scoped(freep) char *bytes = NULL;
    return status_of(text, strlen(text), &h, &bytes);
}

static void a_request_is_taken_apart(void **state)
{
    (void)state;
    static const char text[] = "POST /a/b%20c?d=e&f HTTP/1.1\r\nHost: Example.com:80\r\n"
                               "Content-Length: 12\r\nX-Empty:\r\nX-Blanks: \t a b \t\r\n"
                               "Expect: 100-continue\r\n\r\nbody";
    struct head h;
    scoped(freep) char *bytes = NULL;
    assert_int_equal(status_of(text, sizeof text - 1, &h, &bytes), 0);
    const struct http_request *r = &h.request;
    assert_true(str_is(r->method, "POST"));
    assert_true(str_is(r->path, "/a/b%20c"));
    assert_true(str_is(r->query, "d=e&f"));
    assert_true(str_is(r->host, "Example.com:80"));
    assert_true(r->has_body && r->has_length);
    assert_int_equal(r->length, 12);
    assert_int_equal(r->header_count, 5);
    assert_true(str_is(http_header_get(r, "x-blanks"), "a b"));
    assert_true(str_is(http_header_get(r, "X-EMPTY"), ""));
    assert_non_null(http_header_get(r, "X-EMPTY").ptr);
    assert_null(http_header_get(r, "X-Other").ptr);
    assert_true(h.is_http11 && h.keeps_alive && h.expects_continue && !h.is_chunked);
}

static void the_host_of_an_absolute_target_wins(void **state)
{
    (void)state;
    static const char text[] = "GET http://a:1?q HTTP/1.1\r\nHost: b\r\n\r\n";
    struct head h;
    scoped(freep) char *bytes = NULL;
    assert_int_equal(status_of(text, sizeof text - 1, &h, &bytes), 0);
    assert_true(str_is(h.request.host, "a:1"));
    assert_true(str_is(h.request.path, "/"));
    assert_true(str_is(h.request.query, "q"));
}

static void what_may_be_kept_alive(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool keeps;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, CLOSE\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", true},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive, close\r\n\r\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct head h;
        scoped(freep) char *bytes = NULL;
        assert_int_equal(status_of(cases[i].text, strlen(cases[i].text), &h, &bytes), 0);
        assert_int_equal(h.keeps_alive, cases[i].keeps);
    }
}

static void a_head_is_whole_with_its_last_byte_and_not_before(void **state)
{
    (void)state;
    static const char text[] = "\r\nGET /x HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nGET";
    size_t whole = sizeof text - 1 - 3;
    struct head_scan byte_by_byte = {0};
    for (size_t len = 0; len <= sizeof text - 1; len++) {
        struct head_scan at_once = {0};
        struct head_fault fault;
        size_t found[2];
        assert_int_equal(head_scan(&at_once, text, len, &found[0], &fault), 0);
        if (len <= whole) {
            assert_int_equal(head_scan(&byte_by_byte, text, len, &found[1], &fault), 0);
            assert_int_equal(found[1], found[0]);
        }
        assert_int_equal(found[0], len < whole ? 0 : whole);
    }
}

static void what_can_never_become_good_is_refused_before_it_is_whole(void **state)
{
    (void)state;
    assert_int_equal(status("\x16\x03"), 400);
    assert_int_equal(status("\n"), 400);
    assert_int_equal(status("\r\n\r\n"), 400);
    assert_int_equal(status(" "), 400);
    assert_int_equal(status("GET /\r\n"), 400);
    assert_int_equal(status("GET / HTTP/2.0\r\n"), 505);
    assert_int_equal(status("GET / HTTP/1.1\n"), 400);
    assert_int_equal(status("GET / HTTP/1.1\r\nHost: x\n"), 400);
    assert_int_equal(status("GET"), 1);
    assert_int_equal(status("\r"), 1);
    assert_int_equal(status("\r\n"), 1);
    assert_int_equal(status(""), 1);
}

static void a_target_of_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        char text[HEAD_MAX];
        (void)snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nHost: x\r\n\r\n",
                       HEAD_TARGET_MAX - 1 + extra, 0);
        assert_int_equal(status(text), extra ? 414 : 0);
    }
}

static void as_many_headers_as_allowed_fit_and_one_more_does_not(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        char text[HEAD_MAX] = "GET / HTTP/1.0\r\n";
        for (int i = 0; i < HEAD_HEADERS_MAX + extra; i++)
            memcpy(text + strlen(text), "A:\r\n", 5);
        memcpy(text + strlen(text), "\r\n", 3);
        assert_int_equal(status(text), extra ? 431 : 0);
    }
}

static void a_head_of_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 3; extra++) {
        char text[HEAD_MAX + 8];
        static const char begin[] = "GET / HTTP/1.0\r\nA: ";
        memset(text, 'a', sizeof text);
        memcpy(text, begin, sizeof begin - 1);
        memcpy(text + HEAD_MAX - 4 + extra, "\r\n\r\n", 4);
        struct head h;
        scoped(freep) char *bytes = NULL;
        assert_int_equal(status_of(text, HEAD_MAX + extra, &h, &bytes), extra ? 431 : 0);
    }
    char line[HEAD_MAX + 1];
    memset(line, 'a', sizeof line - 1);
    line[HEAD_MAX] = '\0';
    line[3] = ' ';
    assert_int_equal(status(line), 414);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_apart),
        cmocka_unit_test(the_host_of_an_absolute_target_wins),
        cmocka_unit_test(what_may_be_kept_alive),
        cmocka_unit_test(a_head_is_whole_with_its_last_byte_and_not_before),
        cmocka_unit_test(what_can_never_become_good_is_refused_before_it_is_whole),
        cmocka_unit_test(a_target_of_the_limit_fits_and_one_more_does_not),
        cmocka_unit_test(as_many_headers_as_allowed_fit_and_one_more_does_not),
        cmocka_unit_test(a_head_of_the_limit_fits_and_one_more_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
