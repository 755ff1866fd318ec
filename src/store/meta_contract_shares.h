/* meta_contract_shares.h -- the part of the contract about share links. */
#ifndef STORE_META_CONTRACT_SHARES_H
#define STORE_META_CONTRACT_SHARES_H

#include "base/clock.h"
#include "store/meta_files_fixture.h"
#include "store/meta_shares.h"

static inline struct share_row a_share(const char *path, char token)
{
    struct share_row r = {.path = path, .note = "", .rights = 3, .created_us = 100};
    (void)snprintf(r.id, sizeof r.id, "shr_%c", token);
    set_id(r.workspace, "ws_a");
    set_id(r.made_by, "prn_a");
    memset(r.sha256, token, HASH_LEN);
    return r;
}

static inline struct share_row share_now(struct meta *m, char token)
{
    struct share_row r;
    uint8_t hash[HASH_LEN];
    memset(hash, token, HASH_LEN);
    OK(meta_settle(m, e));
    OK(meta_share_find(m, hash, &r, e));
    return r;
}

static void a_share_is_found_by_its_hash_and_by_its_id(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct share_row in = a_share("d/f", 'A'), out;
    in.password = "$hash";
    in.note = "for you";
    in.max_downloads = 3;
    in.expires_us = 5000;
    in.is_folder = in.is_by_server = true;
    OK(meta_share_insert(m, &in, 10, e));
    out = share_now(m, 'A');
    assert_string_equal(out.id, "shr_A");
    assert_string_equal(out.workspace, "ws_a");
    assert_string_equal(out.path, "d/f");
    assert_string_equal(out.password, "$hash");
    assert_string_equal(out.note, "for you");
    assert_string_equal(out.made_by, "prn_a");
    assert_true(out.is_folder && out.is_by_server);
    assert_int_equal(out.max_downloads, 3);
    assert_int_equal(out.expires_us, 5000);
    assert_int_equal(out.rights, 3);
    share_row_done(&out);
    OK(meta_share_get(m, "ws_a", "shr_A", &out, e));
    share_row_done(&out);
    FAILS(ERR_NOT_FOUND, meta_share_get(m, "ws_b", "shr_A", &out, e));
    FAILS(ERR_NOT_FOUND, meta_share_get(m, "ws_a", "shr_B", &out, e));
    uint8_t other[HASH_LEN] = {0};
    FAILS(ERR_NOT_FOUND, meta_share_find(m, other, &out, e));
    contract_close(m);
}

static void a_workspace_has_so_many_shares_that_work(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct share_row r = a_share("f", 'A');
    OK(meta_share_insert(m, &r, 2, e));
    r = a_share("f", 'B');
    r.expires_us = 150;
    OK(meta_share_insert(m, &r, 2, e));
    r = a_share("f", 'C');
    FAILS(ERR_LIMIT, meta_share_insert(m, &r, 2, e));
    r.created_us = 150; /* B has expired */
    OK(meta_share_insert(m, &r, 2, e));
    OK(meta_share_revoke(m, "ws_a", "shr_A", 200, e));
    r = a_share("f", 'D');
    r.created_us = 201;
    OK(meta_share_insert(m, &r, 2, e));
    contract_close(m);
}

static void a_share_is_good_for_so_many_downloads_and_no_more(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct share_row r = a_share("f", 'A');
    r.max_downloads = 2;
    r.expires_us = 5000;
    OK(meta_share_insert(m, &r, 10, e));
    OK(meta_share_download(m, "shr_A", 300, e));
    FAILS(ERR_NOT_FOUND, meta_share_download(m, "shr_A", 5000, e)); /* expired by then */
    OK(meta_share_download(m, "shr_A", 4999, e));
    FAILS(ERR_NOT_FOUND, meta_share_download(m, "shr_A", 400, e));
    FAILS(ERR_NOT_FOUND, meta_share_download(m, "shr_X", 400, e));
    r = share_now(m, 'A');
    assert_int_equal(r.downloads, 2);
    assert_int_equal(r.used_us, 4999);
    share_row_done(&r);
    r = a_share("f", 'B');
    OK(meta_share_insert(m, &r, 10, e));
    OK(meta_share_download(m, "shr_B", 300, e));
    OK(meta_share_seen(m, "shr_B", 310, e));
    OK(meta_share_uploaded(m, "shr_B", 3, 320, e));
    OK(meta_share_revoke(m, "ws_a", "shr_B", 400, e));
    FAILS(ERR_NOT_FOUND, meta_share_download(m, "shr_B", 401, e));
    r = share_now(m, 'B');
    assert_int_equal(r.views, 1);
    assert_int_equal(r.uploads, 3);
    assert_int_equal(r.downloads, 1);
    assert_int_equal(r.used_us, 320);
    assert_int_equal(r.revoked_us, 400);
    share_row_done(&r);
    contract_close(m);
}

static void what_is_not_said_stays_when_a_share_changes(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct share_row r = a_share("f", 'A');
    r.password = "$one";
    r.note = "n";
    OK(meta_share_insert(m, &r, 10, e));
    struct share_change change = {.expires_us = -1, .max_downloads = -1, .note = "m"};
    OK(meta_share_update(m, "ws_a", "shr_A", &change, e));
    r = share_now(m, 'A');
    assert_string_equal(r.password, "$one");
    assert_string_equal(r.note, "m");
    share_row_done(&r);
    change = (struct share_change){.expires_us = 77, .max_downloads = 5, .password = ""};
    OK(meta_share_update(m, "ws_a", "shr_A", &change, e));
    r = share_now(m, 'A');
    assert_null(r.password);
    assert_int_equal(r.expires_us, 77);
    assert_int_equal(r.max_downloads, 5);
    share_row_done(&r);
    FAILS(ERR_NOT_FOUND, meta_share_update(m, "ws_b", "shr_A", &change, e));
    OK(meta_share_revoke(m, "ws_a", "shr_A", 200, e));
    OK(meta_share_revoke(m, "ws_a", "shr_A", 300, e));
    FAILS(ERR_NOT_FOUND, meta_share_revoke(m, "ws_a", "shr_B", 300, e));
    FAILS(ERR_NOT_FOUND, meta_share_update(m, "ws_a", "shr_A", &change, e));
    contract_close(m);
}

/* Two versions of one file, and a link to the first. */
static inline struct file_change with_pinned(struct meta *m, int64_t expires_us)
{
    struct file_change c = put(m, "f", 'X', 5);
    put(m, "f", 'Y', 5);
    put(m, "f", 'Z', 5);
    struct share_row r = a_share("f", 'A');
    memcpy(r.file, c.ret_file, sizeof r.file);
    r.version = 1;
    r.expires_us = expires_us;
    OK(meta_share_insert(m, &r, 10, e));
    return c;
}

static void a_version_that_is_shared_is_not_thinned(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change c = with_pinned(m, 0);
    const struct thinning rule = {.keep_last = 1};
    struct version_row row;
    uint64_t count;
    OK(meta_thin(m, &rule, 100, &count, e));
    assert_int_equal(count, 1);
    OK(meta_version_get(m, c.ret_file, 1, &row, e));
    version_row_done(&row);
    OK(meta_share_revoke(m, "ws_a", "shr_A", 200, e));
    OK(meta_thin(m, &rule, 100, &count, e));
    assert_int_equal(count, 1);
    FAILS(ERR_NOT_FOUND, meta_version_get(m, c.ret_file, 1, &row, e));
    contract_close(m);
}

static void a_link_that_has_expired_holds_nothing(void **state)
{
    (void)state;
    struct meta *m = with_people();
    with_pinned(m, clock_wall_us() - 1);
    const struct thinning rule = {.keep_last = 1};
    uint64_t count;
    OK(meta_thin(m, &rule, 100, &count, e));
    assert_int_equal(count, 2);
    contract_close(m);
}

static void a_file_whose_version_is_shared_stays_in_the_trash(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change c = with_pinned(m, 0);
    struct file_change gone = a_change(OP_DELETE, "f", NULL);
    commit_ok(m, &gone, 1);
    uint64_t count;
    OK(meta_purge_trash(m, "ws_a", 1000, 100, &count, e));
    assert_int_equal(count, 0);
    OK(meta_share_revoke(m, "ws_a", "shr_A", 200, e));
    OK(meta_purge_trash(m, "ws_a", 1000, 100, &count, e));
    assert_int_equal(count, 1);
    struct version_row row;
    FAILS(ERR_NOT_FOUND, meta_version_get(m, c.ret_file, 1, &row, e));
    contract_close(m);
}

static void only_a_version_that_is_there_can_be_shared(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct file_change c = put(m, "f", 'X', 5);
    struct share_row r = a_share("f", 'A');
    memcpy(r.file, c.ret_file, sizeof r.file);
    r.version = 2;
    FAILS(ERR_NOT_FOUND, meta_share_insert(m, &r, 10, e));
    r.version = 1;
    OK(meta_share_insert(m, &r, 10, e));
    contract_close(m);
}

static void shares_that_ended_long_ago_are_forgotten(void **state)
{
    (void)state;
    struct meta *m = with_people();
    uint64_t count;
    struct share_row r;
    for (int letter = 'A'; letter <= 'D'; letter++) {
        char token = (char)letter;
        r = a_share("f", token);
        r.expires_us = token == 'B' ? 500 : token == 'C' ? 5000 : 0;
        OK(meta_share_insert(m, &r, 10, e));
    }
    OK(meta_share_revoke(m, "ws_a", "shr_A", 400, e));
    OK(meta_share_prune(m, 1000, 10, &count, e));
    assert_int_equal(count, 2);
    struct share_rows rows;
    OK(meta_share_list(m, "ws_a", &(struct page){.limit = 10}, &rows, e));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.items[0].id, "shr_D");
    assert_string_equal(rows.items[1].id, "shr_C");
    share_rows_done(&rows);
    contract_close(m);
}

#define SHARES_CONTRACT                                                      \
    cmocka_unit_test(a_share_is_found_by_its_hash_and_by_its_id),            \
        cmocka_unit_test(a_workspace_has_so_many_shares_that_work),          \
        cmocka_unit_test(a_share_is_good_for_so_many_downloads_and_no_more), \
        cmocka_unit_test(what_is_not_said_stays_when_a_share_changes),       \
        cmocka_unit_test(a_version_that_is_shared_is_not_thinned),           \
        cmocka_unit_test(a_link_that_has_expired_holds_nothing),             \
        cmocka_unit_test(a_file_whose_version_is_shared_stays_in_the_trash), \
        cmocka_unit_test(only_a_version_that_is_there_can_be_shared),        \
        cmocka_unit_test(shares_that_ended_long_ago_are_forgotten)

#endif
