/* The auditor makes checkpoints in time, and tells of strangers seldom. */
#include "workspace/auditor.h"

#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/meta_fixture.h"
#include "store/store.h"
#include "workspace/bell.h"

static struct bell bell = BELL_INIT;
static struct log quiet;

static void on_commit(void *arg)
{
    bell_ring(arg);
}

struct fixture {
    struct scratch scratch;
    struct store *store;
    struct auditor *auditor;
};

static void open_all(struct fixture *f)
{
    const struct store_options so = {.dir = f->scratch.path, .on_commit = on_commit, .arg = &bell};
    OK(store_open(&so, &f->store, e));
    const struct auditor_options ao = {
        .meta = store_meta(f->store), .bell = &bell, .log = &quiet, .data_fd = f->scratch.fd};
    OK(auditor_open(&ao, &f->auditor, e));
}

static void close_all(struct fixture *f)
{
    auditor_close(f->auditor);
    store_close(f->store);
}

static void post(struct fixture *f, int count)
{
    const struct audit_entry a = {.at_us = 1, .event = "getFile", .is_read = true};
    for (int i = 0; i < count; i++)
        OK(audit_post(auditor_meta(f->auditor), &a, e));
}

static uint64_t sealed(struct fixture *f)
{
    uint64_t seq;
    OK(audit_sealed(auditor_meta(f->auditor), &seq, e));
    return seq;
}

static void a_thousand_entries_have_a_checkpoint_soon(void **state)
{
    (void)state;
    struct fixture f = {.scratch = scratch_new_fast()};
    log_init(&quiet, -1, LOG_TEXT, LOG_ERROR);
    open_all(&f);
    post(&f, AUDIT_SEAL_ROWS - 1);
    struct audit_rows l;
    OK(auditor_list(f.auditor, &(struct audit_filter){.limit = 1}, &l, e));
    audit_rows_done(&l); /* all are there */
    assert_int_equal(sealed(&f), 0);
    post(&f, 1);
    int64_t until_us = clock_us() + 10000000;
    while (sealed(&f) == 0 && clock_us() < until_us)
        (void)usleep(2000);
    assert_int_equal(sealed(&f), AUDIT_SEAL_ROWS);
    close_all(&f);
    scratch_done(&f.scratch);
}

static void the_head_is_sealed_when_it_is_asked_for_and_at_the_end(void **state)
{
    (void)state;
    struct fixture f = {.scratch = scratch_new_fast()};
    struct audit_checkpoint k;
    struct audit_verdict v;
    open_all(&f);
    FAILS(ERR_NOT_FOUND, auditor_head(f.auditor, &k, e));
    post(&f, 3);
    OK(auditor_head(f.auditor, &k, e));
    assert_int_equal(k.seq, 3);
    post(&f, 2);
    close_all(&f);
    open_all(&f);
    assert_int_equal(sealed(&f), 5);
    OK(auditor_verify(f.auditor, &k, &v, e));
    assert_true(v.is_intact);
    assert_int_equal(v.entries, 5);
    k.hash[0] ^= 1;
    OK(auditor_verify(f.auditor, &k, &v, e));
    assert_false(v.is_intact);
    assert_int_equal(v.bad_seq, 3);
    close_all(&f);
    scratch_done(&f.scratch);
}

static void strangers_are_told_of_up_to_a_limit_and_then_counted(void **state)
{
    (void)state;
    struct fixture f = {.scratch = scratch_new_fast()};
    open_all(&f);
    uint64_t left_out;
    for (int i = 0; i < AUDITOR_STRANGERS_MAX; i++) {
        assert_true(auditor_tells_of_stranger(f.auditor, &left_out));
        assert_int_equal(left_out, 0);
    }
    assert_false(auditor_tells_of_stranger(f.auditor, &left_out));
    assert_false(auditor_tells_of_stranger(f.auditor, &left_out));
    assert_int_equal(left_out, 1);
    close_all(&f);
    scratch_done(&f.scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_entries_have_a_checkpoint_soon),
        cmocka_unit_test(the_head_is_sealed_when_it_is_asked_for_and_at_the_end),
        cmocka_unit_test(strangers_are_told_of_up_to_a_limit_and_then_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
