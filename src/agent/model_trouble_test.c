#include "agent/model_trouble.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "base/utf8.h"

static struct model_trouble read_as(int status, const char *body)
{
    struct model_trouble t;
    model_trouble_read(str_of(body), "sesame", &t);
    t.status = status;
    return t;
}

static void the_message_is_found_wherever_it_stands(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"error\":{\"message\":\"too bad\",\"type\":\"t\",\"code\":\"c\"}}",
        "{\"error\":\"too bad\"}",
        "{\"message\":\"too bad\"}",
        "{\"detail\":\"too bad\"}",
        "{\"detail\":[{\"msg\":\"too bad\"}]}",
        "[{\"error\":{\"message\":\"too bad\"}}]",
        "too bad",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_string_equal(read_as(400, bodies[i]).message, "too bad");
    assert_string_equal(read_as(400, bodies[0]).type, "t");
    assert_string_equal(read_as(400, bodies[0]).code, "c");
    assert_string_equal(read_as(400, "{\"error\":{\"code\":529}}").code, "529");
    assert_string_equal(read_as(502, "<html>").message, "");
    assert_string_equal(read_as(500, "").message, "");
    assert_string_equal(read_as(500, "{\"error\":[7],\"message\":{}}").message, "");
}

static void it_is_one_line_of_characters_and_not_too_long(void **state)
{
    (void)state;
    char body[2 * MODEL_MESSAGE_MAX + 1];
    assert_string_equal(read_as(400, "a\nb\x01"
                                     "c\xff")
                            .message,
                        "a b c\xef\xbf\xbd");
    for (size_t i = 0; i < MODEL_MESSAGE_MAX; i++)
        memcpy(body + 2 * i, "\xc3\xa4", 2);
    body[2 * MODEL_MESSAGE_MAX] = '\0';
    assert_int_equal(strlen(read_as(400, body).message), MODEL_MESSAGE_MAX);
    struct model_trouble t = read_as(400, body);
    for (size_t skip = 0; skip < 2; skip++) { /* also what is said of it is whole characters */
        static const int statuses[] = {0, 400, 429, 500};
        for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
            struct err e = {0};
            t.status = statuses[i];
            assert_int_equal(model_trouble_say(&t, &e), -1);
            assert_true(utf8_is_valid(e.text, strlen(e.text)));
            assert_in_range(strlen(e.text), 150, sizeof e.text - 20);
        }
        t.message[0] = 'a', t.message[1] = 'b', t.message[2] = 'c';
        memmove(t.message + 3, t.message + 4, strlen(t.message + 4) + 1);
    }
}

static void the_key_is_nowhere(void **state)
{
    (void)state;
    struct model_trouble t = read_as(
        400,
        "{\"error\":{\"message\":\"sesamesesame, sesam\",\"code\":\"sesame\",\"type\":\"xsesame\",\"param\":\"sesamex\"}}");
    assert_string_equal(t.message, "******, sesam");
    assert_string_equal(t.code, "***");
    assert_string_equal(t.type, "x***");
    assert_string_equal(t.param, "***x");
    scoped(buf_done) struct buf out = BUF_INIT(100);
    model_mask(str_of("a"), "", &out);
    assert_string_equal(out.bytes, "a");
}

static void what_may_pass_is_known(void **state)
{
    (void)state;
    static const int passing[] = {0, 408, 409, 429, 500, 502, 503, 529};
    static const int lasting[] = {301, 400, 401, 402, 403, 404, 413, 422};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        assert_true(model_trouble_passes(&(struct model_trouble){.status = passing[i]}));
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        assert_false(model_trouble_passes(&(struct model_trouble){.status = lasting[i]}));
    assert_false(
        model_trouble_passes(&(struct model_trouble){.status = 429, .code = "insufficient_quota"}));
}

static void complaints_about_tools_are_told_from_others(void **state)
{
    (void)state;
    static const char *const about[] = {
        "library/m does not support tools",
        "tools param requires --jinja flag",
        "\"auto\" tool choice requires --enable-auto-tool-choice",
        "Unrecognized request argument supplied: tools",
    };
    static const char *const not_about[] = {
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
        "No tool output found for function call call_1",
        "Unknown parameter: parallel_tool_calls",
        "this model does not support images",
    };
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        struct model_trouble t = read_as(400, about[i]), u = read_as(400, not_about[i]);
        assert_true(model_trouble_is_tools(&t));
        assert_false(model_trouble_is_tools(&u));
    }
    struct model_trouble t = read_as(429, about[0]);
    assert_false(model_trouble_is_tools(&t));
}

static void a_parameter_is_named(void **state)
{
    (void)state;
    struct model_trouble t =
        read_as(400, "{\"error\":{\"message\":\"no stream_options\",\"param\":\"store\"}}");
    assert_true(model_trouble_names(&t, "stream_options"));
    assert_true(model_trouble_names(&t, "store"));
    t = read_as(400, "the vector store is not there");
    assert_false(model_trouble_names(&t, "store")); /* a word like others */
    t = read_as(500, "no stream_options");
    assert_false(model_trouble_names(&t, "stream_options"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_message_is_found_wherever_it_stands),
        cmocka_unit_test(it_is_one_line_of_characters_and_not_too_long),
        cmocka_unit_test(the_key_is_nowhere),
        cmocka_unit_test(what_may_pass_is_known),
        cmocka_unit_test(complaints_about_tools_are_told_from_others),
        cmocka_unit_test(a_parameter_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
