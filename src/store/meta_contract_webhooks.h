/* meta_contract_webhooks.h -- the part of the contract about webhooks. */
#ifndef STORE_META_CONTRACT_WEBHOOKS_H
#define STORE_META_CONTRACT_WEBHOOKS_H

#include "store/audit.h"
#include "store/meta_files_fixture.h"
#include "store/meta_webhooks.h"

static inline struct webhook_row a_webhook(const char *id, const char *workspace, int64_t created)
{
    struct webhook_row r = {
        .url = "https://example.org/", .secret = "s", .events = "", .created_us = created};
    set_id(r.id, id);
    set_id(r.workspace, workspace);
    set_id(r.made_by, "prn_a");
    return r;
}

static inline struct webhook_row webhook_now(struct meta *m, const char *id)
{
    struct webhook_row r;
    OK(meta_settle(m, e));
    OK(meta_webhook_get(m, "ws_a", id, &r, e));
    return r;
}

static void a_webhook_comes_back_as_it_went_in_and_begins_with_what_is_new(void **state)
{
    (void)state;
    struct meta *m = with_people();
    const struct audit_entry entry = {.event = "putFile", .workspace = "ws_a", .at_us = 5};
    OK(audit_post(m, &entry, e));
    OK(audit_post(m, &entry, e));
    struct webhook_row in = a_webhook("whk_1", "ws_a", 100), out;
    in.events = "putFile,*Lock*";
    in.is_by_server = true;
    OK(meta_webhook_insert(m, &in, 10, e));
    out = webhook_now(m, "whk_1");
    assert_string_equal(out.id, "whk_1");
    assert_string_equal(out.workspace, "ws_a");
    assert_string_equal(out.made_by, "prn_a");
    assert_string_equal(out.url, in.url);
    assert_string_equal(out.secret, "s");
    assert_string_equal(out.events, in.events);
    assert_true(out.is_by_server);
    assert_int_equal(out.created_us, 100);
    assert_int_equal(out.seq, 2);
    assert_int_equal(out.failures, 0);
    assert_int_equal(out.last_status, 0);
    assert_int_equal(out.failing_us + out.next_us + out.last_us + out.paused_us, 0);
    assert_null(out.last_error);
    webhook_row_done(&out);
    FAILS(ERR_NOT_FOUND, meta_webhook_get(m, "ws_b", "whk_1", &out, e));
    FAILS(ERR_NOT_FOUND, meta_webhook_get(m, "ws_a", "whk_2", &out, e));
    contract_close(m);
}

static void how_a_delivery_went_is_kept_and_never_goes_back(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct webhook_row in = a_webhook("whk_1", "ws_a", 1), out;
    OK(meta_webhook_insert(m, &in, 10, e));
    in.seq = 7;
    in.failures = 3;
    in.failing_us = 20;
    in.next_us = 50;
    in.last_us = 40;
    in.last_status = 500;
    in.last_error = "it answered 500";
    OK(meta_webhook_went(m, &in, e));
    out = webhook_now(m, "whk_1");
    assert_int_equal(out.seq, 7);
    assert_int_equal(out.failures, 3);
    assert_int_equal(out.failing_us, 20);
    assert_int_equal(out.next_us, 50);
    assert_int_equal(out.last_us, 40);
    assert_int_equal(out.last_status, 500);
    assert_string_equal(out.last_error, "it answered 500");
    out.paused_us = 60; /* somebody pauses it while a delivery is under way, which then succeeds */
    OK(meta_webhook_update(m, &out, e));
    webhook_row_done(&out);
    in.seq = 6;
    in.failures = 0;
    in.last_error = NULL;
    OK(meta_webhook_went(m, &in, e));
    out = webhook_now(m, "whk_1");
    assert_int_equal(out.seq, 7);
    assert_int_equal(out.paused_us, 60);
    assert_null(out.last_error);
    webhook_row_done(&out);
    set_id(in.id, "whk_gone");
    OK(meta_webhook_went(m, &in, e));
    FAILS(ERR_NOT_FOUND, meta_webhook_update(m, &in, e));
    contract_close(m);
}

static void webhooks_are_listed_in_order_and_not_too_many(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct webhook_rows rows;
    static const char *const ids[] = {"whk_c", "whk_a", "whk_b"};
    for (int i = 0; i < 3; i++) {
        struct webhook_row in = a_webhook(ids[i], "ws_a", i + 1);
        OK(meta_webhook_insert(m, &in, 3, e));
    }
    struct webhook_row more = a_webhook("whk_d", "ws_a", 9), other = a_webhook("whk_e", "ws_b", 2);
    FAILS(ERR_LIMIT, meta_webhook_insert(m, &more, 3, e));
    OK(meta_webhook_insert(m, &other, 3, e));
    OK(meta_webhook_list(m, "ws_a", &rows, e));
    assert_int_equal(rows.count, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(rows.items[i].id, ids[i]);
    webhook_rows_done(&rows);
    OK(meta_webhook_list(m, NULL, &rows, e));
    assert_int_equal(rows.count, 4);
    webhook_rows_done(&rows);
    FAILS(ERR_NOT_FOUND, meta_webhook_remove(m, "ws_b", "whk_a", e));
    OK(meta_webhook_remove(m, "ws_a", "whk_a", e));
    FAILS(ERR_NOT_FOUND, meta_webhook_remove(m, "ws_a", "whk_a", e));
    OK(meta_webhook_insert(m, &more, 3, e));
    contract_close(m);
}

static void a_workspace_that_is_deleted_has_no_webhooks(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct workspace_row ws = {.name = "w", .created_us = 5};
    struct webhook_rows rows;
    set_id(ws.id, "ws_x");
    set_id(ws.owner, "prn_a");
    OK(meta_workspace_insert(m, &ws, e));
    struct webhook_row in = a_webhook("whk_1", "ws_x", 1);
    OK(meta_webhook_insert(m, &in, 3, e));
    OK(meta_workspace_delete(m, "ws_x", 10, e));
    OK(meta_webhook_list(m, NULL, &rows, e));
    assert_int_equal(rows.count, 0);
    webhook_rows_done(&rows);
    uint64_t count;
    OK(meta_workspace_clear(m, 100, &count, e));
    FAILS(ERR_NOT_FOUND, meta_webhook_update(m, &in, e)); /* the row itself is gone, too */
    contract_close(m);
}

#define WEBHOOKS_CONTRACT                                                             \
    cmocka_unit_test(a_webhook_comes_back_as_it_went_in_and_begins_with_what_is_new), \
        cmocka_unit_test(how_a_delivery_went_is_kept_and_never_goes_back),            \
        cmocka_unit_test(webhooks_are_listed_in_order_and_not_too_many),              \
        cmocka_unit_test(a_workspace_that_is_deleted_has_no_webhooks)

#endif
