/* The contract about files on SQLite, and what only SQLite can be asked: that every list has its
 * index, and that an older database becomes one with files. */
#include "store/meta_contract_files.h"
#include "store/meta_sqlite.h"

static void read_everything(struct meta *m)
{
    struct page page = {.limit = 5};
    struct file_row f;
    struct version_row v;
    struct file_rows files;
    struct version_rows versions;
    struct workspace_row w;
    struct upload_rows uploads;
    char *next;
    for (int i = 0; i < 3; i++) {
        struct file_query q = {.prefix = "", .limit = 5, .is_flat = i == 1, .state = i == 2};
        OK(meta_file_list(m, "ws_a", &q, &files, &next, e));
        free(next);
        file_rows_done(&files);
    }
    for (uint64_t since = 0; since < 2; since++) {
        OK(meta_file_changes(m, "ws_a", since, 5, &files, e));
        file_rows_done(&files);
    }
    OK(meta_file_get(m, "ws_a", "d/a", &f, e));
    OK(meta_version_list(m, f.id, &page, &versions, e));
    version_rows_done(&versions);
    OK(meta_version_get(m, f.id, 1, &v, e));
    version_row_done(&v);
    file_row_done(&f);
    OK(meta_version_at(m, "ws_a", "d/a", 1, &v, e));
    version_row_done(&v);
    OK(meta_version_of_run(m, "run_1", &versions, e));
    version_rows_done(&versions);
    OK(meta_workspace_find(m, "prn_a", "default", &w, e));
    workspace_row_done(&w);
    OK(meta_upload_list(m, NULL, &page, &uploads, e));
    OK(meta_upload_list(m, "ws_a", &page, &uploads, e));

    struct chunk_row chunks[2];
    struct content contents[2];
    struct chunk_key key = key_of('A');
    size_t count;
    uint64_t gone;
    struct session_paths paths;
    char(*vaults)[ID_SIZE];
    struct pack_use *use;
    (void)meta_chunk_find(m, "prn_a", &key, chunks, &(struct err){0});
    OK(meta_chunk_list(m, "prn_a", 1, 0, 2, chunks, &count, e));
    OK(meta_content_list(m, "prn_a", NULL, 2, contents, &count, e));
    OK(meta_vault_list(m, &vaults, &count, e));
    free(vaults);
    OK(meta_pack_use(m, "prn_a", &use, &count, e));
    free(use);
    OK(meta_session_paths(m, "ses_1", &paths, e));
    OK(meta_purge_trash(m, "ws_a", 1, 5, &gone, e));
    OK(meta_thin(m, &(struct thinning){.keep_last = 2}, 5, &gone, e));
}

static void no_list_of_files_sorts_or_scans(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "d/a", 'A', 1);
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20);
    trace_readers(m, read_everything, &seen);
    struct db_conn *c;
    OK(db_read_begin(m->db, &c, e));
    size_t lists = 0;
    for (const char *sql = seen.bytes; sql < seen.bytes + seen.len; sql += strlen(sql) + 1) {
        if (strncmp(sql, "SELECT", 6) != 0)
            continue;
        scoped(buf_done) struct buf plan = BUF_INIT(10000);
        explain(c, sql, &plan);
        lists++;
        /* Only the vaults, of which there are few, are all looked at, in order. */
        bool is_scan = strstr(plan.bytes, "SCAN") && !strstr(plan.bytes, "SCAN CONSTANT ROW") &&
                       !strstr(sql, "FROM vaults AS v INDEXED BY") &&
                       !strstr(plan.bytes, "uploads");
        if (strstr(plan.bytes, "TEMP B-TREE") || is_scan)
            fail_msg("%s\n%s", sql, plan.bytes);
    }
    assert_true(lists > 20);
    db_read_end(c);
    contract_close(m);
}

static int insert_old(struct db_conn *c, void *arg, struct err *e)
{
    (void)arg;
    return conn_exec(c,
                     "INSERT INTO principals VALUES ('prn_1', 0, 'x', NULL, NULL, 'ws_1', 1);"
                     "INSERT INTO workspaces VALUES ('ws_1', 'prn_1', 'default', 1);"
                     "INSERT INTO workspaces VALUES ('ws_2', 'prn_1', 'default', 2);",
                     e);
}

static void a_database_without_files_gets_them(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    struct db_options options = {
        .dir = dir.path, .migrations = meta_migrations, .migration_count = 2};
    struct db *db;
    OK(db_open(&options, &db, e));
    OK(db_write(db, insert_old, NULL, e));
    db_close(db);

    struct store *s;
    OK(store_open(&(struct store_options){.dir = dir.path}, &s, e));
    struct workspace_row w;
    OK(meta_workspace_get(store_meta(s), "ws_1", &w, e));
    assert_string_equal(w.vault, "prn_1");
    assert_string_equal(w.name, "default");
    workspace_row_done(&w);
    OK(meta_workspace_get(store_meta(s), "ws_2", &w, e));
    assert_string_equal(w.name, "default ws_2"); /* there were two of that name */
    workspace_row_done(&w);
    struct commit_row k = a_commit(1);
    struct file_change c = a_put("a", 'A', 1);
    uint64_t rev;
    set_id(k.workspace, "ws_2");
    OK(meta_commit_set(store_meta(s), &k, &c, 1, NULL, &rev, e));
    assert_int_equal(rev, 1);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        META_CONTRACT_FILES,
        cmocka_unit_test(no_list_of_files_sorts_or_scans),
        cmocka_unit_test(a_database_without_files_gets_them),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
