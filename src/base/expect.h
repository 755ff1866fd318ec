/* expect.h -- for tests with cmocka: a call that has to work, and one that has to fail.
 *
 *     OK(meta_key_get(m, "key_1", &row, e));
 *     FAILS(ERR_NOT_FOUND, meta_key_get(m, "key_x", &row, e));
 *
 * The `e` in the call is made by the macro; a failure prints what it says.
 */
#ifndef BASE_EXPECT_H
#define BASE_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

#define OK(call)                                                       \
    do {                                                               \
        struct err expect_err = {0};                                   \
        struct err *e = &expect_err;                                   \
        if ((call) != 0)                                               \
            fail_msg("%s: %s: %s", #call, err_wire(e->code), e->text); \
    } while (0)

#define FAILS(wanted, call)                                            \
    do {                                                               \
        struct err expect_err = {0};                                   \
        struct err *e = &expect_err;                                   \
        assert_int_equal((call), -1);                                  \
        if (e->code != (wanted))                                       \
            fail_msg("%s: %s: %s", #call, err_wire(e->code), e->text); \
    } while (0)

#endif
