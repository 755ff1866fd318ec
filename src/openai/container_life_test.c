/* What containers may be made with, and when they have expired. */
#include "openai/container_life.h"

#include <jansson.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"

static json_t *parse(const char *text)
{
    json_t *v = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(!text || v);
    return v;
}

static int plan(const char *memory, const char *after, const char *policy, int64_t max_mb,
                struct container_plan *ret, const char **ret_param)
{
    scoped(json_decrefp) json_t *m = parse(memory), *a = parse(after), *p = parse(policy);
    struct err e = {0};
    int failed = container_plan(m, a, p, max_mb, ret, ret_param, &e);
    if (failed)
        assert_int_equal(e.code, ERR_INVALID);
    return failed;
}

static void what_is_left_out_has_its_presets(void **state)
{
    (void)state;
    struct container_plan p;
    const char *param;
    assert_int_equal(plan(NULL, NULL, NULL, 0, &p, &param), 0);
    assert_string_equal(p.memory_limit, "1g");
    assert_int_equal(p.memory_mb, 1024);
    assert_int_equal(p.minutes, 20);
    assert_int_equal(plan("null", "null", "null", 0, &p, &param), 0);
    assert_int_equal(p.memory_mb, 1024);
}

static void memory_is_what_was_asked_for_and_not_more_than_there_is(void **state)
{
    (void)state;
    struct container_plan p;
    const char *param;
    assert_int_equal(plan("\"64g\"", NULL, NULL, 0, &p, &param), 0);
    assert_int_equal(p.memory_mb, 65536);
    assert_int_equal(plan("\"64g\"", NULL, NULL, 2048, &p, &param), 0);
    assert_string_equal(p.memory_limit, "64g");
    assert_int_equal(p.memory_mb, 2048);
    assert_int_equal(plan("\"1g\"", NULL, NULL, 2048, &p, &param), 0);
    assert_int_equal(p.memory_mb, 1024);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *memory, *after, *policy, *param;
    } bad[] = {
        {"\"2g\"", NULL, NULL, "memory_limit"},
        {"1", NULL, NULL, "memory_limit"},
        {NULL, "[]", NULL, "expires_after"},
        {NULL, "{\"anchor\":\"created_at\",\"minutes\":1}", NULL, "expires_after.anchor"},
        {NULL, "{\"minutes\":1}", NULL, "expires_after.anchor"},
        {NULL, "{\"anchor\":\"last_active_at\"}", NULL, "expires_after.minutes"},
        {NULL, "{\"anchor\":\"last_active_at\",\"minutes\":0}", NULL, "expires_after.minutes"},
        {NULL, "{\"anchor\":\"last_active_at\",\"minutes\":1.5}", NULL, "expires_after.minutes"},
        {NULL, "{\"anchor\":\"last_active_at\",\"minutes\":99999999}", NULL,
         "expires_after.minutes"},
        {NULL, NULL, "{\"type\":\"allowlist\",\"allowed_domains\":[\"x\"]}", "network_policy.type"},
        {NULL, NULL, "{}", "network_policy.type"},
        {NULL, NULL, "\"disabled\"", "network_policy.type"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct container_plan p;
        const char *param = NULL;
        assert_int_equal(plan(bad[i].memory, bad[i].after, bad[i].policy, 0, &p, &param), -1);
        assert_string_equal(param, bad[i].param);
    }
}

static void
it_expires_that_many_minutes_after_its_last_use_and_only_where_that_is_wished(void **state)
{
    (void)state;
    const int64_t used = 1700000000000000, minute = 60 * 1000000;
    assert_false(container_has_expired(used, 20, true, used));
    assert_false(container_has_expired(used, 20, true, used + 20 * minute - 1));
    assert_true(container_has_expired(used, 20, true, used + 20 * minute));
    assert_true(container_has_expired(used, 1, true, used + minute));
    assert_false(container_has_expired(used, 20, false, used + 20 * minute));
    assert_false(container_has_expired(used, 1, false, used + 1000000 * minute));
    assert_false(container_has_expired(used, 1, true, used - minute)); /* the clock was set back */
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(what_is_left_out_has_its_presets),
        cmocka_unit_test(memory_is_what_was_asked_for_and_not_more_than_there_is),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(
            it_expires_that_many_minutes_after_its_last_use_and_only_where_that_is_wished),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
