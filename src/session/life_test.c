#include "session/life.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

static enum life after(enum life life, enum life_event event)
{
    struct err e = {0};
    int stepped = life_step(&life, event, &e);
    assert_true(stepped == 0 ? e.code == ERR_NONE : e.code != ERR_NONE);
    return stepped == 0 ? life : LIFE_COUNT;
}

/* The picture in life.h, written a second time. */
static enum life expected(enum life life, enum life_event event)
{
    bool has_kernel = life == LIFE_IDLE || life == LIFE_BUSY || life == LIFE_RESTING;
    switch (event) {
    case LIFE_RISE: return life == LIFE_EMPTY || life == LIFE_ASLEEP ? LIFE_RISING : LIFE_COUNT;
    case LIFE_UP: return life == LIFE_RISING ? LIFE_IDLE : LIFE_COUNT;
    case LIFE_BEGIN: return life == LIFE_IDLE ? LIFE_BUSY : LIFE_COUNT;
    case LIFE_END: return life == LIFE_BUSY ? LIFE_IDLE : LIFE_COUNT;
    case LIFE_REST: return life == LIFE_IDLE ? LIFE_RESTING : LIFE_COUNT;
    case LIFE_STAY: return life == LIFE_RESTING ? LIFE_IDLE : LIFE_COUNT;
    case LIFE_SLEPT: return life == LIFE_RESTING || life == LIFE_RISING ? LIFE_ASLEEP : LIFE_COUNT;
    case LIFE_LOST: return has_kernel || life == LIFE_RISING ? LIFE_EMPTY : LIFE_COUNT;
    case LIFE_RESET:
        return life == LIFE_EMPTY || life == LIFE_IDLE || life == LIFE_ASLEEP ? LIFE_EMPTY
                                                                              : LIFE_COUNT;
    case LIFE_CLOSE:
        return life == LIFE_EMPTY || life == LIFE_IDLE || life == LIFE_ASLEEP ? LIFE_GONE
                                                                              : LIFE_COUNT;
    case LIFE_BACK:
        return life == LIFE_EMPTY || life == LIFE_IDLE || life == LIFE_ASLEEP ? LIFE_ASLEEP
                                                                              : LIFE_COUNT;
    case LIFE_EVENTS: break;
    }
    return LIFE_COUNT;
}

static void every_state_and_every_event(void **state)
{
    (void)state;
    for (int life = 0; life < LIFE_COUNT; life++)
        for (int event = 0; event < LIFE_EVENTS; event++)
            assert_int_equal(after((enum life)life, (enum life_event)event),
                             expected((enum life)life, (enum life_event)event));
}

static void nothing_comes_back_from_gone_and_that_is_not_found(void **state)
{
    (void)state;
    for (int event = 0; event < LIFE_EVENTS; event++) {
        enum life life = LIFE_GONE;
        struct err e = {0};
        assert_int_equal(life_step(&life, (enum life_event)event, &e), -1);
        assert_int_equal(e.code, ERR_NOT_FOUND);
    }
}

static void it_never_has_a_kernel_and_a_file_that_counts(void **state)
{
    (void)state;
    for (int life = 0; life < LIFE_COUNT; life++) {
        assert_false(life_has_kernel((enum life)life) && life_has_file((enum life)life));
        assert_non_null(life_name((enum life)life));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_and_every_event),
        cmocka_unit_test(nothing_comes_back_from_gone_and_that_is_not_found),
        cmocka_unit_test(it_never_has_a_kernel_and_a_file_that_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
