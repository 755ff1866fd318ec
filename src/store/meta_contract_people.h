/* meta_contract_people.h -- the part of the contract about principals, workspaces and keys. */
#ifndef STORE_META_CONTRACT_PEOPLE_H
#define STORE_META_CONTRACT_PEOPLE_H

#include "store/meta_fixture.h"

static inline void a_principal_comes_back_as_it_went_in_with_its_workspace(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    struct principal_row p = {.kind = PRINCIPAL_AGENT, .name = "bot \xc3\xa4", .created_us = 77};
    struct workspace_row w = {.name = "files", .created_us = 77};
    set_id(p.id, "prn_1");
    set_id(p.workspace, "ws_1");
    set_id(w.id, "ws_1");
    set_id(w.owner, "prn_1");
    OK(meta_principal_insert(m, &p, &w, 4, e));
    m = contract_reopen(m);

    struct principal_row got;
    OK(meta_principal_get(m, "prn_1", &got, e));
    assert_int_equal(got.kind, PRINCIPAL_AGENT);
    assert_string_equal(got.name, "bot \xc3\xa4");
    assert_string_equal(got.parent, "");
    assert_null(got.external);
    assert_string_equal(got.workspace, "ws_1");
    assert_int_equal(got.created_us, 77);
    principal_row_done(&got);
    struct workspace_row files;
    OK(meta_workspace_get(m, "ws_1", &files, e));
    assert_string_equal(files.owner, "prn_1");
    assert_string_equal(files.name, "files");
    workspace_row_done(&files);

    FAILS(ERR_CONFLICT, meta_principal_insert(m, &p, &w, 4, e));
    set_id(p.id, "prn_2"); /* and the workspace is there: neither is made */
    FAILS(ERR_CONFLICT, meta_principal_insert(m, &p, &w, 4, e));
    FAILS(ERR_NOT_FOUND, meta_principal_get(m, "prn_2", &got, e));
    contract_close(m);
}

static inline void an_external_name_is_unique_per_parent(void **state)
{
    (void)state;
    struct meta *m = with_people();
    add_principal(m, "prn_c", "ws_c", "prn_a", "alice", 3);
    add_principal(m, "prn_d", "ws_d", "prn_b", "alice", 4);
    struct principal_row p = {.external = "alice", .name = "x"}, got;
    struct workspace_row w = {.name = "x"};
    set_id(p.id, "prn_e");
    set_id(p.parent, "prn_a");
    set_id(p.workspace, "ws_e");
    set_id(w.id, "ws_e");
    set_id(w.owner, "prn_e");
    FAILS(ERR_CONFLICT, meta_principal_insert(m, &p, &w, 4, e));
    OK(meta_principal_find_external(m, "prn_b", "alice", &got, e));
    assert_string_equal(got.id, "prn_d");
    assert_string_equal(got.parent, "prn_b");
    principal_row_done(&got);
    FAILS(ERR_NOT_FOUND, meta_principal_find_external(m, "prn_a", "bob", &got, e));
    uint64_t count;
    OK(meta_principal_count(m, "prn_a", &count, e));
    assert_int_equal(count, 1);
    OK(meta_principal_count(m, NULL, &count, e));
    assert_int_equal(count, 4);

    set_id(p.parent, "prn_b"); /* one more than there may be */
    p.external = "carol";
    FAILS(ERR_LIMIT, meta_principal_insert(m, &p, &w, 1, e));
    set_id(p.parent, "");
    p.external = NULL;
    FAILS(ERR_LIMIT, meta_principal_insert(m, &p, &w, 4, e));

    struct principal_rows list;
    struct principal_filter top = {.parent = ""}, of = {.parent = "prn_a"}, all = {0};
    struct page page = {.limit = 10};
    OK(meta_principal_list(m, &top, &page, &list, e));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].id, "prn_b");
    principal_rows_done(&list);
    OK(meta_principal_list(m, &of, &page, &list, e));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].external, "alice");
    principal_rows_done(&list);
    OK(meta_principal_list(m, &all, &page, &list, e));
    assert_int_equal(list.count, 4);
    principal_rows_done(&list);
    contract_close(m);
}

static inline void a_setting_is_what_it_was_set_to_last(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    char got[ID_SIZE];
    FAILS(ERR_NOT_FOUND, meta_setting_get(m, "admin", got, e));
    OK(meta_setting_set(m, "admin", "prn_1", e));
    OK(meta_setting_set(m, "admin", "prn_2", e));
    m = contract_reopen(m);
    OK(meta_setting_get(m, "admin", got, e));
    assert_string_equal(got, "prn_2");
    contract_close(m);
}

static inline void a_workspace_needs_an_owner(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct workspace_row w = {.name = "second", .created_us = 9};
    set_id(w.id, "ws_2");
    set_id(w.owner, "prn_x");
    FAILS(ERR_CONFLICT, meta_workspace_insert(m, &w, e));
    set_id(w.owner, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    struct workspace_rows list;
    struct page page = {.limit = 10};
    OK(meta_workspace_list(m, "prn_a", WORKSPACE_ANY, &page, &list, e));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].id, "ws_2");
    workspace_rows_done(&list);
    OK(meta_workspace_list(m, NULL, WORKSPACE_ANY, &page, &list, e));
    assert_int_equal(list.count, 3);
    workspace_rows_done(&list);
    contract_close(m);
}

static inline struct key_row a_key(const char *id, uint8_t byte)
{
    struct key_row k = {.name = "ci",
                        .scopes = 5,
                        .limits = {1, 2, 3, 4, 5, 6},
                        .created_us = 100 + byte,
                        .expires_us = 200};
    set_id(k.id, id);
    set_id(k.principal, byte % 2 ? "prn_a" : "prn_b");
    memset(k.sha256, byte, HASH_LEN);
    return k;
}

static inline void a_key_is_kept_used_and_revoked_once(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct key_row k = a_key("key_1", 1), got;
    OK(meta_key_insert(m, &k, e));
    struct key_row same = a_key("key_2", 1);
    FAILS(ERR_CONFLICT, meta_key_insert(m, &same, e)); /* the same secret */
    OK(meta_key_used(m, "key_1", 150, e));
    OK(meta_key_used(m, "key_1", 140, e)); /* late, and does not go back */
    OK(meta_settle(m, e));
    OK(meta_key_revoke(m, "key_1", 160, e));
    OK(meta_key_revoke(m, "key_1", 170, e));
    FAILS(ERR_NOT_FOUND, meta_key_revoke(m, "key_x", 170, e));
    m = contract_reopen(m);
    OK(meta_key_get(m, "key_1", &got, e));
    assert_memory_equal(got.sha256, k.sha256, HASH_LEN);
    assert_string_equal(got.principal, "prn_a");
    assert_string_equal(got.name, "ci");
    assert_int_equal(got.scopes, 5);
    assert_int_equal(got.limits.sessions, 1);
    assert_int_equal(got.limits.runs_per_minute, 2);
    assert_int_equal(got.limits.cpu_s_per_day, 3);
    assert_int_equal(got.limits.memory_mb, 4);
    assert_int_equal(got.limits.runs_per_month, 5);
    assert_int_equal(got.limits.cpu_s_per_month, 6);
    assert_int_equal(got.created_us, 101);
    assert_int_equal(got.expires_us, 200);
    assert_int_equal(got.used_us, 150);
    assert_int_equal(got.revoked_us, 160);
    key_row_done(&got);

    struct key_row other = a_key("key_3", 2);
    OK(meta_key_insert(m, &other, e));
    struct key_rows list;
    struct page page = {.limit = 10};
    OK(meta_key_list(m, "prn_b", &page, &list, e));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].id, "key_3");
    key_rows_done(&list);
    uint64_t count;
    OK(meta_key_count(m, NULL, &count, e));
    assert_int_equal(count, 2);
    OK(meta_key_count(m, "prn_a", &count, e));
    assert_int_equal(count, 1);
    contract_close(m);
}

static inline void usage_adds_up_per_key_and_day(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    struct usage_row u = {.day = 20000, .runs = 1, .cpu_us = 500}, got;
    set_id(u.key, "key_1");
    for (int i = 0; i < 3; i++)
        OK(meta_usage_add(m, &u, e));
    u.day++;
    OK(meta_usage_add(m, &u, e));
    OK(meta_settle(m, e));
    OK(meta_usage_get(m, "key_1", 20000, &got, e));
    assert_int_equal(got.runs, 3);
    assert_int_equal(got.cpu_us, 1500);
    OK(meta_usage_get(m, "key_1", 20002, &got, e));
    assert_int_equal(got.runs, 0);
    assert_string_equal(got.key, "key_1");
    contract_close(m);
}

#endif
