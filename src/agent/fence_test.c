#include "agent/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

/* What came of a text: said as it is, code in <>, one after the other; and all of it as it came. */
struct seen {
    struct buf told, raw;
};

static void part(void *arg, const struct fence_part *p)
{
    struct seen *seen = arg;
    buf_add(&seen->raw, p->raw.ptr, p->raw.len);
    if (p->kind == FENCE_TEXT)
        buf_add(&seen->told, p->raw.ptr, p->raw.len);
    if (p->kind == FENCE_CODE)
        buf_add(&seen->told, p->code.ptr, p->code.len);
    if (p->kind == FENCE_OPEN)
        buf_str(&seen->told, p->is_call ? "<call " : "<");
    if (p->kind == FENCE_CLOSE)
        buf_str(&seen->told, ">");
}

/* clang-format off */
static const struct {
    const char *text, *told;
} cases[] = {
    {"",                                                    ""},
    {"just words\n",                                        "just words\n"},
    {"so:\n```python\nprint(1)\n```\ndone",                 "so:\n<print(1)\n>done"},
    {"```py\nx\n```",                                       "<x\n>"},
    {"```tool_code\nx\n```\n\n",                            "<x\n>\n"},
    {"```Python3 title=\"a\"\nx\n```\n",                    "<x\n>"},
    {"``` python\r\nx\r\n```\r\n",                          "<x\r\n>"},
    {"~~~python\n```\nx\n~~~\n",                            "<```\nx\n>"},
    {"````python\n```\n````\n",                             "<```\n>"},
    {"```python\nx = '```'\n ``` a\n```\n",                 "<x = '```'\n ``` a\n>"},
    {"```python\nnever closed",                             "<never closed>"},
    {"```python\nclosed by two ``\n``",                     "<closed by two ``\n``>"},
    {"```python\n",                                         "<>"},
    {"```python",                                           "```python"},
    {"```python\n```\n",                                    "<>"},
    {"```json\n```python\n```\n",                           "```json\n```python\n```\n"},
    {"````markdown\n```python\nx\n```\n````\n",             "````markdown\n```python\nx\n```\n````\n"},
    {"```tool_call\n{}\n```\n```python\nx\n```",           "<call {}\n><x\n>"},
    {"```\nplain\n```\n```python\nx\n```\n",                "```\nplain\n```\n<x\n>"},
    {"```pythonic\nx\n```\n",                               "```pythonic\nx\n```\n"},
    {"say ```python\nx\n```\n",                             "say ```python\nx\n```\n"},
    {"```python `x`\ny\n",                                  "```python `x`\ny\n"},
    {"1. a\n   ```python\n   if x:\n       y\n   ```\n",    "1. a\n<if x:\n    y\n>"},
    {"  ```python\n x\n   y\n\nz\n  ```\n",                 "<x\n y\n\nz\n>"},
    {"one\n```python\na\n```\ntwo\n```python\nb\n```\n",    "one\n<a\n>two\n<b\n>"},
    {"\xE4\xB8\xAD\n```python\n'\xF0\x9F\x98\x80'\n```\n",  "\xE4\xB8\xAD\n<'\xF0\x9F\x98\x80'\n>"},
};
/* clang-format on */

static void check(struct fence *f, struct seen *seen, size_t i)
{
    fence_end(f);
    assert_string_equal(seen->told.bytes ? seen->told.bytes : "", cases[i].told);
    assert_string_equal(seen->raw.bytes ? seen->raw.bytes : "", cases[i].text);
    buf_done(&seen->told);
    buf_done(&seen->raw);
}

static void cut_anywhere_it_is_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seen seen = {BUF_INIT(1000), BUF_INIT(1000)};
        struct str text = str_of(cases[i].text);
        struct fence f;
        for (size_t at = 0; at <= text.len; at++) {
            fence_init(&f, /* has_calls= */ true, part, &seen);
            fence_feed(&f, (struct str){text.ptr, at});
            fence_feed(&f, (struct str){text.ptr + at, text.len - at});
            check(&f, &seen, i);
        }
        fence_init(&f, /* has_calls= */ true, part, &seen);
        for (size_t at = 0; at < text.len; at++)
            fence_feed(&f, (struct str){text.ptr + at, 1});
        check(&f, &seen, i);
    }
}

static void what_cannot_be_a_fence_is_passed_on_at_once(void **state)
{
    (void)state;
    struct seen seen = {BUF_INIT(1000), BUF_INIT(1000)};
    struct fence f;
    fence_init(&f, /* has_calls= */ true, part, &seen);
    fence_feed(&f, str_of("Hello"));
    assert_string_equal(seen.told.bytes, "Hello");
    fence_feed(&f, str_of("\n``"));
    assert_string_equal(seen.told.bytes, "Hello\n");
    fence_feed(&f, str_of("x`` y"));
    assert_string_equal(seen.told.bytes, "Hello\n``x`` y");
    fence_feed(&f, str_of("\n```python\nimport"));
    assert_string_equal(seen.told.bytes, "Hello\n``x`` y\n<import");
    fence_end(&f);
    buf_done(&seen.told);
    buf_done(&seen.raw);
}

static void check_part(void *arg, const struct fence_part *p)
{
    (void)p;
    ++*(int *)arg;
}

static void what_is_said_comes_in_as_few_parts_as_it_came(void **state)
{
    (void)state;
    int parts = 0;
    struct fence f;
    fence_init(&f, /* has_calls= */ false, check_part, &parts);
    fence_feed(&f, str_of("\xE4\xB8\xAD\xE6\x96\x87 first"));
    fence_feed(&f, str_of(" second\n"));
    fence_feed(&f, str_of("\xE4\xB8\xAD"));
    assert_int_equal(parts, 3);
}

static void calls_are_looked_for_only_where_they_are_wanted(void **state)
{
    (void)state;
    struct seen seen = {BUF_INIT(1000), BUF_INIT(1000)};
    struct fence f;
    fence_init(&f, /* has_calls= */ false, part, &seen);
    fence_feed(&f, str_of("```tool_call\n{}\n```\n"));
    fence_end(&f);
    assert_string_equal(seen.told.bytes, "```tool_call\n{}\n```\n");
    buf_done(&seen.told);
    buf_done(&seen.raw);
}

static void a_line_that_is_too_long_is_no_fence(void **state)
{
    (void)state;
    struct seen seen = {BUF_INIT(1000), BUF_INIT(1000)};
    struct fence f;
    char line[2 * FENCE_LINE_MAX];
    memset(line, '`', sizeof line);
    fence_init(&f, /* has_calls= */ true, part, &seen);
    fence_feed(&f, (struct str){line, sizeof line});
    fence_end(&f);
    assert_int_equal(seen.told.len, sizeof line);
    buf_done(&seen.told);
    buf_done(&seen.raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere_it_is_the_same),
        cmocka_unit_test(what_cannot_be_a_fence_is_passed_on_at_once),
        cmocka_unit_test(what_is_said_comes_in_as_few_parts_as_it_came),
        cmocka_unit_test(calls_are_looked_for_only_where_they_are_wanted),
        cmocka_unit_test(a_line_that_is_too_long_is_no_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
