/* meta_contract_history.h -- the part about which runs made a state: runs that follow each other, rollbacks, forks. */
#ifndef STORE_META_CONTRACT_HISTORY_H
#define STORE_META_CONTRACT_HISTORY_H

#include "store/meta_fixture.h"
#include "store/meta_lineage.h"

static inline void a_run_that_ended(struct meta *m, const char *session, const char *id,
                                    int64_t created_us, uint64_t number, bool is_first)
{
    struct run_row r = a_run(id, session, created_us);
    OK(meta_run_insert(m, &r, META_SOON, e));
    r.status = RUN_DONE;
    r.end = "ok";
    r.started_us = created_us + 1;
    r.number = number;
    r.is_first = is_first;
    OK(meta_run_update(m, &r, META_SOON, e));
}

/* `previous` NULL: it is not known. */
static inline void assert_history(struct meta *m, const char *id, uint64_t number,
                                  const char *previous, int64_t undone_us)
{
    struct run_row r;
    OK(meta_settle(m, e));
    OK(meta_run_code(m, id, 0, &r, e));
    assert_int_equal(r.number, number);
    assert_int_equal(r.has_previous, previous != NULL);
    assert_string_equal(r.previous, previous ? previous : "");
    assert_int_equal(r.undone_us, undone_us);
    run_row_done(&r);
}

static inline void assert_state(struct meta *m, const char *session, const char *state_run)
{
    struct session_row s;
    OK(meta_settle(m, e));
    OK(meta_session_get(m, session, &s, e));
    assert_string_equal(s.state_run, state_run);
    session_row_done(&s);
}

static inline void a_run_begins_with_the_state_of_the_one_before(void **state)
{
    (void)state;
    struct meta *m = with_session();
    a_run_that_ended(m, "ses_1", "run_1", 11, 1, true);
    a_run_that_ended(m, "ses_1", "run_0", 12, 0, false); /* called off: it never ran */
    a_run_that_ended(m, "ses_1", "run_2", 13, 2, false);
    a_run_that_ended(m, "ses_1", "run_3", 14, 3, true); /* with a new kernel */
    assert_state(m, "ses_1", "run_3");
    uint64_t number;
    OK(meta_session_number(m, "ses_1", &number, e));
    assert_int_equal(number, 3);
    OK(meta_session_emptied(m, "ses_1", e));
    assert_state(m, "ses_1", "");
    OK(meta_session_number(m, "ses_1", &number, e));
    assert_int_equal(number, 0);
    a_run_that_ended(m, "ses_1", "run_4", 15, 4, false);
    OK(meta_settle(m, e));
    m = contract_reopen(m);
    assert_history(m, "run_0", 0, NULL, 0);
    assert_history(m, "run_1", 1, "", 0);
    assert_history(m, "run_2", 2, "run_1", 0);
    assert_history(m, "run_3", 3, "", 0);
    assert_history(m, "run_4", 4, "", 0);
    contract_close(m);
}

static inline void a_rollback_marks_runs_and_goes_back_to_the_state_before(void **state)
{
    (void)state;
    struct meta *m = with_session();
    a_run_that_ended(m, "ses_1", "run_1", 11, 1, true);
    a_run_that_ended(m, "ses_1", "run_2", 12, 2, false);
    a_run_that_ended(m, "ses_1", "run_3", 13, 3, false);
    OK(meta_runs_undo(m, "ses_1", 4, 3, 99, e)); /* none */
    assert_state(m, "ses_1", "run_3");
    OK(meta_runs_undo(m, "ses_1", 3, 3, 100, e));
    assert_state(m, "ses_1", "run_2");
    a_run_that_ended(m, "ses_1", "run_4", 14, 3, false);
    OK(meta_runs_undo(m, "ses_1", 2, 3, 200, e));
    assert_history(m, "run_1", 1, "", 0);
    assert_history(m, "run_2", 2, "run_1", 200);
    assert_history(m, "run_3", 3, "run_2", 100); /* it stays as it was */
    assert_history(m, "run_4", 3, "run_2", 200);
    assert_state(m, "ses_1", "run_1");
    OK(meta_runs_undo(m, "ses_1", 1, 1, 300, e));
    assert_state(m, "ses_1", "");
    struct run_rows list;
    OK(meta_run_list(m, &(struct run_filter){.session = "ses_1"}, &(struct page){.limit = 9}, &list,
                     e));
    assert_int_equal(list.count, 4);
    assert_int_equal(list.items[0].undone_us, 200);
    assert_int_equal(list.items[3].undone_us, 300);
    run_rows_done(&list);
    contract_close(m);
}

/* After the server was killed the numbers begin again. */
static inline void runs_of_an_earlier_life_are_not_undone(void **state)
{
    (void)state;
    struct meta *m = with_session();
    a_run_that_ended(m, "ses_1", "run_1", 11, 1, true);
    a_run_that_ended(m, "ses_1", "run_2", 12, 2, false);
    a_run_that_ended(m, "ses_1", "run_3", 13, 1, true);
    a_run_that_ended(m, "ses_1", "run_4", 14, 2, false);
    OK(meta_runs_undo(m, "ses_1", 1, 2, 100, e));
    assert_history(m, "run_1", 1, "", 0);
    assert_history(m, "run_2", 2, "run_1", 0);
    assert_history(m, "run_3", 1, "", 100);
    assert_history(m, "run_4", 2, "run_3", 100);
    assert_state(m, "ses_1", "");
    contract_close(m);
}

static inline void what_a_killed_server_left_is_undone_with_what_was_before_it(void **state)
{
    (void)state;
    struct meta *m = with_session();
    for (int i = 1; i <= 4; i++) {
        char id[ID_SIZE];
        (void)snprintf(id, sizeof id, "run_%d", i);
        a_run_that_ended(m, "ses_1", id, 10 + i, (uint64_t)i, i == 1);
    }
    /* Snapshots went as far as number 2; number 3 is given again, after 2 was interrupted without an end. */
    a_run_that_ended(m, "ses_1", "run_5", 15, 3, true);
    OK(meta_runs_undo(m, "ses_1", 2, 3, 100, e));
    assert_history(m, "run_1", 1, "", 0);
    for (int i = 2; i <= 5; i++) {
        char id[ID_SIZE];
        struct run_row r;
        (void)snprintf(id, sizeof id, "run_%d", i);
        OK(meta_run_code(m, id, 0, &r, e));
        assert_int_equal(r.undone_us, 100);
        run_row_done(&r);
    }
    assert_state(m, "ses_1", "run_1");
    a_run_that_ended(m, "ses_1", "run_6", 16, 3, true); /* number 2 has no end */
    OK(meta_runs_undo(m, "ses_1", 2, 3, 200, e));
    assert_history(m, "run_6", 3, "", 200);
    assert_state(m, "ses_1", "run_1");
    contract_close(m);
}

static inline void a_rollback_that_was_not_marked_is_seen_by_the_next_run(void **state)
{
    (void)state;
    struct meta *m = with_session();
    a_run_that_ended(m, "ses_1", "run_1", 11, 1, true);
    a_run_that_ended(m, "ses_1", "run_2", 12, 2, false);
    a_run_that_ended(m, "ses_1", "run_3", 13, 3, false);
    a_run_that_ended(m, "ses_1", "run_4", 14, 2, false);
    assert_history(m, "run_1", 1, "", 0);
    assert_history(m, "run_2", 2, "run_1", 15);
    assert_history(m, "run_3", 3, "run_2", 15);
    assert_history(m, "run_4", 2, "run_1", 0);
    assert_state(m, "ses_1", "run_4");
    contract_close(m);
}

static inline void a_fork_begins_with_the_state_its_parent_has(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct session_row early = a_session("ses_2", "prn_a", 20),
                       late = a_session("ses_3", "prn_a", 21),
                       far = a_session("ses_4", "prn_a", 22), got;
    set_id(early.parent, "ses_1");
    set_id(late.parent, "ses_1");
    set_id(far.parent, "ses_3");
    OK(meta_session_insert(m, &early, META_NOW, e));
    a_run_that_ended(m, "ses_1", "run_1", 11, 1, true);
    OK(meta_session_insert(m, &late, META_NOW, e));
    OK(meta_session_insert(m, &far, META_NOW, e));
    a_run_that_ended(m, "ses_3", "run_2", 23, 2, false);
    OK(meta_runs_undo(m, "ses_1", 1, 1, 100, e));
    a_run_that_ended(m, "ses_4", "run_3", 24, 2, false);
    assert_history(m, "run_2", 2, "run_1", 0);
    assert_history(m, "run_3", 2, "run_1", 0);
    OK(meta_session_get(m, "ses_2", &got, e));
    assert_string_equal(got.parent, "ses_1");
    assert_string_equal(got.parent_run, "");
    session_row_done(&got);
    OK(meta_session_get(m, "ses_4", &got, e));
    assert_string_equal(got.parent, "ses_3");
    assert_string_equal(got.parent_run, "run_1");
    assert_string_equal(got.state_run, "run_3");
    session_row_done(&got);
    OK(meta_session_get(m, "ses_1", &got, e));
    assert_string_equal(got.parent, "");
    session_row_done(&got);
    OK(meta_runs_undo(m, "ses_4", 2, 3, 200, e)); /* of 3 nothing is known */
    assert_state(m, "ses_4", "run_1");
    contract_close(m);
}

#endif
