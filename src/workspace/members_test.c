#include "workspace/members.h"

#include "workspace/files_fixture.h"

/* A principal of its own, which has nothing to do with the admin. */
static struct who somebody(const char *name)
{
    struct principal_row row;
    struct who who = {.scopes = SCOPE_ALL & ~SCOPE_ADMIN};
    OK(people_principal_create(fx.people, &fx.who, PRINCIPAL_AGENT, name, clock_wall_us(), &row,
                               e));
    memcpy(who.principal, row.id, ID_SIZE);
    memcpy(who.workspace, row.workspace, ID_SIZE);
    principal_row_done(&row);
    return who;
}

static struct workspace_row workspace_of(const struct who *who)
{
    struct workspace_row ws;
    OK(files_workspace(fx.files, who, NULL, RIGHT_OWN, &ws, e));
    return ws;
}

static void every_role_has_just_the_rights_of_the_table(void **state)
{
    (void)state;
    static const struct {
        enum role role;
        enum right most;
    } table[] = {{ROLE_VIEWER, RIGHT_READ}, {ROLE_EDITOR, RIGHT_WRITE}, {ROLE_ADMIN, RIGHT_ADMIN}};
    struct who alice = somebody("alice"), bob = somebody("bob");
    scoped(workspace_row_done) struct workspace_row ws = workspace_of(&alice);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        OK(members_set(fx.files, &alice, &ws, bob.principal, table[i].role, e));
        for (int right = RIGHT_READ; right <= RIGHT_OWN; right++) {
            struct workspace_row row = {0};
            struct err why = {0};
            int failed = files_workspace(fx.files, &bob, ws.id, (enum right)right, &row, &why);
            assert_int_equal(failed, right <= (int)table[i].most ? 0 : -1);
            if (failed)
                assert_int_equal(why.code, ERR_DENIED);
            else
                workspace_row_done(&row);
            OK(rights_check(fx.files, &alice, &ws, (enum right)right, e));
            OK(rights_check(fx.files, &fx.who, &ws, (enum right)right, e)); /* the server's admin */
        }
    }
    OK(members_remove(fx.files, &alice, &ws, bob.principal, e));
    FAILS(ERR_NOT_FOUND, rights_check(fx.files, &bob, &ws, RIGHT_READ, e));
}

static void admins_make_members_and_nobody_touches_the_owner(void **state)
{
    (void)state;
    struct who alice = somebody("alice"), bob = somebody("bob"), carol = somebody("carol"),
               dave = somebody("dave");
    scoped(workspace_row_done) struct workspace_row ws = workspace_of(&alice);
    OK(members_set(fx.files, &alice, &ws, bob.principal, ROLE_ADMIN, e));
    OK(members_set(fx.files, &bob, &ws, carol.principal, ROLE_ADMIN, e));
    OK(members_set(fx.files, &carol, &ws, bob.principal, ROLE_EDITOR, e));
    FAILS(ERR_DENIED, members_set(fx.files, &bob, &ws, bob.principal, ROLE_ADMIN, e));
    FAILS(ERR_DENIED, members_remove(fx.files, &bob, &ws, carol.principal, e));
    FAILS(ERR_NOT_FOUND, members_set(fx.files, &dave, &ws, dave.principal, ROLE_ADMIN, e));
    FAILS(ERR_NOT_FOUND, members_remove(fx.files, &dave, &ws, bob.principal, e));
    FAILS(ERR_CONFLICT, members_set(fx.files, &carol, &ws, alice.principal, ROLE_VIEWER, e));
    FAILS(ERR_CONFLICT, members_remove(fx.files, &carol, &ws, alice.principal, e));
    FAILS(ERR_CONFLICT, members_remove(fx.files, &alice, &ws, alice.principal, e));
    FAILS(ERR_INVALID, members_set(fx.files, &carol, &ws, dave.principal, ROLE_OWNER, e));
    FAILS(ERR_INVALID, members_set(fx.files, &carol, &ws, dave.principal, ROLE_NONE, e));
    FAILS(ERR_NOT_FOUND, members_set(fx.files, &carol, &ws, "prn_nobody", ROLE_VIEWER, e));

    struct member_rows rows;
    OK(members_list(fx.files, &ws, &rows, e));
    assert_int_equal(rows.count, 3);
    assert_string_equal(rows.items[0].principal, alice.principal);
    assert_int_equal(rows.items[0].role, ROLE_OWNER);
    assert_string_equal(rows.items[0].name, "alice");
    assert_string_equal(rows.items[1].principal, bob.principal);
    assert_int_equal(rows.items[1].role, ROLE_EDITOR);
    assert_string_equal(rows.items[2].added_by, bob.principal);
    member_rows_done(&rows);

    OK(members_remove(fx.files, &bob, &ws, bob.principal, e)); /* anybody may leave */
    FAILS(ERR_NOT_FOUND, members_remove(fx.files, &bob, &ws, bob.principal, e));
}

static void what_one_is_a_member_of_is_listed_and_found_by_id(void **state)
{
    (void)state;
    struct who alice = somebody("alice"), bob = somebody("bob");
    struct workspace_row made, row;
    struct workspace_rows rows;
    const struct page page = {.limit = 10};
    OK(files_workspace_create(fx.files, &alice, "plans", &made, e));
    OK(members_set(fx.files, &alice, &made, bob.principal, ROLE_VIEWER, e));
    OK(files_workspace_list(fx.files, &bob, WORKSPACE_PLAIN, &page, &rows, e));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.items[0].id, made.id);
    workspace_rows_done(&rows);
    OK(files_workspace(fx.files, &bob, made.id, RIGHT_READ, &row, e));
    workspace_row_done(&row);
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &bob, "plans", RIGHT_READ, &row, e));
    workspace_row_done(&made);
}

static void members_max_fit_and_one_more_does_not(void **state)
{
    (void)state;
    struct who alice = somebody("alice");
    scoped(workspace_row_done) struct workspace_row ws = workspace_of(&alice);
    struct who last = {0};
    for (int i = 0; i <= MEMBERS_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        last = somebody(name);
        if (i < MEMBERS_MAX)
            OK(members_set(fx.files, &alice, &ws, last.principal, ROLE_VIEWER, e));
    }
    FAILS(ERR_LIMIT, members_set(fx.files, &alice, &ws, last.principal, ROLE_VIEWER, e));
    struct member_rows rows;
    OK(members_list(fx.files, &ws, &rows, e));
    assert_int_equal(rows.count, MEMBERS_MAX + 1); /* and the owner */
    OK(members_set(fx.files, &alice, &ws, rows.items[1].principal, ROLE_EDITOR, e));
    OK(members_remove(fx.files, &alice, &ws, rows.items[1].principal, e));
    member_rows_done(&rows);
    OK(members_set(fx.files, &alice, &ws, last.principal, ROLE_VIEWER, e));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_role_has_just_the_rights_of_the_table),
        TEST(admins_make_members_and_nobody_touches_the_owner),
        TEST(what_one_is_a_member_of_is_listed_and_found_by_id),
        TEST(members_max_fit_and_one_more_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
