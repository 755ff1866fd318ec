/* Where a process can keep a file that no directory shows, and that all of it is charged. */
#include "sandbox/held.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "sandbox/actor.h"
#include "sandbox/usage.h"

enum { MEGA = 1 << 20, FILE_MEGA = 4 };

/* In the actor's process: a failure ends it, and the test with it. */
static void need(bool is_so)
{
    if (!is_so)
        _exit(1);
}

static int make(int dir_fd, const char *name)
{
    static char chunk[MEGA];
    memset(chunk, 'x', sizeof chunk);
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    need(fd >= 0);
    for (int i = 0; i < FILE_MEGA; i++)
        need(write(fd, chunk, sizeof chunk) == (ssize_t)sizeof chunk);
    return fd;
}

static int make_deleted(int dir_fd, const char *name)
{
    int fd = make(dir_fd, name);
    need(unlinkat(dir_fd, name, 0) == 0);
    return fd;
}

static void usage_freep(struct usage **up)
{
    usage_free(*up);
}

/* Complete rounds until all processes were looked at too. */
static uint64_t megabytes(struct usage *u)
{
    for (int i = 0; i < 3; i++)
        while (!usage_step(u, 256))
            ;
    return (usage_disk(u) + MEGA / 2) / MEGA;
}

/* Begins to watch, lets the actor play act by act, and compares after each what is charged. */
static void assert_acts(void (*body)(const struct actor *), const uint64_t *expected, size_t acts)
{
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = NULL;
    if (usage_new(s.fd, &u, &e))
        fail_msg("%s", e.text);
    struct actor a = actor_start(body, s.fd);
    usage_set_init(u, a.pid, 0);
    uint64_t got[8] = {0};
    for (size_t i = 0; i < acts; i++) {
        if (i > 0)
            actor_go_on(&a);
        got[i] = megabytes(u);
    }
    actor_end(&a);
    for (size_t i = 0; i < acts; i++)
        if (got[i] != expected[i])
            fail_msg("act %zu: %d MiB instead of %d", i, (int)got[i], (int)expected[i]);
    assert_int_equal(megabytes(u), 0); /* with the processes, all of it is gone */
}

#define ASSERT_ACTS(body, ...)                                              \
    do {                                                                    \
        const uint64_t expected_[] = {__VA_ARGS__};                         \
        assert_acts(body, expected_, sizeof expected_ / sizeof *expected_); \
    } while (0)

static void opens_and_deletes(const struct actor *me)
{
    int fd = make_deleted(me->dir_fd, "gone");
    actor_pause(me);
    need(close(fd) == 0);
}

static void a_deleted_file_that_is_open_is_charged(void **state)
{
    (void)state;
    ASSERT_ACTS(opens_and_deletes, FILE_MEGA, 0);
}

static void uses_a_file_without_a_name(const struct actor *me)
{
    int fd = openat(me->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    need(fd >= 0 && fallocate(fd, 0, 0, FILE_MEGA * MEGA) == 0);
}

static void a_file_that_never_had_a_name_is_charged(void **state)
{
    (void)state;
    ASSERT_ACTS(uses_a_file_without_a_name, FILE_MEGA);
}

/* Open several times, in several processes, and still linked: all the same file. */
static void opens_often(const struct actor *me)
{
    int fd = make(me->dir_fd, "file");
    for (int i = 0; i < 5; i++)
        need(fcntl(fd, F_DUPFD_CLOEXEC, 3) >= 0);
    if (actor_fork())
        actor_wait_for_ever();
    actor_pause(me);
    need(unlinkat(me->dir_fd, "file", 0) == 0);
}

static void a_file_is_charged_once_however_often_it_is_open(void **state)
{
    (void)state;
    ASSERT_ACTS(opens_often, FILE_MEGA, FILE_MEGA);
}

static void *hold_in_own_table(void *arg)
{
    const struct actor *me = arg;
    need(unshare(CLONE_FILES) == 0); /* from here on the other threads do not see what we open */
    (void)make_deleted(me->dir_fd, "gone");
    actor_pause(me);
    actor_wait_for_ever();
    return NULL;
}

static void hides_in_a_thread(const struct actor *me)
{
    pthread_t thread;
    need(pthread_create(&thread, NULL, hold_in_own_table, (void *)me) == 0);
    actor_wait_for_ever();
}

static void a_thread_with_descriptors_of_its_own_hides_nothing(void **state)
{
    (void)state;
    ASSERT_ACTS(hides_in_a_thread, FILE_MEGA);
}

static void *hold_alone(void *arg)
{
    (void)make_deleted(((const struct actor *)arg)->dir_fd, "gone");
    actor_pause(arg);
    actor_wait_for_ever();
    return NULL;
}

static void outlives_its_leader(const struct actor *me)
{
    static struct actor copy; /* the leader's stack goes with it */
    copy = *me;
    pthread_t thread;
    need(pthread_create(&thread, NULL, hold_alone, &copy) == 0);
    pthread_exit(NULL);
}

static void threads_whose_leader_has_exited_hide_nothing(void **state)
{
    (void)state;
    ASSERT_ACTS(outlives_its_leader, FILE_MEGA);
}

static void *map_alone(void *arg)
{
    int fd = make_deleted(((const struct actor *)arg)->dir_fd, "gone");
    need(mmap(NULL, FILE_MEGA * MEGA, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
    need(close(fd) == 0);
    actor_pause(arg);
    actor_wait_for_ever();
    return NULL;
}

/* Such a process has no map_files any more, only the maps of its threads. */
static void maps_and_loses_its_leader(const struct actor *me)
{
    static struct actor copy;
    copy = *me;
    pthread_t thread;
    need(pthread_create(&thread, NULL, map_alone, &copy) == 0);
    pthread_exit(NULL);
}

static void mappings_whose_size_cannot_be_asked_count_as_far_as_they_reach(void **state)
{
    (void)state;
    ASSERT_ACTS(maps_and_loses_its_leader, FILE_MEGA);
}

static void maps_and_closes(const struct actor *me)
{
    int fd = make_deleted(me->dir_fd, "gone (deleted) once\n more");
    void *at = mmap(NULL, FILE_MEGA * MEGA, PROT_READ, MAP_SHARED, fd, 0);
    need(at != MAP_FAILED && close(fd) == 0);
    actor_pause(me);
    need(munmap(at, FILE_MEGA * MEGA) == 0);
}

static void a_deleted_file_that_is_mapped_is_charged(void **state)
{
    (void)state;
    ASSERT_ACTS(maps_and_closes, FILE_MEGA, 0);
}

/* A live file may be named as if it were deleted. */
static void maps_a_file_with_a_misleading_name(const struct actor *me)
{
    int fd = make(me->dir_fd, "alive (deleted)");
    need(mmap(NULL, FILE_MEGA * MEGA, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
    need(close(fd) == 0);
    actor_pause(me);
    need(unlinkat(me->dir_fd, "alive (deleted)", 0) == 0);
}

static void a_name_that_ends_in_deleted_misleads_nobody(void **state)
{
    (void)state;
    ASSERT_ACTS(maps_a_file_with_a_misleading_name, FILE_MEGA, FILE_MEGA);
}

/* A grandchild that belongs to init in the end: its parent exits at once. */
static void leaves_an_orphan(const struct actor *me)
{
    const pid_t init = getpid();
    need(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    if (fork() == 0) {
        if (fork() != 0)
            _exit(0);
        while (getppid() != init)
            sched_yield();
        actor_die_with(init);
        (void)make_deleted(me->dir_fd, "gone");
        actor_pause(me);
        actor_wait_for_ever();
    }
    actor_wait_for_ever();
}

static void an_orphan_is_one_of_the_family(void **state)
{
    (void)state;
    ASSERT_ACTS(leaves_an_orphan, FILE_MEGA);
}

/* Sent to a socket of its own and closed, the file is in no table of anybody. */
static void sends_to_itself(const struct actor *me)
{
    int pair[2], fds[FDIO_FDS_MAX];
    char byte = 0;
    size_t len, count;
    struct err e = {0};
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    int fd = make_deleted(me->dir_fd, "sent");
    actor_pause(me); /* it was seen once: that is what makes it known */
    need(fd_send(pair[0], &byte, 1, &fd, 1, &e) == 0 && close(fd) == 0);
    actor_pause(me);
    actor_pause(me);
    need(fd_recv(pair[1], &byte, 1, &len, fds, FDIO_FDS_MAX, &count, &e) == 0 && count == 1);
    actor_pause(me);
    need(close(fds[0]) == 0);
}

static void a_deleted_file_on_its_way_through_a_socket_stays_charged(void **state)
{
    (void)state;
    ASSERT_ACTS(sends_to_itself, FILE_MEGA, FILE_MEGA, FILE_MEGA, FILE_MEGA, 0);
}

/* Seen only in the tree, never open while somebody looked. */
static void sends_before_it_deletes(const struct actor *me)
{
    int pair[2];
    char byte = 0;
    struct err e = {0};
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    int fd = make(me->dir_fd, "sent");
    need(fd_send(pair[0], &byte, 1, &fd, 1, &e) == 0 && close(fd) == 0);
    actor_pause(me);
    need(unlinkat(me->dir_fd, "sent", 0) == 0);
    actor_pause(me);
    need(close(pair[0]) == 0 && close(pair[1]) == 0);
}

static void a_file_deleted_while_on_its_way_stays_charged(void **state)
{
    (void)state;
    ASSERT_ACTS(sends_before_it_deletes, FILE_MEGA, FILE_MEGA, 0);
}

/* Files elsewhere do not count, deleted or not: here one in memory. */
static void uses_other_file_systems(const struct actor *me)
{
    (void)me;
    int fd = memfd_create("elsewhere", MFD_CLOEXEC);
    need(fd >= 0 && fallocate(fd, 0, 0, FILE_MEGA * MEGA) == 0);
}

static void other_file_systems_do_not_count(void **state)
{
    (void)state;
    ASSERT_ACTS(uses_other_file_systems, 0);
}

/* More mappings than one round looks at: the following rounds finish it. */
static void has_many_mappings(const struct actor *me)
{
    const size_t page = 4096, count = 50000;
    char *at = mmap(NULL, count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED);
    for (size_t i = 0; i < count; i += 2)
        need(mprotect(at + i * page, page, PROT_NONE) == 0);
    int fd = make_deleted(me->dir_fd, "gone");
    need(mmap(NULL, FILE_MEGA * MEGA, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
    need(close(fd) == 0);
}

static void many_mappings_delay_nothing_but_are_looked_through(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(usage_freep) struct usage *u = NULL;
    assert_int_equal(usage_new(s.fd, &u, &e), 0);
    struct actor a = actor_start(has_many_mappings, s.fd);
    usage_set_init(u, a.pid, 0);
    int rounds = 0;
    bool is_found = false;
    while (!is_found && rounds++ < 20) {
        uint32_t steps = 0;
        while (!usage_step(u, 64))
            steps++;
        assert_true(steps * 64 <= USAGE_HELD_SHARE + 64);
        is_found = usage_disk(u) >= FILE_MEGA * MEGA;
    }
    actor_end(&a);
    assert_true(is_found);
}

static int elsewhere = -1; /* for the actor: a directory on the same file system */

static void lives_on_an_image(const struct actor *me)
{
    int fd = openat(elsewhere, "image", O_RDONLY | O_CLOEXEC);
    need(fd >= 0);
    need(mmap(NULL, FILE_MEGA * MEGA, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
    need(unlinkat(elsewhere, "image", 0) == 0);
    actor_pause(me);
    (void)make_deleted(me->dir_fd, "own");
}

static void a_file_that_is_not_theirs_does_not_count(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(scratch_done) struct scratch s = scratch_new(), other = scratch_new();
    scoped(usage_freep) struct usage *u = NULL;
    scoped(fd_closep) int image = make(other.fd, "image");
    assert_int_equal(usage_new(s.fd, &u, &e), 0);
    assert_int_equal(usage_ignore(u, image, &e), 0);
    elsewhere = other.fd;
    struct actor a = actor_start(lives_on_an_image, s.fd);
    usage_set_init(u, a.pid, 0);
    uint64_t before = megabytes(u);
    actor_go_on(&a);
    uint64_t after = megabytes(u);
    actor_end(&a);
    assert_int_equal(before, 0);
    assert_int_equal(after, FILE_MEGA); /* what is theirs does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_file_that_is_open_is_charged),
        cmocka_unit_test(a_file_that_never_had_a_name_is_charged),
        cmocka_unit_test(a_file_is_charged_once_however_often_it_is_open),
        cmocka_unit_test(a_thread_with_descriptors_of_its_own_hides_nothing),
        cmocka_unit_test(threads_whose_leader_has_exited_hide_nothing),
        cmocka_unit_test(a_deleted_file_that_is_mapped_is_charged),
        cmocka_unit_test(a_name_that_ends_in_deleted_misleads_nobody),
        cmocka_unit_test(an_orphan_is_one_of_the_family),
        cmocka_unit_test(a_deleted_file_on_its_way_through_a_socket_stays_charged),
        cmocka_unit_test(a_file_deleted_while_on_its_way_stays_charged),
        cmocka_unit_test(mappings_whose_size_cannot_be_asked_count_as_far_as_they_reach),
        cmocka_unit_test(other_file_systems_do_not_count),
        cmocka_unit_test(many_mappings_delay_nothing_but_are_looked_through),
        cmocka_unit_test(a_file_that_is_not_theirs_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
