/* What meta.h, deps.h and fingerprint.h promise. */
#include "session/meta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "session/deps.h"
#include "session/names.h"

static const struct meta sample = {
    .made_by = {.format = 1, .kernel = "0af3", .loader = "99", .cpu = "aa"},
    .made_wall_us = 1735689600000000,
    .mark = 0x8c1f22ab01f3c9d7,
    .checked = {.boot = "5e1e-boot",
                .dev = 65024,
                .inode = 77,
                .size = 123456,
                .mtime_ns = 1,
                .ctime_ns = INT64_MAX}};

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(META_LEN_MAX), again = BUF_INIT(META_LEN_MAX);
    struct meta m;
    struct err e = {0};
    meta_put(&sample, &text);
    assert_int_equal(meta_get(text.bytes, text.len, &m, &e), 0);
    assert_true(fingerprint_equal(&m.made_by, &sample.made_by));
    assert_true(checked_equal(&m.checked, &sample.checked));
    assert_true(m.mark == sample.mark);
    meta_put(&m, &again);
    assert_string_equal(text.bytes, again.bytes);
}

static void any_byte_less_or_changed_is_noticed(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(META_LEN_MAX);
    meta_put(&sample, &text);
    for (size_t i = 0; i < text.len; i++) {
        struct meta m;
        struct err e = {0};
        assert_int_equal(meta_get(text.bytes, i, &m, &e), -1);
        assert_int_equal(e.code, ERR_DAMAGED);
        char kept = text.bytes[i];
        text.bytes[i] = '\t';
        assert_int_equal(meta_get(text.bytes, text.len, &m, &e), -1);
        text.bytes[i] = kept;
    }
}

static void words_too_long_are_refused(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(META_LEN_MAX);
    struct meta m;
    struct err e = {0};
    buf_str(&text, "cicada image 1\nformat 1\nkernel ");
    for (int i = 0; i < BUILD_ID_SIZE; i++)
        buf_str(&text, "a");
    buf_str(&text, "\nloader 99\ncpu aa\nmade 1\nmark 0000000000000001\nchecked b 1 1 1 1 1\n");
    assert_int_equal(meta_get(text.bytes, text.len, &m, &e), -1);
}

static void a_file_is_the_one_that_was_checked_while_nothing_differs(void **state)
{
    (void)state;
    const struct stat st = {.st_dev = 1, .st_ino = 2, .st_size = 3};
    struct checked a, b;
    struct err e = {0};
    assert_int_equal(checked_now(&st, &a, &e), 0);
    assert_int_equal(strlen(a.boot), 36);
    b = a;
    assert_true(checked_equal(&a, &b));
    b.ctime_ns++;
    assert_false(checked_equal(&a, &b));
    b = a;
    b.boot[0] ^= 1;
    assert_false(checked_equal(&a, &b));
}

static int check(const char *text, struct names *changed)
{
    struct err e = {0};
    bool elsewhere = false;
    int failed = deps_check(text, strlen(text), changed, &elsewhere, &e);
    assert_true(!failed || e.code == ERR_DAMAGED);
    return failed;
}

static void lines_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "1.5 10 /a",  "1 10 /a\n",    "1.1000000000 1 /a\n",
        "1.5 10 a\n", "1.5  10 /a\n", ".5 10 /a\n",
        "1.5 10\n",   "\n",           "99999999999999999999999.1 1 /a\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scoped(names_done) struct names changed = {0};
        assert_int_equal(check(bad[i], &changed), -1);
    }
}

static void files_are_compared_by_time_and_size_and_directories_by_time(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(names_done) struct names changed = {0};
    struct stat file, dir;
    char text[512];
    scratch_write(&s, "a", "12345");
    assert_int_equal(fstatat(s.fd, "a", &file, 0), 0);
    assert_int_equal(fstat(s.fd, &dir), 0);
    (void)snprintf(text, sizeof text, "%lld.%09ld 5 %s/a\n%lld.%ld 0 %s\n0.0 7 /opt/cicada/load\n",
                   (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, s.path,
                   (long long)dir.st_mtim.tv_sec, dir.st_mtim.tv_nsec, s.path);
    assert_int_equal(check(text, &changed), 0);
    assert_int_equal(changed.count, 0);
    scratch_write(&s, "b", "new");
    assert_int_equal(check(text, &changed), 0);
    assert_int_equal(changed.count, 1);
    assert_string_equal(changed.list[0], s.path);
}

static void an_empty_list_is_always_the_same(void **state)
{
    (void)state;
    struct names changed = {0};
    assert_int_equal(check("", &changed), 0);
    assert_int_equal(changed.count, 0);
}

static bool is_elsewhere(const char *text)
{
    scoped(names_done) struct names changed = {0};
    bool is_it = false;
    struct err e = {0};
    assert_int_equal(deps_check(text, strlen(text), &changed, &is_it, &e), 0);
    return is_it;
}

static void a_change_is_elsewhere_unless_python_imports_from_there(void **state)
{
    (void)state;
    assert_false(is_elsewhere("1.0 1 /usr/lib/python3/no-such-file\n1.0 0 /usr/lib/python3.11\n"));
    assert_true(is_elsewhere("1.0 1 /usr/lib/python3/no-such-file\n1.0 1 /no/such/file\n"));
    assert_true(is_elsewhere("1.0 1 /usr/lib/python3.no-such-file\n"));
}

static void only_some_of_many_changes_are_named(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(1 << 16);
    scoped(names_done) struct names changed = {0};
    for (int i = 0; i < 100; i++)
        buf_fmt(&text, "1.0 1 /no/such/file-%d\n", i);
    assert_int_equal(check(text.bytes, &changed), 0);
    assert_int_equal(changed.count, DEPS_NAMED_MAX);
}

static void a_program_has_a_build_id_and_a_text_has_none(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct fingerprint a, b;
    struct err e = {0};
    char path[128];
    assert_int_equal(fingerprint_take("/proc/self/exe", "/proc/self/exe", &a, &e), 0);
    assert_int_equal(fingerprint_take("/proc/self/exe", "/proc/self/exe", &b, &e), 0);
    assert_true(fingerprint_equal(&a, &b));
    assert_true(strlen(a.kernel) >= 16 && strlen(a.cpu) == 64);
    scratch_write(&s, "script", "#!/bin/sh\n");
    (void)snprintf(path, sizeof path, "%s/script", s.path);
    assert_int_equal(fingerprint_take(path, "/proc/self/exe", &a, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(fingerprint_take("/proc/self/exe", "/none", &a, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(any_byte_less_or_changed_is_noticed),
        cmocka_unit_test(words_too_long_are_refused),
        cmocka_unit_test(a_file_is_the_one_that_was_checked_while_nothing_differs),
        cmocka_unit_test(lines_that_are_none_are_refused),
        cmocka_unit_test(files_are_compared_by_time_and_size_and_directories_by_time),
        cmocka_unit_test(an_empty_list_is_always_the_same),
        cmocka_unit_test(a_change_is_elsewhere_unless_python_imports_from_there),
        cmocka_unit_test(only_some_of_many_changes_are_named),
        cmocka_unit_test(a_program_has_a_build_id_and_a_text_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
