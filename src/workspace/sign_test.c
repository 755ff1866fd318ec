#include "workspace/sign.h"

#include <string.h>

#include "base/expect.h"

enum { NOW = 1700000000 };

static const uint8_t key[SIGN_KEY_LEN] = {1, 2, 3};

static struct signed_address address(void)
{
    return (struct signed_address){.method = "GET",
                                   .workspace = "ws_1",
                                   .path = "plots/a.png",
                                   .version = 3,
                                   .flags = SIGN_INLINE,
                                   .expires_s = NOW + 60,
                                   .principal = "prn_1"};
}

static void what_was_signed_is_good_until_it_expires(void **state)
{
    (void)state;
    struct signed_address a = address();
    char signature[SIGNATURE_SIZE];
    OK(sign_make(key, &a, NOW, signature, e));
    assert_int_equal(strlen(signature), 64);
    OK(sign_check(key, &a, NOW, signature, e));
    OK(sign_check(key, &a, NOW + 59, signature, e));
    FAILS(ERR_DENIED, sign_check(key, &a, NOW + 60, signature, e));
}

static void every_part_is_signed(void **state)
{
    (void)state;
    struct signed_address a = address();
    char signature[SIGNATURE_SIZE];
    OK(sign_make(key, &a, NOW, signature, e));
    struct signed_address others[] = {a, a, a, a, a, a, a, a};
    others[0].method = "PUT";
    others[1].workspace = "ws_2";
    others[2].path = "plots/b.png";
    others[3].version = 0;
    others[4].flags = 0;
    others[5].expires_s++;
    others[6].principal = "prn_2";
    others[7].workspace = "ws_"; /* the same bytes, cut elsewhere */
    others[7].path = "1plots/a.png";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        FAILS(ERR_DENIED, sign_check(key, &others[i], NOW, signature, e));
    const uint8_t other_key[SIGN_KEY_LEN] = {1, 2, 4};
    FAILS(ERR_DENIED, sign_check(other_key, &a, NOW, signature, e));
}

static void a_signature_is_right_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    struct signed_address a = address();
    char signature[SIGNATURE_SIZE], longer[SIGNATURE_SIZE + 1] = "";
    OK(sign_make(key, &a, NOW, signature, e));
    memcpy(longer, signature, SIGNATURE_SIZE - 1);
    longer[SIGNATURE_SIZE - 1] = '0';
    FAILS(ERR_DENIED, sign_check(key, &a, NOW, longer, e));
    FAILS(ERR_DENIED, sign_check(key, &a, NOW, "", e));
    for (size_t i = 0; i < SIGNATURE_SIZE - 1; i++) {
        char was = signature[i];
        signature[i] = was == '0' ? '1' : '0';
        FAILS(ERR_DENIED, sign_check(key, &a, NOW, signature, e));
        signature[i] = was;
    }
    signature[SIGNATURE_SIZE - 2] = '\0';
    FAILS(ERR_DENIED, sign_check(key, &a, NOW, signature, e));
}

static void seven_days_are_the_longest(void **state)
{
    (void)state;
    struct signed_address a = address();
    char signature[SIGNATURE_SIZE];
    a.expires_s = NOW + SIGN_EXPIRES_MAX_S;
    OK(sign_make(key, &a, NOW, signature, e));
    a.expires_s++;
    FAILS(ERR_INVALID, sign_make(key, &a, NOW, signature, e));
    a.expires_s = NOW;
    FAILS(ERR_INVALID, sign_make(key, &a, NOW, signature, e));
}

static void a_path_that_is_far_too_long_is_not_signed_and_not_believed(void **state)
{
    (void)state;
    char path[9000];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    struct signed_address a = address();
    a.path = path;
    char signature[SIGNATURE_SIZE];
    FAILS(ERR_LIMIT, sign_make(key, &a, NOW, signature, e));
    FAILS(ERR_DENIED, sign_check(key, &a, NOW, "", e));
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(what_was_signed_is_good_until_it_expires),
        cmocka_unit_test(every_part_is_signed),
        cmocka_unit_test(a_signature_is_right_as_a_whole_or_not_at_all),
        cmocka_unit_test(seven_days_are_the_longest),
        cmocka_unit_test(a_path_that_is_far_too_long_is_not_signed_and_not_believed),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
