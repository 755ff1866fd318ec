
#include "workspace/files_fixture.h"

static struct who somebody(const char *name)
{
    struct who who;
    OK(people_behalf(fx.people, &fx.who, str_of(name), clock_wall_us(), &who, e));
    return who;
}

static void id_is(const char *wanted, const struct who *who, const char *called)
{
    struct workspace_row row;
    OK(files_workspace(fx.files, who, called, RIGHT_WRITE, &row, e));
    assert_string_equal(row.id, wanted);
    workspace_row_done(&row);
}

static void a_workspace_is_found_by_id_name_and_as_the_default(void **state)
{
    (void)state;
    struct workspace_row made;
    OK(files_workspace_create(fx.files, &fx.who, "reports", &made, e));
    assert_string_equal(made.name, "reports");
    assert_string_equal(made.owner, fx.who.principal);
    assert_true(*made.vault);
    id_is(made.id, &fx.who, made.id);
    id_is(made.id, &fx.who, "reports");
    id_is(fx.who.workspace, &fx.who, NULL);
    id_is(fx.who.workspace, &fx.who, "default");
    struct workspace_row row;
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, "nothing", RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, "ws_nothing", RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, "", RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace_known(fx.files, "ws_nothing", &row, e));
    workspace_row_done(&made);
}

static void what_belongs_to_others_is_not_there(void **state)
{
    (void)state;
    struct who alice = somebody("alice"), bob = somebody("bob");
    struct workspace_row hers, row;
    OK(files_workspace_create(fx.files, &alice, "plans", &hers, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &bob, hers.id, RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &bob, "plans", RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &bob, alice.workspace, RIGHT_READ, &row, e));
    const struct workspace_change change = {
        .name = "x", .files_max = UINT64_MAX, .bytes_max = UINT64_MAX};
    FAILS(ERR_NOT_FOUND, files_workspace_change(fx.files, &bob, &hers, &change, e));
    FAILS(ERR_NOT_FOUND, files_workspace_delete(fx.files, &bob, &hers, e));
    id_is(hers.id, &fx.who, hers.id); /* the admin sees it, by its id */
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, "plans", RIGHT_READ, &row, e));

    struct workspace_rows rows;
    const struct page page = {.limit = 10};
    OK(files_workspace_list(fx.files, &bob, WORKSPACE_PLAIN, &page, &rows, e));
    assert_int_equal(rows.count, 1); /* bob's default one */
    workspace_rows_done(&rows);
    OK(files_workspace_list(fx.files, &fx.who, WORKSPACE_PLAIN, &page, &rows, e));
    assert_int_equal(rows.count, 4);
    workspace_rows_done(&rows);
    workspace_row_done(&hers);
}

static void names_are_unique_and_do_not_look_like_ids(void **state)
{
    (void)state;
    struct workspace_row a, b, other;
    OK(files_workspace_create(fx.files, &fx.who, "a", &a, e));
    OK(files_workspace_create(fx.files, &fx.who, "b", &b, e));
    const char *const wrong[] = {"", "ws_x", "default", "a/b", "a\nb", "\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ERR_INVALID, files_workspace_create(fx.files, &fx.who, wrong[i], &other, e));
    FAILS(ERR_CONFLICT, files_workspace_create(fx.files, &fx.who, "a", &other, e));
    struct workspace_change change = {
        .name = "a", .files_max = UINT64_MAX, .bytes_max = UINT64_MAX};
    FAILS(ERR_CONFLICT, files_workspace_change(fx.files, &fx.who, &b, &change, e));
    OK(files_workspace_change(fx.files, &fx.who, &a, &change, e)); /* its own */
    change.name = "ws_y";
    FAILS(ERR_INVALID, files_workspace_change(fx.files, &fx.who, &b, &change, e));
    change.name = "c";
    OK(files_workspace_change(fx.files, &fx.who, &b, &change, e));
    id_is(b.id, &fx.who, "c");
    struct who alice = somebody("alice");
    OK(files_workspace_create(fx.files, &alice, "a", &other, e)); /* hers are others */
    workspace_row_done(&other);
    workspace_row_done(&a);
    workspace_row_done(&b);
}

static void quotas_are_the_admins(void **state)
{
    (void)state;
    struct who alice = somebody("alice");
    struct workspace_row hers;
    OK(files_workspace(fx.files, &alice, NULL, RIGHT_ADMIN, &hers, e));
    struct workspace_change change = {.files_max = 5, .bytes_max = UINT64_MAX};
    FAILS(ERR_DENIED, files_workspace_change(fx.files, &alice, &hers, &change, e));
    OK(files_workspace_change(fx.files, &fx.who, &hers, &change, e));
    workspace_row_done(&hers);
    OK(files_workspace(fx.files, &alice, NULL, RIGHT_ADMIN, &hers, e));
    assert_int_equal(hers.files_max, 5);
    workspace_row_done(&hers);
}

static void a_deleted_workspace_is_gone_and_the_default_one_stays(void **state)
{
    (void)state;
    struct workspace_row made, row;
    OK(files_workspace_create(fx.files, &fx.who, "a", &made, e));
    OK(files_workspace_delete(fx.files, &fx.who, &made, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, made.id, RIGHT_READ, &row, e));
    FAILS(ERR_NOT_FOUND, files_workspace(fx.files, &fx.who, "a", RIGHT_READ, &row, e));
    workspace_row_done(&made);
    FAILS(ERR_CONFLICT, files_workspace_delete(fx.files, &fx.who, &fx.ws, e));
    OK(files_workspace_create(fx.files, &fx.who, "a", &made, e)); /* the name is free again */
    workspace_row_done(&made);
}

static size_t count_of(enum workspace_kind kind)
{
    const struct page page = {.limit = 100};
    struct workspace_rows rows;
    OK(files_workspace_list(fx.files, &fx.who, kind, &page, &rows, e));
    size_t count = rows.count;
    workspace_rows_done(&rows);
    return count;
}

static void those_of_doors_are_in_no_list_that_does_not_ask_for_them(void **state)
{
    (void)state;
    struct workspace_row made;
    size_t plain = count_of(WORKSPACE_PLAIN);
    OK(files_workspace_create_kind(fx.files, &fx.who, "cntr_1", WORKSPACE_CONTAINER, &made, e));
    assert_int_equal(made.kind, WORKSPACE_CONTAINER);
    assert_int_equal(count_of(WORKSPACE_PLAIN), plain);
    assert_int_equal(count_of(WORKSPACE_CONTAINER), 1);
    assert_int_equal(count_of(WORKSPACE_FILES), 0);
    assert_int_equal(count_of(WORKSPACE_ANY), plain + 1);
    id_is(made.id, &fx.who, made.id);
    workspace_row_done(&made);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest all[] = {
        TEST(a_workspace_is_found_by_id_name_and_as_the_default),
        TEST(what_belongs_to_others_is_not_there),
        TEST(those_of_doors_are_in_no_list_that_does_not_ask_for_them),
        TEST(names_are_unique_and_do_not_look_like_ids),
        TEST(quotas_are_the_admins),
        TEST(a_deleted_workspace_is_gone_and_the_default_one_stays),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
