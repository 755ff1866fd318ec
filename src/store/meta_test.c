/* The contract on SQLite, and what only SQLite can be asked: that every list has its index. */
#include "store/meta_contract.h"
#include "store/meta_sqlite.h"

static void list_everything(struct meta *m)
{
    struct page page = {.limit = 5};
    const char *const some[] = {NULL, "x"};
    for (int i = 0; i < 32; i++) {
        struct run_filter f = {.principal = some[i & 1],
                               .session = some[i >> 1 & 1],
                               .workspace = some[i >> 2 & 1],
                               .end = some[i >> 3 & 1],
                               .has_status = i >> 4 & 1,
                               .status = RUN_RUNNING};
        struct run_rows runs;
        OK(meta_run_list(m, &f, &page, &runs, e));
        run_rows_done(&runs);
        struct session_filter g = {.principal = some[i & 1],
                                   .workspace = some[i >> 1 & 1],
                                   .key = some[i >> 2 & 1],
                                   .name = some[i >> 3 & 1],
                                   .open = i >> 4 & 1 ? OPEN_ONLY : 0};
        struct session_rows sessions;
        uint64_t count;
        OK(meta_session_list(m, &g, &page, &sessions, e));
        session_rows_done(&sessions);
        OK(meta_session_count(m, &g, &count, e));
    }
    for (int i = 0; i < 3; i++) {
        struct principal_filter f = {.parent = i == 0 ? NULL : i == 1 ? "" : "x"};
        struct principal_rows people;
        OK(meta_principal_list(m, &f, &page, &people, e));
        principal_rows_done(&people);
        struct workspace_rows spaces;
        OK(meta_workspace_list(m, some[i & 1], WORKSPACE_ANY, &page, &spaces, e));
        workspace_rows_done(&spaces);
        struct key_rows keys;
        OK(meta_key_list(m, some[i & 1], &page, &keys, e));
        key_rows_done(&keys);
    }
}

static void no_list_sorts_or_scans_a_table(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20);
    trace_readers(m, list_everything, &seen);

    struct db_conn *c;
    OK(db_read_begin(m->db, &c, e));
    size_t lists = 0;
    for (const char *sql = seen.bytes; sql < seen.bytes + seen.len; sql += strlen(sql) + 1) {
        if (strncmp(sql, "SELECT", 6) != 0)
            continue;
        scoped(buf_done) struct buf plan = BUF_INIT(10000);
        explain(c, sql, &plan);
        lists++;
        if (strstr(plan.bytes, "TEMP B-TREE") || !strstr(plan.bytes, "INDEX"))
            fail_msg("%s\n%s", sql, plan.bytes);
        if (strstr(sql, "(created, id) < (?1, ?2)") && !strstr(sql, "sessions_name") &&
            !strstr(plan.bytes, "created<?") && !strstr(plan.bytes, "(created,id)<(?,?)"))
            fail_msg("not from the mark on: %s\n%s", sql, plan.bytes);
    }
    assert_true(lists > 70);
    db_read_end(c);
    contract_close(m);
}

static void text_that_shrinks_is_compressed(void **state)
{
    (void)state;
    struct meta *m = with_session();
    scoped(freep) char *object = malloc(1 << 20);
    memset(object, 'a', 1 << 20);
    struct run_row r = a_run("run_1", "ses_1", 1), got;
    r.object = object;
    r.object_len = 1 << 20;
    OK(meta_run_insert(m, &r, META_NOW, e));
    struct db_conn *c;
    int64_t size;
    OK(db_read_begin(m->db, &c, e));
    OK(sql_number(c, "SELECT length(object) FROM runs", SQL_NOTHING, &size, e));
    db_read_end(c);
    assert_true(size < 1000);
    OK(meta_run_get(m, "run_1", &got, e));
    assert_int_equal(got.object_len, 1 << 20);
    run_row_done(&got);

    set_id(r.id, "run_2");
    r.object_len = (size_t)RUN_OBJECT_MAX + 1;
    FAILS(ERR_TOO_LARGE, meta_run_insert(m, &r, META_NOW, e));
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        META_CONTRACT,
        cmocka_unit_test(no_list_sorts_or_scans_a_table),
        cmocka_unit_test(text_that_shrinks_is_compressed),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
