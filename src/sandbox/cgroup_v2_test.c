/* Version 2: limits and choice of a base in a directory of plain files, killing, waiting and removing
 * in a real hierarchy where one is mounted (no controllers needed). tests/vm sees all of it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/cgroup_int.h"

static const char *const files[] = {
    "cgroup.controllers",
    "cgroup.subtree_control",
    "cgroup.procs",
    "cpu.stat",
    "cpu.max",
    "memory.current",
    "memory.peak",
    "memory.events",
    "memory.max",
    "memory.swap.max",
    "pids.max",
    "memory.oom.group",
};

static char base[64];
static int base_fd = -1;

static int make_base(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/cgroup-test-XXXXXX");
    base_fd = mkdtemp(base) ? open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return base_fd < 0;
}

static int remove_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlinkat(base_fd, files[i], 0);
    close(base_fd);
    return rmdir(base);
}

static void write_file(const char *name, const char *text)
{
    scoped(fd_closep) int fd =
        openat(base_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void check_file(const char *name, const char *want)
{
    char text[128];
    assert_int_equal(cgroup_get(base_fd, name, text, sizeof text), 0);
    assert_string_equal(text, want);
}

static void limits_are_written_in_the_words_of_version_2(void **state)
{
    (void)state;
    write_file("memory.max", "");
    write_file("memory.swap.max", "");
    write_file("memory.oom.group", "");
    write_file("pids.max", "");
    write_file("cpu.max", "");
    const struct cgroup_limits limits = {.memory_bytes = 1 << 30, .pids = 128, .cpu_milli = 1500};
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_MEMORY | CGROUP_PIDS | CGROUP_CPU, &limits),
                     0);
    check_file("memory.max", "1073741824");
    check_file("memory.swap.max", "0");
    check_file("memory.oom.group", "1");
    check_file("pids.max", "128");
    check_file("cpu.max", "75000 50000");
    cgroup_v2.unthrottle(base_fd);
    check_file("cpu.max", "max00 50000"); /* a plain file keeps what is behind */

    write_file("cpu.max", "");
    const struct cgroup_limits little = {.memory_bytes = 1 << 30, .pids = 128, .cpu_milli = 10};
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_CPU, &little), 0);
    check_file("cpu.max", "2000 200000");
}

static void a_limit_that_cannot_be_set_is_an_error(void **state)
{
    (void)state;
    const struct cgroup_limits limits = {.memory_bytes = 1 << 30, .pids = 128, .cpu_milli = 1500};
    write_file("memory.max", "");
    write_file("memory.oom.group", "");
    (void)unlinkat(base_fd, "memory.swap.max", 0);
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_MEMORY, &limits), 0); /* no swap, no file */
    (void)unlinkat(base_fd, "memory.max", 0);
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_MEMORY, &limits), ENOENT);
    (void)unlinkat(base_fd, "pids.max", 0);
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_PIDS, &limits), ENOENT);
    (void)unlinkat(base_fd, "cpu.max", 0);
    assert_int_equal(cgroup_v2.limit(base_fd, CGROUP_CPU, &limits), ENOENT);
}

static void usage_is_read_and_what_is_missing_is_zero(void **state)
{
    (void)state;
    struct cgroup_usage usage = {0};
    write_file("cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n");
    write_file("memory.current", "1000\n");
    write_file("memory.peak", "5000\n");
    cgroup_v2.usage(base_fd, CGROUP_MEMORY, &usage);
    assert_int_equal(usage.cpu_us, 1234567);
    assert_int_equal(usage.memory_now, 1000);
    assert_int_equal(usage.memory_peak, 5000);
    (void)unlinkat(base_fd, "memory.peak", 0); /* before 5.19 */
    usage = (struct cgroup_usage){0};
    cgroup_v2.usage(base_fd, CGROUP_MEMORY, &usage);
    assert_int_equal(usage.memory_peak, 0);
}

static void an_oom_kill_is_told_by_its_counter_alone(void **state)
{
    (void)state;
    bool is_settling;
    write_file("memory.events", "low 0\nhigh 0\nmax 812\noom 3\noom_kill 0\noom_group_kill 0\n");
    scoped(fd_closep) int fd = openat(base_fd, "memory.events", O_RDONLY | O_CLOEXEC);
    assert_false(cgroup_v2.is_oom(-1, fd, &is_settling));
    write_file("memory.events", "low 0\nhigh 0\nmax 900\noom 4\noom_kill 2\noom_group_kill 1\n");
    assert_true(cgroup_v2.is_oom(-1, fd, &is_settling));
    assert_false(is_settling);
}

static struct cgroup_place place_at(const char *top, const char *own)
{
    struct cgroup_place place = {.version = 2};
    (void)snprintf(place.top, sizeof place.top, "%s", top);
    (void)snprintf(place.own, sizeof place.own, "%s", own);
    return place;
}

static void the_base_gives_what_is_enabled_for_its_children(void **state)
{
    (void)state;
    struct hierarchy h = {.parent_fd = -1, .own_fd = -1};
    struct cgroup_place place = place_at(base, base);
    write_file("cgroup.procs", "");
    write_file("cgroup.controllers", "cpuset cpu io memory pids\n");
    write_file("cgroup.subtree_control", "cpu memory pids\n");
    assert_int_equal(cgroup_v2.find(&place, &h), 0);
    assert_int_equal(h.controllers, CGROUP_CPU | CGROUP_MEMORY | CGROUP_PIDS);
    assert_ptr_equal(h.ops, &cgroup_v2);
    close(h.parent_fd);

    write_file("cgroup.controllers", "hugetlb\n");
    assert_int_equal(cgroup_v2.find(&place, &h), ENODEV);
    struct cgroup_place nowhere = place_at("/no/such/path", "/no/such/path");
    assert_int_equal(cgroup_v2.find(&nowhere, &h), ENOENT);
}

static void a_process_that_was_moved_down_finds_the_group_above(void **state)
{
    (void)state;
    struct hierarchy h = {.parent_fd = -1, .own_fd = -1};
    char leaf[128];
    (void)snprintf(leaf, sizeof leaf, "%s/cicada-leaf", base);
    struct cgroup_place place = place_at("/no/such/path", leaf);
    write_file("cgroup.procs", "");
    write_file("cgroup.controllers", "memory pids\n");
    write_file("cgroup.subtree_control", "memory pids\n");
    assert_int_equal(cgroup_v2.find(&place, &h), 0);
    struct stat found, wanted;
    assert_int_equal(fstat(h.parent_fd, &found), 0);
    assert_int_equal(fstat(base_fd, &wanted), 0);
    assert_int_equal(found.st_ino, wanted.st_ino);
    close(h.parent_fd);
}

/* The first real hierarchy of version 2 that we may write to, or -1. */
static int real_top(void)
{
    scoped(buf_done) struct buf mounts = BUF_INIT(1 << 20);
    scoped(cgroup_layout_done) struct cgroup_layout layout = {0};
    scoped(fd_closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    char chunk[4096];
    struct err e = {0};
    for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
        buf_add(&mounts, chunk, (size_t)n);
    assert_int_equal(cgroup_layout_parse(mounts.bytes, "0::/\n", &layout, &e), 0);
    for (size_t i = 0; i < layout.count; i++)
        if (layout.places[i].version == 2 && access(layout.places[i].top, W_OK) == 0)
            return open(layout.places[i].top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return -1;
}

static pid_t be_in(int dir_fd, unsigned count)
{
    pid_t first = 0;
    for (unsigned i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                pause();
        assert_int_equal(cgroup_put_u64(dir_fd, "cgroup.procs", (uint64_t)pid), 0);
        first = first ? first : pid;
    }
    return first;
}

static void a_full_group_is_killed_and_removed(void **state)
{
    (void)state;
    scoped(fd_closep) int top = real_top();
    char name[CGROUP_NAME_SIZE];
    assert_int_equal(cgroup_own_name(name), 0);
    if (top < 0 || mkdirat(top, name, 0755))
        skip();
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)be_in(fd, 30);
    assert_true(cgroup_remove(&cgroup_v2, top, name, clock_us() + 10000000));
    assert_int_equal(faccessat(top, name, F_OK, 0), -1);
    int status;
    for (int i = 0; i < 30; i++) {
        assert_true(wait(&status) > 0);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    close(fd);
}

static void waiting_for_exit_ends_when_the_last_process_does(void **state)
{
    (void)state;
    scoped(fd_closep) int top = real_top();
    char name[CGROUP_NAME_SIZE];
    assert_int_equal(cgroup_own_name(name), 0);
    if (top < 0 || mkdirat(top, name, 0755))
        skip();
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = be_in(fd, 1);
    int64_t begin_us = clock_us();
    cgroup_v2.wait_for_exit(fd, 30);
    assert_true(clock_us() - begin_us >= 29000); /* it is still there */
    assert_true(cgroup_v2.kill_all(fd));
    begin_us = clock_us();
    cgroup_v2.wait_for_exit(fd, 60000);
    assert_true(clock_us() - begin_us < 50000000);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(cgroup_remove(&cgroup_v2, top, name, clock_us() + 10000000));
    assert_true(cgroup_remove(&cgroup_v2, top, name, 0)); /* gone is gone */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_written_in_the_words_of_version_2),
        cmocka_unit_test(a_limit_that_cannot_be_set_is_an_error),
        cmocka_unit_test(usage_is_read_and_what_is_missing_is_zero),
        cmocka_unit_test(an_oom_kill_is_told_by_its_counter_alone),
        cmocka_unit_test(the_base_gives_what_is_enabled_for_its_children),
        cmocka_unit_test(a_process_that_was_moved_down_finds_the_group_above),
        cmocka_unit_test(a_full_group_is_killed_and_removed),
        cmocka_unit_test(waiting_for_exit_ends_when_the_last_process_does),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
