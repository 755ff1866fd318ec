#include "agent/code_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/scope.h"

/* clang-format off */
static const struct {
    const char *arguments, *code;
} cases[] = {
    {"{\"code\":\"print(1)\"}",                              "print(1)"},
    {" \n{ \"code\" : \"a\\nb\\t\\\"c\\\"\\\\ \\/\" } ",     "a\nb\t\"c\"\\ /"},
    {"{\"code\":\"\\u00e9\\u4E2D\\ud83d\\ude00!\"}",         "\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80!"},
    {"{\"code\":\"\\ud83dx\\ude00\"}",                       "\xEF\xBF\xBDx\xEF\xBF\xBD"},
    {"{\"code\":\"\\ud83d\\n\\ud83d\"}",                     "\xEF\xBF\xBD\n\xEF\xBF\xBD"},
    {"{\"code\":\"\\ud83d\\ud83d\\ude00\"}",                 "\xEF\xBF\xBD\xF0\x9F\x98\x80"},
    {"{\"code\":\"a\\u0000b\"}",                             "a\xEF\xBF\xBD" "b"},
    {"{\"code\":\"gr\xC3\xBC\xC3\x9F\xE4\xB8\xAD\"}",        "gr\xC3\xBC\xC3\x9F\xE4\xB8\xAD"},
    {"{\"language\":\"python\",\"n\":[1,{\"code\":\"no\"},\"]\\\"\"],\"code\":\"yes\",\"x\":2}", "yes"},
    {"{\"a\":-1.5e3,\"b\":null,\"c\":\"q\\\\\",\"code\":\"x\"}", "x"},
    {"{\"codes\":\"no\",\"code\":\"yes\"}",                  "yes"},
    {"{\"\\u0063ode\":\"x = 1\"}",                           "x = 1"},
    {"{\"code\":[\"a\",\"b\\n\",\"c\"]}",                    "a\nb\nc"},
    {"{\"source\":\"x\",\"timeout\":3}",                     "x"},
    {"{\"cmd\":\"x\",\"timeout\":3}",                        "x"},
    {"\"print(2)\"",                                         "print(2)"},
    {"{}",                                                   ""},
    {"{\"code\":null}",                                      ""},
    {"{\"code\":\"\"}",                                      ""},
    {"",                                                     ""},
    {"  \n",                                                 ""},
    /* What is no JSON. */
    {"print(3)\nprint(\"{}\")",                              "print(3)\nprint(\"{}\")"},
    {"  import os",                                          "import os"},
    {"```python\nprint(4)\n```",                             "print(4)\n"},
    {"{'a': 1}",                                             "{'a': 1}"},
    {"{\"a\": 1, 2: 3}",                                     "{\"a\": 1, 2: 3}"},
    {"{x for x in y}",                                       "{x for x in y}"},
    {"\"\"\"doc\"\"\"\nprint(5)",                            "\"\"\"doc\"\"\"\nprint(5)"},
    {"{\"code\":\"a\nb\\d\\'\"}",                            "a\nb\\d\\'"},
    {"{\"code\":\"x\\u12\"}",                                "x\\u12"},
    {"{\"code\":\"x\\u12zz",                                 "x\\u12zz"},
    {"{\"code\":\"cut of",                                   "cut of"},
    {"{\"code\":\"cut\\",                                    "cut"},
    {"{\"code\":\"cut\\u00",                                 "cut"},
    {"{\"code\":\"one\" and more",                           "one"},
    {"{\"code",                                              "{\"code"},
};
/* clang-format on */

static void check(struct code_stream *s, size_t i)
{
    code_stream_end(s);
    assert_string_equal(s->code.bytes ? s->code.bytes : "", cases[i].code);
    assert_int_equal(s->code.len, strlen(cases[i].code));
}

static void cut_anywhere_it_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str text = str_of(cases[i].arguments);
        for (size_t at = 0; at <= text.len; at++) {
            scoped(code_stream_done) struct code_stream s;
            code_stream_init(&s);
            code_stream_feed(&s, (struct str){text.ptr, at});
            code_stream_feed(&s, (struct str){text.ptr + at, text.len - at});
            check(&s, i);
        }
    }
}

static void byte_by_byte_it_only_grows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(code_stream_done) struct code_stream s;
        struct str text = str_of(cases[i].arguments);
        code_stream_init(&s);
        for (size_t at = 0; at < text.len; at++) {
            code_stream_feed(&s, (struct str){text.ptr + at, 1});
            if (s.code.len > 0)
                assert_memory_equal(s.code.bytes, cases[i].code, s.code.len);
        }
        check(&s, i);
    }
}

static void the_code_comes_before_the_arguments_are_whole(void **state)
{
    (void)state;
    scoped(code_stream_done) struct code_stream s;
    code_stream_init(&s);
    code_stream_feed(&s, str_of("{\"language\":\"python\", \"code\":\"imp"));
    assert_string_equal(s.code.bytes, "imp");
    code_stream_feed(&s, str_of("ort \\u00"));
    assert_string_equal(s.code.bytes, "import ");
    code_stream_feed(&s, str_of("e9"));
    assert_string_equal(s.code.bytes, "import \xC3\xA9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere_it_is_the_same),
        cmocka_unit_test(byte_by_byte_it_only_grows),
        cmocka_unit_test(the_code_comes_before_the_arguments_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
