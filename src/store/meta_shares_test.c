/* The contract about share links on SQLite, and that finding and listing them scans nothing. */
#include "store/meta_contract_shares.h"
#include "store/meta_sqlite.h"

static void read_shares(struct meta *m)
{
    struct share_rows rows;
    struct share_row r = share_now(m, 'A');
    share_row_done(&r);
    OK(meta_share_get(m, "ws_a", "shr_A", &r, e));
    share_row_done(&r);
    OK(meta_share_list(m, "ws_a", &(struct page){.limit = 5}, &rows, e));
    assert_int_equal(rows.count, 1);
    share_rows_done(&rows);
}

static void no_list_of_shares_sorts_or_scans(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct share_row row = a_share("f", 'A');
    OK(meta_share_insert(m, &row, 10, e));
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20);
    trace_readers(m, read_shares, &seen);
    struct db_conn *c;
    OK(db_read_begin(m->db, &c, e));
    size_t lists = 0;
    for (const char *sql = seen.bytes; sql < seen.bytes + seen.len; sql += strlen(sql) + 1) {
        if (strncmp(sql, "SELECT", 6) != 0)
            continue;
        scoped(buf_done) struct buf plan = BUF_INIT(10000);
        explain(c, sql, &plan);
        lists++;
        if (strstr(plan.bytes, "TEMP B-TREE") || strstr(plan.bytes, "SCAN"))
            fail_msg("%s\n%s", sql, plan.bytes);
    }
    assert_true(lists >= 3);
    db_read_end(c);
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARES_CONTRACT,
        cmocka_unit_test(no_list_of_shares_sorts_or_scans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
