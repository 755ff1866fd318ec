/* What conversation.h promises of locks: nobody waits for what is not theirs. A test that waits does not end. */
#include <jansson.h>

#include "openai/conversation.h"
#include "openai/shape.h"
#include "workspace/files_fixture.h"

static struct openai oa;

static int setup(void **state)
{
    fixture_setup(state);
    oa = (struct openai){.o = {.files = fx.files}};
    for (size_t i = 0; i < OA_CONVERSATION_LOCKS; i++)
        (void)pthread_mutex_init(&oa.conversations[i], NULL);
    OK(cards_open(files_meta(fx.files), &oa.o.cards, e));
    return 0;
}

static int teardown(void **state)
{
    cards_close(oa.o.cards);
    for (size_t i = 0; i < OA_CONVERSATION_LOCKS; i++)
        (void)pthread_mutex_destroy(&oa.conversations[i]);
    return fixture_teardown(state);
}

static void converse(const char *id)
{
    struct oa_card c = {.card = {.kind = CARD_CONVERSATION, .name = ""},
                        .body = json_pack("{s:{}, s:[]}", "metadata", "items")};
    (void)snprintf(c.card.id, ID_SIZE, "%s", id);
    memcpy(c.card.principal, fx.who.principal, ID_SIZE);
    OK(oa_card_insert(&oa, &c, 0, e));
    json_decref(c.body);
}

static size_t count(const char *id)
{
    scoped(json_decrefp) json_t *items = json_array();
    OK(oa_conversation_items(&oa, fx.who.principal, id, items, e));
    return json_array_size(items);
}

static json_t *some(size_t from, size_t to)
{
    json_t *items = json_array();
    for (; from < to; from++)
        (void)json_array_append_new(items, json_pack("{s:o}", "id", json_sprintf("msg_%zu", from)));
    return items;
}

static void items_are_added_once(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *input = some(0, 3);
    scoped(json_decrefp) json_t *output = some(2, 5);
    converse("conv_a");
    OK(oa_conversation_append(&oa, fx.who.principal, "conv_a", input, output, e));
    assert_int_equal(count("conv_a"), 5);
    OK(oa_conversation_append(&oa, fx.who.principal, "conv_a", output, input, e));
    assert_int_equal(count("conv_a"), 5);
}

static void exactly_the_limit_fits_and_one_more_does_not(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *all = some(0, CONVERSATION_ITEMS_MAX);
    scoped(json_decrefp) json_t *more = some(CONVERSATION_ITEMS_MAX, CONVERSATION_ITEMS_MAX + 1);
    struct err why = {0};
    converse("conv_a");
    OK(oa_conversation_append(&oa, fx.who.principal, "conv_a", all, NULL, e));
    OK(oa_conversation_append(&oa, fx.who.principal, "conv_a", all, NULL, e));
    assert_int_equal(oa_conversation_append(&oa, fx.who.principal, "conv_a", more, NULL, &why), -1);
    assert_int_equal(why.code, ERR_QUOTA);
    assert_int_equal(count("conv_a"), CONVERSATION_ITEMS_MAX);
}

/* One that brings an image of 25 MiB. */
static json_t *large(const char *id)
{
    scoped(freep) char *url = malloc((25 << 20) + 1);
    assert_non_null(url);
    memset(url, 'A', 25 << 20);
    memcpy(url, "data:", 5);
    url[25 << 20] = '\0';
    return json_pack("[{s:s, s:[{s:s, s:s}]}]", "id", id, "content", "type", "input_image",
                     "image_url", url);
}

static const char *type_at(const json_t *items, size_t index)
{
    const json_t *content = json_object_get(json_array_get(items, index), "content");
    return shape_text(json_array_get(content, 0), "type");
}

static void what_is_new_has_room_and_what_is_old_makes_it(void **state)
{
    (void)state;
    static const char *const ids[] = {"msg_1", "msg_2", "msg_3", "msg_4"};
    scoped(json_decrefp) json_t *items = json_array();
    converse("conv_a");
    for (size_t i = 0; i < 4; i++) {
        scoped(json_decrefp) json_t *input = large(ids[i]);
        OK(oa_conversation_append(&oa, fx.who.principal, "conv_a", input, NULL, e));
    }
    OK(oa_conversation_items(&oa, fx.who.principal, "conv_a", items, e));
    assert_string_equal(type_at(items, 0), "input_text");
    assert_string_equal(type_at(items, 1), "input_text");
    assert_string_equal(type_at(items, 2), "input_image");
    assert_string_equal(type_at(items, 3), "input_image");
}

/* While this one is changed, so is another, and it is read itself. */
static int meanwhile(void *arg, struct json_t *body, struct err *e)
{
    const json_t *items = arg;
    (void)body;
    assert_int_equal(count("conv_a"), 0);
    return oa_conversation_append(&oa, fx.who.principal, "conv_b", items, NULL, e);
}

static void nobody_waits_for_another_conversation(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items = some(0, 1);
    scoped(oa_card_done) struct oa_card c = {0};
    converse("conv_a");
    converse("conv_b");
    OK(oa_conversation_change(&oa, fx.who.principal, "conv_a", meanwhile, items, &c, e));
    assert_int_equal(count("conv_b"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(items_are_added_once, setup, teardown),
        cmocka_unit_test_setup_teardown(exactly_the_limit_fits_and_one_more_does_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_new_has_room_and_what_is_old_makes_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_for_another_conversation, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
