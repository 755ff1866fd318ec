/* What filter.h promises, tried on the running kernel. tests/seccomp/run goes through every number
 * and architecture by interpreting the same programs. */
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "sandbox/confine.h"

static const struct filter_policy full = {
    .sockets = true, .new_groups = true, .memfd = true, .affinity = true};
static const struct filter_policy container = {0};

#define HIGH ((long)1 << 32) /* a bit the kernel never sees of a 32-bit argument */

/* A call whose arguments are so wrong that it does no harm, and what must come of it. */
struct trial {
    const char *name;
    long nr, a, b, c;
    int want; /* errno; 0: success */
};

static const struct trial denied[] = {
    {"unshare", SYS_unshare, 1L << 62, 0, 0, EPERM},
    {"setns", SYS_setns, -1, 0, 0, EPERM},
    {"clone with a user namespace", SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, EPERM},
    {"clone with a mount namespace", SYS_clone, CLONE_NEWNS | CLONE_FS, 0, 0, EPERM},
    {"clone3", SYS_clone3, 0, 0, 0, ENOSYS},
    {"fallocate", SYS_fallocate, -1, 0, 0, EOPNOTSUPP},
    {"mount", SYS_mount, 0, 0, 0, EPERM},
    {"umount2", SYS_umount2, 0, 0, 0, EPERM},
    {"open_tree", SYS_open_tree, -1, 0, 0, EPERM},
    {"move_mount", SYS_move_mount, -1, 0, -1, EPERM},
    {"fsopen", SYS_fsopen, 0, 0, 0, EPERM},
    {"pivot_root", SYS_pivot_root, 0, 0, 0, EPERM},
    {"chroot", SYS_chroot, 0, 0, 0, EPERM},
    {"ptrace", SYS_ptrace, 99, 0, 0, EPERM},
    {"process_vm_readv", SYS_process_vm_readv, 0, 0, 0, EPERM},
    {"process_vm_writev", SYS_process_vm_writev, 0, 0, 0, EPERM},
    {"pidfd_getfd", SYS_pidfd_getfd, -1, 0, 0, EPERM},
    {"kcmp", SYS_kcmp, 0, 0, 99, EPERM},
    {"keyctl", SYS_keyctl, 999, 0, 0, EPERM},
    {"add_key", SYS_add_key, 0, 0, 0, EPERM},
    {"bpf", SYS_bpf, 999, 0, 0, EPERM},
    {"perf_event_open", SYS_perf_event_open, 0, 0, 0, EPERM},
    {"io_uring_setup", SYS_io_uring_setup, 0, 0, 0, EPERM},
    {"io_setup", SYS_io_setup, 0, 0, 0, EPERM},
    {"userfaultfd", SYS_userfaultfd, 0x7f, 0, 0, EPERM},
    {"memfd_secret", SYS_memfd_secret, 0x7f, 0, 0, EPERM},
    {"personality, to change it", SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, EPERM},
    {"seccomp", SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0, EPERM},
    {"seccomp, to ask", SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, 0, EPERM},
    {"prctl PR_SET_MM", SYS_prctl, PR_SET_MM, PR_SET_MM_MAP_SIZE, 0, EPERM},
    {"prctl PR_SET_MM with high bits", SYS_prctl, HIGH | PR_SET_MM, PR_SET_MM_MAP_SIZE, 0, EPERM},
    {"prctl PR_SET_NO_NEW_PRIVS", SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, EPERM},
    {"prctl PR_SET_NO_NEW_PRIVS with high bits", SYS_prctl, HIGH | PR_SET_NO_NEW_PRIVS, 1, 0,
     EPERM},
    {"prctl PR_SET_SECCOMP", SYS_prctl, PR_SET_SECCOMP, 99, 0, EPERM},
    {"prctl PR_SET_DUMPABLE", SYS_prctl, PR_SET_DUMPABLE, 1, 0, EPERM},
    {"prctl PR_CAPBSET_DROP", SYS_prctl, PR_CAPBSET_DROP, 999, 0, EPERM},
    {"setuid", SYS_setuid, 0, 0, 0, EPERM},
    {"setresgid", SYS_setresgid, -1, -1, -1, EPERM},
    {"setgroups", SYS_setgroups, 1 << 30, 0, 0, EPERM},
    {"capset", SYS_capset, 0, 0, 0, EPERM},
    {"mknod", SYS_mknod, 0, 0, 0, EPERM},
    {"mknodat", SYS_mknodat, -1, 0, 0, EPERM},
    {"socket of the internet", SYS_socket, AF_INET, SOCK_STREAM, 0, EPERM},
    {"socket to the hypervisor", SYS_socket, 40, SOCK_STREAM, 0, EPERM},
    {"socket to the kernel", SYS_socket, AF_NETLINK, SOCK_RAW, 0, EPERM},
    {"socket of the internet with high bits", SYS_socket, HIGH | AF_INET, SOCK_STREAM, 0, EPERM},
    {"setsockopt SO_ATTACH_FILTER", SYS_setsockopt, -1, SOL_SOCKET, SO_ATTACH_FILTER, EPERM},
    {"setsockopt of another level", SYS_setsockopt, -1, 6, SO_REUSEADDR, EPERM},
    {"ioctl TIOCSTI", SYS_ioctl, -1, TIOCSTI, 0, EPERM},
    {"ioctl TIOCSTI with high bits", SYS_ioctl, -1, HIGH | TIOCSTI, 0, EPERM},
    {"fcntl F_SETLEASE", SYS_fcntl, -1, F_SETLEASE, 0, EPERM},
    {"fcntl F_SETLEASE with high bits", SYS_fcntl, -1, HIGH | F_SETLEASE, 0, EPERM},
    {"name_to_handle_at", SYS_name_to_handle_at, -1, 0, 0, EPERM},
    {"open_by_handle_at", SYS_open_by_handle_at, -1, 0, 0, EPERM},
    {"fanotify_init", SYS_fanotify_init, -1, -1, 0, EPERM},
    {"swapon", SYS_swapon, 0, 0, 0, EPERM},
    {"reboot", SYS_reboot, 0, 0, 0, EPERM},
    {"finit_module", SYS_finit_module, -1, 0, 0, EPERM},
    {"iopl", SYS_iopl, 99, 0, 0, EPERM},
    {"modify_ldt", SYS_modify_ldt, 0, 0, 0, EPERM},
    {"arch_prctl ARCH_GET_GS", SYS_arch_prctl, 0x1004, 0, 0, EPERM},
    {"shmget", SYS_shmget, 1, 0, 0, EPERM},
    {"msgget", SYS_msgget, 1, 0, 0, EPERM},
    {"mq_open", SYS_mq_open, 0, 0, 0, EPERM},
    {"move_pages", SYS_move_pages, -1, 0, 0, EPERM},
    {"clock_settime", SYS_clock_settime, 999, 0, 0, EPERM},
    {"settimeofday", SYS_settimeofday, 1, 0, 0, EPERM},
    {"sethostname", SYS_sethostname, 0, -1, 0, EPERM},
    {"prlimit64 of pid 1", SYS_prlimit64, 1, 99, 0, EPERM},
    {"setpriority of a user", SYS_setpriority, PRIO_USER, 0, 0, EPERM},
    {"sched_setscheduler", SYS_sched_setscheduler, 0, 99, 0, EPERM},
    {"sched_setaffinity of pid 1", SYS_sched_setaffinity, 1, 8, 0, EPERM},
    {"mlockall", SYS_mlockall, 99, 0, 0, EPERM},
    {"syncfs", SYS_syncfs, -1, 0, 0, EPERM},
    {"cachestat, which is newer than the list", 451, -1, 0, 0, ENOSYS},
    {"a number nobody uses", 5000, 0, 0, 0, ENOSYS},
};

/* Wrong arguments again: what matters is that the kernel itself answers. */
static const struct trial allowed[] = {
    {"read", SYS_read, -1, 0, 0, EBADF},
    {"openat", SYS_openat, -1, 0, 0, EFAULT},
    {"getpid", SYS_getpid, 0, 0, 0, 0},
    {"mmap", SYS_mmap, 0, 0, 0, EINVAL},
    {"futex", SYS_futex, 0, FUTEX_WAIT, 0, EFAULT},
    {"wait4", SYS_wait4, -1, 0, 0, ECHILD},
    {"execveat", SYS_execveat, -1, 0, 0, EFAULT},
    {"ioctl FIONREAD", SYS_ioctl, -1, FIONREAD, 0, EBADF},
    {"ioctl FIONREAD with high bits", SYS_ioctl, -1, HIGH | FIONREAD, 0, EBADF},
    {"ioctl PAGEMAP_SCAN, sign-extended", SYS_ioctl, -1, (int)0xc0606610, 0, EBADF},
    {"fcntl F_GETFL", SYS_fcntl, -1, F_GETFL, 0, EBADF},
    {"fcntl F_OFD_SETLK", SYS_fcntl, -1, F_OFD_SETLK, 0, EBADF},
    {"prctl PR_GET_DUMPABLE", SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0},
    {"prctl PR_SET_NAME", SYS_prctl, PR_SET_NAME, 0, 0, EFAULT},
    {"personality, to ask", SYS_personality, 0xffffffff, 0, 0, 0},
    {"personality, to ask with -1", SYS_personality, -1, 0, 0, 0},
    {"prlimit64 of oneself", SYS_prlimit64, 0, 99, 0, EINVAL},
    {"setpriority of oneself", SYS_setpriority, PRIO_PROCESS, 0, 19, 0},
    {"kill", SYS_kill, 0, 99, 0, EINVAL},
    {"landlock_create_ruleset", SYS_landlock_create_ruleset, 0, 0, 99, EINVAL},
    {"setsockopt SO_REUSEADDR", SYS_setsockopt, -1, SOL_SOCKET, SO_REUSEADDR, EBADF},
    {"socketpair of streams", SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, EFAULT},
    {"arch_prctl ARCH_GET_FS", SYS_arch_prctl, 0x1003, 0, 0, EFAULT},
    {"removexattr", SYS_removexattr, 0, 0, 0, EFAULT},
};

static const struct trial only_full[] = {
    {"socket", SYS_socket, AF_UNIX, 9, 0, ESOCKTNOSUPPORT},
    {"connect", SYS_connect, -1, 0, 0, EBADF},
    {"socketpair of datagrams", SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, EFAULT},
    {"setpgid", SYS_setpgid, 0, -1, 0, EINVAL},
    {"memfd_create", SYS_memfd_create, 0, 0, 0, EFAULT},
    {"sched_setaffinity", SYS_sched_setaffinity, 0, 0, 0, EINVAL},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Runs in a child whose last word is a line on the pipe; nothing there means that all went well. */
static void complain(int out, const char *what, int got)
{
    char line[128];
    int len = snprintf(line, sizeof line, "%s: errno %d", what, got);
    (void)!write(out, line, (size_t)len);
    _exit(1);
}

static void enter(const struct filter *outer, int out)
{
    int why = confine_no_new_privs();
    if (!why)
        why = filter_load(outer);
    if (!why)
        why = filter_load_seal();
    if (why)
        complain(out, "load", why);
}

/* Calls `body` in a sealed child and returns how it ended; fails when it complained. */
static int in_child(const struct filter_policy *policy, void (*body)(int out, const void *arg),
                    const void *arg)
{
    struct filter outer;
    struct err e = {0};
    assert_int_equal(filter_build(policy, &outer, &e), 0);
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        enter(&outer, ends[1]);
        body(ends[1], arg);
        _exit(0);
    }
    assert_true(pid > 0);
    close(ends[1]);
    char line[128] = "";
    ssize_t n = read(ends[0], line, sizeof line - 1);
    line[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    filter_done(&outer);
    assert_string_equal(line, "");
    return status;
}

struct trials {
    const struct trial *all;
    size_t count;
    int instead; /* of what each wants, if not 0 */
};

static void try_all(int out, const void *arg)
{
    const struct trials *trials = arg;
    for (size_t i = 0; i < trials->count; i++) {
        const struct trial *t = &trials->all[i];
        errno = 0;
        int got = syscall(t->nr, t->a, t->b, t->c, 0, 0, 0) < 0 ? errno : 0;
        if (got != (trials->instead ? trials->instead : t->want))
            complain(out, t->name, got);
    }
}

static void check(const struct filter_policy *policy, struct trials trials)
{
    int status = in_child(policy, try_all, &trials);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_not_on_the_list_is_denied(void **state)
{
    (void)state;
    check(&full, (struct trials){denied, COUNT(denied), 0});
    check(&container, (struct trials){denied, COUNT(denied), 0});
}

/* Otherwise the test above could not fail. */
static void without_the_filter_root_would_not_be_denied(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < COUNT(denied); i++) {
            const struct trial *t = &denied[i];
            errno = 0;
            if (t->want == EPERM && syscall(t->nr, t->a, t->b, t->c, 0, 0, 0) < 0 && errno == EPERM)
                complain(STDERR_FILENO, t->name, errno);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void what_is_on_the_list_reaches_the_kernel(void **state)
{
    (void)state;
    check(&full, (struct trials){allowed, COUNT(allowed), 0});
    check(&container, (struct trials){allowed, COUNT(allowed), 0});
}

static void a_container_gets_less(void **state)
{
    (void)state;
    check(&full, (struct trials){only_full, COUNT(only_full), 0});
    check(&container, (struct trials){only_full, COUNT(only_full), EPERM});
}

static void call_i386(int out, const void *arg)
{
    (void)arg;
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) /* getpid */ : "memory");
    complain(out, "the i386 entry works", (int)result);
}

static void call_x32(int out, const void *arg)
{
    (void)arg;
    (void)syscall(0x40000000L | SYS_getpid);
    complain(out, "the x32 entry returned", errno);
}

static void another_entry_kills(void **state)
{
    (void)state;
    int status = in_child(&full, call_i386, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
    status = in_child(&full, call_x32, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

static pthread_barrier_t sealed;

static void *try_late(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&sealed);
    errno = 0;
    (void)syscall(SYS_unshare, 1L << 62);
    return (void *)(intptr_t)errno;
}

static void a_thread_that_was_there_before_is_sealed_too(void **state)
{
    (void)state;
    struct filter outer;
    struct err e = {0};
    assert_int_equal(filter_build(&full, &outer, &e), 0);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_barrier_init(&sealed, NULL, 2) || pthread_create(&thread, NULL, try_late, NULL))
            _exit(2);
        enter(&outer, STDERR_FILENO);
        pthread_barrier_wait(&sealed);
        pthread_join(thread, &result);
        _exit((intptr_t)result == EPERM ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    filter_done(&outer);
    assert_int_equal(status, 0);
}

/* Between outer and seal the kernel still has its setup to do. */
static void before_the_seal_setup_calls_work(void **state)
{
    (void)state;
    struct filter outer;
    struct err e = {0};
    assert_int_equal(filter_build(&container, &outer, &e), 0);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (confine_no_new_privs() || filter_load(&outer))
            _exit(2);
        bool is_there = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        prctl(PR_SET_MM, 99, 0, 0, /* must be 0 */ 1) == -1 && errno == EINVAL;
        _exit(is_there ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    filter_done(&outer);
    assert_int_equal(status, 0);
}

static void pid_1_may_wait_and_exit_and_nothing_else(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (confine_no_new_privs() || filter_load_init())
            _exit(2);
        (void)syscall(SYS_waitid, P_ALL, 0, NULL, WEXITED, NULL);
        syscall(SYS_exit_group, 7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);

    pid = fork();
    if (pid == 0) {
        if (confine_no_new_privs() || filter_load_init())
            _exit(2);
        (void)syscall(SYS_getpid);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* Ends as the call that is tried says: killed, or with 7. */
static int try_parked(long number)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (confine_no_new_privs() || filter_load_parked())
            _exit(2);
        (void)syscall(number, -1, 0, 0, 0, 0);
        syscall(SYS_exit_group, 7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void a_parked_pid_1_may_receive_mount_and_lock_itself_in(void **state)
{
    (void)state;
    static const long may[] = {SYS_recvmsg, SYS_move_mount, SYS_capset, SYS_close_range};
    static const long may_not[] = {SYS_read, SYS_openat, SYS_mount,  SYS_clone,
                                   SYS_kill, SYS_execve, SYS_socket, SYS_mmap};
    for (size_t i = 0; i < sizeof may / sizeof *may; i++)
        assert_int_equal(try_parked(may[i]), 7);
    for (size_t i = 0; i < sizeof may_not / sizeof *may_not; i++)
        assert_int_equal(try_parked(may_not[i]), -SIGSYS);
}

static void a_parked_pid_1_becomes_an_ordinary_one(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (confine_no_new_privs() || filter_load_parked() || filter_load_init())
            _exit(2);
        (void)syscall(SYS_move_mount, -1, "", -1, "", 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* Signal 0 only asks whether one may. */
static void pid_1_may_signal_its_group_and_nobody_else(void **state)
{
    (void)state;
    for (pid_t whom = 0; whom < 2; whom++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            if (confine_no_new_privs() || filter_load_init())
                _exit(2);
            (void)syscall(SYS_kill, whom, 0);
            syscall(SYS_exit_group, 7);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(whom == 0 ? WIFEXITED(status) : WIFSIGNALED(status));
    }
}

static void nothing_loads_without_no_new_privs_unless_privileged(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (confine_capabilities())
            _exit(2);
        _exit(filter_load_seal() == EACCES ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void the_seal_is_small(void **state)
{
    (void)state;
    assert_true(filter_seal().count <= 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_on_the_list_is_denied),
        cmocka_unit_test(without_the_filter_root_would_not_be_denied),
        cmocka_unit_test(what_is_on_the_list_reaches_the_kernel),
        cmocka_unit_test(a_container_gets_less),
        cmocka_unit_test(another_entry_kills),
        cmocka_unit_test(a_thread_that_was_there_before_is_sealed_too),
        cmocka_unit_test(before_the_seal_setup_calls_work),
        cmocka_unit_test(pid_1_may_wait_and_exit_and_nothing_else),
        cmocka_unit_test(a_parked_pid_1_may_receive_mount_and_lock_itself_in),
        cmocka_unit_test(a_parked_pid_1_becomes_an_ordinary_one),
        cmocka_unit_test(pid_1_may_signal_its_group_and_nobody_else),
        cmocka_unit_test(nothing_loads_without_no_new_privs_unless_privileged),
        cmocka_unit_test(the_seal_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
