/* Code in blocks: a model that knows no functions, and one that forgets to use them. */
#include "agent/agent_fixture.h"

#include "agent/fenced.h"

#define BLOCK(code) "```python\\n" code "\\n```\\n"

/* ---- AGENT_FENCED ---- */

static void a_block_ends_the_answer_and_is_run(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(
        go("[{\"say\":\"I look.\\n" BLOCK(
               "a = 1\\nprint(a)") "[output]\\n99\\n\",\"chunk\":1},{\"say\":\"It is 42.\"}]",
           NULL),
        0);
    assert_string_equal(json_string_value(json_array_get(fixture->codes, 0)), "a = 1\nprint(a)");
    assert_int_equal(json_array_size(fixture->o.items), 3);
    assert_string_equal(said_at(0), "I look.\n");
    assert_string_equal(get(item_at(1), "code"), "a = 1\nprint(a)");
    assert_string_equal(get(item_at(1), "x_text"), "42\n");
    assert_string_equal(said_at(2), "It is 42.");
    assert_int_equal(fixture->o.end, AGENT_ANSWERED);
    /* No tools, and the call as it was written. */
    assert_true(json_is_null(asked_at(0, "tools")) || !asked_at(0, "tools"));
    const json_t *items = asked_at(1, "items");
    assert_int_equal(json_array_size(items), 3);
    assert_string_equal(get(json_array_get(items, 1), "role"), "assistant");
    assert_string_equal(get(json_array_get(items, 1), "content"),
                        "I look.\n\n\n```python\na = 1\nprint(a)\n```");
    assert_string_equal(get(json_array_get(items, 2), "content"), "[output]\n42\n");
    assert_non_null(
        strstr(json_string_value(asked_at(0, "instructions")), "end your message with one block"));
}

static void a_block_streams_as_code(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(go("[{\"say\":\"" BLOCK("a\\nb") "\",\"chunk\":12},{\"say\":\"ok\"}]", NULL),
                     0);
    check_heard("+0code_interpreter_call c0[a] c0[\nb] running0[a\nb] ran0[ok] -0completed "
                "+1message t1[ok] -1completed");
}

static void a_block_that_is_not_closed_is_run(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(go("[{\"say\":\"```py\\nx = 1\"},{\"say\":\"ok\"}]", NULL), 0);
    assert_string_equal(json_string_value(json_array_get(fixture->codes, 0)), "x = 1");
}

static void a_block_that_is_cut_off_is_not(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(go("[{\"say\":\"```py\\nx = \",\"finish\":\"length\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 0);
    assert_int_equal(fixture->o.end, AGENT_OUTPUT_LIMIT);
    assert_string_equal(get(item_at(0), "status"), "incomplete");
    assert_string_equal(get(item_at(0), "code"), "x = ");
}

static void at_the_limit_a_block_is_said(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    fixture->w.limits.calls_max = 1;
    assert_int_equal(go("[{\"say\":\"" BLOCK("1") "\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 1);
    assert_int_equal(fixture->o.end, AGENT_CALLS_LIMIT);
    assert_string_equal(said_at(1), "```python\n1\n```\n");
    assert_non_null(strstr(get(last_asked(1), "content"), "All 1 calls"));
}

/* ---- AGENT_AUTO ---- */

static void a_block_at_the_end_is_run(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"say\":\"So:\\n" BLOCK("6*7") "\\n \\n\",\"chunk\":3},{\"say\":\"ok\"}]", NULL), 0);
    assert_string_equal(said_at(0), "So:\n");
    assert_string_equal(get(item_at(1), "code"), "6*7");
    assert_string_equal(said_at(2), "ok");
    /* The model is told as if it had called the function. */
    assert_string_equal(get(last_asked(1), "type"), "code_interpreter_call");
}

static void a_block_that_something_follows_is_said(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"say\":\"a\\n" BLOCK("x") "b\\n" BLOCK("y") "That is all.\",\"chunk\":2}]", NULL),
        0);
    assert_int_equal(fixture->ran, 0);
    assert_string_equal(said_at(0), "a\n```python\nx\n```\nb\n```python\ny\n```\nThat is all.");
}

static void only_the_last_block_is_run(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"say\":\"a\\n" BLOCK("x") "b\\n" BLOCK("y") "\"},{\"say\":\"ok\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 1);
    assert_string_equal(said_at(0), "a\n```python\nx\n```\nb\n");
    assert_string_equal(get(item_at(1), "code"), "y");
}

static void who_knows_how_to_call_is_taken_at_its_word(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}]},{\"say\":\"This is how:\\n" BLOCK(
               "1") "\"}]",
           NULL),
        0);
    assert_int_equal(fixture->ran, 1);
    assert_string_equal(said_at(1), "This is how:\n```python\n1\n```\n");
}

static void a_block_beside_a_call_is_said(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"say\":\"" BLOCK(
               "x") "\",\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    assert_string_equal(said_at(0), "```python\nx\n```\n");
    assert_string_equal(get(item_at(1), "code"), "1");
}

static void with_tools_only_a_block_is_said(void **state)
{
    (void)state;
    fixture->w.code = AGENT_TOOL;
    assert_int_equal(go("[{\"say\":\"" BLOCK("x") "\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 0);
}

static void without_hands_a_block_is_said(void **state)
{
    (void)state;
    fixture->w.hands = NULL;
    assert_int_equal(go("[{\"say\":\"" BLOCK("x") "\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 0);
}

static void an_endpoint_without_tools_is_asked_for_blocks(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"fail\":\"invalid_request\",\"lacks_tools\":true},{\"say\":\"" BLOCK(
                            "x") "nonsense\"},{\"say\":\"ok\"}]",
                        NULL),
                     0);
    assert_int_equal(fixture->asked, 3);
    assert_int_equal(fixture->o.questions, 2);
    assert_int_equal(fixture->ran, 1);
    assert_int_equal(fixture->o.status, 0);
    assert_string_equal(said_at(1), "ok");
}

/* ---- functions ---- */

#define TOOL_CALL(json) "```tool_call\\n" json "\\n```\\n"

static void functions_of_the_caller_are_called_in_blocks(void **state)
{
    (void)state;
    fixture->functions = json_of("[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{}}]");
    assert_int_equal(
        go("[{\"fail\":\"invalid_request\",\"lacks_tools\":true},{\"say\":\"I ask.\\n" TOOL_CALL(
               "{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":1}}") "\"}]",
           NULL),
        0);
    check_heard("+0message t0[I ask.\n] -0completed +1function_call a1[{\"x\":1}] -1completed");
    assert_int_equal(fixture->o.end, AGENT_FUNCTION);
    assert_string_equal(get(item_at(1), "name"), "f");
    assert_null(strstr(json_string_value(asked_at(0, "instructions")), "tool_call"));
    assert_non_null(strstr(json_string_value(asked_at(1, "instructions")),
                           "{\"name\":\"f\",\"description\":\"d\""));
}

static void a_block_that_is_no_call_is_told(void **state)
{
    (void)state;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(go("[{\"say\":\"" TOOL_CALL("f(1)") "\"},{\"say\":\"ok\"}]", NULL), 0);
    assert_int_equal(json_array_size(fixture->o.items), 1);
    assert_string_equal(get(last_asked(1), "content"),
                        "[output]\nerror: there is no function \"tool_call\". There are: python");
    assert_int_equal(fixture->o.failed_calls, 1);
}

static int search(void *arg, const json_t *arguments, struct halt *halt, struct buf *ret,
                  struct err *e)
{
    (void)arg;
    (void)halt;
    (void)e;
    buf_fmt(ret, "found %s", get(arguments, "query"));
    return 0;
}

static void tools_of_ours_are_called_in_blocks(void **state)
{
    (void)state;
    static const struct agent_tool tool = {
        .name = "search", .description = "d", .parameters = "{}", .call = search};
    fixture->w.tools = &tool;
    fixture->w.tool_count = 1;
    fixture->w.code = AGENT_FENCED;
    assert_int_equal(
        go("[{\"chunk\":7,\"say\":\"" TOOL_CALL(
               "{\\\"name\\\":\\\"search\\\",\\\"arguments\\\":{\\\"query\\\":\\\"q3\\\"}}") "\"},"
                                                                                             "{\"say\":\"ok\"}]",
           NULL),
        0);
    assert_string_equal(get(item_at(1), "output"), "found q3");
    assert_string_equal(get(last_asked(1), "content"), "[output]\nfound q3");
    const json_t *items = asked_at(1, "items");
    assert_string_equal(
        get(json_array_get(items, 1), "content"),
        "```tool_call\n{\"name\": \"search\", \"arguments\": {\"query\":\"q3\"}}\n```");
}

/* ---- the conversation ---- */

static void sides_alternate(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items = json_of(
        "[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"u\"}]},"
        "{\"type\":\"reasoning\",\"summary\":[]},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]},"
        "{\"type\":\"code_interpreter_call\",\"code\":\"x = '```'\",\"outputs\":[{\"type\":\"logs\",\"logs\":\"L\"}]},"
        "{\"role\":\"user\",\"content\":\"v\"},"
        "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"o\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"data:,\"}]}]");
    scoped(json_decrefp) json_t *copy = json_deep_copy(items), *got = NULL;
    static const char *const expected[][2] = {
        {"system", "s"},
        {"user", "u"},
        {"assistant", "a\n\n````python\nx = '```'\n````"},
        {"user", "[output]\nL\n\nv"},
        {"assistant", "```tool_call\n{\"name\": \"f\", \"arguments\": {}}\n```"},
        {"user", "[output]\no"},
        {"user", ""},
    };
    struct err e = {0};
    assert_int_equal(fenced_items(items, &got, &e), 0);
    assert_int_equal(json_array_size(got), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_string_equal(get(json_array_get(got, i), "role"), expected[i][0]);
        assert_string_equal(get(json_array_get(got, i), "content"), expected[i][1]);
    }
    assert_true(json_equal(items, copy));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_block_ends_the_answer_and_is_run),
        TEST(a_block_streams_as_code),
        TEST(a_block_that_is_not_closed_is_run),
        TEST(a_block_that_is_cut_off_is_not),
        TEST(at_the_limit_a_block_is_said),
        TEST(a_block_at_the_end_is_run),
        TEST(a_block_that_something_follows_is_said),
        TEST(only_the_last_block_is_run),
        TEST(who_knows_how_to_call_is_taken_at_its_word),
        TEST(a_block_beside_a_call_is_said),
        TEST(with_tools_only_a_block_is_said),
        TEST(without_hands_a_block_is_said),
        TEST(an_endpoint_without_tools_is_asked_for_blocks),
        TEST(functions_of_the_caller_are_called_in_blocks),
        TEST(a_block_that_is_no_call_is_told),
        TEST(tools_of_ours_are_called_in_blocks),
        TEST(sides_alternate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
