/* What cgroup.h promises, on this host's hierarchies. Skipped where there are none for us. */
#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/cgroup_int.h"

#define MIB ((uint64_t)1 << 20)

static const struct cgroup_limits roomy = {
    .memory_bytes = 256 * MIB, .pids = 64, .cpu_milli = 2000};

static struct cgroups *all;
static struct cgroup_support support;

static int open_all(void **state)
{
    (void)state;
    struct err e = {0};
    return cgroups_open(&all, &support, &e);
}

static int close_all(void **state)
{
    (void)state;
    cgroups_close(all);
    all = NULL;
    return 0;
}

static void need(int why)
{
    if (!all || why)
        skip();
}

static char name[16]; /* of the directory of the last group made */

static struct cgroup *group(const struct cgroup_limits *limits)
{
    static uint32_t slot;
    struct cgroup *g = NULL;
    struct err e = {0};
    if (cgroup_new(all, ++slot, limits, &g, &e))
        fail_msg("%s", e.text);
    (void)snprintf(name, sizeof name, "%u", slot);
    return g;
}

/* A child that is in the group, where it does `body`. */
static pid_t start(const struct cgroup *g, int (*body)(void))
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (cgroup_clone_fd(g) >= 0) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)cgroup_clone_fd(g);
    }
    int joined[2], why = -1;
    assert_int_equal(pipe(joined), 0);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0) {
        why = cgroup_join(g);
        (void)!write(joined[1], &why, sizeof why);
        _exit(body());
    }
    assert_true(pid > 0);
    assert_int_equal(read(joined[0], &why, sizeof why), sizeof why);
    assert_int_equal(why, 0);
    close(joined[0]);
    close(joined[1]);
    return pid;
}

static int wait_status(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void free_group(struct cgroup *g)
{
    int64_t deadline_us = clock_us() + 10000000;
    while (!cgroup_free(g))
        assert_true(clock_us() < deadline_us);
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, wait_ms) == 1;
}

static int touch(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; memory != MAP_FAILED && i < bytes; i += 4096)
        memory[i] = 1;
    return memory == MAP_FAILED;
}

static int touch_much(void)
{
    return touch(200 * MIB);
}

static int touch_some(void)
{
    return touch(24 * MIB);
}

static void over_the_memory_limit_a_process_is_killed_and_the_event_tells(void **state)
{
    (void)state;
    need(support.memory);
    struct cgroup_limits limits = roomy;
    limits.memory_bytes = 48 * MIB;
    struct cgroup *g = group(&limits);
    assert_false(is_readable(cgroup_event_fd(g), 0));
    assert_false(cgroup_is_oom(g));

    pid_t pid = start(g, touch_much);
    do /* the first event of version 2 may be that the limit was reached */
        assert_true(is_readable(cgroup_event_fd(g), 20000));
    while (!cgroup_is_oom(g));
    int status = wait_status(pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);

    struct cgroup_usage usage;
    struct err e = {0};
    assert_int_equal(cgroup_usage(g, &usage, &e), 0);
    assert_in_range(usage.memory_peak, 40 * MIB, 48 * MIB);
    assert_true(cgroup_is_oom(g)); /* it remembers */
    free_group(g);
}

/* Nobody is in the group any more, so both ways to ask must give the same. */
static void the_counters_say(struct cgroup *g, const struct cgroup_usage *usage)
{
    int fds[CGROUP_COUNTERS];
    char text[512];
    if (cgroup_open_counters(g, fds))
        return; /* version 2 before Linux 5.19 */
    for (size_t i = 0; i < CGROUP_COUNTERS; i++) {
        ssize_t n = pread(fds[i], text, sizeof text - 1, 0);
        assert_true(n > 0);
        text[n] = '\0';
        assert_int_equal(write(fds[i], "0", 1), -1);
        if (i == CGROUP_COUNTS_PEAK)
            assert_int_equal(strtoull(text, NULL, 10), usage->memory_peak);
        assert_int_equal(close(fds[i]), 0);
    }
}

static void within_the_limit_nothing_is_killed_and_usage_is_counted(void **state)
{
    (void)state;
    need(support.memory);
    struct cgroup_limits limits = roomy;
    limits.memory_bytes = 48 * MIB;
    struct cgroup *g = group(&limits);
    assert_int_equal(wait_status(start(g, touch_some)), 0);
    assert_false(cgroup_is_oom(g));
    assert_false(is_readable(cgroup_event_fd(g), 0));
    struct cgroup_usage usage;
    struct err e = {0};
    assert_int_equal(cgroup_usage(g, &usage, &e), 0);
    assert_in_range(usage.memory_peak, 24 * MIB, 48 * MIB);
    assert_true(usage.memory_now <= usage.memory_peak);
    assert_in_range(usage.cpu_us, 100, 60000000);
    the_counters_say(g, &usage);
    free_group(g);
}

static int fork_until_it_fails(void)
{
    for (int made = 0;; made++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                pause();
        if (pid < 0)
            return errno == EAGAIN ? made : 99;
    }
}

static void the_number_of_processes_is_limited(void **state)
{
    (void)state;
    need(support.pids);
    struct cgroup_limits limits = roomy;
    limits.pids = 8;
    struct cgroup *g = group(&limits);
    int status = wait_status(start(g, fork_until_it_fails));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7); /* and itself */
    cgroup_kill(g);
    free_group(g);
}

/* Returns the percentage of a CPU it got in half a second. */
static int burn(void)
{
    int64_t end_us = clock_us() + 500000;
    while (clock_us() < end_us) {
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (int)((used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 5000);
}

static void the_share_of_cpu_is_limited(void **state)
{
    (void)state;
    need(support.cpu);
    struct cgroup_limits limits = roomy;
    limits.cpu_milli = 200;
    struct cgroup *g = group(&limits);
    int status = wait_status(start(g, burn));
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 1, 35); /* 20, and the slice the last period began with */
    free_group(g);
}

static void the_least_and_the_most_can_be_set(void **state)
{
    (void)state;
    need(support.memory && support.pids && support.cpu);
    struct cgroup_limits least = {.memory_bytes = 32 * MIB, .pids = 4, .cpu_milli = 10};
    struct cgroup_limits most = {
        .memory_bytes = (uint64_t)1 << 40, .pids = 32768, .cpu_milli = 1024000};
    free_group(group(&least));
    free_group(group(&most));
}

static int sleep_for_ever(void)
{
    while (pause() < 0) {
    }
    return 0;
}

/* Thirty that burn, once all are there: with the little CPU they get, they would hold up each other's
 * birth. */
static int be_many(void)
{
    int gate[2];
    char byte;
    if (pipe(gate))
        return 1;
    for (int i = 0; i < 30; i++)
        if (fork() == 0) {
            close(gate[1]);
            (void)setsid();
            (void)!read(gate[0], &byte, 1);
            for (;;) {
            }
        }
    close(gate[1]);
    return sleep_for_ever();
}

static bool count_one(pid_t pid, void *arg)
{
    (void)pid;
    ++*(unsigned *)arg;
    return true;
}

/* Until the last group made has that many. */
static void wait_for_members(unsigned wanted)
{
    int64_t deadline_us = clock_us() + 20000000;
    for (unsigned count = 0; count < wanted;) {
        assert_true(clock_us() < deadline_us);
        sched_yield();
        scoped(fd_closep) int fd = openat(all->all[0].own_fd, name, O_RDONLY | O_CLOEXEC);
        count = 0;
        (void)cgroup_each_member(fd, count_one, &count);
    }
}

static void kill_ends_every_process_also_throttled_ones(void **state)
{
    (void)state;
    need(0);
    struct cgroup_limits limits = roomy;
    limits.cpu_milli = 100;
    struct cgroup *g = group(&limits);
    pid_t pid = start(g, be_many);
    wait_for_members(31);
    cgroup_kill(g);
    int status = wait_status(pid);
    assert_true(WIFSIGNALED(status));
    free_group(g);
}

static int fork_for_ever(void)
{
    for (int i = 0; i < 4; i++)
        (void)fork();
    for (;;) {
        pid_t pid = fork();
        if (pid > 0)
            _exit(0); /* the child goes on under another pid */
    }
}

static void kill_ends_processes_that_keep_forking(void **state)
{
    (void)state;
    need(support.pids);
    struct cgroup *g = group(&roomy);
    pid_t pid = start(g, fork_for_ever);
    wait_for_members(8);
    cgroup_kill(g);
    (void)wait_status(pid);
    free_group(g);
}

static void free_waits_briefly_and_can_be_called_again(void **state)
{
    (void)state;
    need(0);
    struct cgroup *g = group(&roomy);
    pid_t pid = start(g, sleep_for_ever);
    free_group(g); /* kills who is left */
    assert_true(WIFSIGNALED(wait_status(pid)));
    assert_true(cgroup_free(NULL));
}

static bool is_in(pid_t pid, const char *where)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    assert_int_equal(cgroup_get(AT_FDCWD, path, text, sizeof text), 0);
    unsigned lines = 0;
    for (const char *at = text; (at = strstr(at, where)); at++)
        lines++;
    return lines == all->count;
}

static void joining_reaches_every_hierarchy(void **state)
{
    (void)state;
    need(0);
    struct cgroup *g = group(&roomy);
    char where[CGROUP_NAME_SIZE + 32];
    (void)snprintf(where, sizeof where, "%s/%s\n", all->name, name);
    pid_t joined = start(g, sleep_for_ever);
    assert_true(is_in(joined, where));
    cgroup_kill(g);
    (void)wait_status(joined);
    free_group(g);
}

static void a_slot_in_use_is_refused_and_its_processes_live_on(void **state)
{
    (void)state;
    need(0);
    struct cgroup *g = NULL, *other = NULL;
    struct err e = {0};
    assert_int_equal(cgroup_new(all, 4000, &roomy, &g, &e), 0);
    pid_t pid = start(g, sleep_for_ever);
    assert_int_equal(cgroup_new(all, 4000, &roomy, &other, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    cgroup_kill(g);
    (void)wait_status(pid);
    free_group(g);
}

/* Directories of a spawner, by the part of its name that holds its pid. */
static bool has_directory(pid_t spawner)
{
    char prefix[32];
    (void)snprintf(prefix, sizeof prefix, "cicada-%d-", (int)spawner);
    bool found = false;
    for (unsigned i = 0; i < all->count; i++) {
        int fd = openat(all->all[i].parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char entries[8192];
        long n;
        while ((n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
            found |= memmem(entries, (size_t)n, prefix, strlen(prefix)) != NULL;
        close(fd);
    }
    return found;
}

/* A spawner with a session. Its session's pid comes back over the pipe; then it waits or ends, without
 * cleaning up. */
static pid_t other_spawner(bool is_ending, pid_t *ret_session)
{
    int report[2];
    assert_int_equal(pipe(report), 0);
    pid_t spawner = fork();
    if (spawner == 0) {
        struct cgroups *own = NULL;
        struct cgroup_support ignored;
        struct cgroup *g = NULL;
        struct err e = {0};
        if (cgroups_open(&own, &ignored, &e) || cgroup_new(own, 1, &roomy, &g, &e))
            _exit(1);
        pid_t session = start(g, sleep_for_ever);
        (void)!write(report[1], &session, sizeof session);
        _exit(is_ending ? 0 : sleep_for_ever());
    }
    assert_int_equal(read(report[0], ret_session, sizeof *ret_session), sizeof *ret_session);
    close(report[0]);
    close(report[1]);
    return spawner;
}

static void leftovers_of_a_dead_spawner_are_swept(void **state)
{
    (void)state;
    need(0);
    pid_t session = 0;
    pid_t spawner = other_spawner(true, &session);
    siginfo_t end;
    /* Dead but not waited for: a zombie counts as gone. */
    assert_int_equal(waitid(P_PID, (id_t)spawner, &end, WEXITED | WNOWAIT), 0);
    assert_true(has_directory(spawner));
    scoped(fd_closep) int session_fd = (int)syscall(SYS_pidfd_open, session, 0);
    assert_true(session_fd >= 0);

    close_all(NULL);
    assert_int_equal(open_all(NULL), 0);
    assert_false(has_directory(spawner));
    assert_true(is_readable(session_fd, 10000)); /* ended */
    (void)wait_status(spawner);
}

static void a_living_spawner_is_left_alone(void **state)
{
    (void)state;
    need(0);
    pid_t session = 0;
    pid_t spawner = other_spawner(false, &session);
    close_all(NULL);
    assert_int_equal(open_all(NULL), 0);
    assert_true(has_directory(spawner));
    assert_int_equal(kill(session, 0), 0);

    kill(spawner, SIGKILL);
    (void)wait_status(spawner);
    close_all(NULL);
    assert_int_equal(open_all(NULL), 0);
    assert_false(has_directory(spawner));
}

static void closing_leaves_nothing(void **state)
{
    (void)state;
    need(0);
    assert_true(has_directory(getpid()));
    char own[CGROUP_NAME_SIZE];
    int parents[HIERARCHIES_MAX];
    unsigned count = all->count;
    memcpy(own, all->name, sizeof own);
    for (unsigned i = 0; i < count; i++) {
        parents[i] = openat(all->all[i].parent_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* Even with a group in it that nobody freed. */
        assert_int_equal(mkdirat(all->all[i].own_fd, "forgotten", 0755), 0);
    }
    close_all(NULL);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(faccessat(parents[i], own, F_OK, 0), -1);
        close(parents[i]);
    }
    assert_int_equal(open_all(NULL), 0);
}

static void only_names_of_dead_spawners_are_leftovers(void **state)
{
    (void)state;
    char own[CGROUP_NAME_SIZE], text[CGROUP_NAME_SIZE + 8];
    int pid;
    unsigned long long begun, namespace;
    assert_int_equal(cgroup_own_name(own), 0);
    assert_int_equal(sscanf(own, "cicada-%d-%llu-%llu", &pid, &begun, &namespace), 3);
    assert_int_equal(pid, getpid());
    assert_false(cgroup_is_leftover(own));
    (void)snprintf(text, sizeof text, "cicada-%d-%llu-%llu", pid, begun + 1, namespace);
    assert_true(cgroup_is_leftover(text)); /* our pid, but of another time */
    (void)snprintf(text, sizeof text, "cicada-%d-%llu-%llu", pid, begun + 1, namespace + 1);
    assert_false(cgroup_is_leftover(text)); /* not ours to judge */
    (void)snprintf(text, sizeof text, "%s-x", own);
    assert_false(cgroup_is_leftover(text));
    assert_false(cgroup_is_leftover("cicada-leaf"));
    assert_false(cgroup_is_leftover("system.slice"));
    (void)snprintf(text, sizeof text, "cicada-0-1-%llu", namespace);
    assert_false(cgroup_is_leftover(text));
    (void)snprintf(text, sizeof text, "cicada--1-1-%llu", namespace);
    assert_false(cgroup_is_leftover(text));
    (void)snprintf(text, sizeof text, "cicada-2000000000-1-%llu", namespace);
    assert_true(cgroup_is_leftover(text));
}

static void keys_are_found_by_their_whole_name(void **state)
{
    (void)state;
    uint64_t value = 77;
    const char *text = "oom_kill_disable 0\nunder_oom 1\noom_kill 12\nbad x\n";
    assert_true(cgroup_find_key(text, "oom_kill", &value));
    assert_int_equal(value, 12);
    assert_false(cgroup_find_key(text, "oom", &value));
    assert_false(cgroup_find_key(text, "bad", &value));
    assert_false(cgroup_find_key("", "oom_kill", &value));
    assert_int_equal(value, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_the_memory_limit_a_process_is_killed_and_the_event_tells),
        cmocka_unit_test(within_the_limit_nothing_is_killed_and_usage_is_counted),
        cmocka_unit_test(the_number_of_processes_is_limited),
        cmocka_unit_test(the_share_of_cpu_is_limited),
        cmocka_unit_test(the_least_and_the_most_can_be_set),
        cmocka_unit_test(kill_ends_every_process_also_throttled_ones),
        cmocka_unit_test(kill_ends_processes_that_keep_forking),
        cmocka_unit_test(free_waits_briefly_and_can_be_called_again),
        cmocka_unit_test(joining_reaches_every_hierarchy),
        cmocka_unit_test(a_slot_in_use_is_refused_and_its_processes_live_on),
        cmocka_unit_test(leftovers_of_a_dead_spawner_are_swept),
        cmocka_unit_test(a_living_spawner_is_left_alone),
        cmocka_unit_test(closing_leaves_nothing),
        cmocka_unit_test(only_names_of_dead_spawners_are_leftovers),
        cmocka_unit_test(keys_are_found_by_their_whole_name),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
