/* meta_contract_members.h -- the part of the contract about members of workspaces. */
#ifndef STORE_META_CONTRACT_MEMBERS_H
#define STORE_META_CONTRACT_MEMBERS_H

#include "base/buf.h"
#include "base/scope.h"
#include "store/meta_files.h"
#include "store/meta_fixture.h"
#include "store/meta_members.h"

static inline int make_member(struct meta *m, const char *workspace, const char *principal,
                              int role, int64_t created_us, uint32_t max, struct err *e)
{
    struct member_row row = {.role = role, .created_us = created_us};
    set_id(row.principal, principal);
    set_id(row.added_by, "prn_a");
    return meta_member_set(m, workspace, &row, max, e);
}

static inline int role_of(struct meta *m, const char *workspace, const char *principal)
{
    int role = -1;
    OK(meta_member_role(m, workspace, principal, &role, e));
    return role;
}

static inline void a_member_comes_back_and_has_the_role_that_was_set_last(void **state)
{
    (void)state;
    struct meta *m = with_people();
    assert_int_equal(role_of(m, "ws_a", "prn_b"), 0);
    assert_int_equal(role_of(m, "ws_x", "prn_b"), 0);
    OK(make_member(m, "ws_a", "prn_b", 1, 5, 10, e));
    OK(make_member(m, "ws_a", "prn_b", 3, 6, 10, e));
    m = contract_reopen(m);
    assert_int_equal(role_of(m, "ws_a", "prn_b"), 3);
    assert_int_equal(role_of(m, "ws_b", "prn_b"), 0); /* an owner is none */

    struct member_rows rows;
    OK(meta_member_list(m, "ws_a", &rows, e));
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.items[0].principal, "prn_b");
    assert_string_equal(rows.items[0].added_by, "prn_a");
    assert_string_equal(rows.items[0].name, "prn_b");
    assert_int_equal(rows.items[0].role, 3);
    assert_int_equal(rows.items[0].created_us, 5); /* since when */
    member_rows_done(&rows);

    OK(meta_member_remove(m, "ws_a", "prn_b", e));
    FAILS(ERR_NOT_FOUND, meta_member_remove(m, "ws_a", "prn_b", e));
    assert_int_equal(role_of(m, "ws_a", "prn_b"), 0);
    contract_close(m);
}

static inline void members_are_principals_and_not_the_owner_and_not_too_many(void **state)
{
    (void)state;
    struct meta *m = with_people();
    add_principal(m, "prn_c", "ws_c", "", NULL, 3);
    add_principal(m, "prn_d", "ws_d", "", NULL, 4);
    FAILS(ERR_NOT_FOUND, make_member(m, "ws_a", "prn_x", 1, 5, 10, e));
    FAILS(ERR_NOT_FOUND, make_member(m, "ws_x", "prn_b", 1, 5, 10, e));
    FAILS(ERR_CONFLICT, make_member(m, "ws_a", "prn_a", 1, 5, 10, e));
    OK(make_member(m, "ws_a", "prn_b", 1, 5, 2, e));
    OK(make_member(m, "ws_a", "prn_c", 1, 6, 2, e)); /* just as many as there may be */
    FAILS(ERR_LIMIT, make_member(m, "ws_a", "prn_d", 1, 7, 2, e));
    OK(make_member(m, "ws_a", "prn_c", 2, 8, 2, e)); /* who is there already fits */
    assert_int_equal(role_of(m, "ws_a", "prn_c"), 2);
    OK(meta_member_remove(m, "ws_a", "prn_b", e));
    OK(make_member(m, "ws_a", "prn_d", 1, 7, 2, e));
    contract_close(m);
}

/* Names of all pages, each of `limit`, one after the other. */
static inline void pages_for(struct meta *m, const char *principal, uint32_t limit, struct buf *out)
{
    char cursor[128] = "";
    for (bool has_more = true; has_more;) {
        struct workspace_rows rows;
        const struct page page = {.limit = limit, .cursor = *cursor ? cursor : NULL};
        OK(meta_workspace_list_for(m, principal, WORKSPACE_ANY, &page, &rows, e));
        assert_true(rows.count <= limit);
        for (size_t i = 0; i < rows.count; i++)
            buf_fmt(out, "%s ", rows.items[i].id);
        has_more = rows.has_more;
        (void)snprintf(cursor, sizeof cursor, "%s", rows.next);
        workspace_rows_done(&rows);
    }
}

static inline void workspaces_are_listed_for_owners_and_members_page_by_page(void **state)
{
    (void)state;
    struct meta *m = with_people(); /* ws_a is of 1, ws_b of 2 */
    add_principal(m, "prn_c", "ws_c", "", NULL, 3);
    add_principal(m, "prn_d", "ws_d", "", NULL, 4);
    OK(make_member(m, "ws_a", "prn_c", 1, 9, 10, e));
    OK(make_member(m, "ws_d", "prn_c", 1, 8, 10, e));
    for (uint32_t limit = 1; limit <= 4; limit++) {
        scoped(buf_done) struct buf all = BUF_INIT(200);
        pages_for(m, "prn_c", limit, &all);
        assert_string_equal(all.bytes, "ws_d ws_c ws_a "); /* newest first, whosever they are */
    }
    scoped(buf_done) struct buf other = BUF_INIT(200);
    pages_for(m, "prn_b", 10, &other);
    assert_string_equal(other.bytes, "ws_b ");
    contract_close(m);
}

static inline void a_workspace_that_is_deleted_loses_its_members(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct workspace_row w = {.name = "second", .created_us = 9};
    set_id(w.id, "ws_2");
    set_id(w.owner, "prn_a");
    OK(meta_workspace_insert(m, &w, e));
    OK(make_member(m, "ws_2", "prn_b", 2, 5, 10, e));
    OK(meta_workspace_delete(m, "ws_2", 11, e));
    assert_int_equal(role_of(m, "ws_2", "prn_b"), 0); /* at once */
    scoped(buf_done) struct buf left = BUF_INIT(200);
    pages_for(m, "prn_b", 10, &left);
    assert_string_equal(left.bytes, "ws_b ");
    uint64_t count = 1;
    while (count > 0)
        OK(meta_workspace_clear(m, 10, &count, e));
    struct member_rows rows;
    OK(meta_member_list(m, "ws_2", &rows, e));
    assert_int_equal(rows.count, 0);
    member_rows_done(&rows);
    contract_close(m);
}

#endif
