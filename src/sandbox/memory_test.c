/* What memory.h promises. */
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>

#include <cmocka.h>

#include "sandbox/actor.h"
#include "sandbox/memory.h"

enum { MEGA = 1 << 20, SOME = 64 };

static void need(int is_so)
{
    if (!is_so)
        _exit(1);
}

static void *touch(int flags)
{
    char *at = mmap(NULL, SOME * MEGA, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED);
    memset(at, 1, SOME * MEGA);
    return at;
}

/* A whole scan. False when init is gone. */
static bool scan(pid_t init, uint64_t *ret_bytes, uint64_t *ret_cpu_us)
{
    struct memory_scan m = {0};
    memory_begin(&m, init);
    while (!memory_step(&m)) {
    }
    if (m.is_there) {
        *ret_bytes = m.bytes;
        *ret_cpu_us = m.cpu_us;
    }
    memory_done(&m);
    return m.is_there;
}

static uint64_t bytes_of(const struct actor *a)
{
    uint64_t bytes = 0, cpu_us = 0;
    assert_true(scan(a->pid, &bytes, &cpu_us));
    return bytes;
}

/* What the first act already uses is shared with this process and differs from build to build: the
 * growth from act to act is what is compared. */
static void assert_growth(void (*body)(const struct actor *), int64_t megabytes)
{
    struct actor a = actor_start(body, -1);
    int64_t before = (int64_t)bytes_of(&a);
    actor_go_on(&a);
    int64_t grown = (int64_t)bytes_of(&a) - before;
    actor_end(&a);
    assert_in_range(grown + 1000 * MEGA, (megabytes - 4 + 1000) * MEGA,
                    (megabytes + 8 + 1000) * MEGA);
}

static void touches_private(const struct actor *me)
{
    actor_pause(me);
    (void)touch(MAP_PRIVATE);
}

static void touched_pages_count(void **state)
{
    (void)state;
    assert_growth(touches_private, SOME);
}

static void reserves_only(const struct actor *me)
{
    actor_pause(me);
    need(mmap(NULL, (size_t)SOME * MEGA, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

static void reserved_addresses_do_not_count(void **state)
{
    (void)state;
    assert_growth(reserves_only, 0);
}

/* A file on disk, mapped as an image is: written in memory, never in the file. The actor's
 * descriptor is the file. */
static void reads_then_writes_a_private_file(const struct actor *me)
{
    char *at = mmap(NULL, (size_t)SOME * MEGA, PROT_READ | PROT_WRITE, MAP_PRIVATE, me->dir_fd, 0);
    need(at != MAP_FAILED);
    actor_pause(me);
    for (size_t i = 0; i < (size_t)SOME * MEGA; i += 4096)
        need(((volatile char *)at)[i] == 0);
    actor_pause(me);
    memset(at, 1, (size_t)SOME * MEGA / 2);
}

static void pages_of_a_file_count_once_they_are_changed(void **state)
{
    (void)state;
    char path[] = "/var/tmp/memory_test-XXXXXX";
    struct statfs fs;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ftruncate(fd, (off_t)SOME * MEGA), 0);
    assert_int_equal(fstatfs(fd, &fs), 0);
    if (fs.f_type == TMPFS_MAGIC)
        skip(); /* there the file's own pages are memory */
    struct actor a = actor_start(reads_then_writes_a_private_file, fd);
    uint64_t mapped = bytes_of(&a);
    actor_go_on(&a);
    uint64_t read_all = bytes_of(&a);
    actor_go_on(&a);
    uint64_t written = bytes_of(&a);
    actor_end(&a);
    close(fd);
    assert_in_range(read_all - mapped + MEGA, 0, 2 * MEGA);
    assert_in_range(written - read_all, (SOME / 2 - 1) * MEGA, (SOME / 2 + 4) * MEGA);
}

/* The page tables of a child are its own, its pages are not. */
static void shares_with_children(const struct actor *me)
{
    actor_pause(me);
    (void)touch(MAP_PRIVATE);
    (void)touch(MAP_SHARED);
    for (int i = 0; i < 3; i++)
        if (actor_fork())
            actor_wait_for_ever();
}

static void pages_shared_by_a_family_count_once(void **state)
{
    (void)state;
    assert_growth(shares_with_children, 2 * SOME);
}

static void touches_in_a_grandchild(const struct actor *me)
{
    actor_pause(me);
    if (actor_fork()) {
        if (actor_fork()) {
            (void)touch(MAP_PRIVATE);
            actor_pause(me);
        }
        actor_wait_for_ever();
    }
    actor_wait_for_ever();
}

static void descendants_count(void **state)
{
    (void)state;
    assert_growth(touches_in_a_grandchild, SOME);
}

static void *go_on_without_leader(void *arg)
{
    actor_pause(arg);
    (void)touch(MAP_PRIVATE);
    actor_pause(arg);
    return NULL;
}

static void loses_its_leader(const struct actor *me)
{
    static struct actor copy; /* the leader's stack goes with it */
    copy = *me;
    pthread_t thread;
    need(pthread_create(&thread, NULL, go_on_without_leader, &copy) == 0);
    pthread_exit(NULL);
}

static void a_process_whose_first_thread_has_exited_still_counts(void **state)
{
    (void)state;
    assert_growth(loses_its_leader, SOME);
}

static void burn(int64_t ms)
{
    struct timespec t;
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static void burns_and_lets_burn(const struct actor *me)
{
    burn(300);
    actor_pause(me);
    pid_t child = fork();
    if (child == 0) {
        burn(300);
        _exit(0);
    }
    need(waitpid(child, NULL, 0) == child);
}

static void the_time_of_reaped_children_counts(void **state)
{
    (void)state;
    uint64_t bytes, first = 0, second = 0;
    struct actor a = actor_start(burns_and_lets_burn, -1);
    assert_true(scan(a.pid, &bytes, &first));
    actor_go_on(&a);
    assert_true(scan(a.pid, &bytes, &second));
    actor_end(&a);
    assert_in_range(first, 280000, 600000);
    assert_in_range(second - first, 280000, 600000);
}

static void does_nothing(const struct actor *me)
{
    (void)me;
}

static void an_init_that_is_gone_is_said(void **state)
{
    (void)state;
    uint64_t bytes = 77, cpu_us = 77;
    struct actor a = actor_start(does_nothing, -1);
    assert_true(scan(a.pid, &bytes, &cpu_us));
    actor_end(&a);
    bytes = 77;
    assert_false(scan(a.pid, &bytes, &cpu_us));
    assert_int_equal(bytes, 77);
    assert_false(scan(0, &bytes, &cpu_us));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(touched_pages_count),
        cmocka_unit_test(reserved_addresses_do_not_count),
        cmocka_unit_test(pages_of_a_file_count_once_they_are_changed),
        cmocka_unit_test(pages_shared_by_a_family_count_once),
        cmocka_unit_test(descendants_count),
        cmocka_unit_test(a_process_whose_first_thread_has_exited_still_counts),
        cmocka_unit_test(the_time_of_reaped_children_counts),
        cmocka_unit_test(an_init_that_is_gone_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
