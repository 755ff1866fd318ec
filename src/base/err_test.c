/* What err.h promises, one function per sentence of it. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_is_set_once_with_code_and_text(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(&e, ERR_CONFLICT, "%s is busy with run %d", "ses_7", 3), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_string_equal(e.text, "ses_7 is busy with run 3");
}

static void a_failed_system_call_brings_its_message(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_sys(&e, ENOENT, "open %s", "meta.db"), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.text, "open meta.db: No such file or directory");
}

static void each_errno_has_the_code_callers_branch_on(void **state)
{
    (void)state;
    static const struct {
        int errnum;
        enum err_code code;
    } rows[] = {
        {ENOENT, ERR_NOT_FOUND}, {EACCES, ERR_DENIED},  {EPERM, ERR_DENIED},
        {EEXIST, ERR_CONFLICT},  {EBUSY, ERR_CONFLICT}, {ENOSPC, ERR_NO_SPACE},
        {EDQUOT, ERR_NO_SPACE},  {EMFILE, ERR_LIMIT},   {ENOMEM, ERR_NO_MEMORY},
        {EINVAL, ERR_INVALID},   {EPIPE, ERR_INTERNAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        err_sys(&e, rows[i].errnum, "call");
        assert_int_equal(e.code, rows[i].code);
    }
}

static void an_errno_nobody_knows_is_still_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    err_sys(&e, 99999, "call");
    assert_int_equal(e.code, ERR_INTERNAL);
    assert_string_equal(e.text, "call: unknown errno");
}

static void wrapping_puts_context_in_front_and_keeps_the_code(void **state)
{
    (void)state;
    struct err e = {0};
    err_sys(&e, ENOENT, "open %s", "meta.db");
    assert_int_equal(err_wrap(&e, "load session %s", "ses_7"), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.text, "load session ses_7: open meta.db: No such file or directory");
}

static void a_text_too_long_is_cut_and_stays_a_string(void **state)
{
    (void)state;
    struct err e = {0};
    char longer[2 * sizeof e.text];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';

    err_set(&e, ERR_INTERNAL, "%s", longer);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    err_sys(&e, EPERM, "%s", longer);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
    err_wrap(&e, "%s", longer);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void when_both_do_not_fit_the_cause_is_what_gets_cut(void **state)
{
    (void)state;
    struct err e = {0};
    char cause[sizeof e.text];
    memset(cause, 'c', sizeof cause);
    cause[sizeof cause - 1] = '\0';

    err_set(&e, ERR_INTERNAL, "%s", cause);
    err_wrap(&e, "outer words");
    assert_int_equal(strncmp(e.text, "outer words: ccc", 16), 0);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void a_wrap_that_leaves_no_room_for_the_separator_is_still_a_string(void **state)
{
    (void)state;
    for (size_t room = 0; room < 4; room++) {
        struct err e = {0};
        char outer[sizeof e.text];
        memset(outer, 'o', sizeof outer);
        outer[sizeof outer - 1 - room] = '\0';
        err_set(&e, ERR_INTERNAL, "cause");
        err_wrap(&e, "%s", outer);
        assert_int_equal(strlen(e.text), sizeof e.text - 1);
        assert_memory_equal(e.text, outer, strlen(outer));
    }
}

static void no_two_codes_share_a_wire_name(void **state)
{
    (void)state;
    for (int a = 0; a < ERR_COUNT; a++) {
        assert_non_null(err_wire((enum err_code)a));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(err_wire((enum err_code)a), err_wire((enum err_code)b));
    }
}

static void every_failure_has_an_http_status_that_says_failure(void **state)
{
    (void)state;
    assert_int_equal(err_http(ERR_NONE), 200);
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++)
        assert_in_range(err_http((enum err_code)code), 400, 599);
}

/* Clients match on these: a change here breaks them. */
static void the_codes_clients_know_stay_what_they_are(void **state)
{
    (void)state;
    assert_int_equal(ERR_NOT_FOUND, 3);
    assert_string_equal(err_wire(ERR_NOT_FOUND), "not_found");
    assert_int_equal(err_http(ERR_NOT_FOUND), 404);
    assert_string_equal(err_wire(ERR_LIMIT), "limit_exceeded");
    assert_int_equal(err_http(ERR_LIMIT), 429);
    assert_string_equal(err_wire(ERR_INTERNAL), "internal_error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_set_once_with_code_and_text),
        cmocka_unit_test(a_failed_system_call_brings_its_message),
        cmocka_unit_test(each_errno_has_the_code_callers_branch_on),
        cmocka_unit_test(an_errno_nobody_knows_is_still_an_error),
        cmocka_unit_test(wrapping_puts_context_in_front_and_keeps_the_code),
        cmocka_unit_test(a_text_too_long_is_cut_and_stays_a_string),
        cmocka_unit_test(when_both_do_not_fit_the_cause_is_what_gets_cut),
        cmocka_unit_test(a_wrap_that_leaves_no_room_for_the_separator_is_still_a_string),
        cmocka_unit_test(no_two_codes_share_a_wire_name),
        cmocka_unit_test(every_failure_has_an_http_status_that_says_failure),
        cmocka_unit_test(the_codes_clients_know_stay_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
