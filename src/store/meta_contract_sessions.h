/* meta_contract_sessions.h -- the part about sessions, what must not happen twice, and forgetting. */
#ifndef STORE_META_CONTRACT_SESSIONS_H
#define STORE_META_CONTRACT_SESSIONS_H

#include "store/meta_fixture.h"

static inline void a_session_comes_back_as_it_went_in(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct session_row s = a_session("ses_1", "prn_a", 10), got;
    set_id(s.key, "key_1");
    s.name = "work";
    s.options = "{\"limits\":{}}";
    s.tz = "Europe/Berlin";
    s.idle_s = 60;
    s.snapshots = 3;
    OK(meta_session_insert(m, &s, META_NOW, e));
    FAILS(ERR_CONFLICT, meta_session_insert(m, &s, META_NOW, e));
    s.name = "renamed";
    s.idle_s = 61;
    s.tz = NULL;
    OK(meta_session_update(m, &s, e));
    OK(meta_session_used(m, "ses_1", 30, e));
    OK(meta_session_used(m, "ses_1", 20, e));
    OK(meta_settle(m, e));
    m = contract_reopen(m);
    OK(meta_session_get(m, "ses_1", &got, e));
    assert_string_equal(got.principal, "prn_a");
    assert_string_equal(got.workspace, "ws_a");
    assert_string_equal(got.key, "key_1");
    assert_string_equal(got.name, "renamed");
    assert_string_equal(got.options, "{\"limits\":{}}");
    assert_null(got.tz);
    assert_int_equal(got.idle_s, 61);
    assert_int_equal(got.snapshots, 3);
    assert_int_equal(got.created_us, 10);
    assert_int_equal(got.used_us, 30);
    assert_int_equal(got.closed_us, 0);
    assert_null(got.closed_why);
    session_row_done(&got);
    FAILS(ERR_NOT_FOUND, meta_session_get(m, "ses_x", &got, e));
    contract_close(m);
}

static inline void a_name_is_unique_among_the_open_sessions_of_a_principal(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct session_row s = a_session("ses_1", "prn_a", 10);
    s.name = "work";
    OK(meta_session_insert(m, &s, META_NOW, e));
    struct session_row b = a_session("ses_2", "prn_b", 11);
    b.name = "work";
    OK(meta_session_insert(m, &b, META_NOW, e)); /* another's */
    struct session_row t = a_session("ses_3", "prn_a", 12);
    t.name = "work";
    FAILS(ERR_CONFLICT, meta_session_insert(m, &t, META_NOW, e));
    t.name = "play";
    OK(meta_session_insert(m, &t, META_NOW, e));
    t.name = "work";
    FAILS(ERR_CONFLICT, meta_session_update(m, &t, e));
    OK(meta_session_close(m, "ses_1", 50, "deleted", META_NOW, e));
    OK(meta_session_update(m, &t, e)); /* free now */
    struct session_row unnamed = a_session("ses_4", "prn_a", 13);
    OK(meta_session_insert(m, &unnamed, META_NOW, e));
    set_id(unnamed.id, "ses_5");
    OK(meta_session_insert(m, &unnamed, META_NOW, e)); /* no name is no name twice */
    contract_close(m);
}

static inline void no_more_sessions_are_open_than_may_be(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct session_row s = a_session("ses_1", "prn_a", 10);
    s.principal_max = 2;
    OK(meta_session_insert(m, &s, META_NOW, e));
    set_id(s.id, "ses_2");
    OK(meta_session_insert(m, &s, META_NOW, e));
    set_id(s.id, "ses_3");
    FAILS(ERR_LIMIT, meta_session_insert(m, &s, META_NOW, e));
    struct session_row other = a_session("ses_4", "prn_b", 11);
    other.principal_max = 1;
    OK(meta_session_insert(m, &other, META_NOW, e)); /* another's do not count */
    OK(meta_session_close(m, "ses_1", 50, "deleted", META_NOW, e));
    OK(meta_session_insert(m, &s, META_NOW, e)); /* closed ones neither */
    s.principal_max = 0;
    set_id(s.id, "ses_5");
    OK(meta_session_insert(m, &s, META_NOW, e));
    contract_close(m);
}

static inline void a_session_is_closed_once_and_stays_as_it_was(void **state)
{
    (void)state;
    struct meta *m = with_session();
    OK(meta_session_close(m, "ses_1", 50, "expired", META_NOW, e));
    FAILS(ERR_CONFLICT, meta_session_close(m, "ses_1", 60, "deleted", META_NOW, e));
    FAILS(ERR_NOT_FOUND, meta_session_close(m, "ses_x", 60, "deleted", META_NOW, e));
    struct session_row s = a_session("ses_1", "prn_a", 10), got;
    FAILS(ERR_CONFLICT, meta_session_update(m, &s, e));
    OK(meta_session_get(m, "ses_1", &got, e));
    assert_int_equal(got.closed_us, 50);
    assert_string_equal(got.closed_why, "expired");
    session_row_done(&got);
    contract_close(m);
}

static inline void what_is_written_soon_is_there_after_settling(void **state)
{
    (void)state;
    struct meta *m = with_people();
    char name[] = "soon", options[] = "{\"a\":1}", code[] = "print(1)", object[400];
    memset(object, 'x', sizeof object);
    struct session_row s = a_session("ses_1", "prn_a", 10), got;
    s.name = name;
    s.options = options;
    OK(meta_session_insert(m, &s, META_SOON, e));
    struct run_row r = a_run("run_1", "ses_1", 11), run;
    r.code = code;
    r.code_len = 8;
    OK(meta_run_insert(m, &r, META_SOON, e));
    r.status = RUN_DONE;
    r.end = name;
    r.object = object;
    r.object_len = sizeof object;
    OK(meta_run_update(m, &r, META_SOON, e));
    OK(meta_session_close(m, "ses_1", 12, name, META_SOON, e));
    memset(name, '!', 4); /* it was copied */
    memset(options, '!', 7);
    memset(code, '!', 8);
    memset(object, '!', sizeof object);
    OK(meta_settle(m, e));
    OK(meta_session_get(m, "ses_1", &got, e));
    assert_string_equal(got.name, "soon");
    assert_string_equal(got.options, "{\"a\":1}");
    assert_string_equal(got.closed_why, "soon");
    session_row_done(&got);
    OK(meta_run_get(m, "run_1", &run, e));
    assert_string_equal(run.code, "print(1)");
    assert_string_equal(run.end, "soon");
    assert_int_equal(run.object_len, 400);
    assert_int_equal(run.object[399], 'x');
    run_row_done(&run);
    contract_close(m);
}

static inline void sessions_are_listed_by_any_filter(void **state)
{
    (void)state;
    struct meta *m = with_people();
    for (int i = 0; i < 6; i++) {
        char id[ID_SIZE], name[16];
        (void)snprintf(id, sizeof id, "ses_%d", i);
        (void)snprintf(name, sizeof name, "n%d", i);
        struct session_row s = a_session(id, i % 2 ? "prn_b" : "prn_a", 10 + i);
        s.name = name;
        set_id(s.key, i < 3 ? "key_1" : "key_2");
        OK(meta_session_insert(m, &s, META_NOW, e));
    }
    OK(meta_session_close(m, "ses_2", 50, "deleted", META_NOW, e));
    OK(meta_session_close(m, "ses_3", 50, "deleted", META_NOW, e));
    const struct {
        struct session_filter filter;
        const char *expected; /* last characters of the ids, newest first */
    } cases[] = {
        {{0}, "543210"},
        {{.open = OPEN_ONLY}, "5410"},
        {{.open = CLOSED_ONLY}, "32"},
        {{.principal = "prn_a"}, "420"},
        {{.principal = "prn_a", .open = OPEN_ONLY}, "40"},
        {{.principal = "prn_a", .open = CLOSED_ONLY}, "2"},
        {{.workspace = "ws_b"}, "531"},
        {{.workspace = "ws_b", .open = OPEN_ONLY}, "51"},
        {{.key = "key_1"}, "210"},
        {{.key = "key_1", .open = OPEN_ONLY}, "10"},
        {{.principal = "prn_a", .name = "n4", .open = OPEN_ONLY}, "4"},
        {{.principal = "prn_a", .name = "n2", .open = OPEN_ONLY}, ""},
        {{.name = "n2"}, "2"},
        {{.used_before_us = 12}, "10"},
        {{.principal = "prn_b", .workspace = "ws_a"}, ""},
        {{.principal = "prn_x"}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session_rows list;
        struct page page = {.limit = 100};
        uint64_t count;
        OK(meta_session_list(m, &cases[i].filter, &page, &list, e));
        OK(meta_session_count(m, &cases[i].filter, &count, e));
        assert_int_equal(count, strlen(cases[i].expected));
        assert_int_equal(list.count, strlen(cases[i].expected));
        for (size_t k = 0; k < list.count; k++)
            assert_int_equal(list.items[k].id[4], cases[i].expected[k]);
        assert_false(list.has_more);
        assert_string_equal(list.next, "");
        session_rows_done(&list);
    }
    contract_close(m);
}

static inline struct idem an_idem(const char *key, uint8_t byte)
{
    struct idem i = {.principal = "prn_a", .key = key, .operation = "run"};
    memset(i.sha256, byte, HASH_LEN);
    return i;
}

static inline void an_idempotency_key_belongs_to_the_first_who_takes_it(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    struct idem first = an_idem("k", 1), again = an_idem("k", 1), other = an_idem("k", 2);
    OK(meta_idem_begin(m, &first, 10, e));
    assert_int_equal(first.state, IDEM_NEW);
    OK(meta_idem_begin(m, &again, 11, e));
    assert_int_equal(again.state, IDEM_PENDING);
    assert_string_equal(again.subject, "");
    idem_done(&again);
    OK(meta_idem_begin(m, &other, 11, e));
    assert_int_equal(other.state, IDEM_MISMATCH);
    idem_done(&other);
    other = an_idem("k", 1);
    other.operation = "session";
    OK(meta_idem_begin(m, &other, 11, e));
    assert_int_equal(other.state, IDEM_MISMATCH);
    idem_done(&other);
    other = an_idem("k", 9);
    other.principal = "prn_b";
    OK(meta_idem_begin(m, &other, 11, e));
    assert_int_equal(other.state, IDEM_NEW);
    idem_done(&other);

    OK(meta_idem_subject(m, &first, "run_1", e));
    OK(meta_settle(m, e));
    OK(meta_idem_begin(m, &again, 12, e));
    assert_string_equal(again.subject, "run_1");
    idem_done(&again);
    OK(meta_idem_end(m, &first, 201, "{\0}", 3, META_SOON, e));
    OK(meta_settle(m, e));
    OK(meta_idem_drop(m, &first, e)); /* too late: it has been answered */
    OK(meta_idem_begin(m, &again, 13, e));
    assert_int_equal(again.state, IDEM_DONE);
    assert_int_equal(again.status, 201);
    assert_int_equal(again.body_len, 3);
    assert_memory_equal(again.body, "{\0}", 3);
    assert_int_equal(again.created_us, 10);
    idem_done(&again);
    idem_done(&first);
    contract_close(m);
}

static inline void what_failed_may_be_tried_again_with_the_same_key(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    struct idem i = an_idem("k", 1);
    OK(meta_idem_begin(m, &i, 10, e));
    OK(meta_idem_drop(m, &i, e));
    OK(meta_idem_begin(m, &i, 11, e));
    assert_int_equal(i.state, IDEM_NEW);
    struct idem made = an_idem("made", 1);
    OK(meta_idem_begin(m, &made, 10, e));
    OK(meta_idem_subject(m, &made, "run_7", e));
    OK(meta_settle(m, e));
    m = contract_reopen(m);
    OK(meta_idem_restart(m, e));
    OK(meta_idem_begin(m, &i, 12, e)); /* the server died before it made anything */
    assert_int_equal(i.state, IDEM_NEW);
    OK(meta_idem_begin(m, &made, 12, e)); /* something was made: that is the answer */
    assert_int_equal(made.state, IDEM_PENDING);
    assert_string_equal(made.subject, "run_7");
    idem_done(&made);
    contract_close(m);
}

static inline void old_rows_are_forgotten_step_by_step(void **state)
{
    (void)state;
    struct meta *m = with_session(); /* stays open */
    struct session_row s = a_session("ses_2", "prn_a", 20);
    OK(meta_session_insert(m, &s, META_NOW, e));
    char id[ID_SIZE];
    for (int i = 0; i < PRUNE_STEP + 1; i++) {
        (void)snprintf(id, sizeof id, "run_%d", i);
        struct run_row r = a_run(id, "ses_2", 100 + i);
        r.status = RUN_DONE;
        OK(meta_run_insert(m, &r, META_SOON, e));
    }
    struct run_row young = a_run("run_y", "ses_1", 9000), old = a_run("run_o", "ses_1", 50);
    young.status = old.status = RUN_DONE;
    OK(meta_run_insert(m, &young, META_NOW, e));
    OK(meta_run_insert(m, &old, META_NOW, e));
    struct run_row alive = a_run("run_a", "ses_1", 51);
    alive.status = RUN_RUNNING;
    OK(meta_run_insert(m, &alive, META_NOW, e));
    OK(meta_session_close(m, "ses_2", 1000, "deleted", META_NOW, e));
    struct idem i = an_idem("k", 1);
    OK(meta_idem_begin(m, &i, 10, e));
    struct usage_row u = {.day = 5, .runs = 1};
    set_id(u.key, "key_1");
    OK(meta_usage_add(m, &u, e));

    struct prune nothing = {0}, closed = {.closed_before_us = 1001};
    struct pruned did;
    OK(meta_prune(m, &nothing, &did, e));
    assert_int_equal(did.runs + did.sessions + did.idems + did.usages, 0);
    closed.closed_before_us = 1000; /* not before */
    OK(meta_prune(m, &closed, &did, e));
    assert_int_equal(did.runs + did.sessions, 0);
    closed.closed_before_us = 1001;
    OK(meta_prune(m, &closed, &did, e));
    assert_int_equal(did.runs, PRUNE_STEP);
    assert_int_equal(did.sessions, 0);
    assert_true(did.has_more);
    OK(meta_prune(m, &closed, &did, e));
    assert_int_equal(did.runs, 1);
    assert_int_equal(did.sessions, 1);
    assert_false(did.has_more);

    struct prune rest = {.runs_before_us = 9000, .idem_before_us = 11, .usage_before_day = 6};
    OK(meta_prune(m, &rest, &did, e));
    assert_int_equal(did.runs, 1);
    assert_int_equal(did.idems, 1);
    assert_int_equal(did.usages, 1);
    struct run_row got;
    FAILS(ERR_NOT_FOUND, meta_run_get(m, "run_o", &got, e));
    OK(meta_run_get(m, "run_y", &got, e));
    run_row_done(&got);
    OK(meta_run_get(m, "run_a", &got, e));
    run_row_done(&got);
    contract_close(m);
}

#endif
