/* What uri.h promises. */
#include "mcp/uri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void reads_as(const char *text, enum uri_kind kind, const char *id, const char *path,
                     uint64_t version, uint32_t index)
{
    struct mcp_uri u;
    if (!uri_read(text, &u))
        fail_msg("%s is not read", text);
    assert_int_equal(u.kind, kind);
    assert_string_equal(u.id, id);
    assert_string_equal(u.path, path);
    assert_int_equal(u.version, version);
    assert_int_equal(u.index, index);
}

static void files_directories_and_the_root_have_one(void **state)
{
    (void)state;
    reads_as("workspace://ws_1/a.csv", URI_FILE, "ws_1", "a.csv", 0, 0);
    reads_as("workspace://ws_1/plots/a%20b.png", URI_FILE, "ws_1", "plots/a b.png", 0, 0);
    reads_as("workspace://ws_1/plots/", URI_FILE, "ws_1", "plots", 0, 0);
    reads_as("workspace://ws_1/", URI_FILE, "ws_1", "", 0, 0);
    reads_as("workspace://ws_1/Gr%C3%B6%C3%9Fe.txt", URI_FILE, "ws_1", "Größe.txt", 0, 0);
    reads_as("workspace://ws_1/what%3F%23.txt", URI_FILE, "ws_1", "what?#.txt", 0, 0);
}

static void a_path_as_code_sees_it_is_understood(void **state)
{
    (void)state;
    reads_as("workspace://ws_1//mnt/data/a.csv", URI_FILE, "ws_1", "a.csv", 0, 0);
    reads_as("workspace://ws_1/a b+c.csv", URI_FILE, "ws_1", "a b+c.csv", 0, 0);
    reads_as("WorkSpace://ws_1/a", URI_FILE, "ws_1", "a", 0, 0);
}

static void a_version_is_a_number_of_one_or_more(void **state)
{
    (void)state;
    struct mcp_uri u;
    reads_as("workspace://ws_1/a?version=3", URI_FILE, "ws_1", "a", 3, 0);
    reads_as("workspace://ws_1/a?version=9223372036854775807", URI_FILE, "ws_1", "a", INT64_MAX, 0);
    static const char *const wrong[] = {
        "?version=0",  "?version=",    "?version=-1",
        "?version=1x", "?version=1&a", "?version=9223372036854775808",
        "?",           "?Version=1",   "?a=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[80];
        (void)snprintf(text, sizeof text, "workspace://ws_1/a%s", wrong[i]);
        if (uri_read(text, &u))
            fail_msg("%s is read", text);
    }
    assert_false(uri_read("workspace://ws_1/?version=1", &u)); /* the root has none */
}

static void what_runs_showed_has_one(void **state)
{
    (void)state;
    reads_as("run://run_1/displays/0", URI_DISPLAY, "run_1", "", 0, 0);
    reads_as("run://run_1/displays/99999", URI_DISPLAY, "run_1", "", 0, 99999);
    reads_as("run://run_1/result", URI_RESULT, "run_1", "", 0, 0);
}

static void anything_else_is_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "workspace:",
        "workspace://",
        "workspace://ws_1",
        "workspace:///a",
        "workspace://ws 1/a",
        "workspace://ws%5F1/a",
        "workspace://ws_1/a#b",
        "workspace://ws_1/../a",
        "workspace://ws_1/%2E%2E/a",
        "workspace://ws_1/a//b",
        "workspace://ws_1/a%00b",
        "workspace://ws_1/a%0Ab",
        "workspace://ws_1/a%ff",
        "workspace://ws_1/a%4",
        "workspace://ws_1/a%zz",
        "run://run_1",
        "run://run_1/",
        "run://run_1/displays",
        "run://run_1/displays/",
        "run://run_1/displays/-1",
        "run://run_1/displays/100000",
        "run://run_1/displays/1/2",
        "run://run_1/result/",
        "run:///result",
        "file:///etc/passwd",
        "http://example.com/",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct mcp_uri u;
        if (uri_read(wrong[i], &u))
            fail_msg("%s is read", wrong[i]);
    }
}

static void limits_are_kept(void **state)
{
    (void)state;
    struct mcp_uri u;
    scoped(buf_done) struct buf id = BUF_INIT(200);
    buf_str(&id, "workspace://");
    for (int i = 0; i < ID_SIZE - 1; i++)
        buf_str(&id, "a");
    buf_str(&id, "/x");
    assert_true(uri_read(id.bytes, &u));
    scoped(buf_done) struct buf longer = BUF_INIT(200);
    buf_fmt(&longer, "workspace://a%s", id.bytes + strlen("workspace://"));
    assert_false(uri_read(longer.bytes, &u));
    scoped(buf_done) struct buf path = BUF_INIT(8192);
    buf_str(&path, "workspace://ws_1/");
    while (path.len < URI_LEN_MAX + 1)
        buf_str(&path, "a/");
    assert_false(uri_read(path.bytes, &u));
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"a", "plots/a b.png", "Größe.txt", "100%.txt",
                                        "a?b#c&d=e+f"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        scoped(buf_done) struct buf text = BUF_INIT(4096);
        uri_write_file(&text, "ws_1", paths[i], i);
        reads_as(text.bytes, URI_FILE, "ws_1", paths[i], i, 0);
    }
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    uri_write_file(&text, "ws_1", "plots/a b.png", 3);
    assert_string_equal(text.bytes, "workspace://ws_1/plots/a%20b.png?version=3");
    scoped(buf_done) struct buf shown = BUF_INIT(4096);
    uri_write(&shown, &(struct mcp_uri){.kind = URI_DISPLAY, .id = "run_1", .index = 7});
    assert_string_equal(shown.bytes, "run://run_1/displays/7");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_directories_and_the_root_have_one),
        cmocka_unit_test(a_path_as_code_sees_it_is_understood),
        cmocka_unit_test(a_version_is_a_number_of_one_or_more),
        cmocka_unit_test(what_runs_showed_has_one),
        cmocka_unit_test(anything_else_is_none),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
