#include "api/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static const char html[] = "x <!--[one]--><a href=\"{{href}}\">{{name}}</a>{{name}}<!--[/one]--> y"
                           "<!--[two]-->plain<!--[/two]-->";

static void blocks_are_filled_in(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    page_block(&out, html, "one", PAGE_WITH({"name", "a"}, {"href", "/b?c=d&e=f"}));
    page_block(&out, html, "two", NULL);
    assert_string_equal(out.bytes, "<a href=\"/b?c=d&amp;e=f\">a</a>aplain");
}

static void whatever_is_filled_in_stays_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
        {"\" onload='x'", "&quot; onload=&#39;x&#39;"},
        {"{{name}}", "{{name}}"}, /* what was filled in is not looked at again */
        {"<!--[/one]-->", "&lt;!--[/one]--&gt;"},
        {"a\x01\x1b\x7f"
         "b",
         "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
         "b"},
        {"a\xff\xc3(", "a\xef\xbf\xbd\xef\xbf\xbd("},
        {"gpj.\xe2\x80\xae"
         "exe",
         "gpj.\xef\xbf\xbd"
         "exe"},
        {"\xe2\x81\xa6x\xe2\x81\xa9", "\xef\xbf\xbdx\xef\xbf\xbd"},
        {"\xe2\x80\x93 \xc3\xbc \xd7\xa9", "\xe2\x80\x93 \xc3\xbc \xd7\xa9"},
        {"a\n\tb", "a\n\tb"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        page_escape(&out, cases[i].text, strlen(cases[i].text));
        assert_string_equal(out.bytes, cases[i].expected);
    }
}

static void sizes_read_as_people_write_them(void **state)
{
    (void)state;
    static const struct {
        unsigned long long bytes;
        const char *expected;
    } cases[] = {
        {0, "0 bytes"},   {1, "1 byte"},        {999, "999 bytes"},  {1000, "1.0 kB"},
        {1549, "1.5 kB"}, {999949, "999.9 kB"}, {1500000, "1.5 MB"}, {2000000000, "2.0 GB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(64);
        page_size(&out, cases[i].bytes);
        assert_string_equal(out.bytes, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_filled_in),
        cmocka_unit_test(whatever_is_filled_in_stays_text),
        cmocka_unit_test(sizes_read_as_people_write_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
