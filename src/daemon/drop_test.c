/* What drop.h promises. Each change of identity happens in a child, which says by its exit status
 * what was wrong; as an ordinary user those that need root are skipped. */
#include "daemon/drop.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("not root: skipped\n");
        skip();
    }
}

/* Runs `body` in a child; its exit status. */
static int in_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Fails in a child with the number of the line. */
#define CHECK(what)                                                \
    do {                                                           \
        if (!(what)) {                                             \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #what); \
            return 1;                                              \
        }                                                          \
    } while (0)

static int drop(void)
{
    struct err e = {0};
    struct drop_user who;
    if (drop_find("190000", &who, &e) || drop_to(&who, DROP_ALL, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return -1;
    }
    return 0;
}

/* The lines of /proc/self/status that begin so, with their values as expected. */
static int status_says(const char *line)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, line) != NULL;
}

static int has_one_identity(void)
{
    CHECK(setgroups(2, (gid_t[]){4, 27}) == 0);
    CHECK(drop() == 0);
    CHECK(status_says("\nUid:\t190000\t190000\t190000\t190000\n"));
    CHECK(status_says("\nGid:\t190000\t190000\t190000\t190000\n"));
    CHECK(getgroups(0, NULL) == 0);
    return 0;
}

static int has_no_capabilities(void)
{
    CHECK(drop() == 0);
    CHECK(status_says("\nCapInh:\t0000000000000000\n"));
    CHECK(status_says("\nCapPrm:\t0000000000000000\n"));
    CHECK(status_says("\nCapEff:\t0000000000000000\n"));
    CHECK(status_says("\nCapBnd:\t0000000000000000\n"));
    CHECK(status_says("\nCapAmb:\t0000000000000000\n"));
    CHECK(status_says("\nNoNewPrivs:\t1\n"));
    return 0;
}

static int cannot_go_back(void)
{
    CHECK(drop() == 0);
    CHECK(setuid(0) == -1 && seteuid(0) == -1 && setreuid(0, 0) == -1 &&
          setresuid((uid_t)-1, 0, (uid_t)-1) == -1);
    CHECK(setgid(0) == -1 && setgroups(0, NULL) == -1);
    CHECK(open("/etc/shadow", O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES);
    CHECK(kill(getppid(), 0) == -1 && errno == EPERM); /* root: as the spawner is */
    return 0;
}

static int is_hidden_but_sees_itself(void)
{
    static const char *const needed[] = {"/proc/self/stat", "/proc/self/status",
                                         "/proc/self/limits", "/proc/meminfo"};
    CHECK(drop() == 0);
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int fd = open(needed[i], O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0);
        (void)close(fd);
    }
    CHECK(access("/proc/self/fd", R_OK | X_OK) == 0 || open("/proc/self/fd", O_RDONLY) >= 0);
    CHECK(open("/proc/self/task", O_RDONLY | O_CLOEXEC) >= 0);
    struct stat ns;
    CHECK(stat("/proc/self/ns/pid", &ns) == 0);
    return 0;
}

static int is_dumpable_after_exec(void)
{
    CHECK(drop() == 0);
    execl("/bin/sh", "sh", "-c", "test -r /proc/$$/environ", (char *)NULL);
    return 1;
}

/* The tie of the spawner to us: who holds the other end reads the end of file, whatever we are. */
static void a_root_child_sees_the_end_of_a_dropped_parent_by_its_socket(void **state)
{
    (void)state;
    need_root();
    int tie[2], report[2];
    assert_int_equal(pipe2(tie, O_CLOEXEC), 0);
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        pid_t child = fork();
        if (child == 0) { /* the spawner: stays root */
            char byte;
            (void)close(tie[1]);
            ssize_t n = read(tie[0], &byte, 1);
            n = write(report[1], n == 0 ? "e" : "?", 1);
            _exit(n != 1);
        }
        if (drop())
            _exit(1);
        _exit(kill(child, SIGTERM) == -1 && errno == EPERM ? 0 : 2);
    }
    (void)close(tie[0]);
    (void)close(tie[1]);
    (void)close(report[1]);
    int status = 0;
    char byte = 0;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(status, 0);
    assert_int_equal(read(report[0], &byte, 1), 1);
    assert_int_equal(byte, 'e');
    (void)close(report[0]);
}

/* A file of root's can be read, and that is all. */
static int keeps_files_only(void)
{
    struct err e = {0};
    struct drop_user who;
    CHECK(drop_find("190000", &who, &e) == 0);
    CHECK(drop_to(&who, DROP_BUT_FILES, &e) == 0);
    CHECK(status_says("CapPrm:\t000000000000000a")); /* DAC_OVERRIDE, FOWNER */
    CHECK(status_says("CapBnd:\t0000000000000000"));
    CHECK(geteuid() == 190000);
    int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(setuid(0) != 0);
    CHECK(chown("/etc/shadow", 1, 1) != 0);
    return 0;
}

static void where_jails_have_no_mounts_their_files_stay_readable(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(keeps_files_only), 0);
}

static void root_becomes_one_user_with_one_group(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(has_one_identity), 0);
}

static void nothing_of_root_is_left(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(has_no_capabilities), 0);
    assert_int_equal(in_child(cannot_go_back), 0);
}

static void the_process_is_hidden_and_still_works(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(is_hidden_but_sees_itself), 0);
    assert_int_equal(in_child(is_dumpable_after_exec), 0);
}

static void auto_is_cicada_or_a_number_nobody_has(void **state)
{
    (void)state;
    need_root();
    struct err e = {0};
    struct drop_user who = {0};
    assert_int_equal(drop_find("auto", &who, &e), 0);
    assert_true(who.is_change);
    if (strcmp(who.name, "cicada") != 0)
        assert_true(who.uid == DROP_UID || who.uid == DROP_UID_SMALL);
}

static void a_user_is_a_name_or_a_number(void **state)
{
    (void)state;
    need_root();
    struct err e = {0};
    struct drop_user who = {0};
    assert_int_equal(drop_find("daemon", &who, &e), 0);
    assert_string_equal(who.name, "daemon");
    uid_t uid = who.uid;
    gid_t gid = who.gid;
    char number[16];
    (void)snprintf(number, sizeof number, "%u", uid);
    assert_int_equal(drop_find(number, &who, &e), 0);
    assert_true(who.uid == uid && who.gid == gid);
    assert_int_equal(drop_find("123456", &who, &e), 0);
    assert_true(who.uid == 123456 && who.gid == 123456);
    assert_string_equal(who.name, "uid 123456");
}

static void root_and_nobody_known_are_refused(void **state)
{
    (void)state;
    need_root();
    static const char *const names[] = {"root", "0", "no-such-user", "99999999999"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err e = {0};
        struct drop_user who;
        assert_int_equal(drop_find(names[i], &who, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static int as_user(void)
{
    struct err e = {0};
    struct drop_user who;
    CHECK(drop_find("auto", &who, &e) == 0);
    CHECK(!who.is_change && who.uid == geteuid() && who.gid == getegid());
    CHECK(drop_find("daemon", &who, &e) == -1 && e.code == ERR_INVALID);
    CHECK(drop_find("nobody-at-all", &who, &e) == -1);
    CHECK(drop_find("auto", &who, &e) == 0);
    CHECK(drop_to(&who, DROP_ALL, &e) == 0);
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
    return 0;
}

static void a_user_stays_who_he_is(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(as_user));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_becomes_one_user_with_one_group),
        cmocka_unit_test(where_jails_have_no_mounts_their_files_stay_readable),
        cmocka_unit_test(nothing_of_root_is_left),
        cmocka_unit_test(the_process_is_hidden_and_still_works),
        cmocka_unit_test(a_root_child_sees_the_end_of_a_dropped_parent_by_its_socket),
        cmocka_unit_test(auto_is_cicada_or_a_number_nobody_has),
        cmocka_unit_test(a_user_is_a_name_or_a_number),
        cmocka_unit_test(root_and_nobody_known_are_refused),
        cmocka_unit_test(a_user_stays_who_he_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
