/* meta_contract_commit.h -- the part of the contract about commits: operations, expectations, quotas. */
#ifndef STORE_META_CONTRACT_COMMIT_H
#define STORE_META_CONTRACT_COMMIT_H

#include "store/meta_files_fixture.h"

static inline void a_put_makes_a_version_and_the_same_again_none(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct commit_row k = a_commit(50);
    struct file_change c = a_put("dir/a.txt", 'A', 10);
    uint64_t rev;
    set_id(k.author.key, "key_1");
    set_id(k.author.session, "ses_9");
    set_id(k.author.run, "run_9");
    OK(meta_commit_set(m, &k, &c, 1, NULL, &rev, e));
    assert_int_equal(rev, 1);
    assert_int_equal(c.outcome, OUTCOME_DONE);
    assert_int_equal(c.made, CHANGE_CREATED);
    assert_int_equal(c.ret_version, 1);
    assert_int_equal(c.ret_rev, 1);
    assert_null(c.ret_path);
    struct file_change same = make(m, OUTCOME_SAME, a_put("dir/a.txt", 'A', 10));
    assert_string_equal(same.ret_file, c.ret_file);
    assert_int_equal(same.ret_rev, 1);
    struct file_change next = put(m, "dir/a.txt", 'B', 20);
    assert_int_equal(next.made, CHANGE_MODIFIED);
    assert_int_equal(next.ret_version, 2);
    assert_int_equal(next.ret_rev, 2);

    m = contract_reopen(m);
    struct file_row f;
    OK(meta_file_by_id(m, c.ret_file, &f, e));
    assert_string_equal(f.workspace, "ws_a");
    assert_string_equal(f.path, "dir/a.txt");
    assert_int_equal(f.kind, FILE_REGULAR);
    assert_int_equal(f.state, FILE_LIVE);
    assert_int_equal(f.content.size, 20);
    assert_int_equal(f.created_us, 50);
    assert_int_equal(f.changed_us, 100);
    assert_string_equal(f.author.run, "");
    file_row_done(&f);
    struct version_row v;
    OK(meta_version_get(m, c.ret_file, 1, &v, e));
    assert_string_equal(v.file, c.ret_file);
    assert_string_equal(v.path, "dir/a.txt");
    assert_int_equal(v.content.sha256[0], 'A');
    assert_int_equal(v.change, CHANGE_CREATED);
    assert_string_equal(v.author.principal, "prn_a");
    assert_string_equal(v.author.key, "key_1");
    assert_string_equal(v.author.session, "ses_9");
    assert_string_equal(v.author.run, "run_9");
    assert_int_equal(v.created_us, 50);
    version_row_done(&v);
    assert_usage(m, 1, 20, 30);
    contract_close(m);
}

static inline void a_commit_is_all_or_nothing(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change both[] = {a_put("a", 'A', 1), a_change(OP_DELETE, "nothing", NULL)};
    struct commit_row k = a_commit(1);
    uint64_t rev;
    FAILS(ERR_NOT_FOUND, meta_commit_set(m, &k, both, 2, NULL, &rev, e));
    assert_gone(m, "a");
    both[1] = a_put("b", 'B', 2);
    assert_int_equal(commit_ok(m, both, 2), 1);
    assert_int_equal(both[0].ret_rev, both[1].ret_rev);
    assert_usage(m, 2, 3, 3);
    assert_int_equal(commit_ok(m, NULL, 0), 1);
    set_id(k.workspace, "ws_x");
    FAILS(ERR_NOT_FOUND, meta_commit_set(m, &k, both, 2, NULL, &rev, e));
    contract_close(m);
}

static inline void no_file_lies_below_a_file(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "a/b/c", 'A', 1);
    commit_fails(m, ERR_CONFLICT, a_put("a/b", 'B', 1));
    commit_fails(m, ERR_CONFLICT, a_put("a", 'B', 1));
    commit_fails(m, ERR_CONFLICT, a_put("a/b/c/d", 'B', 1));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MKDIR, "a/b/c", NULL));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MKDIR, "a/b/c/d", NULL));
    put(m, "x", 'X', 1);
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "x", "a/b"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "x", "x/y"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_COPY, "x", "x/y"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_COPY, "x", "a"));
    put(m, "a/b-c", 'B', 1); /* sorts between a/b and what is in it */
    /* Within one commit too: the directory is known to be open, and then is not. */
    struct file_change c[] = {a_put("d/e/1", 'D', 1), a_change(OP_DELETE, "d/e", NULL),
                              a_put("d/e", 'E', 1), a_put("d/e/2", 'F', 1)};
    struct commit_row k = a_commit(1);
    uint64_t rev;
    FAILS(ERR_CONFLICT, meta_commit_set(m, &k, c, 4, NULL, &rev, e));
    commit_ok(m, c, 3);
    assert_live(m, "d/e", 'E', 1);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static inline void what_is_deleted_goes_on_when_it_is_made_again(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = put(m, "a", 'A', 10);
    struct file_change d = make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    assert_int_equal(d.made, CHANGE_DELETED);
    assert_int_equal(d.ret_version, 2);
    assert_gone(m, "a");
    assert_usage(m, 0, 0, 10);
    struct file_change again = put(m, "a", 'A', 10);
    assert_string_equal(again.ret_file, a.ret_file);
    assert_int_equal(again.made, CHANGE_CREATED);
    assert_int_equal(again.ret_version, 3);
    assert_usage(m, 1, 10, 20);
    commit_fails(m, ERR_NOT_FOUND, a_change(OP_DELETE, "b", NULL));
    contract_close(m);
}

static inline void directories_are_deleted_moved_and_copied_as_a_whole(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change all[] = {a_put("d/1", 'A', 1), a_put("d/e/2", 'B', 2), a_put("d-x", 'C', 4),
                                a_change(OP_MKDIR, "d/empty", NULL), a_put("d0", 'D', 8)};
    struct file_query q = {.prefix = "", .limit = 3};
    commit_ok(m, all, 5);
    make(m, OUTCOME_SAME, a_change(OP_MKDIR, "d", NULL));
    make(m, OUTCOME_SAME, a_change(OP_MKDIR, "d/empty", NULL));
    commit_fails(m, ERR_CONFLICT, a_put("d/empty", 'X', 1));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "d", "d/e/f"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "d/e", "d"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "d", "d0"));
    struct file_change moved = make(m, OUTCOME_DONE, a_change(OP_MOVE, "d", "n/m"));
    assert_int_equal(moved.made, CHANGE_MOVED);
    assert_listed(m, &q, "d-x d0 n/m/1 n/m/e/2 n/m/empty/");
    assert_usage(m, 5, 15, 15);
    make(m, OUTCOME_DONE, a_change(OP_COPY, "n/m", "c"));
    assert_listed(m, &q, "c/1 c/e/2 c/empty/ d-x d0 n/m/1 n/m/e/2 n/m/empty/");
    assert_usage(m, 8, 18, 18);
    struct file_change onto = a_change(OP_MOVE, "c", "d0");
    onto.is_overwriting = true;
    make(m, OUTCOME_DONE, onto);
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "n", NULL));
    assert_listed(m, &q, "d-x d0/1 d0/e/2 d0/empty/");
    assert_usage(m, 4, 7, 18);
    contract_close(m);
}

static inline void a_file_moves_with_its_history(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = put(m, "a", 'A', 10), b = put(m, "b", 'B', 20);
    commit_fails(m, ERR_NOT_FOUND, a_change(OP_MOVE, "c", "d"));
    commit_fails(m, ERR_CONFLICT, a_change(OP_MOVE, "a", "b"));
    make(m, OUTCOME_SAME, a_change(OP_MOVE, "a", "a"));
    struct file_change over = a_change(OP_MOVE, "a", "b");
    over.is_overwriting = true;
    over = make(m, OUTCOME_DONE, over);
    assert_string_equal(over.ret_file, a.ret_file);
    assert_int_equal(over.made, CHANGE_MOVED);
    assert_live(m, "b", 'A', 2);
    assert_gone(m, "a");
    assert_usage(m, 1, 10, 30);
    struct file_row f;
    OK(meta_file_by_id(m, b.ret_file, &f, e));
    assert_int_equal(f.state, FILE_TRASHED);
    file_row_done(&f);

    struct version_row v;
    OK(meta_version_at(m, "ws_a", "a", 2, &v, e));
    version_row_done(&v);
    FAILS(ERR_NOT_FOUND, meta_version_at(m, "ws_a", "a", 3, &v, e));
    FAILS(ERR_NOT_FOUND, meta_version_at(m, "ws_a", "b", 1, &v, e));
    OK(meta_version_at(m, "ws_a", "b", 2, &v, e));
    assert_int_equal(v.content.sha256[0], 'B');
    version_row_done(&v);
    OK(meta_version_at(m, "ws_a", "b", 99, &v, e));
    assert_string_equal(v.file, a.ret_file);
    version_row_done(&v);
    contract_close(m);
}

static inline void copies_are_files_of_their_own(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = put(m, "a", 'A', 10);
    put(m, "a", 'B', 20);
    struct file_change c = make(m, OUTCOME_DONE, a_change(OP_COPY, "a", "x/c"));
    assert_string_not_equal(c.ret_file, a.ret_file);
    assert_live(m, "x/c", 'B', 1);
    struct file_change old = a_change(OP_COPY, "a", "x/c");
    old.version = 1;
    commit_fails(m, ERR_CONFLICT, old);
    old.is_overwriting = true;
    assert_int_equal(make(m, OUTCOME_DONE, old).ret_version, 2);
    make(m, OUTCOME_SAME, old);
    old.version = 9;
    commit_fails(m, ERR_NOT_FOUND, old);
    assert_usage(m, 2, 30, 60);
    contract_close(m);
}

static inline void an_earlier_version_becomes_the_newest(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change a = put(m, "a", 'A', 10), r = a_change(OP_RESTORE, "a", NULL);
    put(m, "a", 'B', 20);
    r.version = 1;
    struct file_change done = make(m, OUTCOME_DONE, r);
    assert_int_equal(done.made, CHANGE_RESTORED);
    assert_live(m, "a", 'A', 3);
    make(m, OUTCOME_SAME, r);
    r.version = 8;
    commit_fails(m, ERR_NOT_FOUND, r);
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    r.version = 1;
    commit_fails(m, ERR_NOT_FOUND, r);

    struct file_change u = {.op = OP_UNTRASH};
    set_id(u.file, a.ret_file);
    assert_int_equal(make(m, OUTCOME_DONE, u).made, CHANGE_RESTORED); /* to where it was */
    assert_live(m, "a", 'A', 5);
    assert_usage(m, 1, 10, 40);
    commit_fails(m, ERR_CONFLICT, u);
    r.version = 4;
    commit_fails(m, ERR_CONFLICT, r); /* a deletion holds nothing */
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "a", NULL));
    put(m, "b", 'X', 1);
    u.path = "b";
    commit_fails(m, ERR_CONFLICT, u);
    u.is_overwriting = true;
    make(m, OUTCOME_DONE, u);
    assert_live(m, "b", 'A', 7);
    assert_usage(m, 1, 10, 41);
    set_id(u.file, "file_x");
    commit_fails(m, ERR_NOT_FOUND, u);
    contract_close(m);
}

static inline void expectations_are_met_or_nothing_happens(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change c = a_put("a", 'A', 1);
    c.expect = EXPECT_VERSION;
    commit_fails(m, ERR_PRECONDITION, c);
    c.expect = EXPECT_ABSENT;
    struct file_change made = make(m, OUTCOME_DONE, c);
    commit_fails(m, ERR_PRECONDITION, c); /* also when it is the same */
    c = a_put("a", 'B', 1);
    c.expect = EXPECT_VERSION;
    set_id(c.expected_file, made.ret_file);
    c.expected_version = 1;
    make(m, OUTCOME_DONE, c);
    commit_fails(m, ERR_PRECONDITION, c);
    c.op = OP_DELETE;
    commit_fails(m, ERR_PRECONDITION, c);
    c.op = OP_MOVE;
    c.to = "b";
    commit_fails(m, ERR_PRECONDITION, c);
    c.expected_version = 0; /* any version of any file */
    c.expected_file[0] = '\0';
    make(m, OUTCOME_DONE, c);
    c = a_put("b", 'C', 1);
    c.expect = EXPECT_SINCE;
    c.since = 2;
    commit_fails(m, ERR_PRECONDITION, c);
    c.content = a_content('B', 1);
    make(m, OUTCOME_SAME, c);
    c = a_put("a", 'C', 1); /* it was there, and moved away */
    c.expect = EXPECT_SINCE;
    c.since = 2;
    commit_fails(m, ERR_PRECONDITION, c);
    c.since = 3;
    make(m, OUTCOME_DONE, c);
    contract_close(m);
}

static inline void a_quota_is_kept_to_the_byte(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct commit_row k = a_commit(1);
    uint64_t rev;
    k.files_max = 2;
    k.bytes_max = 100;
    struct file_change c[] = {a_put("a", 'A', 60), a_put("b", 'B', 41), a_put("b", 'C', 40),
                              a_put("c", 'D', 0), a_change(OP_MKDIR, "d", NULL)};
    FAILS(ERR_QUOTA, meta_commit_set(m, &k, c, 2, NULL, &rev, e));
    for (size_t i = 0; i < 5; i++)
        c[i].is_lenient = true;
    OK(meta_commit_set(m, &k, c, 5, NULL, &rev, e));
    assert_int_equal(c[0].outcome, OUTCOME_DONE);
    assert_int_equal(c[1].outcome, OUTCOME_QUOTA);
    assert_int_equal(c[2].outcome, OUTCOME_DONE);
    assert_int_equal(c[3].outcome, OUTCOME_QUOTA);
    assert_int_equal(c[4].outcome, OUTCOME_QUOTA);
    assert_usage(m, 2, 100, 100);
    struct file_change more = a_put("a", 'E', 1), move = a_change(OP_MOVE, "a", "z"),
                       drop = a_change(OP_DELETE, "z", NULL), copy = a_change(OP_COPY, "b", "e");
    FAILS(ERR_QUOTA, meta_commit_set(m, &k, &more, 1, NULL, &rev, e));
    FAILS(ERR_QUOTA, meta_commit_set(m, &k, &copy, 1, NULL, &rev, e));
    OK(meta_commit_set(m, &k, &move, 1, NULL, &rev, e)); /* a full workspace can be tidied up */
    OK(meta_commit_set(m, &k, &drop, 1, NULL, &rev, e));
    FAILS(ERR_QUOTA, meta_commit_set(m, &k, &copy, 1, NULL, &rev, e)); /* the trash counts */
    OK(meta_purge(m, drop.ret_file, 0, e));
    assert_usage(m, 1, 40, 40);
    OK(meta_commit_set(m, &k, &copy, 1, NULL, &rev, e));
    assert_usage(m, 2, 80, 80);
    contract_close(m);
}

#endif
