/* The contract about locks on SQLite, and what only SQLite can be asked: that reading them sorts and scans
 * nothing, and that a conflict leaves its row in the audit. */
#include "store/audit.h"
#include "store/meta_contract_locks.h"
#include "store/meta_sqlite.h"

static void read_locks(struct meta *m)
{
    struct lock_rows rows;
    struct lock_row r;
    struct author who = {0};
    OK(meta_lock_list(m, "ws_a", "d/f", 1010 * S_US, &(struct page){.limit = 5}, &rows, e));
    assert_int_equal(rows.count, 1);
    lock_rows_done(&rows);
    OK(meta_lock_get(m, "ws_a", "lock_A", 1010 * S_US, &r, e));
    lock_row_done(&r);
    OK(meta_lock_check(m, "ws_a", "x", &who, 1010 * S_US, e));
}

static void no_list_of_locks_sorts_or_scans(void **state)
{
    (void)state;
    struct meta *m = with_people();
    take_ok(m, a_lock("d/f", 'A'));
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20);
    trace_readers(m, read_locks, &seen);
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

static void a_conflict_is_in_the_audit_for_its_holder_to_see(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct lock_row r = a_lock("f", 'A');
    r.holder = "a\"\\l\nice";
    take_ok(m, r);
    struct file_change c = gives(m, a_put("f", 'X', 1), 2, "ses_1");
    assert_int_equal(c.outcome, OUTCOME_ASIDE);
    free(c.ret_why);
    free(c.ret_path);
    struct audit_rows rows;
    const struct audit_filter filter = {
        .workspace = "ws_a", .event = "lockConflict", .is_events = true, .limit = 5};
    OK(audit_list(m, &filter, &rows, e));
    assert_int_equal(rows.count, 1);
    assert_non_null(strstr(rows.items[0].record, "lock_A"));
    assert_non_null(strstr(rows.items[0].record, "\"f (ses_1)\""));
    assert_non_null(strstr(rows.items[0].record, "\"a\\\"\\\\l\\u000aice\""));
    audit_rows_done(&rows);
    contract_close(m);
}

/* ---- against looking at all of them ---- */

static const char *const some_paths[] = {"a",    "a/b", "a/b/c", "a/b/d", "a-b", "a/b-c", "ab",
                                         "a/bb", "b",   "b/a",   "b/a/b", "a.b", "a/b.c", "A"};
enum { SOME_PATHS = sizeof some_paths / sizeof *some_paths, SOME_LOCKS = 6 };

static bool lies_in(const char *path, const char *top)
{
    size_t len = strlen(top);
    return len == 0 || (strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

static bool covers(const struct lock_row *l, const char *path)
{
    return strcmp(l->path, path) == 0 || (l->is_tree && lies_in(path, l->path));
}

/* Whether a change of exactly that path is forbidden to who has the token 'A' + ours. */
static bool is_closed(const struct lock_row *locks, size_t count, const char *path, size_t ours)
{
    bool is_covered = false;
    for (size_t i = 0; i < count; i++) {
        is_covered = is_covered || covers(&locks[i], path);
        if (i == ours && covers(&locks[i], path))
            return false;
    }
    return is_covered;
}

static bool is_forbidden(const struct lock_row *locks, size_t count, const char *path, size_t ours)
{
    if (is_closed(locks, count, path, ours))
        return true;
    /* Below it; or above it, where there is no directory. */
    for (size_t i = 0; i < count; i++)
        if (strcmp(locks[i].path, path) != 0 && *locks[i].path &&
            (lies_in(locks[i].path, path) || lies_in(path, locks[i].path)) &&
            is_closed(locks, count, locks[i].path, ours))
            return true;
    return false;
}

static struct lock_row random_lock(unsigned *seed, size_t number)
{
    int which = rand_r(seed) % (SOME_PATHS + 1);
    struct lock_row l = a_lock(which < SOME_PATHS ? some_paths[which] : "", (char)('A' + number));
    l.is_tree = !*l.path || rand_r(seed) % 3 == 0;
    l.is_shared = rand_r(seed) % 2;
    return l;
}

static void what_locks_forbid_is_what_looking_at_all_of_them_says(void **state)
{
    (void)state;
    unsigned seed = 4918, refused = 0, passed = 0;
    for (int round = 0; round < 60; round++) {
        struct meta *m = with_people();
        struct lock_row held[SOME_LOCKS];
        size_t count = 0;
        for (int tries = 0; tries < 12 && count < SOME_LOCKS; tries++) {
            struct lock_row l = random_lock(&seed, count);
            bool collides = false;
            for (size_t i = 0; i < count; i++)
                collides = collides || (!(held[i].is_shared && l.is_shared) &&
                                        (covers(&held[i], l.path) || covers(&l, held[i].path)));
            if (collides)
                take_fails(m, ERR_LOCKED, l);
            else
                take_ok(m, held[count++] = l);
        }
        for (size_t p = 0; p < SOME_PATHS; p++)
            for (size_t ours = 0; ours <= count; ours++) {
                char token[2] = {(char)('A' + ours), '\0'};
                struct lock_pass pass = a_pass(ours < count ? token : "");
                struct author who = {.pass = &pass};
                struct err e = {0};
                int got = meta_lock_check(m, "ws_a", some_paths[p], &who, 1010 * S_US, &e);
                bool wanted = is_forbidden(held, count, some_paths[p], ours);
                if ((got != 0) != wanted || (got && e.code != ERR_LOCKED))
                    fail_msg("%s in round %d, ours %zu: %s", some_paths[p], round, ours, e.text);
                *(wanted ? &refused : &passed) += 1;
            }
        contract_close(m);
    }
    assert_true(refused > 500 && passed > 500); /* or it says little */
}

int main(void)
{
    const struct CMUnitTest all[] = {
        META_CONTRACT_LOCKS,
        cmocka_unit_test(no_list_of_locks_sorts_or_scans),
        cmocka_unit_test(what_locks_forbid_is_what_looking_at_all_of_them_says),
        cmocka_unit_test(a_conflict_is_in_the_audit_for_its_holder_to_see),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
