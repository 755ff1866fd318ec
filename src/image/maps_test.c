#include "image/maps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int parse(const char *text, struct mapping *ret)
{
    const char *at = text;
    return maps_next(&at, text + strlen(text), ret);
}

static void a_line_with_a_file_is_understood(void **state)
{
    (void)state;
    struct mapping m;
    assert_int_equal(
        parse("7ffff7fca000-7ffff7fcb000 r-xp 00001000 fe:01 332383      /usr/lib/a b.so\n", &m),
        1);
    assert_int_equal(m.start, 0x7ffff7fca000);
    assert_int_equal(m.end, 0x7ffff7fcb000);
    assert_int_equal(m.offset, 0x1000);
    assert_int_equal(m.inode, 332383);
    assert_int_equal(m.device, 0xfe << 20 | 1);
    assert_int_equal(m.prot, PROT_READ | PROT_EXEC);
    assert_false(m.is_shared);
    assert_true(maps_is_named(&m, "/usr/lib/a b.so"));
    assert_false(maps_is_named(&m, "/usr/lib/a b.s"));
    assert_false(maps_is_named(&m, "/usr/lib/a b.so2"));
}

static void a_line_without_a_name_is_understood(void **state)
{
    (void)state;
    struct mapping m;
    assert_int_equal(parse("1000-3000 rw-s 00000000 00:00 0 \n", &m), 1);
    assert_int_equal(m.inode, 0);
    assert_int_equal(m.name_len, 0);
    assert_true(m.is_shared);
    assert_false(maps_is_special(&m));
    assert_false(maps_is_deleted(&m));
}

static void only_what_belongs_to_the_system_is_special(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool is_special;
    } cases[] = {
        {"1000-2000 r-xp 00000000 00:00 0 [vdso]\n", true},
        {"1000-2000 r--p 00000000 00:00 0 [vvar_vclock]\n", true},
        {"1000-2000 rw-p 00000000 00:00 0 [heap]\n", false},
        {"1000-2000 rw-p 00000000 00:00 0 [stack]\n", false},
        {"1000-2000 rw-p 00000000 00:00 0 [anon:glibc: malloc]\n", false},
        {"1000-2000 rw-s 00000000 00:00 0 [anon_shmem:x]\n", false},
        {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n", true},
        {"1000-2000 r--p 00000000 fe:00 7 /mnt/data/[vdso]\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mapping m;
        assert_int_equal(parse(cases[i].line, &m), 1);
        assert_int_equal(maps_is_special(&m), cases[i].is_special);
    }
}

static void a_deleted_file_is_seen_by_the_end_of_its_name(void **state)
{
    (void)state;
    struct mapping m;
    assert_int_equal(parse("1000-2000 r--p 00000000 fe:00 7 /a (deleted)\n", &m), 1);
    assert_true(maps_is_deleted(&m));
    assert_int_equal(parse("1000-2000 r--p 00000000 fe:00 7 /a (deleted) \n", &m), 1);
    assert_false(maps_is_deleted(&m));
}

static void what_is_no_line_of_that_file_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\n",
        "1000-2000 r-xp 00000000 fe:01 332383", /* no end of line */
        "1000 2000 r-xp 00000000 fe:01 3 x\n",  /* no dash */
        "2000-1000 r-xp 00000000 fe:01 3 x\n",  /* backwards */
        "1000-1000 r-xp 00000000 fe:01 3 x\n",  /* empty */
        "1000-2000 r-x? 00000000 fe:01 3 x\n",
        "1000-2000 r-xp 00000000 fe01 3 x\n",
        "10000000000000000-20000000000000000 r-xp 00000000 fe:01 3 x\n", /* does not fit */
        "1000-2000 r-xp 00000000 fe:01 3a x\n",
        "1000-2000 r-xp\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mapping m = {.start = 42};
        assert_int_equal(parse(bad[i], &m), -1);
        assert_int_equal(m.start, 42);
    }
}

/* One read gives a page or so. */
static size_t read_maps(char *text, size_t size)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t len = 0;
    for (ssize_t n; (n = read(fd, text + len, size - len)) > 0;)
        len += (size_t)n;
    (void)close(fd);
    return len;
}

static void the_real_file_is_read_to_its_end(void **state)
{
    (void)state;
    static char text[1 << 20];
    size_t len = read_maps(text, sizeof text);
    const char *at = text;
    struct mapping m;
    int got, count = 0, stacks = 0;
    uint64_t last = 0;
    while ((got = maps_next(&at, text + len, &m)) == 1) {
        assert_true(m.start >= last);
        last = m.end;
        count++;
        if (maps_is_named(&m, "[stack]"))
            stacks++;
    }
    assert_int_equal(got, 0);
    assert_true(count > 5);
    assert_int_equal(stacks, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_with_a_file_is_understood),
        cmocka_unit_test(a_line_without_a_name_is_understood),
        cmocka_unit_test(only_what_belongs_to_the_system_is_special),
        cmocka_unit_test(a_deleted_file_is_seen_by_the_end_of_its_name),
        cmocka_unit_test(what_is_no_line_of_that_file_is_refused),
        cmocka_unit_test(the_real_file_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
