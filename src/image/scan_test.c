#include "image/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/format.h"

enum { PAGES = 64 };

/* A private mapping of a file with some pages written to, some only read. */
static char *make_pages(int *ret_fd)
{
    static char zeros[PAGES * IMAGE_PAGE];
    int fd = memfd_create("pages", MFD_CLOEXEC);
    assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
    char *at = mmap(NULL, sizeof zeros, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED);
    for (int i = 0; i < PAGES; i += 2)
        (void)*(volatile char *)(at + i * IMAGE_PAGE);
    at[3 * IMAGE_PAGE] = 1;
    at[4 * IMAGE_PAGE] = 1;
    at[10 * IMAGE_PAGE] = 1;
    at[63 * IMAGE_PAGE] = 1;
    *ret_fd = fd;
    return at;
}

static void expect_own_pages(const struct scan *s, size_t max)
{
    int fd;
    char *pages = make_pages(&fd);
    uint64_t base = (uint64_t)(uintptr_t)pages, at = base, end = base + PAGES * IMAGE_PAGE;
    static const uint64_t expected[][2] = {{3, 5}, {10, 11}, {63, 64}};
    size_t seen = 0;
    while (at < end) {
        struct page_range list[8];
        long count = scan_next(s, &at, end, list, max);
        assert_true(count >= 0);
        for (long i = 0; i < count; i++, seen++) {
            assert_true(seen < 3);
            assert_int_equal(list[i].start, base + expected[seen][0] * IMAGE_PAGE);
            assert_int_equal(list[i].end, base + expected[seen][1] * IMAGE_PAGE);
        }
    }
    assert_int_equal(seen, 3);
    (void)munmap(pages, PAGES * IMAGE_PAGE);
    (void)close(fd);
}

static void pages_that_were_written_to_are_found(void **state)
{
    (void)state;
    struct scan s;
    assert_int_equal(scan_open(&s), 0);
    expect_own_pages(&s, 8);
    expect_own_pages(&s, 1); /* a short list is continued */
    scan_close(&s);
}

static void an_older_system_finds_the_same(void **state)
{
    (void)state;
    struct scan s;
    assert_int_equal(scan_open(&s), 0);
    s.has_ioctl = false;
    expect_own_pages(&s, 8);
    expect_own_pages(&s, 1);
    scan_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_were_written_to_are_found),
        cmocka_unit_test(an_older_system_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
