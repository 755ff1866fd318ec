#include "agent/think.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

struct seen {
    struct buf thought, said;
};

static void put(void *arg, bool is_thought, struct str piece)
{
    struct seen *seen = arg;
    assert_true(piece.len > 0);
    assert_true(!is_thought || seen->said.len == 0);
    buf_add(is_thought ? &seen->thought : &seen->said, piece.ptr, piece.len);
}

/* clang-format off */
static const struct {
    const char *text, *thought, *said;
} cases[] = {
    {"",                                        "",             ""},
    {"plain",                                   "",             "plain"},
    {"<think>hm</think>\n\nyes",                "hm",           "\n\nyes"},
    {"\n <think>\na < b <</think>c</think>d",   "\na < b <",    "c</think>d"},
    {"<think></think>x",                        "",             "x"},
    {"<think>never closed </thin",              "never closed </thin", ""},
    {"<think>a</thi<</think>b",                 "a</thi<",      "b"},
    {"<thin",                                   "",             "<thin"},
    {"<thing>x</thing>",                        "",             "<thing>x</thing>"},
    {"I <think>x</think>",                      "",             "I <think>x</think>"},
    {"<think>a</think><think>b</think>",        "a",            "<think>b</think>"},
    {"<<think>",                                "",             "<<think>"},
    {"\xE4\xB8\xAD<think>",                     "",             "\xE4\xB8\xAD<think>"},
};
/* clang-format on */

static void cut_anywhere_it_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str text = str_of(cases[i].text);
        for (size_t size = 1; size <= text.len + 1; size++) {
            struct seen seen = {BUF_INIT(100), BUF_INIT(100)};
            struct think t;
            think_init(&t, put, &seen);
            for (size_t at = 0; at < text.len; at += size) {
                size_t left = text.len - at;
                think_feed(&t, (struct str){text.ptr + at, left < size ? left : size});
            }
            think_end(&t);
            assert_string_equal(seen.thought.bytes ? seen.thought.bytes : "", cases[i].thought);
            assert_string_equal(seen.said.bytes ? seen.said.bytes : "", cases[i].said);
            buf_done(&seen.thought);
            buf_done(&seen.said);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cut_anywhere_it_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
