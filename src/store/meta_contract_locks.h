/* meta_contract_locks.h -- the part of the contract about locks: taking them, and what they forbid. */
#ifndef STORE_META_CONTRACT_LOCKS_H
#define STORE_META_CONTRACT_LOCKS_H

#include "store/meta_files_fixture.h"
#include "store/meta_locks.h"

#define S_US INT64_C(1000000)

/* Tokens are letters here: the hash of 'A' is 32 times 'A'. Now is second 1000, and a lock has 60. */
static inline struct lock_row a_lock(const char *path, char token)
{
    struct lock_row r = {.path = path,
                         .holder = "alice",
                         .ttl_s = 60,
                         .created_us = 1000 * S_US,
                         .expires_us = 1060 * S_US};
    (void)snprintf(r.id, sizeof r.id, "lock_%c", token);
    set_id(r.workspace, "ws_a");
    set_id(r.principal, "prn_a");
    memset(r.sha256, token, HASH_LEN);
    return r;
}

static inline struct lock_row a_tree(const char *path, char token)
{
    struct lock_row r = a_lock(path, token);
    r.is_tree = true;
    return r;
}

static inline struct lock_row shared(struct lock_row r)
{
    r.is_shared = true;
    return r;
}

static inline struct lock_row later(struct lock_row r, int64_t s)
{
    r.created_us += s * S_US;
    r.expires_us += s * S_US;
    return r;
}

static inline uint64_t take_ok(struct meta *m, struct lock_row r)
{
    uint64_t fence = 0;
    struct lock_block block;
    OK(meta_lock_take(m, &r, &fence, &block, e));
    return fence;
}

static inline void take_fails(struct meta *m, enum err_code code, struct lock_row r)
{
    uint64_t fence = 7777;
    struct lock_block block = {0};
    FAILS(code, meta_lock_take(m, &r, &fence, &block, e));
    assert_int_equal(fence, 7777);
    if (code == ERR_LOCKED)
        assert_string_equal(block.holder, "alice");
}

static inline struct lock_pass a_pass(const char *tokens)
{
    struct lock_pass p = {.count = strlen(tokens)};
    for (size_t i = 0; i < p.count; i++)
        memset(p.tokens[i], tokens[i], HASH_LEN);
    return p;
}

/* Somebody with these tokens, in that session, at second `at`; what came of it: 0 or the code. */
static inline enum err_code tries(struct meta *m, struct file_change c, const char *tokens,
                                  const char *session, int64_t at)
{
    struct lock_pass pass = a_pass(tokens);
    struct commit_row k = a_commit(at * S_US);
    struct err e = {0};
    uint64_t rev;
    k.author.pass = &pass;
    set_id(k.author.session, session);
    int failed = meta_commit_set(m, &k, &c, 1, NULL, &rev, &e);
    if (failed && e.code == ERR_LOCKED) {
        assert_string_equal(pass.block.holder, "alice");
        assert_non_null(strstr(e.text, "is locked by alice until 1970-01-01T00:17:40Z"));
    }
    return failed ? e.code : 0;
}

static inline enum err_code tries_plainly(struct meta *m, struct file_change c)
{
    return tries(m, c, "", "", 1010);
}

/* ---- taking ---- */

static inline void an_exclusive_lock_is_alone_and_shared_ones_are_not(void **state)
{
    (void)state;
    struct meta *m = with_people();
    assert_int_equal(take_ok(m, a_lock("a/b.csv", 'A')), 1);
    take_fails(m, ERR_LOCKED, a_lock("a/b.csv", 'B'));
    take_fails(m, ERR_LOCKED, shared(a_lock("a/b.csv", 'B')));
    take_fails(m, ERR_LOCKED, a_tree("a", 'B'));
    take_fails(m, ERR_LOCKED, a_tree("", 'B'));
    take_fails(m, ERR_LOCKED, a_tree("a/b.csv", 'B'));
    take_fails(m, ERR_LOCKED, later(a_lock("a/b.csv", 'B'), 59));
    assert_int_equal(take_ok(m, a_lock("a", 'C')), 2); /* the directory, not what is in it */
    assert_int_equal(take_ok(m, shared(a_lock("a/c", 'D'))), 3);
    assert_int_equal(take_ok(m, shared(a_lock("a/c", 'E'))), 4);
    take_fails(m, ERR_LOCKED, a_lock("a/c", 'F'));
    assert_int_equal(take_ok(m, shared(a_tree("t", 'F'))), 5);
    assert_int_equal(take_ok(m, shared(a_lock("t/x", 'G'))), 6);
    take_fails(m, ERR_LOCKED, a_lock("t/x/y", 'H'));
    assert_int_equal(take_ok(m, a_lock("tt", 'H')), 7); /* sorts behind t, is not in it */
    contract_close(m);
}

static inline void an_ended_lock_frees_its_path_and_numbers_only_grow(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct lock_pass a = a_pass("A"), b = a_pass("B"), none = {0};
    struct lock_row r;
    assert_int_equal(take_ok(m, a_lock("f", 'A')), 1);
    FAILS(ERR_DENIED, meta_lock_remove(m, "ws_a", "lock_A", &b, 1000 * S_US, e));
    FAILS(ERR_DENIED, meta_lock_renew(m, "ws_a", "lock_A", &none, 0, 1000 * S_US, e));
    FAILS(ERR_NOT_FOUND, meta_lock_remove(m, "ws_b", "lock_A", &a, 1000 * S_US, e));
    OK(meta_lock_renew(m, "ws_a", "lock_A", &a, 0, 1030 * S_US, e));
    OK(meta_lock_get(m, "ws_a", "lock_A", 1089 * S_US, &r, e));
    assert_int_equal(r.expires_us, 1090 * S_US);
    assert_string_equal(r.path, "f");
    assert_string_equal(r.holder, "alice");
    assert_string_equal(r.principal, "prn_a");
    assert_string_equal(r.workspace, "ws_a");
    assert_int_equal(r.fence, 1);
    lock_row_done(&r);
    OK(meta_lock_renew(m, "ws_a", "lock_A", &a, 600, 1030 * S_US, e));
    OK(meta_lock_get(m, "ws_a", "lock_A", 1629 * S_US, &r, e));
    assert_int_equal(r.ttl_s, 600);
    lock_row_done(&r);
    OK(meta_lock_remove(m, "ws_a", "lock_A", &a, 1100 * S_US, e));
    FAILS(ERR_NOT_FOUND, meta_lock_remove(m, "ws_a", "lock_A", &a, 1100 * S_US, e));
    assert_int_equal(take_ok(m, a_lock("f", 'B')), 2);
    OK(meta_lock_remove(m, "ws_a", "lock_B", /* pass= */ NULL, 1010 * S_US, e)); /* broken */
    m = contract_reopen(m);
    assert_int_equal(take_ok(m, a_lock("f", 'C')), 3);
    FAILS(ERR_NOT_FOUND, meta_lock_get(m, "ws_a", "lock_C", 1060 * S_US, &r, e));
    struct lock_pass c = a_pass("C");
    FAILS(ERR_NOT_FOUND, meta_lock_renew(m, "ws_a", "lock_C", &c, 0, 1060 * S_US, e));
    assert_int_equal(take_ok(m, later(a_lock("f", 'D'), 60)), 4); /* it has expired */
    contract_close(m);
}

static inline void locks_are_counted_and_only_so_many_are_held(void **state)
{
    (void)state;
    struct meta *m = with_people();
    char id[ID_SIZE], path[32];
    for (int i = 0; i < LOCKS_MAX; i++) {
        struct lock_row r = a_lock(path, 'A');
        (void)snprintf(path, sizeof path, "f%d", i);
        (void)snprintf(r.id, sizeof r.id, "lock_%d", i);
        (void)snprintf(r.principal, sizeof r.principal, "prn_%d", i / LOCKS_OF_MAX);
        memcpy(r.sha256, r.id, sizeof "lock_999");
        take_ok(m, r);
        if (i == LOCKS_OF_MAX - 1) {
            struct lock_row more = a_lock("more", 'B');
            memcpy(more.principal, r.principal, ID_SIZE);
            take_fails(m, ERR_LIMIT, more);
        }
    }
    take_fails(m, ERR_LIMIT, a_lock("more", 'B'));
    (void)snprintf(id, sizeof id, "lock_7");
    OK(meta_lock_remove(m, "ws_a", id, NULL, 1000 * S_US, e));
    take_ok(m, a_lock("more", 'B'));
    uint64_t swept = 0;
    OK(meta_lock_sweep(m, 1059 * S_US, &swept, e));
    assert_int_equal(swept, 0);
    OK(meta_lock_sweep(m, 1060 * S_US, &swept, e));
    assert_int_equal(swept, LOCKS_MAX);
    contract_close(m);
}

static inline void locks_are_listed_by_what_they_matter_to(void **state)
{
    (void)state;
    struct meta *m = with_people();
    take_ok(m, a_lock("a/b", 'A'));
    take_ok(m, a_tree("d", 'B'));
    take_ok(m, a_lock("e", 'C'));
    const struct {
        const char *path, *ids;
    } cases[] = {{NULL, "CBA"}, {"", "CBA"},  {"a", "A"}, {"a/b", "A"},
                 {"d", "B"},    {"d/x", "B"}, {"da", ""}, {"e", "C"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lock_rows rows;
        struct page page = {.limit = 10};
        char ids[10] = "";
        OK(meta_lock_list(m, "ws_a", cases[i].path, 1010 * S_US, &page, &rows, e));
        for (size_t k = 0; k < rows.count; k++)
            ids[k] = rows.items[k].id[5];
        lock_rows_done(&rows);
        assert_string_equal(ids, cases[i].ids);
    }
    struct lock_rows rows;
    struct page page = {.limit = 2};
    OK(meta_lock_list(m, "ws_a", NULL, 1010 * S_US, &page, &rows, e));
    assert_int_equal(rows.count, 2);
    assert_true(rows.has_more);
    char cursor[CURSOR_SIZE];
    memcpy(cursor, rows.next, sizeof cursor);
    lock_rows_done(&rows);
    page.cursor = cursor;
    OK(meta_lock_list(m, "ws_a", NULL, 1010 * S_US, &page, &rows, e));
    assert_int_equal(rows.count, 1);
    assert_false(rows.has_more);
    lock_rows_done(&rows);
    OK(meta_lock_list(m, "ws_a", NULL, 1060 * S_US, &(struct page){.limit = 5}, &rows, e));
    assert_int_equal(rows.count, 0);
    lock_rows_done(&rows);
    OK(meta_lock_list(m, "ws_b", NULL, 1010 * S_US, &(struct page){.limit = 5}, &rows, e));
    assert_int_equal(rows.count, 0);
    lock_rows_done(&rows);
    contract_close(m);
}

static inline void a_lock_of_a_session_ends_with_it(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct lock_row r = a_lock("f", 'A');
    set_id(r.session, "ses_9");
    take_fails(m, ERR_NOT_FOUND, r);
    set_id(r.session, "ses_1");
    struct lock_row elsewhere = r;
    set_id(elsewhere.workspace, "ws_b");
    take_fails(m, ERR_NOT_FOUND, elsewhere);
    take_ok(m, r);
    assert_int_equal(tries(m, a_put("f", 'x', 1), "", "ses_2", 1010), ERR_LOCKED);
    assert_int_equal(tries(m, a_put("f", 'x', 1), "", "ses_1", 1010), 0);
    OK(meta_session_close(m, "ses_1", 1011 * S_US, "deleted", META_NOW, e));
    assert_int_equal(tries(m, a_put("f", 'y', 1), "", "ses_2", 1012), 0);
    assert_int_equal(tries(m, a_put("f", 'z', 1), "A", "", 1012), ERR_PRECONDITION);
    set_id(r.id, "lock_B");
    memset(r.sha256, 'B', HASH_LEN);
    take_fails(m, ERR_NOT_FOUND, r); /* it is closed */
    contract_close(m);
}

static inline void nothing_below_a_file_is_locked(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "a/f", 'A', 1);
    take_fails(m, ERR_CONFLICT, a_lock("a/f/x", 'A'));
    take_ok(m, a_lock("a/f", 'A'));
    struct lock_row r = a_lock("g", 'B');
    set_id(r.workspace, "ws_x");
    take_fails(m, ERR_NOT_FOUND, r);
    contract_close(m);
}

/* ---- what they forbid ---- */

struct lock_case {
    struct lock_row lock;
    const char *name;
};

/* Everything that changes d/f, or something that it is part of. Each store is made anew: see below. */
enum { LOCKED_OPS = 12 };
static inline struct file_change locked_op(int which, const char *file)
{
    struct file_change c = {0};
    switch (which) {
    case 0: return a_put("d/f", 'X', 1);
    case 1: return a_change(OP_DELETE, "d/f", NULL);
    case 2: return a_change(OP_DELETE, "d", NULL);
    case 3: return a_change(OP_MOVE, "d/f", "g");
    case 4: return a_change(OP_MOVE, "d", "e");
    case 5: c = a_change(OP_MOVE, "x", "d/f"); break;
    case 6: c = a_change(OP_COPY, "x", "d/f"); break;
    case 7:
        c = a_change(OP_RESTORE, "d/f", NULL);
        c.version = 1;
        return c;
    case 8: /* out of the trash, onto it */
        c = a_change(OP_UNTRASH, "d/f", NULL);
        set_id(c.file, file);
        break;
    case 9: return a_put("d/f", 'B', 1); /* nothing new; the lock is asked all the same */
    case 10: c = a_change(OP_MOVE, "t", "d2"); return c;
    case 11: return a_change(OP_MKDIR, "d2/new", NULL);
    default: break;
    }
    c.is_overwriting = true;
    return c;
}

/* d/f twice, x, a trashed file, a directory t, nothing at d2. */
static inline struct meta *with_tree(char ret_trashed[ID_SIZE])
{
    struct meta *m = with_session();
    put(m, "d/f", 'A', 1);
    put(m, "d/f", 'B', 1);
    put(m, "d/z", 'Z', 1);
    put(m, "x", 'C', 1);
    put(m, "t/u", 'D', 1);
    struct file_change c = put(m, "old", 'E', 1);
    memcpy(ret_trashed, c.ret_file, ID_SIZE);
    make(m, OUTCOME_DONE, a_change(OP_DELETE, "old", NULL));
    return m;
}

static inline void every_change_of_what_is_locked_is_refused(void **state)
{
    (void)state;
    const struct lock_row locks[] = {a_lock("d/f", 'A'), a_tree("d", 'A'), a_tree("", 'A'),
                                     shared(a_lock("d/f", 'A')), shared(a_tree("d", 'A'))};
    for (size_t l = 0; l < sizeof locks / sizeof *locks; l++)
        for (int op = 0; op < LOCKED_OPS; op++) {
            char trashed[ID_SIZE];
            bool is_elsewhere = op >= 10 && *locks[l].path; /* of d2: only all of it is locked */
            struct meta *m = with_tree(trashed);
            take_ok(m, locks[l]);
            struct file_change c = locked_op(op, trashed);
            assert_int_equal(tries_plainly(m, c), is_elsewhere ? 0 : ERR_LOCKED);
            assert_int_equal(tries(m, locked_op(op, trashed), "Q", "", 1010), ERR_PRECONDITION);
            if (!is_elsewhere)
                assert_int_equal(tries(m, locked_op(op, trashed), "A", "", 1010), 0);
            OK(meta_check_files(m, e));
            contract_close(m);
        }
}

static inline void the_session_of_a_lock_gets_past_it_everywhere(void **state)
{
    (void)state;
    for (int op = 0; op < LOCKED_OPS; op++) {
        char trashed[ID_SIZE];
        struct meta *m = with_tree(trashed);
        struct lock_row r = a_tree("", 'A');
        set_id(r.session, "ses_1");
        take_ok(m, r);
        assert_int_equal(tries(m, locked_op(op, trashed), "", "ses_2", 1010), ERR_LOCKED);
        assert_int_equal(tries(m, locked_op(op, trashed), "", "ses_1", 1010), 0);
        contract_close(m);
    }
}

static inline void who_overslept_the_end_of_a_lock_changes_nothing(void **state)
{
    (void)state;
    for (int op = 0; op < LOCKED_OPS; op++) {
        char trashed[ID_SIZE];
        struct meta *m = with_tree(trashed);
        take_ok(m, a_tree("", 'A'));
        /* Nobody has it now, and it is refused all the same; also after a restart. */
        assert_int_equal(tries(m, locked_op(op, trashed), "A", "", 1060), ERR_PRECONDITION);
        m = contract_reopen(m);
        assert_int_equal(tries(m, locked_op(op, trashed), "A", "", 1061), ERR_PRECONDITION);
        take_ok(m, later(a_tree("", 'B'), 61));
        assert_int_equal(tries(m, locked_op(op, trashed), "A", "", 1062), ERR_PRECONDITION);
        assert_int_equal(tries(m, locked_op(op, trashed), "AB", "", 1062), ERR_PRECONDITION);
        assert_int_equal(tries(m, locked_op(op, trashed), "B", "", 1062), 0);
        contract_close(m);
    }
}

static inline void a_clock_that_is_set_back_revives_no_lock(void **state)
{
    (void)state;
    struct meta *m = with_people();
    take_ok(m, a_lock("f", 'A'));
    take_ok(m, a_lock("g", 'B'));
    assert_int_equal(tries(m, a_put("f", 'x', 1), "", "", 1060), 0); /* goes past both */
    assert_int_equal(tries(m, a_put("f", 'y', 1), "A", "", 1010), ERR_PRECONDITION);
    take_ok(m, a_lock("g", 'C'));
    assert_int_equal(tries(m, a_put("g", 'y', 1), "B", "", 1010), ERR_PRECONDITION);
    assert_int_equal(tries(m, a_put("g", 'y', 1), "C", "", 1010), 0);
    contract_close(m);
}

static inline void any_token_of_shared_locks_will_do(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "d/f", 'A', 1);
    take_ok(m, shared(a_lock("d/f", 'A')));
    take_ok(m, shared(a_tree("d", 'B')));
    assert_int_equal(tries_plainly(m, a_put("d/f", 'x', 1)), ERR_LOCKED);
    assert_int_equal(tries(m, a_put("d/f", 'x', 1), "A", "", 1010), 0);
    assert_int_equal(tries(m, a_put("d/f", 'y', 1), "B", "", 1010), 0);
    assert_int_equal(tries(m, a_put("d/g", 'y', 1), "A", "", 1010), ERR_LOCKED);
    assert_int_equal(tries(m, a_change(OP_DELETE, "d", NULL), "A", "", 1010), ERR_LOCKED);
    assert_int_equal(tries(m, a_change(OP_DELETE, "d", NULL), "B", "", 1010), 0);
    contract_close(m);
}

static inline void a_directory_with_a_lock_in_it_stays(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "d/a", 'A', 1);
    put(m, "d-", 'A', 1);
    put(m, "x/y", 'A', 1);
    take_ok(m, a_lock("d/sub/new", 'A')); /* nothing is there yet */
    assert_int_equal(tries_plainly(m, a_change(OP_DELETE, "d", NULL)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MOVE, "d", "e")), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MOVE, "x", "d/sub")), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_put("d/sub", 'A', 1)), ERR_LOCKED); /* a file in its way */
    assert_int_equal(tries_plainly(m, a_change(OP_COPY, "x", "d/sub")), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MKDIR, "d/sub", NULL)), 0);
    assert_int_equal(tries_plainly(m, a_change(OP_MKDIR, "d/sub/new", NULL)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_put("d/a", 'B', 1)), 0);
    assert_int_equal(tries_plainly(m, a_put("d/sub/newer", 'B', 1)), 0);
    assert_int_equal(tries_plainly(m, a_change(OP_DELETE, "d-", NULL)), 0);
    assert_int_equal(tries(m, a_change(OP_DELETE, "d", NULL), "A", "", 1010), 0);
    contract_close(m);
}

/* What a session has at a path; it gives way. */
static inline struct file_change gives(struct meta *m, struct file_change c, uint64_t since,
                                       const char *session)
{
    struct commit_row k = a_commit(1010 * S_US);
    uint64_t rev;
    k.is_working_copy = true;
    set_id(k.author.session, session);
    c.expect = EXPECT_SINCE;
    c.since = since;
    c.mark = "ses_1";
    OK(meta_commit_set(m, &k, &c, 1, NULL, &rev, e));
    return c;
}

static inline void assert_gave_way(struct file_change c, enum outcome outcome, const char *to)
{
    assert_int_equal(c.outcome, outcome);
    assert_string_equal(c.ret_why, "locked by alice until 1970-01-01T00:17:40Z");
    if (to)
        assert_string_equal(c.ret_path, to);
    free(c.ret_why);
    free(c.ret_path);
}

static inline void nobody_makes_a_directory_of_a_path_that_is_locked(void **state)
{
    (void)state;
    struct meta *m = with_session();
    put(m, "there/x", 'A', 1);
    take_ok(m, a_lock("report", 'A')); /* nothing is there: its holder will put a file */
    take_ok(m, a_lock("there", 'B'));
    assert_int_equal(tries_plainly(m, a_put("report/x", 'A', 1)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_put("report/x/y", 'A', 1)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MKDIR, "report/x", NULL)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MKDIR, "report", NULL)), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_change(OP_MOVE, "there/x", "report/x")), ERR_LOCKED);
    assert_int_equal(tries_plainly(m, a_put("there/y", 'A', 1)), 0); /* is a directory already */
    assert_gave_way(gives(m, a_put("report/x/y", 'X', 1), 9, "ses_1"), OUTCOME_ASIDE,
                    "report (ses_1)/x/y");
    assert_int_equal(tries(m, a_put("report", 'A', 1), "A", "", 1010), 0);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static inline void one_who_is_about_to_send_much_can_ask_first(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct lock_pass right = a_pass("A"), wrong = a_pass("B");
    struct author who = {0};
    take_ok(m, a_lock("f", 'A'));
    FAILS(ERR_LOCKED, meta_lock_check(m, "ws_a", "f", &who, 1010 * S_US, e));
    OK(meta_lock_check(m, "ws_a", "g", &who, 1010 * S_US, e));
    OK(meta_lock_check(m, "ws_a", "f", &who, 1060 * S_US, e));
    who.pass = &right;
    OK(meta_lock_check(m, "ws_a", "f", &who, 1010 * S_US, e));
    FAILS(ERR_PRECONDITION, meta_lock_check(m, "ws_a", "f", &who, 1060 * S_US, e));
    who.pass = &wrong;
    FAILS(ERR_PRECONDITION, meta_lock_check(m, "ws_a", "g", &who, 1010 * S_US, e));
    contract_close(m);
}

/* ---- sessions give way ---- */

static inline void assert_conflicts(struct meta *m, const char *id, uint64_t count)
{
    struct lock_row r;
    OK(meta_lock_get(m, "ws_a", id, 1010 * S_US, &r, e));
    assert_int_equal(r.conflicts, count);
    lock_row_done(&r);
}

static inline void what_a_session_wrote_to_a_locked_path_stands_beside(void **state)
{
    (void)state;
    struct meta *m = with_session();
    put(m, "d/a.csv", 'A', 1);
    put(m, "d/b.csv", 'B', 1);
    take_ok(m, a_lock("d/a.csv", 'A'));
    assert_gave_way(gives(m, a_put("d/a.csv", 'X', 1), 2, "ses_1"), OUTCOME_ASIDE,
                    "d/a (ses_1).csv");
    assert_live(m, "d/a.csv", 'A', 1);
    assert_live(m, "d/a (ses_1).csv", 'X', 1);
    assert_conflicts(m, "lock_A", 1);
    /* The same again tells nothing new; another content goes to the same place. */
    assert_gave_way(gives(m, a_put("d/a.csv", 'X', 1), 3, "ses_1"), OUTCOME_ASIDE,
                    "d/a (ses_1).csv");
    assert_conflicts(m, "lock_A", 1);
    assert_gave_way(gives(m, a_put("d/a.csv", 'Y', 1), 3, "ses_1"), OUTCOME_ASIDE,
                    "d/a (ses_1).csv");
    assert_conflicts(m, "lock_A", 2);
    assert_int_equal(gives(m, a_put("d/b.csv", 'Y', 1), 3, "ses_1").outcome, OUTCOME_DONE);
    assert_gave_way(gives(m, a_change(OP_DELETE, "d/a.csv", NULL), 9, "ses_1"), OUTCOME_KEPT, NULL);
    assert_conflicts(m, "lock_A", 3);
    assert_live(m, "d/a.csv", 'A', 1);
    /* What is there is no conflict. */
    assert_int_equal(gives(m, a_put("d/a.csv", 'A', 1), 9, "ses_1").outcome, OUTCOME_SAME);
    OK(meta_check_files(m, e));
    contract_close(m);
}

static inline void what_a_session_wrote_into_a_locked_tree_stands_beside_the_tree(void **state)
{
    (void)state;
    struct meta *m = with_session();
    put(m, "d/s/a.csv", 'A', 1);
    take_ok(m, a_tree("d/s", 'A'));
    assert_gave_way(gives(m, a_put("d/s/a.csv", 'X', 1), 2, "ses_1"), OUTCOME_ASIDE,
                    "d/s (ses_1)/a.csv");
    assert_gave_way(gives(m, a_put("d/s/new/b", 'X', 1), 2, "ses_1"), OUTCOME_ASIDE,
                    "d/s (ses_1)/new/b");
    take_ok(m, a_tree("d/s (ses_1)", 'B'));
    assert_gave_way(gives(m, a_put("d/s/a.csv", 'Y', 1), 2, "ses_1"), OUTCOME_ASIDE,
                    "d/s (ses_1 2)/a.csv");
    contract_close(m);

    m = with_session(); /* everything is locked: there is no place */
    take_ok(m, a_tree("", 'A'));
    assert_gave_way(gives(m, a_put("a", 'X', 1), 2, "ses_1"), OUTCOME_LOCKED, NULL);
    assert_gone(m, "a");
    assert_conflicts(m, "lock_A", 1);
    assert_usage(m, 0, 0, 0);
    contract_close(m);
}

#define META_CONTRACT_LOCKS                                                    \
    cmocka_unit_test(an_exclusive_lock_is_alone_and_shared_ones_are_not),      \
        cmocka_unit_test(an_ended_lock_frees_its_path_and_numbers_only_grow),  \
        cmocka_unit_test(locks_are_counted_and_only_so_many_are_held),         \
        cmocka_unit_test(locks_are_listed_by_what_they_matter_to),             \
        cmocka_unit_test(a_lock_of_a_session_ends_with_it),                    \
        cmocka_unit_test(nothing_below_a_file_is_locked),                      \
        cmocka_unit_test(every_change_of_what_is_locked_is_refused),           \
        cmocka_unit_test(the_session_of_a_lock_gets_past_it_everywhere),       \
        cmocka_unit_test(who_overslept_the_end_of_a_lock_changes_nothing),     \
        cmocka_unit_test(a_clock_that_is_set_back_revives_no_lock),            \
        cmocka_unit_test(any_token_of_shared_locks_will_do),                   \
        cmocka_unit_test(a_directory_with_a_lock_in_it_stays),                 \
        cmocka_unit_test(nobody_makes_a_directory_of_a_path_that_is_locked),   \
        cmocka_unit_test(one_who_is_about_to_send_much_can_ask_first),         \
        cmocka_unit_test(what_a_session_wrote_to_a_locked_path_stands_beside), \
        cmocka_unit_test(what_a_session_wrote_into_a_locked_tree_stands_beside_the_tree)

#endif
