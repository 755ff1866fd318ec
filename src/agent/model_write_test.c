/* What is sent, for both kinds of endpoint. */
#include "agent/model_write.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/expect.h"
#include "base/scope.h"

static json_t *parse(const char *text)
{
    json_error_t why;
    json_t *made = json_loads(text, JSON_DECODE_ANY, &why);
    if (!made)
        fail_msg("%s in %s", why.text, text);
    return made;
}

/* What is said is compared as JSON; `path` is a key of the body. */
static void expect(const json_t *body, const char *name, const char *wanted)
{
    scoped(json_decrefp) json_t *want = wanted ? parse(wanted) : NULL;
    const json_t *has = json_object_get(body, name);
    if (!want && !has)
        return;
    if (!json_equal(want, has)) {
        scoped(freep) char *text = json_dumps(has, JSON_ENCODE_ANY);
        fail_msg("%s is %s", name, text);
    }
}

static json_t *ask(enum model_api api, const struct model_question *q, struct model_manner m)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    m.name = "m";
    if (api == MODEL_CHAT)
        OK(chat_request(q, &m, &out, e));
    else
        OK(responses_request(q, &m, &out, e));
    return parse(out.bytes);
}

static json_t *ask_items(enum model_api api, const char *items, bool has_images)
{
    scoped(json_decrefp) json_t *list = parse(items);
    return ask(api, &(struct model_question){.items = list},
               (struct model_manner){.has_images = has_images});
}

static void a_plain_question(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *list = parse("[{\"role\":\"user\",\"content\":\"hi\"}]");
    const struct model_question q = {.instructions = "Be kind.", .items = list};
    scoped(json_decrefp) json_t *chat = ask(MODEL_CHAT, &q, (struct model_manner){0});
    expect(chat, "model", "\"m\"");
    expect(chat, "stream", "true");
    expect(chat, "stream_options", "{\"include_usage\":true}");
    expect(
        chat, "messages",
        "[{\"role\":\"system\",\"content\":\"Be kind.\"},{\"role\":\"user\",\"content\":\"hi\"}]");
    expect(chat, "tools", NULL);
    expect(chat, "parallel_tool_calls", NULL);
    scoped(json_decrefp) json_t *responses = ask(MODEL_RESPONSES, &q, (struct model_manner){0});
    expect(responses, "instructions", "\"Be kind.\"");
    expect(responses, "input", "[{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}]");
    expect(responses, "store", "false");
    expect(responses, "stream", "true");
}

static void what_it_does_not_take_is_left_out(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *tools = parse("[{\"name\":\"f\"}]");
    scoped(json_decrefp) json_t *params = parse("{\"max_output_tokens\":9}");
    const struct model_question q = {.tools = tools, .params = params};
    const struct model_manner all = {.without = WITHOUT_STREAM_OPTIONS | WITHOUT_PARALLEL |
                                                WITHOUT_MAX_TOKENS | WITHOUT_STORE};
    scoped(json_decrefp) json_t *with = ask(MODEL_CHAT, &q, (struct model_manner){0});
    expect(with, "parallel_tool_calls", "false");
    expect(with, "max_tokens", "9");
    scoped(json_decrefp) json_t *chat = ask(MODEL_CHAT, &q, all);
    expect(chat, "stream_options", NULL);
    expect(chat, "parallel_tool_calls", NULL);
    expect(chat, "max_tokens", NULL);
    expect(chat, "max_completion_tokens", "9");
    scoped(json_decrefp) json_t *responses = ask(MODEL_RESPONSES, &q, all);
    expect(responses, "store", NULL);
    expect(responses, "parallel_tool_calls", NULL);
    expect(responses, "max_output_tokens", "9");
}

static void tools_and_wishes_are_translated(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *tools = parse(
        "[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"},\"strict\":true}]");
    scoped(json_decrefp) json_t *choice = parse("{\"name\":\"f\"}");
    scoped(json_decrefp) json_t *params = parse(
        "{\"temperature\":0.25,\"top_p\":null,\"reasoning\":{\"effort\":\"low\"},\"metadata\":{\"a\":\"b\"},"
        "\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"schema\":{},"
        "\"strict\":true}}}");
    const struct model_question q = {
        .tools = tools, .choice = choice, .params = params, .is_parallel = true};
    scoped(json_decrefp) json_t *chat = ask(MODEL_CHAT, &q, (struct model_manner){0});
    expect(
        chat, "tools",
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\",\"parameters\":"
        "{\"type\":\"object\"},\"strict\":true}}]");
    expect(chat, "tool_choice", "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}");
    expect(chat, "parallel_tool_calls", NULL);
    expect(chat, "temperature", "0.25");
    expect(chat, "top_p", NULL);
    expect(chat, "metadata", NULL);
    expect(chat, "reasoning_effort", "\"low\"");
    expect(chat, "verbosity", "\"low\"");
    expect(
        chat, "response_format",
        "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\",\"schema\":{},\"strict\":true}}");
    scoped(json_decrefp) json_t *responses = ask(MODEL_RESPONSES, &q, (struct model_manner){0});
    expect(
        responses, "tools",
        "[{\"type\":\"function\",\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"},"
        "\"strict\":true}]");
    expect(responses, "tool_choice", "{\"type\":\"function\",\"name\":\"f\"}");
    expect(responses, "parallel_tool_calls", "true");
    expect(responses, "reasoning", "{\"effort\":\"low\"}");
    expect(responses, "metadata", NULL);
}

/* A whole conversation: code that was run, two calls at once, thinking, a refusal. */
static const char talk[] =
    "[{\"type\":\"message\",\"role\":\"developer\",\"content\":\"d\"},"
    "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"},"
    "{\"type\":\"input_file\",\"filename\":\"b.csv\"}]},"
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},"
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
    "\"text\":\"Let me see.\",\"annotations\":[]}]},"
    "{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\",\"code\":\"1\\n\\\"2\\\"\",\"outputs\":[],\"x_text\":\"out\"},"
    "{\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\",\"arguments\":\"{}\",\"id\":\"fc_1\"},"
    "{\"type\":\"function_call\",\"call_id\":\"y\",\"name\":\"g\",\"arguments\":\"{}\"},"
    "{\"type\":\"function_call_output\",\"call_id\":\"x\",\"output\":\"X\"},"
    "{\"type\":\"function_call_output\",\"call_id\":\"y\",\"output\":[{\"type\":\"input_text\",\"text\":\"Y\"}]},"
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"No.\"}]}]";

static void a_conversation_becomes_messages(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *body = ask_items(MODEL_CHAT, talk, false);
    expect(
        body, "messages",
        "[{\"role\":\"system\",\"content\":\"d\"},"
        "{\"role\":\"user\",\"content\":\"a\\n[a file: b.csv]\"},"
        "{\"role\":\"assistant\",\"content\":\"Let me see.\",\"tool_calls\":[{\"id\":\"ci_1\",\"type\":\"function\","
        "\"function\":{\"name\":\"python\",\"arguments\":\"{\\\"code\\\":\\\"1\\\\n\\\\\\\"2\\\\\\\"\\\"}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"ci_1\",\"content\":\"out\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
        "{\"id\":\"y\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"X\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"y\",\"content\":\"Y\"},"
        "{\"role\":\"assistant\",\"content\":\"No.\"}]");
}

static void a_conversation_becomes_input(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *body = ask_items(MODEL_RESPONSES, talk, false);
    expect(
        body, "input",
        "[{\"type\":\"message\",\"role\":\"developer\",\"content\":\"d\"},"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"},"
        "{\"type\":\"input_text\",\"text\":\"[a file: b.csv]\"}]},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Let me see.\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"ci_1\",\"name\":\"python\","
        "\"arguments\":\"{\\\"code\\\":\\\"1\\\\n\\\\\\\"2\\\\\\\"\\\"}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"ci_1\",\"output\":\"out\"},"
        "{\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"y\",\"name\":\"g\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"x\",\"output\":\"X\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"y\",\"output\":\"Y\"},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"No.\"}]}]");
}

static void calls_of_one_turn_are_shown_as_one_turn(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *body = ask_items(
        MODEL_CHAT,
        "[{\"type\":\"code_interpreter_call\",\"id\":\"a\",\"code\":\"1\",\"x_text\":\"A\",\"x_turn\":1,\"x_call_id\":\"z\"},"
        "{\"type\":\"code_interpreter_call\",\"id\":\"b\",\"code\":\"2\",\"x_text\":\"B\",\"x_turn\":1},"
        "{\"type\":\"code_interpreter_call\",\"id\":\"c\",\"code\":\"3\",\"outputs\":[{\"type\":\"logs\",\"logs\":\"C\"},"
        "{\"type\":\"image\",\"url\":\"u\"}],\"x_turn\":2},"
        "{\"type\":\"code_interpreter_call\",\"id\":\"d\",\"code\":null,\"outputs\":null}]",
        false);
    const json_t *messages = json_object_get(body, "messages");
    assert_int_equal(json_array_size(messages), 7);
    const json_t *calls = json_object_get(json_array_get(messages, 0), "tool_calls");
    assert_int_equal(json_array_size(calls), 2);
    assert_string_equal(item_text(json_array_get(calls, 0), "id"), "z");
    assert_string_equal(item_text(json_array_get(messages, 2), "tool_call_id"), "b");
    assert_string_equal(item_text(json_array_get(messages, 4), "content"),
                        "C[an image was shown]\n");
    assert_string_equal(item_text(json_array_get(messages, 6), "content"), "(no output)");
}

static void images_are_shown_or_told(void **state)
{
    (void)state;
    static const char items[] =
        "[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"},{\"type\":\"input_image\","
        "\"image_url\":\"data:image/png;base64,AA==\",\"detail\":\"low\"}]}]";
    scoped(json_decrefp) json_t *seen = ask_items(MODEL_CHAT, items, true);
    expect(
        seen, "messages",
        "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image_url\","
        "\"image_url\":{\"url\":\"data:image/png;base64,AA==\",\"detail\":\"low\"}}]}]");
    scoped(json_decrefp) json_t *told = ask_items(MODEL_CHAT, items, false);
    expect(
        told, "messages",
        "[{\"role\":\"user\",\"content\":\"a\\n[an image, which this model cannot be shown]\"}]");
    scoped(json_decrefp) json_t *input = ask_items(MODEL_RESPONSES, items, true);
    expect(
        input, "input",
        "[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"},"
        "{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,AA==\",\"detail\":\"low\"}]}]");
}

static void strange_items_do_no_harm(void **state)
{
    (void)state;
    static const char items[] =
        "[7,null,{},{\"type\":7},{\"type\":\"item_reference\",\"id\":\"x\"},{\"role\":7,\"content\":7},"
        "{\"role\":\"user\",\"content\":[7,{\"type\":\"input_image\"},{\"type\":\"input_file\",\"file_id\":\"f\"}]},"
        "{\"type\":\"function_call\"},{\"type\":\"function_call_output\"},{\"type\":\"code_interpreter_call\"}]";
    scoped(json_decrefp) json_t *chat = ask_items(MODEL_CHAT, items, true);
    scoped(json_decrefp) json_t *responses = ask_items(MODEL_RESPONSES, items, true);
    assert_true(json_array_size(json_object_get(chat, "messages")) > 4);
    assert_true(json_array_size(json_object_get(responses, "input")) > 4);
}

static void a_question_that_is_too_large_is_refused(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(100);
    scoped(json_decrefp) json_t *list =
        parse("[{\"role\":\"user\",\"content\":\"0123456789012345678901234567890\"}]");
    const struct model_question q = {.items = list};
    FAILS(ERR_TOO_LARGE, chat_request(&q, &(struct model_manner){.name = "m"}, &out, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_question),
        cmocka_unit_test(what_it_does_not_take_is_left_out),
        cmocka_unit_test(tools_and_wishes_are_translated),
        cmocka_unit_test(a_conversation_becomes_messages),
        cmocka_unit_test(a_conversation_becomes_input),
        cmocka_unit_test(calls_of_one_turn_are_shown_as_one_turn),
        cmocka_unit_test(images_are_shown_or_told),
        cmocka_unit_test(strange_items_do_no_harm),
        cmocka_unit_test(a_question_that_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
