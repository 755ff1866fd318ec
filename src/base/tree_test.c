#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

static size_t entries(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fdopendir(fd);
    assert_non_null(d);
    size_t count = 0;
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static void assert_removes_all(const struct scratch *s)
{
    struct err e = {0};
    if (tree_remove(s->fd, &e))
        fail_msg("%s", e.text);
    assert_int_equal(entries(s->fd), 0);
}

/* A chain of directories, each with a file beside it. */
static void dig(int dir_fd, size_t levels, const char *name)
{
    int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
    for (size_t i = 0; i < levels; i++) {
        assert_int_equal(mkdirat(at, name, 0755), 0);
        int file = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(file >= 0);
        (void)close(file);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(at);
        at = next;
    }
    (void)close(at);
}

static void everything_goes_whatever_it_is(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "d");
    scratch_mkdir(&s, "d/empty");
    scratch_write(&s, "d/text", "x");
    scratch_write(&s, "d/\xFF\n not UTF-8", "x");
    scratch_write(&s, ".hidden", "x");
    assert_int_equal(mkfifoat(s.fd, "fifo", 0644), 0);
    assert_int_equal(symlinkat("/nowhere", s.fd, "broken"), 0);
    assert_int_equal(symlinkat(".", s.fd, "d/loop"), 0);
    assert_int_equal(linkat(s.fd, "d/text", s.fd, "same", 0), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", s.path);
    scoped(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(entries(s.fd), 6);
    assert_removes_all(&s);
}

static void nothing_behind_a_link_is_touched(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch outside = scratch_new();
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&outside, "dir");
    scratch_write(&outside, "dir/file", "precious");
    assert_int_equal(symlinkat(outside.path, s.fd, "link"), 0);
    assert_removes_all(&s);
    assert_int_equal(faccessat(outside.fd, "dir/file", R_OK, 0), 0);
}

static void five_thousand_levels_go(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    dig(s.fd, 5000, "d");
    assert_removes_all(&s);
}

/* 300 names of 255 bytes: twenty times PATH_MAX. */
static void paths_longer_than_any_path_may_be_go(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    dig(s.fd, 300, name);
    assert_removes_all(&s);
}

/* Two deep chains side by side, the second met while directories of the first lie at the top. */
static void names_like_our_own_do_no_harm(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, ".cicada-removed-0");
    scratch_write(&s, ".cicada-removed-1", "x");
    dig(s.fd, 200, "a");
    int b = openat(s.fd, ".cicada-removed-0", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dig(b, 200, "b");
    (void)close(b);
    assert_removes_all(&s);
}

static void ten_thousand_files_in_one_directory_go(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    for (int i = 0; i < 10000; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        int fd = openat(s.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        (void)close(fd);
    }
    assert_removes_all(&s);
}

static size_t open_descriptors(void)
{
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t count = entries(fd);
    (void)close(fd);
    return count;
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    size_t before = open_descriptors();
    dig(s.fd, 100, "d");
    assert_removes_all(&s);
    assert_int_equal(open_descriptors(), before);
}

/* An unprivileged owner with a deep tree of directories that allow nobody anything. */
static int owner_removes(void)
{
    struct scratch s = scratch_new();
    struct err e = {0};
    dig(s.fd, 100, "d");
    scratch_mkdir(&s, "closed");
    scratch_mkdir(&s, "closed/inner");
    scratch_write(&s, "closed/inner/file", "x");
    scratch_mkdir(&s, "readonly");
    scratch_write(&s, "readonly/file", "x");
    if (fchmodat(s.fd, "closed/inner", 0, 0) || fchmodat(s.fd, "closed", 0, 0) ||
        fchmodat(s.fd, "readonly", 0500, 0) || fchmodat(s.fd, "d/d", 0, 0) || fchmod(s.fd, 0500))
        return 1;
    if (tree_remove(s.fd, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    if (entries(s.fd) != 0)
        return 3;
    scratch_done(&s);
    return 0;
}

static void an_owner_without_privileges_removes_what_allows_nothing(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(owner_removes));
}

/* A directory of somebody else in the way: it stays, the rest goes, and the failure is told. */
static char foreign_path[128];

static int removes_around_the_foreign(void)
{
    struct err e = {0};
    scoped(fd_closep) int fd = open(foreign_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || tree_remove(fd, &e) != -1)
        return 1;
    if (e.code != ERR_DENIED)
        return 2;
    return entries(fd) == 1 ? 0 : 3;
}

static void a_failure_is_reported_and_the_rest_is_removed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    scoped(scratch_done) struct scratch s = scratch_new();
    scratch_mkdir(&s, "foreign");
    scratch_write(&s, "foreign/stays", "x");
    for (char name[] = "a"; name[0] <= 'z'; name[0]++)
        scratch_write(&s, name, "x");
    assert_int_equal(fchown(s.fd, SCRATCH_NOBODY, SCRATCH_NOBODY), 0);
    snprintf(foreign_path, sizeof foreign_path, "%s", s.path);
    assert_true(scratch_as_nobody(removes_around_the_foreign));
    assert_int_equal(faccessat(s.fd, "foreign/stays", F_OK, 0), 0);
}

static void a_closed_descriptor_is_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(tree_remove(-1, &e), -1);
    assert_int_not_equal(e.code, ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_goes_whatever_it_is),
        cmocka_unit_test(nothing_behind_a_link_is_touched),
        cmocka_unit_test(five_thousand_levels_go),
        cmocka_unit_test(paths_longer_than_any_path_may_be_go),
        cmocka_unit_test(names_like_our_own_do_no_harm),
        cmocka_unit_test(ten_thousand_files_in_one_directory_go),
        cmocka_unit_test(no_descriptor_is_left_open),
        cmocka_unit_test(an_owner_without_privileges_removes_what_allows_nothing),
        cmocka_unit_test(a_failure_is_reported_and_the_rest_is_removed),
        cmocka_unit_test(a_closed_descriptor_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
