/* What request.h and shape.h promise. */
#include "openai/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/scope.h"
#include "openai/shape.h"

#define CODE "\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}]"
#define FUNCTION "{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}"

static json_t *parse(const char *text)
{
    json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!v)
        fail_msg("no JSON: %s", text);
    return v;
}

static void is_refused(const char *text, const char *param, const char *code)
{
    scoped(json_decrefp) json_t *body = parse(text);
    struct oa_request q;
    struct refusal r = {0};
    if (oa_request_read(body, &q, &r) == 0)
        fail_msg("taken: %s", text);
    if (strcmp(r.param, param) != 0 || strcmp(r.code, code) != 0 || !*r.message)
        fail_msg("%s: %s, %s: %s", text, r.param, r.code, r.message);
    oa_request_done(&q);
}

static void is_read(const char *text, struct oa_request *ret)
{
    scoped(json_decrefp) json_t *body = parse(text);
    struct refusal r = {0};
    if (oa_request_read(body, ret, &r))
        fail_msg("%s: %s", text, r.message);
}

static void unknown_fields_are_refused_where_they_are(void **state)
{
    (void)state;
    is_refused("{\"input\":\"x\",\"inputs\":1}", "inputs", "unknown_parameter");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":"
               "{\"type\":\"auto\",\"files\":[]}}]}",
               "tools[0].container.files", "unknown_parameter");
    is_refused("{\"input\":\"x\",\"tools\":[" FUNCTION
               ",{\"type\":\"function\",\"name\":\"g\",\"function\":{}}]}",
               "tools[1].function", "unknown_parameter");
    is_refused("{\"input\":\"x\",\"text\":{\"format\":{\"type\":\"text\",\"x\":1}}}",
               "text.format.x", "unknown_parameter");
    is_refused("{\"input\":\"x\",\"reasoning\":{\"depth\":1}}", "reasoning.depth",
               "unknown_parameter");
    is_refused("{\"input\":\"x\",\"stream_options\":{\"include_usage\":true}}",
               "stream_options.include_usage", "unknown_parameter");
}

static void wrong_types_and_values_are_refused(void **state)
{
    (void)state;
    is_refused("[]", "", "invalid_type");
    is_refused("{\"input\":1}", "input", "invalid_type");
    is_refused("{\"input\":\"x\",\"temperature\":\"hot\"}", "temperature", "invalid_type");
    is_refused("{\"input\":\"x\",\"temperature\":2.5}", "temperature", "decimal_above_max_value");
    is_refused("{\"input\":\"x\",\"temperature\":-1}", "temperature", "decimal_below_min_value");
    is_refused("{\"input\":\"x\",\"max_output_tokens\":0}", "max_output_tokens",
               "integer_below_min_value");
    is_refused("{\"input\":\"x\",\"max_tool_calls\":1.5}", "max_tool_calls", "invalid_type");
    is_refused("{\"input\":\"x\",\"truncation\":\"some\"}", "truncation", "invalid_value");
    is_refused("{\"input\":\"x\",\"include\":[\"code_interpreter_call.outputs\",\"all\"]}",
               "include[1]", "invalid_value");
    is_refused("{\"input\":\"x\",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"a\"}}}",
               "text.format.schema", "missing_required_parameter");
    is_refused("{\"input\":\"x\",\"store\":false,\"background\":true}", "background",
               "invalid_value");
    is_refused("{\"input\":\"x\",\"prompt\":{\"id\":\"p\"}}", "prompt", "unsupported_parameter");
    is_refused("{}", "input", "missing_required_parameter");
    is_refused("{\"input\":\"x\",\"previous_response_id\":\"r\",\"conversation\":\"c\"}",
               "previous_response_id", "mutually_exclusive_parameters");
}

static void tools_that_are_not_here_are_refused(void **state)
{
    (void)state;
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"web_search\"}]}", "tools[0].type",
               "invalid_value");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\"}]}",
               "tools[0].container", "missing_required_parameter");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":"
               "\"auto\",\"memory_limit\":\"3g\"}}]}",
               "tools[0].container.memory_limit", "invalid_value");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":"
               "\"auto\",\"network_policy\":{\"type\":\"allowlist\",\"allowed_domains\":[\"a\"]}}}"
               "]}",
               "tools[0].container.network_policy.type", "invalid_value");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":"
               "\"auto\",\"file_ids\":[1]}}]}",
               "tools[0].container.file_ids[0]", "invalid_type");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":"
               "\"cntr_0123456789012345678901234567890123456789012345678901234567890123456789\"}]}",
               "tools[0].container", "string_above_max_length");
    is_refused("{\"input\":\"x\",\"tools\":[{\"type\":\"function\",\"name\":\"a b\"}]}",
               "tools[0].name", "invalid_value");
    is_refused("{\"input\":\"x\",\"tools\":[" FUNCTION "," FUNCTION "]}", "tools[1].name",
               "invalid_value");
}

static void a_choice_is_one_of_the_tools(void **state)
{
    struct oa_request q;
    (void)state;
    is_refused("{\"input\":\"x\",\"tool_choice\":\"any\"}", "tool_choice", "invalid_value");
    is_refused("{\"input\":\"x\",\"tool_choice\":\"required\"}", "tool_choice", "invalid_value");
    is_refused("{\"input\":\"x\",\"tool_choice\":{\"type\":\"code_interpreter\"}}", "tool_choice",
               "invalid_value");
    is_refused("{\"input\":\"x\"," CODE ",\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}",
               "tool_choice", "invalid_value");
    is_read("{\"input\":\"x\"," CODE ",\"tool_choice\":{\"type\":\"code_interpreter\"}}", &q);
    assert_true(q.has_code && shape_is(q.choice, "type", "code_interpreter"));
    oa_request_done(&q);
    is_read(
        "{\"input\":\"x\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":\"cntr_1\"}," FUNCTION
        "],\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":[{\"type\":"
        "\"function\",\"name\":\"f\"}]}}",
        &q);
    assert_false(q.has_code);
    assert_int_equal(json_array_size(q.functions), 1);
    assert_string_equal(json_string_value(q.choice), "required");
    oa_request_done(&q);
}

static void what_is_sent_is_read(void **state)
{
    struct oa_request q;
    (void)state;
    is_read(
        "{\"model\":\"m\",\"input\":[],\"instructions\":\"i\"," CODE
        ",\"include\":[\"code_interpreter_call.outputs\"],\"max_tool_calls\":3,"
        "\"parallel_tool_calls\":false,\"previous_response_id\":\"resp_1\",\"store\":false,"
        "\"stream\":true,\"stream_options\":{\"include_obfuscation\":false},\"temperature\":0.5,"
        "\"top_p\":null,\"max_output_tokens\":100,\"reasoning\":{\"effort\":\"low\"},"
        "\"metadata\":{\"k\":\"v\"},\"user\":\"u\",\"service_tier\":\"flex\"}",
        &q);
    assert_string_equal(q.model, "m");
    assert_string_equal(q.instructions, "i");
    assert_string_equal(q.previous, "resp_1");
    assert_true(q.has_code && q.wants_outputs && q.is_stream);
    assert_false(q.is_stored || q.is_parallel || q.is_background);
    assert_int_equal(q.calls_max, 3);
    scoped(json_decrefp) json_t *params =
        parse("{\"temperature\":0.5,\"max_output_tokens\":100,\"reasoning\":{\"effort\":\"low\"}}");
    assert_true(json_equal(q.params, params));
    oa_request_done(&q);
    is_read("{\"conversation\":{\"id\":\"conv_1\"}}", &q);
    assert_string_equal(q.conversation, "conv_1");
    assert_true(q.is_stored && q.is_parallel && !q.has_code && !q.is_stream);
    oa_request_done(&q);
}

static void metadata_has_limits(void **state)
{
    scoped(json_decrefp) json_t *body = parse("{\"input\":\"x\",\"metadata\":{}}");
    json_t *metadata = json_object_get(body, "metadata");
    struct oa_request q;
    struct refusal r;
    char key[80], value[600];
    (void)state;
    for (int i = 0; i < 16; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        json_object_set_new(metadata, key, json_string("v"));
    }
    memset(value, 'v', 512);
    value[512] = 0;
    json_object_set_new(metadata, "k0", json_string(value));
    assert_int_equal(oa_request_read(body, &q, &r), 0);
    oa_request_done(&q);
    json_object_set_new(metadata, "k16", json_string("v"));
    assert_int_equal(oa_request_read(body, &q, &r), -1);
    assert_string_equal(r.param, "metadata");
    oa_request_done(&q);
    json_object_del(metadata, "k16");
    value[512] = 'v', value[513] = 0;
    json_object_set_new(metadata, "k0", json_string(value));
    assert_int_equal(oa_request_read(body, &q, &r), -1);
    assert_string_equal(r.param, "metadata.k0");
    assert_string_equal(r.code, "string_above_max_length");
    oa_request_done(&q);
    json_object_del(metadata, "k0");
    memset(key, 'k', 65);
    key[65] = 0;
    json_object_set_new(metadata, key, json_string("v"));
    assert_int_equal(oa_request_read(body, &q, &r), -1);
    oa_request_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_fields_are_refused_where_they_are),
        cmocka_unit_test(wrong_types_and_values_are_refused),
        cmocka_unit_test(tools_that_are_not_here_are_refused),
        cmocka_unit_test(a_choice_is_one_of_the_tools),
        cmocka_unit_test(what_is_sent_is_read),
        cmocka_unit_test(metadata_has_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
