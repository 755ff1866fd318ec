/* What confine.h promises. Every test gives something up for good, so each does it in a child, which
 * ends with 0 or with the number of the line that was not as expected. */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static void in_child(int (*body)(void))
{
    int status, report[2], line = 0;
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    if (pid == 0) {
        line = body();
        (void)!write(report[1], &line, sizeof line);
        _exit(0);
    }
    assert_true(pid > 0);
    close(report[1]);
    (void)!read(report[0], &line, sizeof line);
    close(report[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (line)
        print_error("confine_test.c:%d\n", line);
    assert_int_equal(line, 0);
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static rlim_t hard(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) || limit.rlim_cur != limit.rlim_max ? 12345 : limit.rlim_max;
}

static int set_limits(void)
{
    const struct confine_limits limits = {
        .file_bytes = 1 << 20, .open_files = 64, .pids = 77, .data_bytes = 1 << 30, .cpu_s = 60};
    CHECK(confine_rlimits(&limits) == 0);
    CHECK(hard(RLIMIT_CORE) == 0);
    CHECK(hard(RLIMIT_FSIZE) == 1 << 20);
    CHECK(hard(RLIMIT_NOFILE) == 64);
    CHECK(hard(RLIMIT_NPROC) == 77);
    CHECK(hard(RLIMIT_DATA) == 1 << 30);
    CHECK(hard(RLIMIT_CPU) == 60);
    CHECK(hard(RLIMIT_MEMLOCK) <= 65536);
    CHECK(hard(RLIMIT_STACK) == 16 << 20);
    CHECK(hard(RLIMIT_MSGQUEUE) == 0);
    CHECK(hard(RLIMIT_SIGPENDING) <= 256);
    CHECK(hard(RLIMIT_RTPRIO) == 0);
    CHECK(hard(RLIMIT_NICE) == 0);
    return 0;
}

static void limits_are_soft_and_hard(void **state)
{
    (void)state;
    in_child(set_limits);
}

static int keep_lower_limits(void)
{
    struct rlimit few = {.rlim_cur = 10, .rlim_max = 20}, data, nproc, now;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(getrlimit(RLIMIT_DATA, &data) == 0 && getrlimit(RLIMIT_NPROC, &nproc) == 0);
    const struct confine_limits limits = {.file_bytes = 1 << 20, .open_files = 64};
    CHECK(confine_rlimits(&limits) == 0);
    CHECK(hard(RLIMIT_NOFILE) == 20);
    CHECK(getrlimit(RLIMIT_DATA, &now) == 0 && now.rlim_cur == data.rlim_cur);
    CHECK(getrlimit(RLIMIT_NPROC, &now) == 0 && now.rlim_cur == nproc.rlim_cur);
    return 0;
}

static void a_limit_that_is_lower_stays_and_zero_means_none(void **state)
{
    (void)state;
    in_child(keep_lower_limits);
}

static int drop_bounding_set(void)
{
    CHECK(confine_bounding_set() == 0);
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        CHECK(prctl(PR_CAPBSET_READ, cap, 0, 0, 0) <= 0);
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    CHECK(bits & SECBIT_NOROOT && bits & SECBIT_NOROOT_LOCKED);
    CHECK(bits & SECBIT_NO_SETUID_FIXUP_LOCKED && bits & SECBIT_KEEP_CAPS_LOCKED);
    CHECK(prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) < 0);
    return 0;
}

static void the_bounding_set_becomes_empty_and_stays_so(void **state)
{
    (void)state;
    need_root();
    in_child(drop_bounding_set);
}

static int drop_nothing(void)
{
    CHECK(confine_capabilities() == 0);
    return confine_bounding_set() == 0 ? 0 : __LINE__;
}

static void without_capabilities_the_bounding_set_is_left_alone(void **state)
{
    (void)state;
    in_child(drop_nothing);
}

static int become_somebody(void)
{
    uid_t r, e, s;
    gid_t groups[4] = {1, 2, 3, 4};
    CHECK(syscall(SYS_setgroups, 4, groups) == 0);
    CHECK(confine_identity(64321, 64322) == 0);
    CHECK(getresuid(&r, &e, &s) == 0 && r == 64321 && e == 64321 && s == 64321);
    CHECK(getresgid(&r, &e, &s) == 0 && r == 64322 && e == 64322 && s == 64322);
    CHECK(getgroups(0, NULL) == 0);
    CHECK(setuid(0) < 0);
    CHECK(confine_identity(0, 0) == EPERM);
    return 0;
}

static void the_identity_changes_in_all_its_parts(void **state)
{
    (void)state;
    need_root();
    in_child(become_somebody);
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    CHECK(confine_capabilities() == 0);
    CHECK(syscall(SYS_capget, &head, caps) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(caps[i].effective == 0 && caps[i].permitted == 0 && caps[i].inheritable == 0);
    CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0) == 0);
    caps[0].permitted = caps[0].effective = 1;
    CHECK(syscall(SYS_capset, &head, caps) < 0);
    return 0;
}

static void all_capability_sets_become_empty(void **state)
{
    (void)state;
    in_child(drop_capabilities);
}

/* The order of a jail: bounding set, identity with capabilities kept, capabilities, parent death. */
static int drop_everything(void)
{
    CHECK(confine_bounding_set() == 0);
    CHECK(confine_identity(64321, 64321) == 0);
    CHECK(confine_capabilities() == 0);
    CHECK(confine_parent_death() == 0);
    CHECK(confine_no_new_privs() == 0);
    CHECK(setuid(0) < 0);
    int sig = 0;
    CHECK(prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) == 0 && sig == SIGKILL);
    return 0;
}

static void the_steps_work_in_the_order_of_a_jail(void **state)
{
    (void)state;
    need_root();
    in_child(drop_everything);
}

/* child makes grandchild, which waits for ever; child ends; the grandchild's end of a pipe closes. */
static void a_child_dies_with_its_parent(void **state)
{
    (void)state;
    int held[2], ready[2];
    assert_int_equal(pipe(held), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0) {
            char ok = confine_parent_death() == 0;
            (void)!write(ready[1], &ok, 1);
            for (;;)
                pause();
        }
        char ok = 0;
        _exit(read(ready[0], &ok, 1) == 1 && ok ? 0 : 1);
    }
    close(held[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    struct pollfd gone = {.fd = held[0], .events = POLLIN};
    assert_int_equal(poll(&gone, 1, 10000), 1);
    assert_true(gone.revents & POLLHUP);
    close(held[0]);
    close(ready[0]);
    close(ready[1]);
}

static int set_no_new_privs(void)
{
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
    CHECK(confine_no_new_privs() == 0);
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    return 0;
}

static void no_new_privs_is_set(void **state)
{
    (void)state;
    in_child(set_no_new_privs);
}

static int reset_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
    sigset_t all, mask;
    sigfillset(&all);
    CHECK(sigaction(SIGINT, &ignore, NULL) == 0 && sigaction(SIGRTMAX, &ignore, NULL) == 0);
    CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(confine_signals() == 0);
    CHECK(sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGRTMAX, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int sig = 1; sig < NSIG; sig++)
        CHECK(sigismember(&mask, sig) <= 0);
    return 0;
}

static void signals_are_as_after_a_fresh_start(void **state)
{
    (void)state;
    in_child(reset_signals);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static int keep_some(void)
{
    int high = fcntl(0, F_DUPFD, 700), middle = fcntl(0, F_DUPFD, 200);
    CHECK(high >= 700 && middle >= 200);
    for (int fd = 300; fd < 310; fd++)
        CHECK(fcntl(0, F_DUPFD, fd) >= 0);
    CHECK(dup2(STDERR_FILENO, 150) == 150);
    int keep[] = {0, 2, 150, middle, high};
    CHECK(confine_descriptors(keep, 5) == 0);
    for (int fd = 0; fd < 1024; fd++) {
        bool is_kept = false;
        for (int i = 0; i < 5; i++)
            is_kept |= keep[i] == fd;
        CHECK(is_open(fd) == is_kept);
    }
    return 0;
}

static int keep_wrongly(void)
{
    int closed[] = {0, 900}, disorder[] = {2, 1}, negative[] = {-1, 0}, twice[] = {1, 1};
    CHECK(confine_descriptors(negative, 2) == EBADF);
    CHECK(confine_descriptors(disorder, 2) == EBADF);
    CHECK(confine_descriptors(twice, 2) == EBADF);
    CHECK(confine_descriptors(closed, 2) == EBADF);
    return 0;
}

/* Like in_child, but the report goes by exit status: the body closes what it likes. */
static int status_of(int (*body)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(body() ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void only_the_listed_descriptors_stay_open(void **state)
{
    (void)state;
    assert_int_equal(status_of(keep_some), 0);
}

static int keep_none(void)
{
    CHECK(confine_descriptors(NULL, 0) == 0);
    for (int fd = 0; fd < 1024; fd++)
        CHECK(!is_open(fd));
    return 0;
}

static void a_list_of_none_closes_all(void **state)
{
    (void)state;
    assert_int_equal(status_of(keep_none), 0);
}

static void a_list_with_a_closed_or_misplaced_descriptor_is_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of(keep_wrongly), 0);
}

static int keep_mounting(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    CHECK(confine_to_mounting() == 0);
    CHECK(syscall(SYS_capget, &head, caps) == 0);
    CHECK(caps[0].permitted == 1u << CAP_SYS_ADMIN && caps[0].effective == 1u << CAP_SYS_ADMIN);
    CHECK(caps[0].inheritable == 0 && caps[1].permitted == 0 && caps[1].effective == 0);
    CHECK(unshare(CLONE_NEWNS) == 0); /* what it is kept for still works */
    CHECK(syscall(SYS_setresuid, 1, 1, 1) == -1 && errno == EPERM);
    CHECK(confine_capabilities() == 0);
    CHECK(unshare(CLONE_NEWNS) == -1 && errno == EPERM);
    CHECK(confine_to_mounting() == EPERM); /* and does not come back */
    return 0;
}

static void mounting_can_be_all_that_is_kept_and_be_dropped_later(void **state)
{
    (void)state;
    need_root();
    in_child(keep_mounting);
}

/* The stack of a program that is executed afterwards begins at the same address both times. */
static uint64_t stack_of_a_program(void)
{
    char line[256];
    uint64_t at = 0;
    FILE *out = NULL;
    int ends[2];
    if (pipe(ends))
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {"cat", "/proc/self/stat", NULL}, *envp[] = {NULL};
        if (dup2(ends[1], 1) == 1 && close(ends[0]) == 0 && close(ends[1]) == 0)
            execve("/bin/cat", argv, envp);
        _exit(1);
    }
    close(ends[1]);
    out = fdopen(ends[0], "r");
    /* Field 28 is startstack; the name, field 2, has no spaces. */
    if (out && fgets(line, sizeof line, out)) {
        char *field = line;
        for (int i = 1; i < 28 && field; i++)
            field = strchr(field + 1, ' ');
        if (field && sscanf(field, "%lu", &at) != 1)
            at = 0;
    }
    if (out)
        fclose(out);
    return waitpid(pid, NULL, 0) == pid ? at : 0;
}

static int fix_layout(void)
{
    CHECK(confine_fixed_layout() == 0);
    uint64_t first = stack_of_a_program();
    CHECK(first != 0);
    for (int i = 0; i < 3; i++)
        CHECK(stack_of_a_program() == first);
    return 0;
}

static void with_a_fixed_layout_programs_lie_where_they_lay_before(void **state)
{
    (void)state;
    in_child(fix_layout);
}

static int random_layout(void)
{
    uint64_t first = stack_of_a_program();
    int same = 0;
    for (int i = 0; i < 3; i++)
        same += stack_of_a_program() == first;
    CHECK(first != 0 && same < 3);
    return 0;
}

static void without_it_they_do_not(void **state)
{
    (void)state;
    in_child(random_layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_soft_and_hard),
        cmocka_unit_test(a_limit_that_is_lower_stays_and_zero_means_none),
        cmocka_unit_test(the_bounding_set_becomes_empty_and_stays_so),
        cmocka_unit_test(without_capabilities_the_bounding_set_is_left_alone),
        cmocka_unit_test(the_identity_changes_in_all_its_parts),
        cmocka_unit_test(all_capability_sets_become_empty),
        cmocka_unit_test(the_steps_work_in_the_order_of_a_jail),
        cmocka_unit_test(a_child_dies_with_its_parent),
        cmocka_unit_test(no_new_privs_is_set),
        cmocka_unit_test(signals_are_as_after_a_fresh_start),
        cmocka_unit_test(only_the_listed_descriptors_stay_open),
        cmocka_unit_test(a_list_of_none_closes_all),
        cmocka_unit_test(a_list_with_a_closed_or_misplaced_descriptor_is_refused),
        cmocka_unit_test(mounting_can_be_all_that_is_kept_and_be_dropped_later),
        cmocka_unit_test(with_a_fixed_layout_programs_lie_where_they_lay_before),
        cmocka_unit_test(without_it_they_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
