#include "store/meta_tickets.h"

#include "store/meta_files_fixture.h"
#include "store/meta_members.h"
#include "store/meta_sqlite.h"

enum { VIEWER = 1, EDITOR = 2, ADMIN = 3 };

static struct ticket_row a_ticket(const char *id, enum ticket_kind kind, const char *workspace,
                                  int role)
{
    struct ticket_row t = {.kind = kind, .role = role, .created_us = 100, .expires_us = 200};
    set_id(t.id, id);
    set_id(t.workspace, workspace);
    set_id(t.made_by, "prn_a");
    memset(t.sha256, id[4], HASH_LEN);
    return t;
}

static int role_of(struct meta *m, const char *workspace, const char *principal)
{
    int role;
    OK(meta_member_role(m, workspace, principal, &role, e));
    return role;
}

static struct meta *with_second_workspace(void)
{
    struct meta *m = with_people();
    struct workspace_row w = {.name = "shared", .created_us = 5};
    set_id(w.id, "ws_s");
    set_id(w.owner, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    return m;
}

static void an_invitation_works_once_and_never_lowers_a_role(void **state)
{
    (void)state;
    struct meta *m = with_second_workspace();
    struct ticket_row first = a_ticket("inv_1", TICKET_INVITE, "ws_s", EDITOR);
    struct ticket_row second = a_ticket("inv_2", TICKET_INVITE, "ws_s", VIEWER);
    OK(meta_ticket_insert(m, &first, 2, e));
    OK(meta_ticket_insert(m, &second, 2, e));
    FAILS(ERR_LIMIT, meta_ticket_insert(m, &second, 2, e));
    struct invite_use use = {.id = "inv_1", .principal = "prn_b", .members_max = 1, .now_us = 150};
    OK(meta_invite_use(m, &use, e));
    FAILS(ERR_NOT_FOUND, meta_invite_use(m, &use, e));
    assert_int_equal(role_of(m, "ws_s", "prn_b"), EDITOR);
    use.id = "inv_2";
    OK(meta_invite_use(m, &use, e));
    assert_int_equal(role_of(m, "ws_s", "prn_b"), EDITOR);
    m = contract_reopen(m);
    struct ticket_row found;
    OK(meta_ticket_find(m, TICKET_INVITE, first.sha256, &found, e));
    assert_int_equal(found.used_us, 150);
    assert_string_equal(found.used_by, "prn_b");
    ticket_row_done(&found);
    FAILS(ERR_NOT_FOUND, meta_ticket_find(m, TICKET_CLAIM, first.sha256, &found, e));
    contract_close(m);
}

static void one_that_expired_or_was_revoked_is_not_open(void **state)
{
    (void)state;
    struct meta *m = with_second_workspace();
    struct ticket_row t = a_ticket("inv_1", TICKET_INVITE, "ws_s", VIEWER);
    OK(meta_ticket_insert(m, &t, 9, e));
    struct invite_use use = {.id = "inv_1", .principal = "prn_b", .members_max = 9, .now_us = 200};
    FAILS(ERR_NOT_FOUND, meta_invite_use(m, &use, e));
    use.now_us = 199;
    FAILS(ERR_NOT_FOUND, meta_ticket_revoke(m, "ws_a", TICKET_INVITE, "inv_1", 150, e));
    OK(meta_ticket_revoke(m, "ws_s", TICKET_INVITE, "inv_1", 150, e));
    OK(meta_ticket_revoke(m, "ws_s", TICKET_INVITE, "inv_1", 160, e));
    FAILS(ERR_NOT_FOUND, meta_invite_use(m, &use, e));
    assert_int_equal(role_of(m, "ws_s", "prn_b"), 0);
    contract_close(m);
}

static void a_newcomer_is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    struct meta *m = with_second_workspace();
    struct ticket_row t = a_ticket("inv_1", TICKET_INVITE, "ws_s", ADMIN);
    OK(meta_ticket_insert(m, &t, 9, e));
    struct principal_row p = {.name = "Ada", .created_us = 150};
    struct workspace_row w = {.name = "default", .created_us = 150};
    struct login_row l = {.name = "ada", .password = "hash"};
    set_id(p.id, "prn_c");
    set_id(p.workspace, "ws_c");
    set_id(w.id, "ws_c");
    set_id(w.owner, "prn_c");
    set_id(l.principal, "prn_c");
    struct invite_use use = {.id = "inv_1",
                             .fresh = &p,
                             .workspace = &w,
                             .login = &l,
                             .principals_max = 2,
                             .members_max = 9,
                             .now_us = 150};
    FAILS(ERR_LIMIT, meta_invite_use(m, &use, e)); /* there are two, and the ticket is still open */
    use.principals_max = 4;
    OK(meta_invite_use(m, &use, e));
    assert_int_equal(role_of(m, "ws_s", "prn_c"), ADMIN);
    struct login_row found;
    OK(meta_login_find(m, "ada", &found, e));
    assert_string_equal(found.principal, "prn_c");
    login_row_done(&found);
    OK(meta_login_set_password(m, "prn_c", "other", 160, e));
    OK(meta_login_of(m, "prn_c", &found, e));
    assert_string_equal(found.password, "other");
    login_row_done(&found);
    FAILS(ERR_NOT_FOUND, meta_login_set_password(m, "prn_a", "x", 160, e));

    struct ticket_row again = a_ticket("inv_2", TICKET_INVITE, "ws_s", VIEWER);
    OK(meta_ticket_insert(m, &again, 9, e));
    set_id(p.id, "prn_d");
    set_id(l.principal, "prn_d");
    set_id(w.owner, "prn_d");
    set_id(w.id, "ws_d");
    set_id(p.workspace, "ws_d");
    use.id = "inv_2";
    FAILS(ERR_CONFLICT, meta_invite_use(m, &use, e)); /* the name is taken */
    struct principal_row nobody;
    FAILS(ERR_NOT_FOUND, meta_principal_get(m, "prn_d", &nobody, e));
    l.name = "grace";
    OK(meta_invite_use(m, &use, e));
    contract_close(m);
}

static void a_claim_gives_the_workspace_to_its_new_owner(void **state)
{
    (void)state;
    struct meta *m = with_second_workspace();
    struct workspace_row w = {.name = "shared", .created_us = 6};
    set_id(w.id, "ws_t");
    set_id(w.owner, "prn_b");
    OK(meta_workspace_insert(m, &w, e));
    struct ticket_row t = a_ticket("clm_1", TICKET_CLAIM, "ws_s", 0);
    struct ticket_row d = a_ticket("clm_2", TICKET_CLAIM, "ws_a", 0);
    OK(meta_ticket_insert(m, &t, 9, e));
    OK(meta_ticket_insert(m, &d, 9, e));
    struct member_row b = {.role = VIEWER, .created_us = 7};
    set_id(b.principal, "prn_b");
    OK(meta_member_set(m, "ws_s", &b, 9, e));
    struct claim_use use = {.id = "clm_1",
                            .principal = "prn_a",
                            .admin_role = ADMIN,
                            .workspaces_max = 2,
                            .now_us = 150};
    FAILS(ERR_CONFLICT, meta_claim_use(m, &use, e)); /* theirs already */
    use.principal = "prn_b";
    FAILS(ERR_LIMIT, meta_claim_use(m, &use, e));
    use.workspaces_max = 3;
    OK(meta_claim_use(m, &use, e));
    struct workspace_row now;
    OK(meta_workspace_get(m, "ws_s", &now, e));
    assert_string_equal(now.owner, "prn_b");
    assert_string_equal(now.name, "shared 2");
    workspace_row_done(&now);
    assert_int_equal(role_of(m, "ws_s", "prn_a"), ADMIN);
    assert_int_equal(role_of(m, "ws_s", "prn_b"), 0); /* the owner is no member */
    FAILS(ERR_NOT_FOUND, meta_claim_use(m, &use, e));
    use.id = "clm_2";
    use.workspaces_max = 9;
    FAILS(ERR_CONFLICT, meta_claim_use(m, &use, e)); /* a default one */
    contract_close(m);
}

static void what_was_used_is_added_up_by_key_and_by_workspace(void **state)
{
    (void)state;
    struct meta *m = with_second_workspace();
    struct key_row k = {.name = "k", .created_us = 1};
    set_id(k.id, "key_1");
    set_id(k.principal, "prn_a");
    OK(meta_key_insert(m, &k, e));
    struct usage_row u = {.day = 10, .runs = 1, .cpu_us = 5};
    set_id(u.key, "key_1");
    set_id(u.workspace, "ws_s");
    OK(meta_usage_add(m, &u, e));
    u.day = 11;
    OK(meta_usage_add(m, &u, e));
    u.key[0] = '\0'; /* over the unix socket */
    OK(meta_usage_add(m, &u, e));
    OK(meta_settle(m, e));
    struct usage_row sum;
    OK(meta_usage_sum(m, "key_1", 10, 12, &sum, e));
    assert_int_equal(sum.runs, 2);
    OK(meta_usage_sum(m, "key_1", 11, 12, &sum, e));
    assert_int_equal(sum.cpu_us, 5);
    struct usage_lines lines;
    OK(meta_usage_report(m, USAGE_WORKSPACES, "prn_a", 10, 12, &lines, e));
    assert_int_equal(lines.count, 2);
    assert_string_equal(lines.items[0].id, "ws_s");
    assert_int_equal(lines.items[0].runs, 3);
    usage_lines_done(&lines);
    OK(meta_usage_report(m, USAGE_KEYS, "prn_b", 10, 12, &lines, e));
    assert_int_equal(lines.count, 0);
    usage_lines_done(&lines);
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invitation_works_once_and_never_lowers_a_role),
        cmocka_unit_test(one_that_expired_or_was_revoked_is_not_open),
        cmocka_unit_test(a_newcomer_is_made_whole_or_not_at_all),
        cmocka_unit_test(a_claim_gives_the_workspace_to_its_new_owner),
        cmocka_unit_test(what_was_used_is_added_up_by_key_and_by_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
