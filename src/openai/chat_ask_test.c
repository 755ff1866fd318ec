/* A request for Chat Completions as one for Responses. */
#include <string.h>

#include <jansson.h>

#include "base/expect.h"
#include "base/scope.h"
#include "openai/chat.h"
#include "openai/shape.h"

static json_t *parse(const char *text)
{
    json_error_t why;
    json_t *made = json_loads(text, JSON_DECODE_ANY, &why);
    if (!made)
        fail_msg("%s in %s", why.text, text);
    return made;
}

static void becomes(const char *chat, const char *wish, const char *wanted)
{
    scoped(json_decrefp) json_t *body = parse(chat), *asked = parse(wish), *want = parse(wanted);
    scoped(json_decrefp) json_t *made = NULL;
    struct refusal r;
    if (oa_chat_translate(body, asked, &made, &r))
        fail_msg("%s: %s", r.param, r.message);
    if (!json_equal(made, want)) {
        scoped(freep) char *text = json_dumps(made, 0);
        fail_msg("%s", text);
    }
}

static void a_plain_question(void **state)
{
    (void)state;
    becomes(
        "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\"}]}",
        "true",
        "{\"input\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\"}],"
        "\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}],\"store\":false,\"text\":{}}");
}

static void a_container_can_be_named(void **state)
{
    (void)state;
    becomes(
        "{\"messages\":[]}", "{\"container\":\"cntr_1\"}",
        "{\"input\":[],\"tools\":[{\"type\":\"code_interpreter\",\"container\":\"cntr_1\"}],\"store\":false,\"text\":{}}");
}

static void calls_and_their_outputs_are_items(void **state)
{
    (void)state;
    becomes(
        "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"o\"},"
        "{\"role\":\"assistant\",\"content\":null},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\"}},"
        "{\"type\":\"file\",\"file\":{\"file_id\":\"file-1\"}}]}]}",
        "true",
        "{\"input\":[{\"role\":\"assistant\",\"content\":\"a\"},{\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\","
        "\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"x\",\"output\":\"o\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"t\"},{\"type\":\"input_image\",\"image_url\":\"u\"},"
        "{\"type\":\"input_file\",\"file_id\":\"file-1\"}]}],"
        "\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}],\"store\":false,\"text\":{}}");
}

static void wishes_have_other_names(void **state)
{
    (void)state;
    becomes(
        "{\"messages\":[],\"model\":\"m\",\"max_tokens\":5,\"temperature\":0,\"reasoning_effort\":\"low\",\"n\":1,"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"tool_choice\":{\"type\":\"function\","
        "\"function\":{\"name\":\"f\"}},\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
        "\"schema\":{}}},\"verbosity\":\"low\",\"seed\":3}",
        "true",
        "{\"input\":[],\"model\":\"m\",\"max_output_tokens\":5,\"temperature\":0,\"reasoning\":{\"effort\":\"low\"},"
        "\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}},{\"type\":\"function\",\"name\":\"f\"}],"
        "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},\"store\":false,"
        "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"schema\":{}},\"verbosity\":\"low\"}}");
}

static void what_cannot_be_told_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *chat, *wish, *param;
    } cases[] = {
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"input_audio\"}]}]}",
         "true", "messages[0].content[1]"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":7}]}", "true", "messages[0].content"},
        {"{\"messages\":[{\"role\":\"nobody\"}]}", "true", "messages[0]"},
        {"{\"messages\":[7]}", "true", "messages[0]"},
        {"{\"messages\":[],\"tools\":[{\"type\":\"custom\"}]}", "true", "tools[0]"},
        {"{\"messages\":[],\"n\":2}", "true", "n"},
        {"{\"messages\":[]}", "\"yes\"", "code_interpreter"},
        {"{\"messages\":[]}", "{\"box\":1}", "code_interpreter.box"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(json_decrefp) json_t *body = parse(cases[i].chat), *wish = parse(cases[i].wish);
        json_t *made = NULL;
        struct refusal r;
        assert_int_equal(oa_chat_translate(body, wish, &made, &r), -1);
        assert_string_equal(r.param, cases[i].param);
        assert_true(*r.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_question),
        cmocka_unit_test(a_container_can_be_named),
        cmocka_unit_test(calls_and_their_outputs_are_items),
        cmocka_unit_test(wishes_have_other_names),
        cmocka_unit_test(what_cannot_be_told_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
