/* What goes along with a job: db.h. */
#include <stdlib.h>

#include "base/scope.h"
#include "base/scratch.h"
#include "store/db_fixture.h"

/* A rider that writes a row of its own, or fails. */
struct passenger {
    int64_t k;
    bool is_failing;
    _Atomic int runs, dones;
};

static int ride(struct db_conn *c, void *arg, struct err *e)
{
    struct passenger *p = arg;
    atomic_fetch_add(&p->runs, 1);
    struct row r = {.k = p->k};
    if (put(c, &r, e))
        return -1;
    return p->is_failing ? err_set(e, ERR_LIMIT, "no room on the bus") : 0;
}

static void get_off(void *arg)
{
    struct passenger *p = arg;
    atomic_fetch_add(&p->dones, 1);
}

#define RIDER(passenger)                                 \
    {                                                    \
        .run = ride, .arg = (passenger), .done = get_off \
    }

static void a_rider_is_taken_once_by_the_first_that_is_handed_in(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger p = {.k = 100};
    struct db_rider rider = RIDER(&p);
    assert_null(db_rider_set(&rider));
    struct row r[3] = {{.k = 1}, {.k = 2}, {.k = 3}};
    OK(db_settle(db, e)); /* nothing is handed in by it */
    assert_false(rider.is_taken);
    for (int i = 0; i < 3; i++)
        OK(db_write(db, put, &r[i], e));
    assert_ptr_equal(db_rider_set(NULL), &rider);
    assert_true(rider.is_taken);
    assert_false(rider.is_posted);
    assert_int_equal(p.runs, 1);
    assert_int_equal(rows(db), 4);
    db_close(db);
    assert_int_equal(p.dones, 0); /* its owner is there */
}

static void a_rider_whose_job_fails_is_undone_and_waits_for_the_next(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger p = {.k = 100};
    struct db_rider rider = RIDER(&p);
    (void)db_rider_set(&rider);
    struct row r[2] = {{.k = 1}, {.k = 2}};
    FAILS(ERR_DENIED, db_write(db, put_and_fail, &r[0], e));
    assert_false(rider.is_taken);
    assert_int_equal(p.runs, 0);
    assert_int_equal(rows(db), 0);
    OK(db_write(db, put, &r[1], e));
    (void)db_rider_set(NULL);
    assert_true(rider.is_taken);
    assert_int_equal(rows(db), 2);
    db_close(db);
}

static void a_rider_that_fails_undoes_its_job(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger p = {.k = 100, .is_failing = true};
    struct db_rider rider = RIDER(&p);
    struct row r[2] = {{.k = 1}, {.k = 2}};
    OK(db_post(db, put, &r[0], NULL, e)); /* of the same group, before */
    (void)db_rider_set(&rider);
    FAILS(ERR_LIMIT, db_write(db, put, &r[1], e));
    (void)db_rider_set(NULL);
    assert_false(rider.is_taken);
    assert_int_equal(p.runs, 1);
    assert_int_equal(rows(db), 1);
    db_close(db);
}

static void a_posted_one_is_told_when_it_is_over(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger good = {.k = 100}, bad = {.k = 101, .is_failing = true};
    struct db_rider riders[2] = {RIDER(&good), RIDER(&bad)};
    struct row r[3] = {{.k = 1}, {.k = 2}, {.k = 3}};
    atomic_store(&losses, 0);
    for (int i = 0; i < 2; i++) {
        (void)db_rider_set(&riders[i]);
        OK(db_post(db, put, &r[i], NULL, e));
        (void)db_rider_set(NULL);
        assert_true(riders[i].is_taken && riders[i].is_posted);
    }
    db_close(db);
    assert_int_equal(good.dones, 1);
    assert_int_equal(bad.dones, 1);
    assert_int_equal(losses, 1);
    db = open_db(s.path);
    assert_int_equal(rows(db), 2);
    db_close(db);
}

static void riders_nest(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger outer = {.k = 100}, inner = {.k = 101};
    struct db_rider out = RIDER(&outer), in = RIDER(&inner);
    struct row r[2] = {{.k = 1}, {.k = 2}};
    (void)db_rider_set(&out);
    struct db_rider *before = db_rider_set(&in);
    assert_ptr_equal(before, &out);
    OK(db_write(db, put, &r[0], e));
    assert_ptr_equal(db_rider_set(before), &in);
    assert_true(in.is_taken);
    assert_false(out.is_taken);
    OK(db_write(db, put, &r[1], e));
    (void)db_rider_set(NULL);
    assert_true(out.is_taken);
    assert_int_equal(outer.runs, 1);
    assert_int_equal(inner.runs, 1);
    db_close(db);
}

static void a_note_takes_none(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger p = {.k = 100};
    struct db_rider rider = RIDER(&p);
    struct row r = {.k = 1};
    (void)db_rider_set(&rider);
    OK(db_note(db, put, &r, NULL, e));
    OK(db_settle(db, e));
    (void)db_rider_set(NULL);
    assert_false(rider.is_taken);
    assert_int_equal(rows(db), 1);
    db_close(db);
    assert_int_equal(p.runs + p.dones, 0);
}

static int fill(struct db_conn *c, void *arg, struct err *e)
{
    struct passenger *p = db_rider_arg(c);
    if (p)
        p->k = 555;
    return put(c, arg, e);
}

static void a_job_reaches_its_own_rider_and_no_other(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct db *db = open_db(s.path);
    struct passenger p = {.k = 100};
    struct db_rider rider = RIDER(&p);
    struct row r[2] = {{.k = 1}, {.k = 2}};
    OK(db_write(db, fill, &r[0], e));
    (void)db_rider_set(&rider);
    OK(db_write(db, fill, &r[1], e));
    (void)db_rider_set(NULL);
    assert_int_equal(number(db, "SELECT count(*) FROM t WHERE k = 555"), 1);
    assert_int_equal(rows(db), 3);
    db_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rider_is_taken_once_by_the_first_that_is_handed_in),
        cmocka_unit_test(a_rider_whose_job_fails_is_undone_and_waits_for_the_next),
        cmocka_unit_test(a_rider_that_fails_undoes_its_job),
        cmocka_unit_test(a_posted_one_is_told_when_it_is_over),
        cmocka_unit_test(riders_nest),
        cmocka_unit_test(a_note_takes_none),
        cmocka_unit_test(a_job_reaches_its_own_rider_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
