#include "spawn/reserve.h"

#include "base/clock.h"
#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"

#define MB ((uint64_t)1 << 20)

/* A disk with a reserve of 512 MB and 32768 inodes of which so much is gone. */
static struct disk disk_without(uint64_t bytes, uint64_t inodes)
{
    struct disk_room room = {.kept_bytes = 512 * MB, .kept_inodes = 32768};
    room.free_bytes = room.kept_bytes - bytes;
    room.free_inodes = room.kept_inodes - inodes;
    room.bytes = bytes > 0 ? 0 : MB;
    room.inodes = inodes > 0 ? 0 : 1000;
    return (struct disk){.room = room};
}

static enum reserve_verdict judge(struct disk d, uint64_t bytes, uint64_t files)
{
    const struct usage_total mark = {.bytes = 10 * MB, .files = 10};
    const struct usage_total now = {.bytes = 10 * MB + bytes, .files = 10 + files};
    return reserve_judge(&d, &mark, &now);
}

static void who_grew_into_the_reserve_is_found_by_how_far(void **state)
{
    (void)state;
    assert_int_equal(RESERVE_FINE, judge(disk_without(100 * MB, 0), 0, 0));
    assert_int_equal(RESERVE_FINE, judge(disk_without(100 * MB, 0), 2 * MB, 0));
    assert_int_equal(RESERVE_OVER, judge(disk_without(100 * MB, 0), 3 * MB, 0));
    assert_int_equal(RESERVE_OVER, judge(disk_without(100 * MB, 0), 70 * MB, 0));
    assert_int_equal(RESERVE_FAR_OVER, judge(disk_without(100 * MB, 0), 90 * MB, 0));
}

static void what_it_wrote_while_there_was_room_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(RESERVE_FINE, judge(disk_without(MB, 0), 200 * MB, 0));
    assert_int_equal(RESERVE_OVER, judge(disk_without(8 * MB, 0), 200 * MB, 0));
}

static void what_shrank_is_fine(void **state)
{
    (void)state;
    struct disk d = disk_without(300 * MB, 0);
    const struct usage_total mark = {.bytes = 10 * MB, .files = 10}, now = {.bytes = MB};
    assert_int_equal(RESERVE_FINE, reserve_judge(&d, &mark, &now));
}

static void below_the_middle_nothing_is_little(void **state)
{
    (void)state;
    assert_int_equal(RESERVE_FINE, judge(disk_without(300 * MB, 0), 0, 5));
    assert_int_equal(RESERVE_OVER, judge(disk_without(300 * MB, 0), 1, 0));
    assert_int_equal(RESERVE_OVER, judge(disk_without(300 * MB, 0), 3 * MB, 0));
    assert_int_equal(RESERVE_FAR_OVER, judge(disk_without(300 * MB, 0), 4 * MB, 0));
}

static void only_what_has_run_out_counts(void **state)
{
    (void)state;
    assert_int_equal(RESERVE_FINE, judge(disk_without(100 * MB, 0), 0, 10000));
    assert_int_equal(RESERVE_FINE, judge(disk_without(0, 10000), 100 * MB, 0));
    assert_int_equal(RESERVE_OVER, judge(disk_without(0, 10000), 0, 1000));
    assert_int_equal(RESERVE_FAR_OVER, judge(disk_without(0, 10000), 0, 9000));
}

static void jails_on_one_disk_share_the_look_at_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), t = scratch_new();
    struct reserve r = {.bytes = 1};
    struct disk *d = reserve_join(&r, s.fd);
    assert_non_null(d);
    assert_ptr_equal(d, reserve_join(&r, t.fd));
    int64_t next_us = reserve_look(&r, clock_us());
    assert_true(next_us > clock_us() && next_us < clock_us() + 100000);
    assert_false(reserve_is_reached(d));
    assert_int_equal(0, d->alarms);
    reserve_leave(d);
    reserve_leave(d);
    assert_true(reserve_look(&r, clock_us()) == CLOCK_NEVER);
}

static void an_old_mark_says_nothing_of_a_disk_that_has_become_full(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct reserve r = {.bytes = 1};
    struct disk *d = reserve_join(&r, s.fd);
    int64_t now_us = clock_us();
    (void)reserve_look(&r, now_us);
    assert_true(reserve_mark_is_good(d, 0));
    d->room.kept_bytes = UINT64_MAX / 2;
    (void)reserve_look(&r, now_us + 10000000);
    assert_false(reserve_mark_is_good(d, now_us));
    assert_true(reserve_mark_is_good(d, now_us + 9900000));
    (void)reserve_look(&r, now_us + 20000000); /* it is full since then, still */
    assert_true(reserve_mark_is_good(d, now_us + 9900000));
    d->room.kept_bytes = 1;
    (void)reserve_look(&r, now_us + 30000000);
    assert_true(reserve_mark_is_good(d, now_us));
    reserve_leave(d);
}

static void without_a_reserve_nothing_is_watched(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct reserve r = {0};
    assert_null(reserve_join(&r, s.fd));
    assert_true(reserve_look(&r, clock_us()) == CLOCK_NEVER);
    reserve_leave(NULL);
}

static void an_alarm_is_given_once_for_each_loss(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct reserve r = {.bytes = UINT64_MAX / 2};
    struct disk *d = reserve_join(&r, s.fd);
    (void)reserve_look(&r, clock_us());
    assert_int_equal(1, d->alarms);
    assert_true(reserve_is_reached(d));
    (void)reserve_look(&r, clock_us() + 1000000);
    assert_int_equal(1, d->alarms); /* what others write meanwhile is less than a 512th of that */
    d->alarmed_bytes = UINT64_MAX - 1;
    (void)reserve_look(&r, clock_us() + 2000000);
    assert_int_equal(2, d->alarms);
    reserve_leave(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_grew_into_the_reserve_is_found_by_how_far),
        cmocka_unit_test(what_it_wrote_while_there_was_room_does_not_count),
        cmocka_unit_test(what_shrank_is_fine),
        cmocka_unit_test(below_the_middle_nothing_is_little),
        cmocka_unit_test(only_what_has_run_out_counts),
        cmocka_unit_test(jails_on_one_disk_share_the_look_at_it),
        cmocka_unit_test(an_old_mark_says_nothing_of_a_disk_that_has_become_full),
        cmocka_unit_test(without_a_reserve_nothing_is_watched),
        cmocka_unit_test(an_alarm_is_given_once_for_each_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
