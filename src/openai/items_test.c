/* What items.h promises. */
#include "openai/items.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "openai/shape.h"

static json_t *parse(const char *text)
{
    json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!v)
        fail_msg("no JSON: %s", text);
    return v;
}

static json_t *items_of(const char *text)
{
    scoped(json_decrefp) json_t *input = parse(text);
    struct refusal r = {0};
    json_t *items = NULL;
    if (oa_items_read(input, "input", &items, &r))
        fail_msg("%s: %s", text, r.message);
    return items;
}

static void is_refused(const char *text, const char *param, const char *code)
{
    scoped(json_decrefp) json_t *input = parse(text);
    struct refusal r = {0};
    json_t *items = NULL;
    if (oa_items_read(input, "input", &items, &r) == 0)
        fail_msg("taken: %s", text);
    if (strcmp(r.param, param) != 0 || strcmp(r.code, code) != 0)
        fail_msg("%s: %s, %s: %s", text, r.param, r.code, r.message);
}

static void a_text_is_a_message_of_the_user(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items = items_of("\"Plot it\"");
    const json_t *item = json_array_get(items, 0), *part;
    assert_int_equal(json_array_size(items), 1);
    assert_int_equal(strncmp(shape_text(item, "id"), "msg_", 4), 0);
    assert_true(shape_is(item, "type", "message") && shape_is(item, "role", "user") &&
                shape_is(item, "status", "completed"));
    part = json_array_get(json_object_get(item, "content"), 0);
    assert_true(shape_is(part, "type", "input_text") && shape_is(part, "text", "Plot it"));
}

static void an_id_that_comes_again_is_another(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items =
        items_of("[{\"id\":\"msg_1\",\"role\":\"user\",\"content\":\"a\"},"
                 "{\"id\":\"msg_1\",\"role\":\"user\",\"content\":\"b\"},"
                 "{\"type\":\"item_reference\",\"id\":\"msg_1\"}]");
    const json_t *again = json_array_get(items, 1);
    assert_true(shape_is(json_array_get(items, 0), "id", "msg_1"));
    assert_int_equal(strncmp(shape_text(again, "id"), "msg_", 4), 0);
    assert_false(shape_is(again, "id", "msg_1"));
    assert_true(shape_is(json_array_get(items, 2), "id", "msg_1"));
}

static void messages_may_be_short(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items =
        items_of("[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"assistant\","
                 "\"content\":\"yes\"},{\"id\":\"msg_1\",\"role\":\"user\",\"content\":[{\"type\":"
                 "\"input_text\",\"text\":\"a\"},{\"type\":\"input_image\",\"image_url\":\"https://"
                 "x/y.png\"},{\"type\":\"input_file\",\"file_id\":\"file-1\"}]}]");
    const json_t *said = json_array_get(items, 1);
    assert_int_equal(json_array_size(items), 3);
    assert_true(
        shape_is(json_array_get(json_object_get(said, "content"), 0), "type", "output_text"));
    assert_true(shape_is(json_array_get(items, 2), "id", "msg_1"));
}

static void what_came_out_may_go_in_again(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items = items_of(
        "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},"
        "{\"id\":\"ci_1\",\"type\":\"code_interpreter_call\",\"status\":\"completed\",\"code\":\"1\","
        "\"container_id\":\"cntr_1\",\"outputs\":[{\"type\":\"logs\",\"logs\":\"1\"}],"
        "\"x_files\":[]},"
        "{\"type\":\"code_interpreter_call\",\"code\":\"2\",\"container_id\":\"cntr_2\","
        "\"outputs\":null},"
        "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":[{\"type\":\"output_text\",\"text\":\"t\",\"annotations\":[],\"parsed\":null},"
        "{\"type\":\"refusal\",\"refusal\":\"no\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"f\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":\"7\"},"
        "{\"type\":\"item_reference\",\"id\":\"msg_9\"},{\"id\":\"msg_8\"}]");
    assert_int_equal(json_array_size(items), 8);
    assert_string_equal(oa_items_container(items), "cntr_2");
    assert_int_equal(strncmp(shape_text(json_array_get(items, 2), "id"), "ci_", 3), 0);
    assert_int_equal(strncmp(shape_text(json_array_get(items, 4), "id"), "fc_", 3), 0);
    assert_true(json_object_get(json_array_get(items, 1), "x_files") != NULL);
    assert_true(shape_is(json_array_get(items, 7), "type", "item_reference"));
}

static void what_is_no_item_is_refused_where_it_is(void **state)
{
    (void)state;
    is_refused("[1]", "input[0]", "invalid_type");
    is_refused("[{\"role\":\"user\"}]", "input[0].content", "missing_required_parameter");
    is_refused("[{\"role\":\"robot\",\"content\":\"\"}]", "input[0].role", "invalid_value");
    is_refused("[{\"type\":\"computer_call\"}]", "input[0].type", "invalid_value");
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]",
               "input[0].content[0].type", "invalid_value");
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\"}]}]",
               "input[0].content[0].text", "missing_required_parameter");
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":{}}]}]",
               "input[0].content[0].image_url", "invalid_type");
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_url\":\"http://"
               "a\"}]}]",
               "input[0].content[0].file_url", "unsupported_parameter");
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_data\":\"aGk=\"}]}"
               "]",
               "input[0].content[0].filename", "missing_required_parameter");
    is_refused("[{\"type\":\"function_call_output\",\"output\":\"\"}]", "input[0].call_id",
               "missing_required_parameter");
    is_refused("[{\"type\":\"code_interpreter_call\",\"outputs\":\"x\"}]", "input[0].outputs",
               "invalid_type");
    is_refused("[{\"type\":\"item_reference\"}]", "input[0].id", "missing_required_parameter");
}

static void reads_data(const char *url, const char *type, const char *bytes)
{
    scoped(buf_done) struct buf out = BUF_INIT(64);
    char found[64];
    struct err e = {0};
    if (oa_data_url(str_of(url), found, &out, &e))
        fail_msg("%s: %s", url, e.text);
    assert_string_equal(found, type);
    assert_string_equal(out.bytes ? out.bytes : "", bytes);
}

static void data_urls_are_read(void **state)
{
    (void)state;
    reads_data("data:text/csv;base64,aGk=", "text/csv", "hi");
    reads_data("data:text/csv;charset=utf-8;base64,aGk=", "text/csv", "hi");
    reads_data("data:;base64,", "", "");
    reads_data("aGk=", "", "hi");
    const char *const wrong[] = {"data:", "data:,hi", "data:text/csv,hi", "data:x;base64,a", "a b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(64);
        char found[64];
        struct err e = {0};
        assert_int_equal(oa_data_url(str_of(wrong[i]), found, &out, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_content_has_at_most_so_many_parts(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *parts = json_array();
    scoped(json_decrefp) json_t *input =
        json_pack("[{s:s, s:O}]", "role", "user", "content", parts);
    struct refusal r = {0};
    json_t *items = NULL;
    for (size_t i = 0; i < OA_PARTS_MAX; i++)
        (void)json_array_append_new(parts,
                                    json_pack("{s:s, s:s}", "type", "input_text", "text", "x"));
    assert_int_equal(oa_items_read(input, "input", &items, &r), 0);
    json_decref(items);
    (void)json_array_append_new(parts, json_pack("{s:s, s:s}", "type", "input_text", "text", "x"));
    assert_int_equal(oa_items_read(input, "input", &items, &r), -1);
    assert_string_equal(r.param, "input[0].content");
    assert_string_equal(r.code, "array_above_max_length");
}

static void images_are_data_or_on_the_web(void **state)
{
    (void)state;
    is_refused("[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":"
               "\"file:///etc/hostname\"}]}]",
               "input[0].content[0].image_url", "invalid_value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_a_message_of_the_user),
        cmocka_unit_test(an_id_that_comes_again_is_another),
        cmocka_unit_test(messages_may_be_short),
        cmocka_unit_test(what_came_out_may_go_in_again),
        cmocka_unit_test(what_is_no_item_is_refused_where_it_is),
        cmocka_unit_test(data_urls_are_read),
        cmocka_unit_test(a_content_has_at_most_so_many_parts),
        cmocka_unit_test(images_are_data_or_on_the_web),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
