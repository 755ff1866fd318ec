#include "api/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

/* clang-format off */
static const struct {
    const char *topic, *text;
    int is_fine;
} replies[] = {
    {"complete",  "{\"matches\":[\"a\"],\"cursor_start\":0,\"cursor_end\":1}",            1},
    {"complete",  "{\"matches\":[],\"cursor_start\":0,\"cursor_end\":1,\"more\":[1]}",    1},
    {"complete",  "{\"matches\":[1],\"cursor_start\":0,\"cursor_end\":1}",                0},
    {"complete",  "{\"matches\":{},\"cursor_start\":0,\"cursor_end\":1}",                 0},
    {"complete",  "{\"matches\":[],\"cursor_start\":0.5,\"cursor_end\":1}",               0},
    {"complete",  "{\"matches\":[],\"cursor_start\":0}",                                  0},
    {"complete",  "{\"error\":\"the question failed\"}",                                  0},
    {"complete",  "[]",                                                                   0},
    {"complete",  "not JSON",                                                             0},
    {"complete",  "",                                                                     0},
    {"inspect",   "{\"found\":false}",                                                    1},
    {"inspect",   "{\"found\":true,\"name\":\"x\",\"signature\":null,\"doc\":\"\"}",      1},
    {"inspect",   "{\"found\":\"no\"}",                                                   0},
    {"inspect",   "{\"found\":true,\"doc\":null}",                                        0},
    {"variables", "{\"variables\":[],\"count\":0}",                                       1},
    {"variables", "{\"variables\":[{\"name\":\"x\",\"type\":\"int\",\"repr\":\"1\","
                  "\"shape\":[2,3],\"len\":null}],\"count\":1}",                          1},
    {"variables", "{\"variables\":[[]],\"count\":1}",                                     0},
    {"variables", "{\"variables\":[{\"name\":\"x\",\"type\":\"int\"}],\"count\":1}",      0},
    {"variables", "{\"variables\":[{\"name\":\"x\",\"type\":\"int\",\"repr\":\"1\","
                  "\"shape\":[\"2\"]}],\"count\":1}",                                     0},
};
/* clang-format on */

static void only_what_has_the_promised_shape_is_passed_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        struct err e = {0};
        int failed = reply_check(replies[i].topic, replies[i].text, &e);
        assert_int_equal(failed, replies[i].is_fine ? 0 : -1);
        assert_int_equal(e.code, replies[i].is_fine ? ERR_NONE : ERR_CONFLICT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_has_the_promised_shape_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
