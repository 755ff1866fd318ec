/* Ids of cards, and whose they are. */
#include "store/store.h"
#include "workspace/cards.h"
#include "workspace/files_fixture.h"

static void ids_are_in_the_order_of_their_making(void **state)
{
    (void)state;
    char before[ID_SIZE] = "", id[ID_SIZE];
    for (int i = 0; i < 1000; i++) {
        OK(card_make_id("cntr_", id, e));
        assert_int_equal(strlen(id), 5 + 16 + 24);
        if (strncmp(before, id, 5 + 16) == 0) /* the same microsecond */
            continue;
        assert_true(strcmp(before, id) < 0);
        memcpy(before, id, sizeof before);
    }
}

static void cards_of_others_do_not_exist(void **state)
{
    (void)state;
    struct cards *cards;
    OK(cards_open(files_meta(fx.files), &cards, e));
    struct card c = {.kind = CARD_RESPONSE, .body = "{}", .body_len = 2}, got;
    (void)snprintf(c.id, sizeof c.id, "resp_1");
    (void)snprintf(c.principal, sizeof c.principal, "prn_a");
    OK(card_insert(cards, &c, 0, e));
    FAILS(ERR_NOT_FOUND, card_get(cards, "prn_b", CARD_RESPONSE, "resp_1", &got, e));
    FAILS(ERR_NOT_FOUND, card_delete(cards, "prn_b", CARD_RESPONSE, "resp_1", e));
    OK(card_get(cards, "prn_a", CARD_RESPONSE, "resp_1", &got, e));
    assert_string_equal(got.body, "{}");
    card_done(&got);
    OK(card_delete(cards, "prn_a", CARD_RESPONSE, "resp_1", e));
    FAILS(ERR_NOT_FOUND, card_get(cards, NULL, CARD_RESPONSE, "resp_1", &got, e));
    cards_close(cards);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest all[] = {
        TEST(ids_are_in_the_order_of_their_making),
        TEST(cards_of_others_do_not_exist),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
