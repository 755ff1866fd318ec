#include "cli/mcp_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"

enum { ENOUGH = 4096 };

static int read_text(const char *text, struct mcp_message *m, int *code)
{
    struct err e = {0};
    return mcp_message_read(text, strlen(text), m, code, &e);
}

static void the_three_kinds_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum mcp_kind kind;
    } table[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}", MCP_RESPONSE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(mcp_message_done) struct mcp_message m;
        int code;
        assert_int_equal(read_text(table[i].text, &m, &code), 0);
        assert_int_equal(m.kind, table[i].kind);
    }
}

static void what_is_no_message_has_its_code(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
    } table[] = {
        {"{", MCP_NOT_JSON},
        {"hello", MCP_NOT_JSON},
        {"{\"id\":1,\"id\":2,\"method\":\"x\"}", MCP_NOT_JSON},
        {"[]", MCP_NO_MESSAGE},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", MCP_NO_MESSAGE},
        {"7", MCP_NO_MESSAGE},
        {"{}", MCP_NO_MESSAGE},
        {"{\"id\":null,\"method\":\"ping\"}", MCP_NO_MESSAGE},
        {"{\"id\":1.5,\"method\":\"ping\"}", MCP_NO_MESSAGE},
        {"{\"id\":{},\"method\":\"ping\"}", MCP_NO_MESSAGE},
        {"{\"id\":1,\"method\":7}", MCP_NO_MESSAGE},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(mcp_message_done) struct mcp_message m;
        int code = 0;
        assert_int_equal(read_text(table[i].text, &m, &code), -1);
        assert_int_equal(code, table[i].code);
    }
}

static void too_deep_a_message_is_none(void **state)
{
    (void)state;
    scoped(mcp_message_done) struct mcp_message m;
    char text[512];
    int code = 0;
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(read_text(text, &m, &code), -1);
    assert_int_equal(code, MCP_NO_MESSAGE);
}

#define META(version) "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\"}"

static void only_a_claim_of_the_stateless_era_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *version;
    } table[] = {
        {"{\"id\":1,\"method\":\"a\",\"params\":{" META("2026-07-28") "}}", "2026-07-28"},
        {"{\"id\":1,\"method\":\"a\",\"params\":{" META("v999") "}}", "v999"},
        {"{\"id\":1,\"method\":\"a\",\"params\":{" META("2025-11-25") "}}", NULL},
        {"{\"id\":1,\"method\":\"a\",\"params\":{\"_meta\":{}}}", NULL},
        {"{\"id\":1,\"method\":\"a\",\"params\":[]}", NULL},
        {"{\"id\":1,\"method\":\"a\"}", NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(mcp_message_done) struct mcp_message m;
        int code;
        assert_int_equal(read_text(table[i].text, &m, &code), 0);
        if (table[i].version)
            assert_string_equal(m.version, table[i].version);
        else
            assert_null(m.version);
    }
}

static void the_name_is_that_of_the_thing_called(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
    } table[] = {
        {"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run_code\"}}", "run_code"},
        {"{\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\"}}", "p"},
        {"{\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"a://b\"}}", "a://b"},
        {"{\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t\"}}", "t"},
        {"{\"id\":1,\"method\":\"tools/list\",\"params\":{\"name\":\"x\"}}", NULL},
        {"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":7}}", NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(mcp_message_done) struct mcp_message m;
        int code;
        assert_int_equal(read_text(table[i].text, &m, &code), 0);
        if (table[i].name)
            assert_string_equal(m.name, table[i].name);
        else
            assert_null(m.name);
    }
}

static void a_cancellation_names_a_request(void **state)
{
    (void)state;
    scoped(mcp_message_done) struct mcp_message m;
    int code;
    assert_int_equal(read_text("{\"method\":\"notifications/cancelled\","
                               "\"params\":{\"requestId\":7,\"reason\":\"x\"}}",
                               &m, &code),
                     0);
    assert_int_equal(json_integer_value(mcp_message_cancels(&m)), 7);
    mcp_message_done(&m);
    assert_int_equal(read_text("{\"method\":\"notifications/initialized\"}", &m, &code), 0);
    assert_null(mcp_message_cancels(&m));
}

static void check_header(const char *value, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    mcp_header(&out, "Mcp-Name", value);
    assert_string_equal(out.bytes, expected);
}

static void what_a_header_cannot_carry_is_base64(void **state)
{
    (void)state;
    check_header("run_code", "Mcp-Name: run_code");
    check_header("workspace://a b~!", "Mcp-Name: workspace://a b~!");
    check_header(" a", "Mcp-Name: =?base64?IGE=?=");
    check_header("a ", "Mcp-Name: =?base64?YSA=?=");
    check_header("", "Mcp-Name: =?base64?"
                     "?=");
    check_header("\xc3\xa4", "Mcp-Name: =?base64?w6Q=?=");
    check_header("a\r\nX: y", "Mcp-Name: =?base64?YQ0KWDogeQ==?=");
    check_header("\x7f", "Mcp-Name: =?base64?fw==?=");
    check_header("=?base64?YQ==?=", "Mcp-Name: =?base64?PT9iYXNlNjQ/WVE9PT89?=");
    check_header("a=?base64?", "Mcp-Name: a=?base64?");
}

static void check_error(const char *id, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    json_t *value = id ? json_loads(id, JSON_DECODE_ANY, NULL) : NULL;
    mcp_error(&out, value, MCP_NOT_CARRIED, "no\nway");
    json_decref(value);
    assert_string_equal(out.bytes, expected);
}

static void an_error_has_the_id_that_was_asked_with(void **state)
{
    (void)state;
    check_error("7", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,"
                     "\"message\":\"no\\nway\"}}");
    check_error("\"a\\\"\"", "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"\",\"error\":{\"code\":-32603,"
                             "\"message\":\"no\\nway\"}}");
    check_error(NULL, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,"
                      "\"message\":\"no\\nway\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_three_kinds_are_told_apart),
        cmocka_unit_test(what_is_no_message_has_its_code),
        cmocka_unit_test(too_deep_a_message_is_none),
        cmocka_unit_test(only_a_claim_of_the_stateless_era_counts),
        cmocka_unit_test(the_name_is_that_of_the_thing_called),
        cmocka_unit_test(a_cancellation_names_a_request),
        cmocka_unit_test(what_a_header_cannot_carry_is_base64),
        cmocka_unit_test(an_error_has_the_id_that_was_asked_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
