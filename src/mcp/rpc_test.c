/* What rpc.h promises. */
#include "mcp/rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"

#define META_2026                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static struct str header_of(const char *text)
{
    return text ? str_of(text) : STR_NONE;
}

static void is_refused(const char *text, int code)
{
    struct rpc_message m;
    struct rpc_fault f = {0};
    if (rpc_read(str_of(text), STR_NONE, &m, &f) == 0)
        fail_msg("accepted: %s", text);
    if (f.code != code || f.status != 400 || !*f.text)
        fail_msg("%s: %d %d %s", text, f.code, f.status, f.text);
    rpc_done(&m);
}

static void is_of_kind(const char *text, enum rpc_kind kind)
{
    struct rpc_message m;
    struct rpc_fault f = {0};
    if (rpc_read(str_of(text), STR_NONE, &m, &f))
        fail_msg("%s: %s", text, f.text);
    assert_int_equal(m.kind, kind);
    assert_int_equal(m.id != NULL, kind != RPC_NOTIFICATION);
    rpc_done(&m);
}

static void messages_are_of_three_kinds(void **state)
{
    (void)state;
    is_of_kind("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", RPC_REQUEST);
    is_of_kind("{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\",\"params\":{}}", RPC_REQUEST);
    is_of_kind("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", RPC_NOTIFICATION);
    is_of_kind("{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{}}", RPC_RESPONSE);
    is_of_kind("{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"\"}}",
               RPC_RESPONSE);
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    const char *const not_json[] = {"", "{", "{\"a\":1}x", "\xff", "{\"id\":1,\"id\":2}"};
    const char *const not_one[] = {
        "[]",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        "1",
        "null",
        "{}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
    };
    for (size_t i = 0; i < sizeof not_json / sizeof *not_json; i++)
        is_refused(not_json[i], RPC_PARSE);
    for (size_t i = 0; i < sizeof not_one / sizeof *not_one; i++)
        is_refused(not_one[i], RPC_INVALID);
    is_refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":1}}",
               RPC_PARAMS);
}

static void the_era_is_seen_from_the_message_first(void **state)
{
    (void)state;
    const struct {
        const char *text, *header;
        bool is_modern;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META_2026 "}}",
         NULL, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META_2026 "}}",
         "2025-11-25", true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}", "2026-07-28",
         true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", NULL, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", "2025-06-18", false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "2026-07-28", false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":{"
         "\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\"}}}",
         "2026-07-28", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rpc_message m;
        struct rpc_fault f = {0};
        assert_int_equal(rpc_read(str_of(cases[i].text), header_of(cases[i].header), &m, &f), 0);
        if (m.is_modern != cases[i].is_modern)
            fail_msg("%s with %s", cases[i].text, cases[i].header);
        rpc_done(&m);
    }
}

static void the_stateless_era_checks_in_order(void **state)
{
    (void)state;
    const struct {
        const char *meta, *header;
        int code;
    } cases[] = {
        {META_2026, "2026-07-28", 0},
        {META_2026, " 2026-07-28 ", 0},
        {META_2026, NULL, RPC_HEADER},
        {META_2026, "2025-11-25", RPC_HEADER},
        {"\"a\":1", "2026-07-28", RPC_PARAMS},
        {"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7}", "2026-07-28", RPC_PARAMS},
        {"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}", "2026-07-28",
         RPC_PARAMS},
        {"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999.0.0\"}", "v999.0.0",
         RPC_VERSION},
        {"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"v999.0.0\"}", "2026-07-28",
         RPC_HEADER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rpc_message m;
        struct rpc_fault f = {0};
        struct buf text = BUF_INIT(4096);
        buf_fmt(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{%s}}",
                cases[i].meta);
        assert_int_equal(
            rpc_read((struct str){text.bytes, text.len}, header_of(cases[i].header), &m, &f), 0);
        (void)rpc_check_modern(&m, header_of(cases[i].header), &f);
        if (f.code != cases[i].code)
            fail_msg("%s with %s: %d", cases[i].meta, cases[i].header, f.code);
        assert_int_equal(f.tells_versions, cases[i].code == RPC_VERSION);
        rpc_done(&m);
        buf_done(&text);
    }
}

static void headers_repeat_values(void **state)
{
    (void)state;
    assert_true(rpc_header_is(str_of("run_code"), "run_code"));
    assert_true(rpc_header_is(str_of(" \trun_code "), "run_code"));
    assert_false(rpc_header_is(str_of("Run_Code"), "run_code"));
    assert_false(rpc_header_is(STR_NONE, "run_code"));
    assert_true(rpc_header_is(str_of("=?base64?R3LDtsOfZQ==?="), "Gr\xc3\xb6\xc3\x9f"
                                                                 "e"));
    assert_false(rpc_header_is(str_of("=?base64?R3LDtsOfZQ?="), "Gr\xc3\xb6\xc3\x9f"
                                                                "e"));
    assert_false(rpc_header_is(str_of("=?base64?!!?="), "!!"));
    assert_true(rpc_header_is(str_of("=?base64?abc"), "=?base64?abc"));
    assert_true(rpc_header_is(str_of("=?BASE64?YQ==?="), "=?BASE64?YQ==?="));
}

static void ids_come_back_as_they_were(void **state)
{
    (void)state;
    const char *const ids[] = {"1", "-9007199254740993", "\"\"", "\"a\\\"b\"", "\"1\""};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct buf out = BUF_INIT(256);
        json_t *id = json_loads(ids[i], JSON_DECODE_ANY, NULL);
        rpc_write_id(&out, id);
        assert_string_equal(out.bytes, ids[i]);
        json_decref(id);
        buf_done(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_of_three_kinds),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(the_era_is_seen_from_the_message_first),
        cmocka_unit_test(the_stateless_era_checks_in_order),
        cmocka_unit_test(headers_repeat_values),
        cmocka_unit_test(ids_come_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
