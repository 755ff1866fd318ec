/* meta_contract_runs.h -- the part about runs and pages. */
#ifndef STORE_META_CONTRACT_RUNS_H
#define STORE_META_CONTRACT_RUNS_H

#include "store/meta_fixture.h"

static inline void pages_are_stable_while_rows_are_added(void **state)
{
    (void)state;
    struct meta *m = with_session();
    char id[ID_SIZE];
    for (int i = 0; i < 25; i++) { /* five of each time: the id decides */
        (void)snprintf(id, sizeof id, "run_%02d", i);
        struct run_row r = a_run(id, "ses_1", 100 + i / 5);
        OK(meta_run_insert(m, &r, META_NOW, e));
    }
    struct run_filter all = {.is_brief = true};
    struct run_rows list;
    char cursor[CURSOR_SIZE] = "";
    int expected = 24, pages = 0;
    do {
        struct page page = {.limit = 7, .cursor = *cursor ? cursor : NULL};
        OK(meta_run_list(m, &all, &page, &list, e));
        for (size_t i = 0; i < list.count; i++) {
            (void)snprintf(id, sizeof id, "run_%02d", expected--);
            assert_string_equal(list.items[i].id, id);
            assert_null(list.items[i].code);
        }
        (void)snprintf(id, sizeof id, "run_new%d", pages++);
        struct run_row r = a_run(id, "ses_1", 1000 + pages);
        OK(meta_run_insert(m, &r, META_NOW, e));
        memcpy(cursor, list.next, sizeof cursor);
        assert_int_equal(list.has_more, *cursor != '\0');
        run_rows_done(&list);
    } while (*cursor);
    assert_int_equal(expected, -1);
    assert_int_equal(pages, 4);
    contract_close(m);
}

static inline void a_page_of_exactly_the_limit_has_no_more(void **state)
{
    (void)state;
    struct meta *m = with_session();
    for (int i = 0; i < 3; i++) {
        char id[ID_SIZE];
        (void)snprintf(id, sizeof id, "run_%d", i);
        struct run_row r = a_run(id, "ses_1", i);
        OK(meta_run_insert(m, &r, META_NOW, e));
    }
    struct run_filter all = {0};
    struct run_rows list;
    struct page page = {.limit = 3};
    OK(meta_run_list(m, &all, &page, &list, e));
    assert_int_equal(list.count, 3);
    assert_false(list.has_more);
    run_rows_done(&list);
    page.limit = 2;
    OK(meta_run_list(m, &all, &page, &list, e));
    assert_int_equal(list.count, 2);
    assert_true(list.has_more);
    run_rows_done(&list);
    const char *const bad[] = {"",
                               "x",
                               "12",
                               ".run_1",
                               "12.",
                               "zz.run_1",
                               "ffffffffffffffff.run_1",
                               "11111111111111111.run_1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        page.cursor = bad[i];
        FAILS(ERR_INVALID, meta_run_list(m, &all, &page, &list, e));
    }
    contract_close(m);
}

static inline void a_run_comes_back_as_it_went_in(void **state)
{
    (void)state;
    struct meta *m = with_session();
    char object[5000];
    for (size_t i = 0; i < sizeof object; i++)
        object[i] = (char)(i * i % 251);
    struct run_row r = a_run("run_1", "ses_1", 11), got;
    r.status = RUN_QUEUED;
    r.code = "a\0b";
    r.name = "cell.py";
    set_id(r.key, "key_1");
    set_id(r.request, "req_1");
    OK(meta_run_insert(m, &r, META_NOW, e));
    FAILS(ERR_CONFLICT, meta_run_insert(m, &r, META_NOW, e));
    OK(meta_run_get(m, "run_1", &got, e));
    assert_int_equal(got.status, RUN_QUEUED);
    assert_null(got.end);
    assert_null(got.object);
    assert_int_equal(got.code_len, 3);
    assert_memory_equal(got.code, "a\0b", 4);
    run_row_done(&got);

    r.status = RUN_DONE;
    r.end = "ok";
    r.state = "kept";
    r.started_us = 12;
    r.duration_us = 13;
    r.cpu_us = 14;
    r.peak_bytes = UINT64_C(1) << 40;
    r.object = object;
    r.object_len = sizeof object;
    OK(meta_run_update(m, &r, META_NOW, e));
    m = contract_reopen(m);
    OK(meta_run_get(m, "run_1", &got, e));
    assert_string_equal(got.session, "ses_1");
    assert_string_equal(got.workspace, "ws_a");
    assert_string_equal(got.principal, "prn_a");
    assert_string_equal(got.key, "key_1");
    assert_string_equal(got.request, "req_1");
    assert_int_equal(got.status, RUN_DONE);
    assert_string_equal(got.end, "ok");
    assert_string_equal(got.state, "kept");
    assert_string_equal(got.language, "python");
    assert_string_equal(got.name, "cell.py");
    assert_null(got.hint);
    assert_int_equal(got.created_us, 11);
    assert_int_equal(got.started_us, 12);
    assert_int_equal(got.duration_us, 13);
    assert_int_equal(got.cpu_us, 14);
    assert_true(got.peak_bytes == UINT64_C(1) << 40);
    assert_int_equal(got.object_len, sizeof object);
    assert_memory_equal(got.object, object, sizeof object);
    run_row_done(&got);

    r.end = "error";
    FAILS(ERR_CONFLICT, meta_run_update(m, &r, META_NOW, e)); /* it is over */
    set_id(r.id, "run_x");
    FAILS(ERR_NOT_FOUND, meta_run_update(m, &r, META_NOW, e));
    set_id(r.session, "ses_x");
    FAILS(ERR_CONFLICT, meta_run_insert(m, &r, META_NOW, e)); /* no such session */
    contract_close(m);
}

static inline void runs_are_listed_by_any_filter(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct session_row s = a_session("ses_2", "prn_b", 20);
    OK(meta_session_insert(m, &s, META_NOW, e));
    for (int i = 0; i < 8; i++) { /* 0-3 in ses_1, 4-7 in ses_2 of prn_b */
        char id[ID_SIZE];
        (void)snprintf(id, sizeof id, "run_%d", i);
        struct run_row r = a_run(id, i < 4 ? "ses_1" : "ses_2", 100 + i);
        set_id(r.principal, i < 4 ? "prn_a" : "prn_b");
        set_id(r.workspace, i < 4 ? "ws_a" : "ws_b");
        OK(meta_run_insert(m, &r, META_NOW, e));
        r.status = i % 4 == 3 ? RUN_RUNNING : RUN_DONE;
        r.end = i % 4 == 3 ? NULL : i % 4 == 2 ? "error" : "ok";
        r.object = "{}";
        r.object_len = 2;
        OK(meta_run_update(m, &r, META_NOW, e));
    }
    const struct {
        struct run_filter filter;
        const char *expected;
    } cases[] = {
        {{0}, "76543210"},
        {{.principal = "prn_a"}, "3210"},
        {{.session = "ses_2"}, "7654"},
        {{.workspace = "ws_a"}, "3210"},
        {{.end = "error"}, "62"},
        {{.end = "ok"}, "5410"},
        {{.end = "error", .principal = "prn_a"}, "2"},
        {{.end = "ok", .principal = "prn_a"}, "10"},
        {{.end = "error", .workspace = "ws_b"}, "6"},
        {{.end = "ok", .workspace = "ws_b"}, "54"},
        {{.end = "error", .session = "ses_1"}, "2"},
        {{.has_status = true, .status = RUN_RUNNING}, "73"},
        {{.has_status = true, .status = RUN_QUEUED}, ""},
        {{.has_status = true, .status = RUN_RUNNING, .principal = "prn_b"}, "7"},
        {{.has_status = true, .status = RUN_DONE, .session = "ses_1"}, "210"},
        {{.has_status = true, .status = RUN_DONE, .end = "error"}, "62"},
        {{.session = "ses_1", .principal = "prn_b"}, ""},
        {{.end = "timeout"}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_rows list;
        struct page page = {.limit = 100};
        OK(meta_run_list(m, &cases[i].filter, &page, &list, e));
        assert_int_equal(list.count, strlen(cases[i].expected));
        for (size_t k = 0; k < list.count; k++) {
            assert_int_equal(list.items[k].id[4], cases[i].expected[k]);
            assert_string_equal(list.items[k].code, "1+1");
            assert_string_equal(list.items[k].object, "{}");
        }
        run_rows_done(&list);
    }
    contract_close(m);
}

static inline void a_restart_ends_the_runs_that_were_under_way(void **state)
{
    (void)state;
    struct meta *m = with_session();
    for (int i = 0; i < 40; i++) {
        char id[ID_SIZE];
        (void)snprintf(id, sizeof id, "run_%02d", i);
        struct run_row r = a_run(id, "ses_1", i);
        r.status = i % 4 == 0 ? RUN_DONE : i % 4 == 1 ? RUN_QUEUED : RUN_RUNNING;
        r.end = i % 4 == 0 ? "ok" : NULL;
        OK(meta_run_insert(m, &r, META_NOW, e));
    }
    m = contract_reopen(m);
    struct run_rows list;
    OK(meta_runs_interrupt(m, "killed", "server restarted", &list, e));
    assert_int_equal(list.count, 30);
    assert_string_equal(list.items[0].session, "ses_1");
    run_rows_done(&list);
    OK(meta_runs_interrupt(m, "killed", "server restarted", &list, e));
    assert_int_equal(list.count, 0);
    run_rows_done(&list);
    struct run_row got;
    OK(meta_run_get(m, "run_01", &got, e));
    assert_int_equal(got.status, RUN_DONE);
    assert_string_equal(got.end, "killed");
    assert_string_equal(got.hint, "server restarted");
    run_row_done(&got);
    OK(meta_run_get(m, "run_04", &got, e));
    assert_string_equal(got.end, "ok");
    assert_null(got.hint);
    run_row_done(&got);
    contract_close(m);
}

#endif
