/* What time does to Files and uploads, and the names of their fields. */
#include <jansson.h>

#include "openai/file.h"
#include "openai/form.h"
#include "openai/upload.h"
#include "workspace/files_fixture.h"

static struct openai oa;

enum { SECOND = 1000000 };
static const int64_t now = 1800000000LL * SECOND;

/* The hidden workspace instead of the usual one. */
static int setup(void **state)
{
    fixture_setup(state);
    workspace_row_done(&fx.ws);
    OK(files_workspace_create_kind(fx.files, &fx.who, FILE_WORKSPACE, WORKSPACE_FILES, &fx.ws, e));
    oa = (struct openai){.o = {.files = fx.files}};
    OK(cards_open(files_meta(fx.files), &oa.o.cards, e));
    return 0;
}

static int teardown(void **state)
{
    cards_close(oa.o.cards);
    return fixture_teardown(state);
}

static void add(enum card_kind kind, const char *id, const char *parent, int64_t expires_us,
                const char *body)
{
    struct oa_card c = {.card = {.kind = kind, .name = "", .created_us = now - 1},
                        .body = json_loads(body, 0, NULL)};
    c.card.expires_us = expires_us;
    (void)snprintf(c.card.id, ID_SIZE, "%s", id);
    (void)snprintf(c.card.parent, ID_SIZE, "%s", parent);
    memcpy(c.card.principal, fx.who.principal, ID_SIZE);
    OK(oa_card_insert(&oa, &c, 0, e));
    json_decref(c.body);
}

static bool is_there(enum card_kind kind, const char *id)
{
    struct oa_card c = {0};
    struct err e = {0};
    bool is_known = oa_card_get(&oa, fx.who.principal, kind, id, &c, &e) == 0;
    oa_card_done(&c);
    return is_known;
}

static size_t count(enum file_state state)
{
    scoped(freep) char *next = NULL;
    struct file_rows rows;
    size_t files = 0;
    const struct file_query q = {.prefix = "", .state = state, .limit = 100};
    OK(meta_file_list(files_meta(fx.files), fx.ws.id, &q, &rows, &next, e));
    for (size_t i = 0; i < rows.count; i++)
        files += rows.items[i].kind == FILE_REGULAR;
    file_rows_done(&rows);
    return files;
}

static void a_file_is_gone_when_its_time_is_over_and_not_before(void **state)
{
    (void)state;
    put("file-old/a.txt", "old");
    put("file-new/a.txt", "new");
    put("file-ever/a.txt", "ever");
    add(CARD_FILE, "file-old", "", now, "{\"path\":\"file-old/a.txt\"}");
    add(CARD_FILE, "file-new", "", now + 1, "{\"path\":\"file-new/a.txt\"}");
    add(CARD_FILE, "file-ever", "", 0, "{\"path\":\"file-ever/a.txt\"}");
    openai_tidy(&oa, now);
    assert_false(is_there(CARD_FILE, "file-old"));
    assert_true(is_there(CARD_FILE, "file-new"));
    assert_true(is_there(CARD_FILE, "file-ever"));
    assert_int_equal(count(FILE_LIVE), 2);
    assert_int_equal(count(FILE_TRASHED), 0);
}

static void a_file_without_bytes_is_forgotten_too(void **state)
{
    (void)state;
    add(CARD_FILE, "file-odd", "", now, "{\"path\":\"file-odd/a.txt\"}");
    openai_tidy(&oa, now);
    assert_false(is_there(CARD_FILE, "file-odd"));
}

static void an_upload_expires_with_its_parts_and_is_remembered_for_a_day(void **state)
{
    (void)state;
    struct oa_card c = {0};
    put(".uploads/upload_1/part_1", "1");
    put(".uploads/upload_1/part_2", "2");
    put(".uploads/upload_2/part_3", "3");
    add(CARD_UPLOAD, "upload_1", "", now, "{\"status\":\"pending\"}");
    add(CARD_UPLOAD, "upload_2", "", now + 1, "{\"status\":\"pending\"}");
    add(CARD_PART, "part_1", "upload_1", 0, "{}");
    add(CARD_PART, "part_2", "upload_1", 0, "{}");
    add(CARD_PART, "part_3", "upload_2", 0, "{}");
    openai_tidy(&oa, now);
    OK(oa_card_get(&oa, fx.who.principal, CARD_UPLOAD, "upload_1", &c, e));
    assert_string_equal(oa_upload_status(&c, now), "expired");
    oa_card_done(&c);
    assert_false(is_there(CARD_PART, "part_1"));
    assert_false(is_there(CARD_PART, "part_2"));
    assert_true(is_there(CARD_PART, "part_3"));
    assert_int_equal(count(FILE_LIVE), 1);
    assert_int_equal(count(FILE_TRASHED), 0);
    openai_tidy(&oa, now + (int64_t)(UPLOAD_KEEP_S - 1) * SECOND);
    assert_true(is_there(CARD_UPLOAD, "upload_1"));
    openai_tidy(&oa, now + (int64_t)UPLOAD_KEEP_S * SECOND);
    assert_false(is_there(CARD_UPLOAD, "upload_1"));
}

static void an_upload_is_pending_for_an_hour(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *body = json_pack("{s:s}", "status", "pending");
    const struct oa_card c = {.card = {.expires_us = now}, .body = body};
    assert_string_equal(oa_upload_status(&c, now - 1), "pending");
    assert_string_equal(oa_upload_status(&c, now), "expired");
    json_object_set_new(body, "status", json_string("completed"));
    assert_string_equal(oa_upload_status(&c, now), "completed");
    json_object_set_new(body, "status", json_string("cancelled"));
    assert_string_equal(oa_upload_status(&c, now), "cancelled");
}

static void names_of_fields_are_split_at_their_brackets(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *name, *member;
    } good[] = {{"purpose", "purpose", NULL},
                {"expires_after[anchor]", "expires_after", "anchor"},
                {"file_ids[]", "file_ids", ""}};
    static const char *const bad[] = {"", "[a]", "a[", "a[b", "a[b]c", "a[b][c]"};
    char text[64];
    const char *member;
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof text, "%s", good[i].raw);
        assert_true(form_split(text, &member));
        assert_string_equal(text, good[i].name);
        assert_true(good[i].member ? member && strcmp(member, good[i].member) == 0 : !member);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(text, sizeof text, "%s", bad[i]);
        assert_false(form_split(text, &member));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest all[] = {
        TEST(a_file_is_gone_when_its_time_is_over_and_not_before),
        TEST(a_file_without_bytes_is_forgotten_too),
        TEST(an_upload_expires_with_its_parts_and_is_remembered_for_a_day),
        cmocka_unit_test(an_upload_is_pending_for_an_hour),
        cmocka_unit_test(names_of_fields_are_split_at_their_brackets),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
