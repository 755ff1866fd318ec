#include "cli/mcp_merge.h"

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

enum { ENOUGH = 64 << 10 };

static int merge(const char *text, const char *entry, const char *inputs, struct buf *out,
                 bool *is_new, struct err *e)
{
    scoped(json_decrefp) json_t *value = json_loads(entry, 0, NULL);
    scoped(json_decrefp) json_t *more = inputs ? json_loads(inputs, 0, NULL) : NULL;
    return mcp_merge(text, strlen(text), "mcpServers", "cicada", value, more, out, is_new, e);
}

static void check(const char *text, const char *inputs, const char *expected, bool is_new)
{
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    struct err e = {0};
    bool got_new = !is_new;
    assert_int_equal(merge(text, "{\"command\":\"c\"}", inputs, &out, &got_new, &e), 0);
    assert_int_equal(got_new, is_new);
    scoped(json_decrefp) json_t *got = json_loads(out.bytes, 0, NULL);
    scoped(freep) char *flat = json_dumps(got, JSON_COMPACT);
    assert_string_equal(flat, expected);
}

static void what_is_there_stays_in_its_order(void **state)
{
    (void)state;
    check("", NULL, "{\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}", true);
    check(" \n", NULL, "{\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}", true);
    check("{\"z\":1.5,\"mcpServers\":{\"b\":{\"x\":[]}},\"a\":null}", NULL,
          "{\"z\":1.5,\"mcpServers\":{\"b\":{\"x\":[]},\"cicada\":{\"command\":\"c\"}},"
          "\"a\":null}",
          true);
}

static void another_entry_of_the_name_is_replaced_in_its_place(void **state)
{
    (void)state;
    check("{\"mcpServers\":{\"cicada\":{\"command\":\"old\"},\"b\":{}}}", NULL,
          "{\"mcpServers\":{\"cicada\":{\"command\":\"c\"},\"b\":{}}}", true);
}

static void what_is_there_already_changes_nothing(void **state)
{
    (void)state;
    check("{\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}", NULL,
          "{\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}", false);
}

static void inputs_are_added_once(void **state)
{
    (void)state;
    check("{\"inputs\":[{\"id\":\"other\"}]}", "[{\"id\":\"k\"}]",
          "{\"inputs\":[{\"id\":\"other\"},{\"id\":\"k\"}],"
          "\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}",
          true);
    check("{\"inputs\":[{\"id\":\"k\",\"x\":1}],\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}",
          "[{\"id\":\"k\"}]",
          "{\"inputs\":[{\"id\":\"k\",\"x\":1}],\"mcpServers\":{\"cicada\":{\"command\":\"c\"}}}",
          false);
}

static void what_is_no_configuration_is_refused(void **state)
{
    (void)state;
    static const char *const table[] = {
        "{",
        "// a comment\n{}",
        "{\"a\":1,}",
        "[]",
        "{\"mcpServers\":[]}",
        "{\"mcpServers\":\"x\"}",
        "{\"a\":1,\"a\":2}",
        "{\"inputs\":{}}",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
        struct err e = {0};
        bool is_new;
        assert_int_equal(merge(table[i], "{}", "[{\"id\":\"k\"}]", &out, &is_new, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void check_toml(const char *text, const char *expected, bool is_new)
{
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    struct err e = {0};
    bool got_new = !is_new;
    assert_int_equal(
        mcp_merge_toml(text, strlen(text), "[s.cicada]\ncommand = \"c\"\n", &out, &got_new, &e), 0);
    assert_int_equal(got_new, is_new);
    assert_string_equal(out.bytes, expected);
}

static void a_table_is_appended_once(void **state)
{
    (void)state;
    check_toml("", "[s.cicada]\ncommand = \"c\"\n", true);
    check_toml("a = 1\n", "a = 1\n\n[s.cicada]\ncommand = \"c\"\n", true);
    check_toml("a = 1", "a = 1\n\n[s.cicada]\ncommand = \"c\"\n", true);
    check_toml("[s.cicada]\ncommand = \"c\"\n", "[s.cicada]\ncommand = \"c\"\n", false);
    check_toml("[s.cicada2]\n", "[s.cicada2]\n\n[s.cicada]\ncommand = \"c\"\n", true);
}

static void another_table_of_that_head_is_a_conflict(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(ENOUGH);
    struct err e = {0};
    bool is_new;
    static const char text[] = "x = 1\n[s.cicada] # ours\ncommand = \"d\"\n";
    assert_int_equal(
        mcp_merge_toml(text, sizeof text - 1, "[s.cicada]\ncommand = \"c\"\n", &out, &is_new, &e),
        -1);
    assert_int_equal(e.code, ERR_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_stays_in_its_order),
        cmocka_unit_test(another_entry_of_the_name_is_replaced_in_its_place),
        cmocka_unit_test(what_is_there_already_changes_nothing),
        cmocka_unit_test(inputs_are_added_once),
        cmocka_unit_test(what_is_no_configuration_is_refused),
        cmocka_unit_test(a_table_is_appended_once),
        cmocka_unit_test(another_table_of_that_head_is_a_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
