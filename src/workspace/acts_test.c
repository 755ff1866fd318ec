/* An act's entry goes with what it changes, or by itself. */
#include "workspace/acts.h"

#include "store/meta_files_fixture.h"
#include "store/meta_sqlite.h"

static struct meta *m;

static int set_up(void **state)
{
    (void)state;
    m = with_people();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    contract_close(m);
    return 0;
}

static void begin(struct act *a, const char *event)
{
    const struct audit_entry entry = {
        .event = event, .principal = "prn_a", .workspace = "ws_a", .via = "rest"};
    OK(act_begin(a, m, &entry, e));
}

/* "event result ..." of all entries, the oldest first; "*": it was a read. */
static void assert_told(const char *wanted)
{
    const struct audit_filter f = {.is_forward = true, .limit = 100};
    struct audit_rows l;
    char got[1024] = "";
    OK(audit_list(m, &f, &l, e));
    for (size_t i = 0; i < l.count; i++) {
        size_t len = strlen(got);
        (void)snprintf(got + len, sizeof got - len, "%s%s %d", len ? ", " : "", l.items[i].event,
                       l.items[i].result);
    }
    audit_rows_done(&l);
    assert_string_equal(got, wanted);
}

static void a_change_is_told_of_with_itself_and_once(void **state)
{
    (void)state;
    struct act act;
    begin(&act, "putFile");
    put(m, "a", 'A', 1);
    assert_true(act_is_taken(&act));
    assert_told("putFile 0");
    put(m, "b", 'B', 1); /* the next of the same act tells of itself */
    act_end(&act, AUDIT_OK, NULL);
    assert_told("putFile 0, saveFiles 0");
}

static void what_changes_nothing_is_told_of_at_its_end(void **state)
{
    (void)state;
    struct act act;
    begin(&act, "getFile");
    assert_told("");
    act_end(&act, AUDIT_OK, NULL);
    begin(&act, "getFile");
    act_end(&act, AUDIT_DENIED, "denied");
    begin(&act, "deleteFile");
    commit_fails(m, ERR_NOT_FOUND, a_change(OP_DELETE, "nothing", NULL));
    act_end(&act, AUDIT_ERROR, "not_found");
    assert_told("getFile 0, getFile 1, deleteFile 2");
}

static void one_that_fails_after_it_changed_something_is_told_of_twice(void **state)
{
    (void)state;
    struct act act;
    begin(&act, "importArchive");
    put(m, "a", 'A', 1);
    act_end(&act, AUDIT_ERROR, "invalid");
    assert_told("importArchive 0, importArchive 2");
}

static void a_posted_change_takes_it_along(void **state)
{
    (void)state;
    struct act act;
    struct session_row s = a_session("ses_1", "prn_a", 10);
    OK(meta_session_insert(m, &s, META_NOW, e));
    begin(&act, "createRun");
    struct run_row r = a_run("run_1", "ses_1", 10);
    OK(meta_run_insert(m, &r, META_SOON, e));
    assert_true(act_is_taken(&act));
    act_end(&act, AUDIT_ERROR, "timeout"); /* both may still look at it */
    assert_told("createRun 0, createRun 2");
}

static void acts_nest(void **state)
{
    (void)state;
    struct act outer, inner;
    begin(&outer, "createSession");
    begin(&inner, "createPrincipal");
    add_principal(m, "prn_c", "ws_c", "", NULL, 3);
    act_end_server(&inner);
    assert_false(act_is_taken(&outer));
    struct session_row s = a_session("ses_1", "prn_a", 10);
    OK(meta_session_insert(m, &s, META_NOW, e));
    act_end(&outer, AUDIT_OK, NULL);
    assert_told("createPrincipal 0, createSession 0");
}

static void the_server_tells_only_of_what_it_did(void **state)
{
    (void)state;
    struct act act;
    act_begin_server(&act, m, "emptyTrash", "ws_a");
    act_end_server(&act);
    act_begin_server(&act, m, "emptyTrash", "ws_a");
    put(m, "a", 'A', 1);
    act_end_server(&act);
    assert_told("emptyTrash 0");
}

static void one_that_was_not_begun_ends_without_a_word(void **state)
{
    (void)state;
    struct act act = {0};
    act_end(&act, AUDIT_OK, NULL);
    act_end_server(&act);
    assert_told("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_change_is_told_of_with_itself_and_once),
        TEST(what_changes_nothing_is_told_of_at_its_end),
        TEST(one_that_fails_after_it_changed_something_is_told_of_twice),
        TEST(a_posted_change_takes_it_along),
        TEST(acts_nest),
        TEST(the_server_tells_only_of_what_it_did),
        TEST(one_that_was_not_begun_ends_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
