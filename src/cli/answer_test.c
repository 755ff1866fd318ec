#include "cli/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cli/exit.h"

static int refusal(long status, const char *body, char hint[ANSWER_HINT_SIZE], struct err *e)
{
    return answer_refusal(status, body, strlen(body), hint, e);
}

static void the_servers_own_words_are_kept(void **state)
{
    struct err e = {0};
    char hint[ANSWER_HINT_SIZE];
    (void)state;
    assert_int_equal(refusal(409,
                             "{\"error\":{\"code\":\"busy\",\"message\":\"a run is going on\","
                             "\"hint\":\"wait\",\"request_id\":\"req_1\"}}",
                             hint, &e),
                     -1);
    assert_int_equal(e.code, ERR_BUSY);
    assert_string_equal(e.text, "a run is going on");
    assert_string_equal(hint, "wait");
}

static void a_code_nobody_knows_is_read_from_the_status(void **state)
{
    static const struct {
        long status;
        enum err_code code;
    } cases[] = {{400, ERR_INVALID},     {401, ERR_UNAUTHORIZED}, {403, ERR_DENIED},
                 {404, ERR_NOT_FOUND},   {409, ERR_CONFLICT},     {413, ERR_TOO_LARGE},
                 {418, ERR_INVALID},     {429, ERR_LIMIT},        {500, ERR_INTERNAL},
                 {502, ERR_UNAVAILABLE}, {503, ERR_UNAVAILABLE},  {200, ERR_PROTOCOL},
                 {301, ERR_PROTOCOL}};
    char hint[ANSWER_HINT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        assert_int_equal(refusal(cases[i].status,
                                 "{\"error\":{\"code\":\"brand_new\",\"message\":\"m\"}}", hint,
                                 &e),
                         -1);
        assert_int_equal(e.code, cases[i].code);
        assert_string_equal(e.text, "m");
    }
}

static void an_answer_that_is_no_json_says_at_least_its_status(void **state)
{
    static const char *const bodies[] = {"", "<html>Bad Gateway</html>", "[]", "{\"error\":7}",
                                         "{\"error\":{\"message\":7}}"};
    char hint[ANSWER_HINT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct err e = {0};
        assert_int_equal(refusal(502, bodies[i], hint, &e), -1);
        assert_string_equal(e.text, "the server answered with status 502 and did not say why");
    }
}

static void a_missing_key_has_a_hint_of_ours(void **state)
{
    struct err e = {0};
    char hint[ANSWER_HINT_SIZE];
    (void)state;
    assert_int_equal(refusal(401, "", hint, &e), -1);
    assert_non_null(strstr(hint, "CICADA_API_KEY"));
}

static void retry_after_is_seconds_or_one(void **state)
{
    (void)state;
    assert_int_equal(answer_retry_s("7"), 7);
    assert_int_equal(answer_retry_s("0"), 1);
    assert_int_equal(answer_retry_s(""), 1);
    assert_int_equal(answer_retry_s("Wed, 21 Oct 2026 07:28:00 GMT"), 1);
    assert_int_equal(answer_retry_s("999999"), 1);
}

static void exit_codes_tell_keys_words_and_servers_apart(void **state)
{
    static const struct {
        enum err_code code;
        int exit_code;
    } cases[] = {{ERR_UNAUTHORIZED, EXIT_DENIED}, {ERR_DENIED, EXIT_DENIED},
                 {ERR_INVALID, EXIT_USAGE},       {ERR_NOT_FOUND, EXIT_USAGE},
                 {ERR_TOO_LARGE, EXIT_USAGE},     {ERR_MISMATCH, EXIT_USAGE},
                 {ERR_GONE, EXIT_CANCELLED},      {ERR_UNAVAILABLE, EXIT_NO_JAIL},
                 {ERR_BUSY, EXIT_NO_JAIL},        {ERR_LIMIT, EXIT_NO_JAIL},
                 {ERR_OVERLOADED, EXIT_NO_JAIL},  {ERR_PROTOCOL, EXIT_NO_JAIL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(answer_exit_code(&(struct err){.code = cases[i].code}),
                         cases[i].exit_code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_own_words_are_kept),
        cmocka_unit_test(a_code_nobody_knows_is_read_from_the_status),
        cmocka_unit_test(an_answer_that_is_no_json_says_at_least_its_status),
        cmocka_unit_test(a_missing_key_has_a_hint_of_ours),
        cmocka_unit_test(retry_after_is_seconds_or_one),
        cmocka_unit_test(exit_codes_tell_keys_words_and_servers_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
