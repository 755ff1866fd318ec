/* meta_contract_files.h -- the part of the contract about reading files, versions, and forgetting them. */
#ifndef STORE_META_CONTRACT_FILES_H
#define STORE_META_CONTRACT_FILES_H

#include "store/meta_contract_commit.h"
#include "store/meta_contract_working.h"

static inline void lists_are_sorted_and_flat_ones_show_directories_once(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change all[] = {a_put("a/1", 'A', 1),        a_put("a/2", 'A', 1),
                                a_put("a/b/3", 'A', 1),      a_put("a-b", 'A', 1),
                                a_put("a.txt", 'A', 1),      a_put("a0", 'A', 1),
                                a_put("\xc3\xa4/x", 'A', 1), a_change(OP_MKDIR, "dir", NULL),
                                a_put("dir/x", 'A', 1),      a_change(OP_MKDIR, "dirx", NULL)};
    commit_ok(m, all, sizeof all / sizeof *all);
    for (uint32_t limit = 1; limit < 12; limit++) {
        assert_listed(m, &(struct file_query){.prefix = "", .limit = limit},
                      "a-b a.txt a/1 a/2 a/b/3 a0 dir/ dir/x dirx/ \xc3\xa4/x");
        assert_listed(m, &(struct file_query){.prefix = "", .limit = limit, .is_flat = true},
                      "a-b a.txt a/ a0 dir/ dirx/ \xc3\xa4/");
        assert_listed(m, &(struct file_query){.prefix = "a/", .limit = limit, .is_flat = true},
                      "a/1 a/2 a/b/");
        assert_listed(m, &(struct file_query){.prefix = "a/", .limit = limit}, "a/1 a/2 a/b/3");
        assert_listed(m, &(struct file_query){.prefix = "dir", .limit = limit}, "dir/ dir/x dirx/");
        assert_listed(m, &(struct file_query){.prefix = "", .glob = "**/[1-3]", .limit = limit},
                      "a/1 a/2 a/b/3");
        assert_listed(m, &(struct file_query){.prefix = "a/b", .glob = "a/*/3", .limit = limit},
                      "a/b/3");
        assert_listed(m, &(struct file_query){.prefix = "a/", .glob = "dir/*", .limit = limit}, "");
        assert_listed(
            m, &(struct file_query){.prefix = "", .glob = "a*", .is_flat = true, .limit = limit},
            "a-b a.txt a/ a0");
    }
    assert_listed(m, &(struct file_query){.prefix = "zzz", .limit = 5}, "");
    struct file_rows rows;
    char *next;
    struct file_query q = {.prefix = "", .limit = 5, .is_flat = true};
    OK(meta_file_list(m, "ws_b", &q, &rows, &next, e));
    assert_int_equal(rows.count, 0);
    assert_null(next);
    file_rows_done(&rows);
    contract_close(m);
}

static inline void the_trash_is_listed_from_the_newest_on(void **state)
{
    (void)state;
    struct meta *m = with_people();
    static const char *const paths[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        struct file_change c[] = {a_put(paths[i], 'A', 1), a_change(OP_DELETE, paths[i], NULL)};
        struct commit_row k = a_commit(i < 2 ? 100 : 200);
        uint64_t rev;
        OK(meta_commit_set(m, &k, c, 2, NULL, &rev, e));
    }
    for (uint32_t limit = 1; limit < 6; limit++) {
        assert_listed(m, &(struct file_query){.state = FILE_TRASHED, .prefix = "", .limit = limit},
                      "d c b a");
        assert_listed(m,
                      &(struct file_query){
                          .state = FILE_TRASHED, .prefix = "", .glob = "[ac]", .limit = limit},
                      "c a");
    }
    struct file_rows rows;
    char *next;
    struct file_query bad = {.state = FILE_TRASHED, .prefix = "", .limit = 1, .after = "x"};
    FAILS(ERR_INVALID, meta_file_list(m, "ws_a", &bad, &rows, &next, e));

    uint64_t count;
    OK(meta_purge_trash(m, "ws_a", 150, 1, &count, e));
    assert_int_equal(count, 1);
    OK(meta_purge_trash(m, "ws_a", 150, 10, &count, e));
    assert_int_equal(count, 1);
    OK(meta_purge_trash(m, "ws_a", 150, 10, &count, e));
    assert_int_equal(count, 0);
    assert_usage(m, 0, 0, 2);
    contract_close(m);
}

static inline void changes_since_a_revision_are_never_split(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change one[] = {a_put("a", 'A', 1), a_put("b", 'A', 1), a_put("c", 'A', 1)};
    commit_ok(m, one, 3);
    put(m, "d", 'D', 1);
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    make(m, OUTCOME_DONE, a_change(OP_MOVE, "b", "e"));
    struct file_rows rows;
    OK(meta_file_changes(m, "ws_a", 0, 1, &rows, e)); /* c of 1; d; e */
    assert_int_equal(rows.count, 1);
    assert_true(rows.has_more);
    assert_string_equal(rows.items[0].path, "c");
    file_rows_done(&rows);
    OK(meta_file_changes(m, "ws_a", 0, 100, &rows, e));
    assert_int_equal(rows.count, 3);
    assert_false(rows.has_more);
    file_rows_done(&rows);
    OK(meta_file_changes(m, "ws_a", 1, 100, &rows, e));
    assert_int_equal(rows.count, 4);
    assert_string_equal(rows.items[0].path, "d");
    assert_string_equal(rows.items[1].path, "a");
    assert_int_equal(rows.items[1].state, FILE_TRASHED);
    assert_string_equal(rows.items[2].path, "b"); /* it left */
    assert_int_equal(rows.items[2].state, FILE_TRASHED);
    assert_int_equal(rows.items[2].change, CHANGE_MOVED);
    assert_string_equal(rows.items[3].path, "e");
    assert_int_equal(rows.items[3].state, FILE_LIVE);
    assert_int_equal(rows.items[3].rev, 4);
    file_rows_done(&rows);
    put(m, "b", 'N', 1); /* and now something else is there */
    OK(meta_file_changes(m, "ws_a", 3, 100, &rows, e));
    assert_int_equal(rows.count, 2);
    file_rows_done(&rows);

    struct file_change many[] = {a_put("x1", 'A', 1), a_put("x2", 'A', 1), a_put("x3", 'A', 1)};
    commit_ok(m, many, 3);
    OK(meta_file_changes(m, "ws_a", 4, 2, &rows, e)); /* b of 5, and not a part of 6 */
    assert_int_equal(rows.count, 1);
    assert_true(rows.has_more);
    file_rows_done(&rows);
    OK(meta_file_changes(m, "ws_a", 5, 2, &rows, e));
    assert_int_equal(rows.count, 3);
    assert_false(rows.has_more);
    file_rows_done(&rows);
    contract_close(m);
}

static inline void versions_are_listed_pinned_and_purged(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = {0};
    for (int i = 0; i < 5; i++)
        a = put(m, "a", (char)('A' + i), 10);
    struct version_rows rows;
    struct page page = {.limit = 2};
    OK(meta_version_list(m, a.ret_file, &page, &rows, e));
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.items[0].version, 5);
    assert_true(rows.has_more);
    assert_string_equal(rows.next, "4");
    page.cursor = "2";
    version_rows_done(&rows);
    OK(meta_version_list(m, a.ret_file, &page, &rows, e));
    assert_int_equal(rows.count, 1);
    assert_false(rows.has_more);
    version_rows_done(&rows);
    page.cursor = "-";
    FAILS(ERR_INVALID, meta_version_list(m, a.ret_file, &page, &rows, e));
    FAILS(ERR_NOT_FOUND, meta_version_list(m, "file_x", &(struct page){.limit = 1}, &rows, e));

    OK(meta_version_pin(m, a.ret_file, 2, true, e));
    FAILS(ERR_NOT_FOUND, meta_version_pin(m, a.ret_file, 9, true, e));
    FAILS(ERR_CONFLICT, meta_purge(m, a.ret_file, 2, e));
    FAILS(ERR_CONFLICT, meta_purge(m, a.ret_file, 5, e));
    FAILS(ERR_CONFLICT, meta_purge(m, a.ret_file, 0, e));
    FAILS(ERR_NOT_FOUND, meta_purge(m, a.ret_file, 6, e));
    FAILS(ERR_NOT_FOUND, meta_purge(m, "file_x", 0, e));
    OK(meta_purge(m, a.ret_file, 1, e));
    FAILS(ERR_NOT_FOUND, meta_purge(m, a.ret_file, 1, e));
    assert_usage(m, 1, 10, 40);
    struct version_row v;
    OK(meta_version_get(m, a.ret_file, 2, &v, e));
    assert_true(v.is_pinned);
    version_row_done(&v);

    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    FAILS(ERR_CONFLICT, meta_purge(m, a.ret_file, 0, e)); /* pinned */
    uint64_t count;
    OK(meta_purge_trash(m, "ws_a", INT64_MAX, 10, &count, e));
    assert_int_equal(count, 0);
    OK(meta_purge(m, a.ret_file, 5, e)); /* then it would come back as 4 */
    struct file_change u = {.op = OP_UNTRASH};
    set_id(u.file, a.ret_file);
    make(m, OUTCOME_DONE, u);
    assert_live(m, "a", 'D', 7);
    assert_usage(m, 1, 10, 30);
    OK(meta_version_pin(m, a.ret_file, 2, false, e));
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    FAILS(ERR_CONFLICT, meta_purge(m, a.ret_file, 8, e)); /* the deletion */
    OK(meta_purge(m, a.ret_file, 4, e));                  /* 7 has the same, and costs it now */
    assert_usage(m, 0, 0, 30);
    OK(meta_purge(m, a.ret_file, 0, e));
    assert_usage(m, 0, 0, 0);
    contract_close(m);
}

static inline void thinning_takes_what_the_rule_says(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = {0}, b = {0};
    uint64_t count, rev;
    for (int i = 0; i < 6; i++) {
        struct commit_row k = a_commit(100 + i);
        struct file_change c[] = {a_put("a", (char)('A' + i), 1), a_put("b", (char)('A' + i), 1)};
        OK(meta_commit_set(m, &k, c, 2, NULL, &rev, e));
        a = c[0];
        b = c[1];
    }
    OK(meta_version_pin(m, a.ret_file, 2, true, e));
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "b", NULL));
    OK(meta_thin(m, &(struct thinning){0}, 100, &count, e));
    assert_int_equal(count, 0);
    OK(meta_thin(m, &(struct thinning){.keep_last = 4, .older_than_us = 102}, 100, &count, e));
    assert_int_equal(count, 3); /* 1 of a, 1 and 2 of b */
    assert_usage(m, 1, 1, 9);
    OK(meta_thin(m, &(struct thinning){.keep_last = 2}, 1, &count, e));
    assert_int_equal(count, 1);
    OK(meta_thin(m, &(struct thinning){.keep_last = 2}, 100, &count, e));
    assert_int_equal(count, 3);
    OK(meta_thin(m, &(struct thinning){.older_than_us = INT64_MAX}, 100, &count, e));
    assert_int_equal(count, 2); /* what is left: 2 and 6 of a; 6 of b and its deletion */
    assert_usage(m, 1, 1, 3);
    struct file_change u = {.op = OP_UNTRASH};
    set_id(u.file, b.ret_file);
    make(m, OUTCOME_DONE, u);
    assert_live(m, "b", 'F', 8);
    contract_close(m);
}

static inline void a_run_knows_its_files(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct commit_row k = a_commit(1);
    struct file_change c[] = {a_put("z", 'A', 1), a_put("y", 'A', 1)}, d[] = {a_put("x", 'A', 1)};
    uint64_t rev;
    set_id(k.author.run, "run_1");
    OK(meta_commit_set(m, &k, c, 2, NULL, &rev, e));
    put(m, "w", 'A', 1);
    OK(meta_commit_set(m, &k, d, 1, NULL, &rev, e));
    struct version_rows rows;
    OK(meta_version_of_run(m, "run_1", &rows, e));
    assert_int_equal(rows.count, 3);
    assert_string_equal(rows.items[0].path, "x");
    assert_string_equal(rows.items[2].path, "z");
    version_rows_done(&rows);
    contract_close(m);
}

static inline void workspaces_have_names_quotas_and_an_end(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct workspace_row w = {.name = "lab", .created_us = 9, .bytes_max = 5}, got;
    set_id(w.id, "ws_2");
    set_id(w.owner, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    set_id(w.id, "ws_3");
    FAILS(ERR_CONFLICT, meta_workspace_insert(m, &w, e));
    set_id(w.owner, "prn_b");
    set_id(w.vault, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    OK(meta_workspace_find(m, "prn_a", "lab", &got, e));
    assert_string_equal(got.id, "ws_2");
    assert_string_equal(got.vault, "prn_a");
    assert_int_equal(got.bytes_max, 5);
    workspace_row_done(&got);
    OK(meta_workspace_find(m, "prn_b", "lab", &got, e));
    assert_string_equal(got.vault, "prn_a");
    workspace_row_done(&got);
    FAILS(ERR_NOT_FOUND, meta_workspace_find(m, "prn_a", "x", &got, e));

    struct workspace_change ch = {.name = "default", .files_max = 7, .bytes_max = UINT64_MAX};
    FAILS(ERR_CONFLICT, meta_workspace_update(m, "ws_2", &ch, e));
    ch.name = "lab";
    OK(meta_workspace_update(m, "ws_2", &ch, e));
    FAILS(ERR_NOT_FOUND, meta_workspace_update(m, "ws_x", &ch, e));
    OK(meta_workspace_get(m, "ws_2", &got, e));
    assert_int_equal(got.files_max, 7);
    assert_int_equal(got.bytes_max, 5);
    workspace_row_done(&got);

    struct commit_row k = a_commit(1);
    struct file_change c[] = {a_put("a", 'A', 1), a_put("b", 'B', 1)};
    uint64_t rev, count;
    set_id(k.workspace, "ws_2");
    OK(meta_commit_set(m, &k, c, 2, NULL, &rev, e));
    FAILS(ERR_CONFLICT, meta_workspace_delete(m, "ws_a", 5, e));
    struct session_row s = a_session("ses_1", "prn_a", 10);
    set_id(s.workspace, "ws_2");
    OK(meta_session_insert(m, &s, META_NOW, e));
    FAILS(ERR_CONFLICT, meta_workspace_delete(m, "ws_2", 5, e));
    OK(meta_session_close(m, "ses_1", 11, "deleted", META_NOW, e));
    OK(meta_workspace_delete(m, "ws_2", 5, e));
    FAILS(ERR_NOT_FOUND, meta_workspace_delete(m, "ws_2", 5, e));
    FAILS(ERR_NOT_FOUND, meta_workspace_get(m, "ws_2", &got, e));
    FAILS(ERR_NOT_FOUND, meta_workspace_find(m, "prn_a", "lab", &got, e));
    FAILS(ERR_NOT_FOUND, meta_commit_set(m, &k, c, 2, NULL, &rev, e));
    struct file_row f;
    FAILS(ERR_NOT_FOUND, meta_file_by_id(m, c[0].ret_file, &f, e));
    FAILS(ERR_NOT_FOUND, meta_purge(m, c[0].ret_file, 0, e));
    struct content left[4];
    size_t n;
    OK(meta_content_list(m, "prn_a", NULL, 4, left, &n, e));
    assert_int_equal(n, 0);
    for (int i = 0; i < 9; i++) {
        OK(meta_workspace_clear(m, 1, &count, e));
        OK(meta_check_files(m, e));
    }
    assert_int_equal(count, 0);
    set_id(w.id, "ws_4"); /* the name is free again */
    set_id(w.owner, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    contract_close(m);
}

#define META_CONTRACT_FILES                                                                        \
    cmocka_unit_test(a_put_makes_a_version_and_the_same_again_none),                               \
        cmocka_unit_test(a_commit_is_all_or_nothing), cmocka_unit_test(no_file_lies_below_a_file), \
        cmocka_unit_test(what_is_deleted_goes_on_when_it_is_made_again),                           \
        cmocka_unit_test(directories_are_deleted_moved_and_copied_as_a_whole),                     \
        cmocka_unit_test(a_file_moves_with_its_history),                                           \
        cmocka_unit_test(copies_are_files_of_their_own),                                           \
        cmocka_unit_test(an_earlier_version_becomes_the_newest),                                   \
        cmocka_unit_test(expectations_are_met_or_nothing_happens),                                 \
        cmocka_unit_test(a_quota_is_kept_to_the_byte),                                             \
        cmocka_unit_test(lists_are_sorted_and_flat_ones_show_directories_once),                    \
        cmocka_unit_test(the_trash_is_listed_from_the_newest_on),                                  \
        cmocka_unit_test(changes_since_a_revision_are_never_split),                                \
        cmocka_unit_test(versions_are_listed_pinned_and_purged),                                   \
        cmocka_unit_test(thinning_takes_what_the_rule_says),                                       \
        cmocka_unit_test(a_run_knows_its_files),                                                   \
        cmocka_unit_test(workspaces_have_names_quotas_and_an_end),                                 \
        cmocka_unit_test(what_others_changed_is_not_overwritten_but_stands_beside),                \
        cmocka_unit_test(what_is_in_the_way_of_a_session_is_gone_around),                          \
        cmocka_unit_test(a_session_knows_its_base_and_its_paths),                                  \
        cmocka_unit_test(chunks_come_with_the_commit_that_needs_them),                             \
        cmocka_unit_test(gc_marks_and_sweeps_what_nobody_needs),                                   \
        cmocka_unit_test(an_upload_is_remembered_until_it_is_over)

#endif
