/* What static.h promises about choosing and opening; sending is in tests/http. */
#include "http/static.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"
#include "base/scratch.h"

static struct static_file all_forms(void)
{
    struct static_file f = {0};
    static const uint64_t len[STATIC_CODINGS] = {
        [STATIC_PLAIN] = 100, [STATIC_ZSTD] = 40, [STATIC_BR] = 30, [STATIC_GZIP] = 50};
    for (enum static_coding c = 0; c < STATIC_CODINGS; c++)
        f.forms[c] = (struct static_form){.bytes = "", .len = len[c], .is_there = true};
    return f;
}

static void the_smallest_that_is_liked_best_is_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum static_coding chosen;
    } cases[] = {
        {"gzip, deflate, br, zstd", STATIC_BR},
        {"gzip", STATIC_GZIP},
        {"GZIP", STATIC_GZIP},
        {"gzip;q=1.0, br;q=0.5", STATIC_GZIP},
        {"gzip; q=0.5 , br ; q=0.501", STATIC_BR},
        {"br;q=0, gzip;q=0.001", STATIC_PLAIN + STATIC_GZIP},
        {"*", STATIC_BR},
        {"*;q=0.5, br;q=0", STATIC_ZSTD},
        {"br;q=0, *;q=0.5", STATIC_ZSTD},
        {"identity, gzip;q=0.5", STATIC_PLAIN},
        {"identity;q=0.5, gzip", STATIC_GZIP},
        {"deflate", STATIC_PLAIN},
        {"gzip;q=2", STATIC_PLAIN},
        {"gzip;q=", STATIC_PLAIN},
        {"gzip;q=0.1234", STATIC_PLAIN},
        {"gzip;q=0", STATIC_PLAIN},
        {"", STATIC_PLAIN},
    };
    struct static_file f = all_forms();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(static_choose(&f, str_of(cases[i].accept)), cases[i].chosen);
    assert_int_equal(static_choose(&f, STR_NONE), STATIC_PLAIN);
}

static void what_is_not_there_is_not_chosen(void **state)
{
    (void)state;
    struct static_file f = all_forms();
    f.forms[STATIC_BR].is_there = false;
    assert_int_equal(static_choose(&f, str_of("br")), STATIC_PLAIN);
    assert_int_equal(static_choose(&f, str_of("br, gzip")), STATIC_GZIP);
}

static void a_file_is_opened_with_its_siblings(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_write(&s, "a.js", "content");
    scratch_write(&s, "a.js.gz", "gz");
    scratch_mkdir(&s, "a.js.br");
    struct static_file f, again;
    assert_int_equal(static_open(s.fd, "a.js", "text/javascript", &f, &e), 0);
    assert_true(f.forms[STATIC_PLAIN].is_there && f.forms[STATIC_GZIP].is_there);
    assert_false(f.forms[STATIC_BR].is_there || f.forms[STATIC_ZSTD].is_there);
    assert_int_equal(f.forms[STATIC_PLAIN].len, 7);
    assert_int_equal(strlen(f.tag), 16);
    assert_int_equal(static_embed("content", 7, "text/javascript", &again, &e), 0);
    assert_string_equal(again.tag, f.tag);
    static_close(&f);
    static_close(&again);
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    struct static_file f;
    assert_int_equal(static_open(s.fd, "a", "text/plain", &f, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_is_liked_best_is_chosen),
        cmocka_unit_test(what_is_not_there_is_not_chosen),
        cmocka_unit_test(a_file_is_opened_with_its_siblings),
        cmocka_unit_test(a_missing_file_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
