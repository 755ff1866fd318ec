/* What multipart.h promises. */
#include "http/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

#define TYPE "multipart/form-data; boundary=B"
#define PART "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n"

/* A body that comes in pieces of `step` bytes. */
struct body {
    const char *bytes;
    size_t len, step;
};

static int read_body(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    struct body *b = arg;
    (void)e;
    size_t n = b->step < b->len ? b->step : b->len;
    n = n < size ? n : size;
    memcpy(to, b->bytes, n);
    b->bytes += n;
    b->len -= n;
    *ret_len = n;
    return 0;
}

static int read_part(struct multipart *m, const struct multipart_part *p, size_t size,
                     struct buf *out, struct err *e)
{
    char piece[64];
    size_t len = 0;
    buf_fmt(out, "[%s|%s|%s|", p->name, p->filename ? p->filename : "-", p->type);
    do {
        if (multipart_read(m, piece, size, &len, e))
            return -1;
        buf_add(out, piece, len);
    } while (len);
    buf_str(out, "]");
    return 0;
}

/* Everything as text: [name|filename|type|content]... */
static int parts(const char *type, struct body b, size_t size, struct buf *out, struct err *e)
{
    scoped(multipart_freep) struct multipart *m = NULL;
    if (multipart_new(str_of(type), read_body, &b, &m, e))
        return -1;
    const struct multipart_part *p = NULL;
    for (;;) {
        if (multipart_next(m, &p, e))
            return -1;
        if (!p)
            return 0;
        if (size && read_part(m, p, size, out, e))
            return -1;
    }
}

static void check(const char *type, const char *body, const char *expected)
{
    for (size_t step = 1; step <= strlen(body); step++) {
        for (size_t size = 1; size <= 64; size += 21) {
            struct err e = {0};
            scoped(buf_done) struct buf out = BUF_INIT(4096);
            struct body b = {.bytes = body, .len = strlen(body), .step = step};
            if (parts(type, b, size, &out, &e))
                fail_msg("%s", e.text);
            assert_string_equal(out.bytes ? out.bytes : "", expected);
        }
    }
}

static void check_bad(const char *type, const char *body, enum err_code code)
{
    for (size_t step = 1; step <= strlen(body) + 1; step += 3) {
        struct err e = {0};
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        struct body b = {.bytes = body, .len = strlen(body), .step = step};
        assert_int_equal(parts(type, b, 64, &out, &e), -1);
        assert_int_equal(e.code, code);
    }
}

static void parts_come_out_however_the_body_is_cut(void **state)
{
    (void)state;
    check(TYPE,
          PART
          "one\r\n--B\r\ncontent-type:image/png\r\nX: y\r\n"
          "CONTENT-DISPOSITION: form-data; filename=\"f \\\"x\\\" \\y.txt\"; name=\"b c\"\r\n\r\n"
          "\r\n-\r\n--\r\n--A\r\r\n\r\n--B--\r\nepilogue",
          "[a|-|text/plain|one][b c|f \"x\" \\y.txt|image/png|\r\n-\r\n--\r\n--A\r\r\n]");
}

static void parts_may_be_empty_and_there_may_be_none(void **state)
{
    (void)state;
    check(TYPE, PART "\r\n--B--", "[a|-|text/plain|]");
    check(TYPE, "--B--", "");
    check(TYPE, "--B--\r\n", "");
}

static void a_preamble_and_blanks_after_a_boundary_are_skipped(void **state)
{
    (void)state;
    check(TYPE,
          "preamble --B\r\n--B \t \r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--B--",
          "[a|-|text/plain|x]");
}

static void the_boundary_may_be_quoted_and_as_long_as_allowed(void **state)
{
    (void)state;
    check("Multipart/Form-Data; charset=x; boundary=\"a b\" ",
          "--a b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--a b--",
          "[a|-|text/plain|x]");
    for (int extra = 0; extra < 2; extra++) {
        struct err e = {0};
        struct body b = {0};
        char type[200];
        struct multipart *m = NULL;
        (void)snprintf(type, sizeof type, "multipart/form-data; boundary=%0*d",
                       MULTIPART_BOUNDARY_MAX + extra, 0);
        assert_int_equal(multipart_new(str_of(type), read_body, &b, &m, &e), -extra);
        multipart_free(m);
    }
}

static void what_is_left_of_a_part_is_skipped(void **state)
{
    (void)state;
    static const char text[] = PART "not read\r\n" PART "nor this\r\n--B--";
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(100);
    struct body b = {.bytes = text, .len = sizeof text - 1, .step = 5};
    assert_int_equal(parts(TYPE, b, 0, &out, &e), 0);
}

static void other_types_and_bad_boundaries_are_refused(void **state)
{
    (void)state;
    check_bad("text/plain", "x", ERR_UNSUPPORTED);
    check_bad("", "x", ERR_UNSUPPORTED);
    check_bad("multipart/mixed; boundary=B", "x", ERR_UNSUPPORTED);
    static const char *const bad[] = {
        "",
        "; boundary",
        "; boundary=",
        "; boundary=\"\"",
        "; boundary=\"a",
        "; boundary=a\"b",
        "; boundary=a; boundary=b",
        "; boundary=\"a \"",
        " boundary=a",
        "; boundary=a b",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char type[100];
        (void)snprintf(type, sizeof type, "multipart/form-data%s", bad[i]);
        check_bad(type, "x", ERR_INVALID);
    }
}

static void malformed_bodies_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "x",
        "--B",
        "--B\r\n",
        "--Bx\r\n",
        "--B-\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n--B--",
        "--B\r\n\r\n\r\n--B--",
        "--B\r\nX: y\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=\"a\x01\"\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b"
        "\r\n\r\nx\r\n--B--",
        "--B\r\nContent-Disposition : form-data; name=a\r\n\r\nx\r\n--B--",
        "--B\r\nno colon\r\n\r\nx\r\n--B--",
        PART "x",
        PART "x\r\n--B",
        PART "x\r\n--B-",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_bad(TYPE, bad[i], ERR_INVALID);
}

static void parts_and_their_heads_are_limited(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct err e = {0};
        scoped(buf_done) struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
        for (int i = 0; i < MULTIPART_PARTS_MAX + extra; i++)
            buf_str(&text, PART "x\r\n");
        buf_str(&text, "--B--");
        struct body b = {.bytes = text.bytes, .len = text.len, .step = 1000};
        assert_int_equal(parts(TYPE, b, 64, &out, &e), -extra);
    }
    scoped(buf_done) struct buf text = BUF_INIT(1 << 20);
    buf_str(&text, "--B\r\nContent-Disposition: form-data; name=a\r\nX: ");
    for (int i = 0; i < MULTIPART_HEAD_MAX; i++)
        buf_str(&text, "x");
    buf_str(&text, "\r\n\r\nx\r\n--B--");
    check_bad(TYPE, text.bytes, ERR_TOO_LARGE);
}

static int read_failing(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    (void)arg, (void)to, (void)size, (void)ret_len;
    return err_set(e, ERR_GONE, "gone");
}

static void what_the_reader_says_is_passed_on(void **state)
{
    (void)state;
    struct err e = {0};
    const struct multipart_part *p = NULL;
    scoped(multipart_freep) struct multipart *m = NULL;
    assert_int_equal(multipart_new(str_of(TYPE), read_failing, NULL, &m, &e), 0);
    assert_int_equal(multipart_next(m, &p, &e), -1);
    assert_int_equal(e.code, ERR_GONE);
    assert_int_equal(multipart_next(m, &p, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_come_out_however_the_body_is_cut),
        cmocka_unit_test(parts_may_be_empty_and_there_may_be_none),
        cmocka_unit_test(a_preamble_and_blanks_after_a_boundary_are_skipped),
        cmocka_unit_test(the_boundary_may_be_quoted_and_as_long_as_allowed),
        cmocka_unit_test(what_is_left_of_a_part_is_skipped),
        cmocka_unit_test(other_types_and_bad_boundaries_are_refused),
        cmocka_unit_test(malformed_bodies_are_refused),
        cmocka_unit_test(parts_and_their_heads_are_limited),
        cmocka_unit_test(what_the_reader_says_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
