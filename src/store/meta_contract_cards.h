/* meta_contract_cards.h -- what cards promise, for any implementation. */
#ifndef STORE_META_CONTRACT_CARDS_H
#define STORE_META_CONTRACT_CARDS_H

#include "store/meta_cards.h"
#include "store/meta_fixture.h"

static inline struct card a_card(const char *id, const char *principal, const char *body)
{
    struct card c = {.kind = CARD_FILE,
                     .name = "user_data",
                     .created_us = 5,
                     .used_us = 5,
                     .body = body,
                     .body_len = strlen(body)};
    set_id(c.id, id);
    set_id(c.principal, principal);
    return c;
}

static inline void add_card(struct meta *m, const char *id, const char *principal)
{
    struct card c = a_card(id, principal, "{}");
    OK(meta_card_insert(m, &c, 0, e));
}

static inline void a_card_comes_back_as_it_was(void **state)
{
    (void)state;
    struct meta *m = with_people();
    char *body = malloc(300001);
    assert_non_null(body);
    memset(body, 'x', 300000);
    body[300000] = '\0';
    struct card c = a_card("file-1", "prn_a", body), got;
    set_id(c.parent, "upload_1");
    c.expires_us = 77;
    OK(meta_card_insert(m, &c, 0, e));
    FAILS(ERR_CONFLICT, meta_card_insert(m, &c, 0, e));
    m = contract_reopen(m);
    OK(meta_card_get(m, CARD_FILE, "file-1", &got, e));
    assert_string_equal(got.id, "file-1");
    assert_string_equal(got.principal, "prn_a");
    assert_string_equal(got.parent, "upload_1");
    assert_string_equal(got.name, "user_data");
    assert_int_equal(got.kind, CARD_FILE);
    assert_int_equal(got.created_us, 5);
    assert_int_equal(got.expires_us, 77);
    assert_int_equal(got.body_len, 300000);
    assert_memory_equal(got.body, body, 300001);
    card_done(&got);
    FAILS(ERR_NOT_FOUND, meta_card_get(m, CARD_UPLOAD, "file-1", &got, e)); /* another kind */
    free(body);
    contract_close(m);
}

static inline void a_card_changes_and_goes(void **state)
{
    (void)state;
    struct meta *m = with_people();
    add_card(m, "file-1", "prn_a");
    struct card c = a_card("file-1", "prn_a", "{\"n\":2}"), got;
    c.name = "vision";
    c.expires_us = 9;
    OK(meta_card_update(m, &c, e));
    OK(meta_card_touch(m, "file-1", 50, e));
    OK(meta_card_touch(m, "file-1", 40, e)); /* never backwards */
    OK(meta_settle(m, e));
    OK(meta_card_get(m, CARD_FILE, "file-1", &got, e));
    assert_string_equal(got.body, "{\"n\":2}");
    assert_string_equal(got.name, "vision");
    assert_int_equal(got.used_us, 50);
    assert_int_equal(got.expires_us, 9);
    card_done(&got);
    OK(meta_card_delete(m, CARD_FILE, "file-1", e));
    FAILS(ERR_NOT_FOUND, meta_card_delete(m, CARD_FILE, "file-1", e));
    FAILS(ERR_NOT_FOUND, meta_card_update(m, &c, e));
    contract_close(m);
}

static inline void list_is(struct meta *m, const struct card_filter *filter, const char *wanted,
                           bool has_more)
{
    struct card_rows rows;
    char text[256] = "";
    OK(meta_card_list(m, filter, &rows, e));
    for (size_t i = 0; i < rows.count; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "", rows.items[i].id);
    }
    assert_string_equal(text, wanted);
    assert_int_equal(rows.has_more, has_more);
    card_rows_done(&rows);
}

static inline void cards_are_listed_by_id_either_way(void **state)
{
    (void)state;
    struct meta *m = with_people();
    const char *const ids[] = {"file-1", "file-2", "file-3", "file-4"};
    for (int i = 0; i < 4; i++)
        add_card(m, ids[i], "prn_a");
    add_card(m, "file-5", "prn_b");
    struct card other = a_card("file-6", "prn_a", "{}");
    other.name = "vision";
    set_id(other.parent, "upload_1");
    OK(meta_card_insert(m, &other, 0, e));
    struct card_filter f = {.principal = "prn_a", .kind = CARD_FILE, .limit = 3};
    list_is(m, &f, "file-6 file-4 file-3", true);
    f.after = "file-3";
    list_is(m, &f, "file-2 file-1", false);
    f.is_ascending = true;
    list_is(m, &f, "file-4 file-6", false);
    OK(meta_card_delete(m, CARD_FILE, "file-3", e));
    list_is(m, &f, "file-4 file-6", false); /* what is gone still says where to go on */
    f.name = "vision";
    list_is(m, &f, "file-6", false);
    f = (struct card_filter){
        .principal = "prn_a", .kind = CARD_FILE, .parent = "upload_1", .limit = 9};
    list_is(m, &f, "file-6", false);
    f.principal = "prn_b";
    list_is(m, &f, "", false);
    contract_close(m);
}

static inline void there_are_only_so_many_cards(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct card one = a_card("file-1", "prn_a", "{}"), two = a_card("file-2", "prn_a", "{}"),
                hers = a_card("file-3", "prn_b", "{}");
    OK(meta_card_insert(m, &one, 1, e));
    FAILS(ERR_LIMIT, meta_card_insert(m, &two, 1, e));
    OK(meta_card_insert(m, &hers, 1, e));
    contract_close(m);
}

static inline void expired_ones_are_found_oldest_first(void **state)
{
    (void)state;
    struct meta *m = with_people();
    const int64_t times[] = {30, 10, 20, 0};
    for (int i = 0; i < 4; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "file-%d", i);
        struct card c = a_card(id, "prn_a", "{}");
        c.expires_us = times[i];
        OK(meta_card_insert(m, &c, 0, e));
    }
    struct card_rows rows;
    OK(meta_card_list_expired(m, CARD_FILE, 20, 10, &rows, e));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.items[0].id, "file-1");
    assert_string_equal(rows.items[1].id, "file-2");
    card_rows_done(&rows);
    contract_close(m);
}

#define CARDS_CONTRACT                                                                        \
    cmocka_unit_test(a_card_comes_back_as_it_was), cmocka_unit_test(a_card_changes_and_goes), \
        cmocka_unit_test(cards_are_listed_by_id_either_way),                                  \
        cmocka_unit_test(there_are_only_so_many_cards),                                       \
        cmocka_unit_test(expired_ones_are_found_oldest_first)

#endif
