#include "store/meta_lineage.h"

#include "store/meta_files_fixture.h"
#include "store/meta_sqlite.h"

/* A run that has ended, having read these. */
static void a_run_that_read(struct meta *m, const char *id, int64_t created_us,
                            const struct run_input *inputs, size_t count, enum meta_when when)
{
    struct run_row r = a_run(id, "ses_1", created_us);
    OK(meta_run_insert(m, &r, when, e));
    r.status = RUN_DONE;
    r.end = "ok";
    r.trace = TRACE_PARTIAL;
    r.inputs = inputs;
    r.input_count = count;
    OK(meta_run_update(m, &r, when, e));
}

static struct run_input input(const struct file_change *of, bool is_guessed)
{
    struct run_input i = {.version = of->ret_version, .is_guessed = is_guessed};
    set_id(i.file, of->ret_file);
    return i;
}

static void what_a_run_read_is_written_with_its_end(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct file_change a = put(m, "b.csv", 'A', 1), b = put(m, "a.csv", 'B', 1);
    struct run_input reads[] = {input(&a, false), input(&b, true), input(&a, true),
                                input(&a, false)};
    set_id(reads[3].file, "file_unknown");
    a_run_that_read(m, "run_1", 20, reads, 4, META_SOON);
    memset(reads, 0, sizeof reads); /* it was copied */
    OK(meta_settle(m, e));
    m = contract_reopen(m);
    struct input_rows rows;
    OK(meta_run_inputs(m, "run_1", &rows, e));
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.purged, 0);
    assert_string_equal(rows.items[0].version.path, "a.csv");
    assert_true(rows.items[0].is_guessed);
    assert_string_equal(rows.items[1].version.path, "b.csv");
    assert_false(rows.items[1].is_guessed);
    assert_int_equal(rows.items[1].version.content.sha256[3], 'A');
    input_rows_done(&rows);
    struct run_row run;
    OK(meta_run_code(m, "run_1", 2, &run, e));
    assert_int_equal(run.trace, TRACE_PARTIAL);
    assert_int_equal(run.code_len, 2);
    assert_string_equal(run.code, "1+");
    assert_null(run.object);
    run_row_done(&run);
    OK(meta_run_code(m, "run_1", 100, &run, e));
    assert_string_equal(run.code, "1+1");
    run_row_done(&run);
    OK(meta_run_inputs(m, "run_none", &rows, e));
    assert_int_equal(rows.count, 0);
    contract_close(m);
}

static void readers_of_a_version_are_found(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct file_change one = put(m, "a", 'A', 1), two = put(m, "a", 'B', 1);
    const struct run_input first = input(&one, false), second = input(&two, false);
    a_run_that_read(m, "run_1", 20, &first, 1, META_NOW);
    a_run_that_read(m, "run_2", 30, &first, 1, META_NOW);
    a_run_that_read(m, "run_3", 40, &second, 1, META_NOW);
    struct run_rows runs;
    OK(meta_version_readers(m, one.ret_file, 1, 10, &runs, e));
    assert_int_equal(runs.count, 2);
    assert_string_equal(runs.items[0].id, "run_2");
    assert_false(runs.has_more);
    run_rows_done(&runs);
    OK(meta_version_readers(m, one.ret_file, 1, 1, &runs, e));
    assert_int_equal(runs.count, 1);
    assert_true(runs.has_more);
    run_rows_done(&runs);
    OK(meta_runs_before(m, "ses_1", 40, "run_3", 10, &runs, e));
    assert_int_equal(runs.count, 2);
    assert_string_equal(runs.items[0].id, "run_2");
    assert_null(runs.items[1].code);
    run_rows_done(&runs);
    contract_close(m);
}

static void a_rule_takes_no_version_that_a_run_has_read(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct file_change v[4];
    for (int i = 0; i < 4; i++)
        v[i] = put(m, "a", (char)('A' + i), 1);
    const struct run_input read = input(&v[1], false);
    a_run_that_read(m, "run_1", 20, &read, 1, META_NOW);
    uint64_t count;
    OK(meta_thin(m, &(struct thinning){.keep_last = 1}, 100, &count, e));
    assert_int_equal(count, 2); /* 1 and 3; 2 was read, 4 is the newest */
    struct version_row row;
    OK(meta_version_get(m, read.file, 2, &row, e));
    version_row_done(&row);

    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    OK(meta_tidy_trash(m, "ws_a", INT64_MAX, 10, &count, e));
    assert_int_equal(count, 0);
    OK(meta_purge(m, read.file, 2, e)); /* asked for */
    struct input_rows rows;
    OK(meta_run_inputs(m, "run_1", &rows, e));
    assert_int_equal(rows.count, 0);
    assert_int_equal(rows.purged, 1);
    input_rows_done(&rows);
    OK(meta_purge_trash(m, "ws_a", INT64_MAX, 10, &count, e));
    assert_int_equal(count, 1);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static void a_run_that_is_forgotten_holds_nothing_back(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct file_change one = put(m, "a", 'A', 1);
    (void)put(m, "a", 'B', 1);
    const struct run_input read = input(&one, false);
    a_run_that_read(m, "run_1", 20, &read, 1, META_NOW);
    uint64_t count;
    struct pruned gone;
    OK(meta_prune(m, &(struct prune){.runs_before_us = 1000}, &gone, e));
    assert_int_equal(gone.runs, 1);
    OK(meta_thin(m, &(struct thinning){.keep_last = 1}, 100, &count, e));
    assert_int_equal(count, 1);
    contract_close(m);
}

static int forget_state(struct db_conn *c, void *arg, struct err *e)
{
    (void)arg;
    return sql_run(c, "UPDATE sessions SET state_run = NULL", SQL_NOTHING, e);
}

/* As in rows from before there was a history. */
static void what_was_not_written_down_is_not_known(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct db_conn *c;
    a_run_that_read(m, "run_1", 20, NULL, 0, META_NOW);
    OK(db_write(m->db, forget_state, NULL, e));
    struct run_row r = a_run("run_2", "ses_1", 30);
    OK(meta_run_insert(m, &r, META_NOW, e));
    r.status = RUN_DONE;
    r.end = "ok";
    r.number = 7;
    OK(meta_run_update(m, &r, META_NOW, e));
    OK(meta_run_code(m, "run_2", 0, &r, e));
    assert_int_equal(r.number, 7);
    assert_false(r.has_previous);
    run_row_done(&r);
    OK(meta_runs_undo(m, "ses_1", 6, 7, 100, e)); /* number 6 is none of those that are known */
    OK(meta_run_code(m, "run_1", 0, &r, e));
    assert_int_equal(r.undone_us, 0);
    run_row_done(&r);
    struct pruned gone;
    int64_t left;
    OK(meta_prune(m, &(struct prune){.runs_before_us = 1000}, &gone, e));
    assert_int_equal(gone.runs, 2);
    OK(db_read_begin(m->db, &c, e));
    OK(sql_number(c, "SELECT count(*) FROM run_history", SQL_NOTHING, &left, e));
    db_read_end(c);
    assert_int_equal(left, 0);
    contract_close(m);
}

static void what_the_run_itself_made_does_not_count_as_before(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct file_change one = put(m, "a", 'A', 1);
    struct file_change change[] = {a_put("a", 'B', 1)};
    struct commit_row k = a_commit(100);
    uint64_t rev;
    struct version_row row;
    set_id(k.author.run, "run_1");
    for (int i = 0; i < 2; i++) {
        change[0].content = a_content((char)('B' + i), 1);
        OK(meta_commit_set(m, &k, change, 1, NULL, &rev, e));
    }
    OK(meta_version_before_run(m, one.ret_file, 3, "run_1", &row, e));
    assert_int_equal(row.version, 1);
    version_row_done(&row);
    OK(meta_version_before_run(m, one.ret_file, 3, "run_2", &row, e));
    assert_int_equal(row.version, 2);
    version_row_done(&row);
    FAILS(ERR_NOT_FOUND, meta_version_before_run(m, one.ret_file, 1, "run_2", &row, e));
    contract_close(m);
}

static void read_everything(struct meta *m)
{
    struct input_rows inputs;
    struct run_rows runs;
    struct version_row v;
    struct run_row r;
    OK(meta_run_inputs(m, "run_1", &inputs, e));
    input_rows_done(&inputs);
    OK(meta_version_readers(m, "file_1", 1, 5, &runs, e));
    run_rows_done(&runs);
    OK(meta_runs_before(m, "ses_1", 5, "run_1", 5, &runs, e));
    run_rows_done(&runs);
    FAILS(ERR_NOT_FOUND, meta_version_before_run(m, "file_1", 5, "run_1", &v, e));
    FAILS(ERR_NOT_FOUND, meta_run_code(m, "run_1", 5, &r, e));
}

static void nothing_is_looked_for_from_end_to_end(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20);
    trace_readers(m, read_everything, &seen);
    struct db_conn *c;
    size_t count = 0;
    OK(db_read_begin(m->db, &c, e));
    for (const char *sql = seen.bytes; sql < seen.bytes + seen.len; sql += strlen(sql) + 1) {
        scoped(buf_done) struct buf plan = BUF_INIT(10000);
        if (strncmp(sql, "SELECT", 6) != 0)
            continue;
        explain(c, sql, &plan);
        count++;
        if (strstr(plan.bytes, "SCAN"))
            fail_msg("%s\n%s", sql, plan.bytes);
    }
    assert_int_equal(count, 6);
    db_read_end(c);
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_run_read_is_written_with_its_end),
        cmocka_unit_test(readers_of_a_version_are_found),
        cmocka_unit_test(a_rule_takes_no_version_that_a_run_has_read),
        cmocka_unit_test(a_run_that_is_forgotten_holds_nothing_back),
        cmocka_unit_test(what_was_not_written_down_is_not_known),
        cmocka_unit_test(what_the_run_itself_made_does_not_count_as_before),
        cmocka_unit_test(nothing_is_looked_for_from_end_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
