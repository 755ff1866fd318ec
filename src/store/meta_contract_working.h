/* meta_contract_working.h -- the part of the contract about working copies, chunks and uploads. */
#ifndef STORE_META_CONTRACT_WORKING_H
#define STORE_META_CONTRACT_WORKING_H

#include "store/meta_files_fixture.h"

/* What the session ses_1 has at `path`, of which it knows what was up to `since`. */
static inline struct file_change capture(struct meta *m, struct file_change c, uint64_t since)
{
    struct commit_row k = a_commit(100);
    uint64_t rev;
    k.is_working_copy = true;
    set_id(k.author.session, "ses_1");
    c.expect = EXPECT_SINCE;
    c.since = since;
    c.mark = "ses/1";
    OK(meta_commit_set(m, &k, &c, 1, NULL, &rev, e));
    return c;
}

static inline void assert_aside(struct file_change c, const char *path)
{
    assert_int_equal(c.outcome, OUTCOME_ASIDE);
    assert_string_equal(c.ret_path, path);
    free(c.ret_path);
}

static inline void what_others_changed_is_not_overwritten_but_stands_beside(void **state)
{
    (void)state;
    struct meta *m = with_session();
    assert_int_equal(capture(m, a_put("d/a.tar.gz", 'A', 1), 0).outcome, OUTCOME_DONE);
    put(m, "d/a.tar.gz", 'B', 1); /* 2: somebody else */
    assert_aside(capture(m, a_put("d/a.tar.gz", 'C', 1), 1), "d/a.tar (ses_1).gz");
    assert_live(m, "d/a.tar.gz", 'B', 2);
    assert_live(m, "d/a.tar (ses_1).gz", 'C', 1);
    /* Again: to the same name, although nobody changed the path since. */
    assert_aside(capture(m, a_put("d/a.tar.gz", 'D', 1), 3), "d/a.tar (ses_1).gz");
    assert_live(m, "d/a.tar (ses_1).gz", 'D', 2);
    put(m, "d/a.tar (ses_1).gz", 'X', 1); /* now others take that too */
    assert_aside(capture(m, a_put("d/a.tar.gz", 'E', 1), 4), "d/a.tar (ses_1 2).gz");
    struct session_paths l;
    OK(meta_session_paths(m, "ses_1", &l, e));
    assert_int_equal(l.count, 1);
    assert_string_equal(l.items[0].path, "d/a.tar.gz");
    assert_string_equal(l.items[0].aside, "d/a.tar (ses_1 2).gz");
    assert_int_equal(l.items[0].rev, 6);
    session_paths_done(&l);
    /* It has what others have: they agree again. */
    assert_int_equal(capture(m, a_put("d/a.tar.gz", 'B', 1), 2).outcome, OUTCOME_SAME);
    assert_int_equal(capture(m, a_put("d/a.tar.gz", 'F', 1), 6).outcome, OUTCOME_DONE);
    assert_live(m, "d/a.tar.gz", 'F', 3);

    assert_int_equal(capture(m, a_change(OP_DELETE, "d/a.tar.gz", NULL), 1).outcome, OUTCOME_KEPT);
    assert_live(m, "d/a.tar.gz", 'F', 3);
    assert_int_equal(capture(m, a_change(OP_DELETE, "d/a.tar.gz", NULL), 7).outcome, OUTCOME_DONE);
    assert_int_equal(capture(m, a_change(OP_DELETE, "d/a.tar.gz", NULL), 1).outcome, OUTCOME_SAME);

    put(m, ".hidden", 'A', 1);
    assert_aside(capture(m, a_put(".hidden", 'C', 1), 1), ".hidden (ses_1)");
    char name[256];
    for (size_t i = 0; i < 254; i += 2)
        memcpy(name + i, "\xc3\xa4", 2);
    name[254] = '\0';
    put(m, name, 'A', 1);
    struct file_change longest = capture(m, a_put(name, 'C', 1), 1);
    assert_int_equal(longest.outcome, OUTCOME_ASIDE);
    assert_int_equal(strlen(longest.ret_path), 254);
    free(longest.ret_path);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static inline void what_is_in_the_way_of_a_session_is_gone_around(void **state)
{
    (void)state;
    struct meta *m = with_session();
    put(m, "a", 'A', 1);   /* a file where the session has a directory */
    put(m, "b/x", 'B', 1); /* a directory where it has a file */
    make(m, OUTCOME_DONE, a_change(OP_MKDIR, "e", NULL));
    assert_aside(capture(m, a_put("a/n/1.txt", 'C', 1), 3), "a (ses_1)/n/1.txt");
    assert_aside(capture(m, a_put("b", 'C', 1), 3), "b (ses_1)");
    assert_aside(capture(m, a_put("e", 'C', 1), 3), "e (ses_1)");
    assert_int_equal(capture(m, a_change(OP_MKDIR, "a", NULL), 3).outcome, OUTCOME_KEPT);
    assert_live(m, "a (ses_1)/n/1.txt", 'C', 1);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static inline void a_session_knows_its_base_and_its_paths(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct session_row s = a_session("ses_2", "prn_a", 11);
    OK(meta_session_insert(m, &s, META_NOW, e));
    uint64_t rev;
    OK(meta_session_base(m, "ses_1", &rev, e));
    assert_int_equal(rev, 0);
    FAILS(ERR_NOT_FOUND, meta_session_base(m, "ses_x", &rev, e));
    FAILS(ERR_NOT_FOUND, meta_session_set_base(m, "ses_x", 1, NULL, 0, true, e));
    capture(m, a_put("b", 'A', 1), 0);
    capture(m, a_put("a", 'A', 1), 0);
    capture(m, a_put("c", 'A', 1), 0);
    const char *const brought[] = {"b"};
    OK(meta_session_set_base(m, "ses_1", 3, brought, 1, false, e));
    m = contract_reopen(m);
    OK(meta_session_copy_base(m, "ses_1", "ses_2", e));
    FAILS(ERR_NOT_FOUND, meta_session_copy_base(m, "ses_x", "ses_2", e));
    OK(meta_session_set_base(m, "ses_1", 4, NULL, 0, true, e));
    struct session_paths l;
    OK(meta_session_paths(m, "ses_1", &l, e));
    assert_int_equal(l.count, 0);
    session_paths_done(&l);
    OK(meta_session_paths(m, "ses_2", &l, e));
    assert_int_equal(l.count, 2);
    assert_string_equal(l.items[0].path, "a");
    assert_int_equal(l.items[0].rev, 2);
    assert_null(l.items[0].aside);
    session_paths_done(&l);
    OK(meta_session_base(m, "ses_2", &rev, e));
    assert_int_equal(rev, 3);

    OK(meta_session_close(m, "ses_2", 12, "deleted", META_NOW, e)); /* they go with the session */
    struct pruned pruned;
    OK(meta_prune(m, &(struct prune){.closed_before_us = 13}, &pruned, e));
    assert_int_equal(pruned.sessions, 1);
    OK(meta_session_paths(m, "ses_2", &l, e));
    assert_int_equal(l.count, 0);
    contract_close(m);
}

/* ---- chunks ---- */

static inline struct chunk_row a_chunk(char letter, uint64_t pack, uint64_t offset)
{
    struct chunk_row r = {.kind = CHUNK_DATA,
                          .pack = pack,
                          .offset = offset,
                          .stored_len = 100,
                          .raw_len = 200,
                          .flags = 1};
    memset(r.sha256, letter, HASH_LEN);
    return r;
}

static inline struct chunk_key key_of(char letter)
{
    struct chunk_key k = {.kind = CHUNK_DATA};
    memset(k.sha256, letter, HASH_LEN);
    return k;
}

static inline void chunks_come_with_the_commit_that_needs_them(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct commit_row k = a_commit(1);
    struct chunk_row fresh[] = {a_chunk('A', 1, 0), a_chunk('B', 1, 152)}, got;
    struct chunk_key reused[] = {key_of('C')}, c = key_of('A');
    struct chunk_set set = {.vault = "prn_a", .fresh = fresh, .fresh_count = 2};
    struct file_change put_a = a_put("a", 'A', 1);
    uint64_t rev;
    assert_int_equal(meta_chunk_find(m, "prn_a", &c, &got, &(struct err){0}), 0);
    OK(meta_commit_set(m, &k, &put_a, 1, &set, &rev, e));
    assert_int_equal(meta_chunk_find(m, "prn_a", &c, &got, &(struct err){0}), 1);
    assert_int_equal(got.pack, 1);
    assert_int_equal(got.stored_len, 100);
    assert_int_equal(got.raw_len, 200);
    assert_int_equal(got.flags, 1);
    assert_int_equal(meta_chunk_find(m, "prn_b", &c, &got, &(struct err){0}), 0);

    set.reused = reused;
    set.reused_count = 1;
    struct file_change put_c = a_put("c", 'C', 1);
    FAILS(ERR_BUSY, meta_commit_set(m, &k, &put_c, 1, &set, &rev, e));
    assert_gone(m, "c");
    set.vault = "prn_b";
    FAILS(ERR_INTERNAL, meta_commit_set(m, &k, &put_c, 1, &set, &rev, e));

    /* Who was first stays, and moves only from where it is. */
    fresh[0] = a_chunk('A', 2, 0);
    set = (struct chunk_set){.vault = "prn_a", .fresh = fresh, .fresh_count = 1};
    OK(meta_commit_set(m, &k, NULL, 0, &set, &rev, e));
    struct chunk_row list[4];
    size_t count;
    OK(meta_chunk_list(m, "prn_a", 1, 0, 4, list, &count, e));
    assert_int_equal(count, 2);
    OK(meta_chunk_list(m, "prn_a", 1, 1, 4, list, &count, e));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].offset, 152);
    struct chunk_move moves[] = {{a_chunk('A', 2, 0), a_chunk('A', 3, 7)},
                                 {a_chunk('B', 1, 152), a_chunk('B', 3, 9)}};
    OK(meta_chunk_move(m, "prn_a", moves, 2, e));
    struct pack_use *use;
    OK(meta_pack_use(m, "prn_a", &use, &count, e));
    assert_int_equal(count, 2);
    assert_int_equal(use[0].pack, 1);
    assert_int_equal(use[0].records, 1);
    assert_int_equal(use[0].bytes, 152);
    assert_int_equal(use[1].pack, 3);
    assert_int_equal(use[1].end, 161);
    free(use);
    contract_close(m);
}

static inline void gc_marks_and_sweeps_what_nobody_needs(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct commit_row k = a_commit(1);
    struct chunk_row fresh[] = {a_chunk('A', 1, 0), a_chunk('B', 1, 152), a_chunk('C', 1, 304)};
    struct chunk_set set = {.vault = "prn_a", .fresh = fresh, .fresh_count = 3};
    struct chunk_key keys[] = {key_of('A'), key_of('B'), key_of('C')};
    struct chunk_row got;
    uint64_t rev, gone;
    struct file_change put_all[] = {a_put("a", 'A', 1), a_put("b", 'B', 1), a_put("b2", 'B', 1)};
    OK(meta_commit_set(m, &k, put_all, 3, &set, &rev, e));
    struct content contents[4];
    size_t count;
    OK(meta_content_list(m, "prn_a", NULL, 1, contents, &count, e));
    assert_int_equal(count, 1);
    assert_int_equal(contents[0].sha256[0], 'A');
    OK(meta_content_list(m, "prn_a", contents[0].sha256, 4, contents, &count, e));
    assert_int_equal(count, 1);
    assert_int_equal(contents[0].sha256[0], 'B');
    OK(meta_content_list(m, "prn_b", NULL, 4, contents, &count, e));
    assert_int_equal(count, 0);
    char(*vaults)[ID_SIZE];
    OK(meta_vault_list(m, &vaults, &count, e));
    assert_int_equal(count, 1);
    assert_string_equal(vaults[0], "prn_a");
    free(vaults);

    OK(meta_chunk_mark(m, "prn_a", keys, 3, true, 50, e));
    OK(meta_chunk_mark(m, "prn_a", keys, 3, true, 90, e)); /* since the first time */
    assert_int_equal(meta_chunk_find(m, "prn_a", &keys[0], &got, &(struct err){0}), 0);
    assert_int_equal(meta_chunk_read(m, "prn_a", &keys[0], &got, &(struct err){0}), 1);
    OK(meta_chunk_mark(m, "prn_a", keys, 1, false, 60, e));
    assert_int_equal(meta_chunk_find(m, "prn_a", &keys[0], &got, &(struct err){0}), 1);
    fresh[1] = a_chunk('B', 2, 0); /* stored again, since it was not found */
    set = (struct chunk_set){.vault = "prn_a", .fresh = &fresh[1], .fresh_count = 1};
    OK(meta_commit_set(m, &k, NULL, 0, &set, &rev, e));
    assert_int_equal(meta_chunk_find(m, "prn_a", &keys[1], &got, &(struct err){0}), 1);
    assert_int_equal(got.pack, 2);
    OK(meta_chunk_sweep(m, "prn_a", 50, 10, &gone, e));
    assert_int_equal(gone, 0);
    struct chunk_set reuse = {.vault = "prn_a", .reused = &keys[2], .reused_count = 1};
    OK(meta_commit_set(m, &k, NULL, 0, &reuse, &rev, e)); /* saved in the last moment */
    OK(meta_chunk_sweep(m, "prn_a", 1000, 10, &gone, e));
    assert_int_equal(gone, 0);
    OK(meta_chunk_mark(m, "prn_a", &keys[2], 1, true, 70, e));
    OK(meta_chunk_sweep(m, "prn_a", 71, 10, &gone, e));
    assert_int_equal(gone, 1);
    FAILS(ERR_BUSY, meta_commit_set(m, &k, NULL, 0, &reuse, &rev, e));
    contract_close(m);
}

static inline void an_upload_is_remembered_until_it_is_over(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct upload_row u = {.path = "a/b", .size = UINT64_MAX, .created_us = 5, .used_us = 5}, got;
    set_id(u.id, "upl_1");
    set_id(u.workspace, "ws_a");
    set_id(u.author.principal, "prn_a");
    OK(meta_upload_insert(m, &u, e));
    FAILS(ERR_CONFLICT, meta_upload_insert(m, &u, e));
    set_id(u.id, "upl_2");
    u.size = 77;
    u.condition = "if-match x";
    u.created_us = 6;
    OK(meta_upload_insert(m, &u, e));
    OK(meta_upload_used(m, "upl_2", 9, e));
    OK(meta_settle(m, e));
    m = contract_reopen(m);
    OK(meta_upload_get(m, "upl_1", &got, e));
    assert_true(got.size == UINT64_MAX);
    assert_null(got.condition);
    assert_string_equal(got.author.principal, "prn_a");
    upload_row_done(&got);
    struct upload_rows rows;
    struct page page = {.limit = 1};
    OK(meta_upload_list(m, "ws_a", &page, &rows, e));
    assert_int_equal(rows.count, 1);
    assert_true(rows.has_more);
    assert_string_equal(rows.items[0].id, "upl_2");
    assert_string_equal(rows.items[0].condition, "if-match x");
    assert_int_equal(rows.items[0].size, 77);
    assert_int_equal(rows.items[0].used_us, 9);
    upload_rows_done(&rows);
    OK(meta_upload_remove(m, "upl_1", e));
    FAILS(ERR_NOT_FOUND, meta_upload_remove(m, "upl_1", e));
    FAILS(ERR_NOT_FOUND, meta_upload_get(m, "upl_1", &got, e));
    page.limit = 5;
    OK(meta_upload_list(m, NULL, &page, &rows, e));
    assert_int_equal(rows.count, 1);
    upload_rows_done(&rows);
    contract_close(m);
}

#endif
