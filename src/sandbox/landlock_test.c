/* What landlock.h promises: the rights by ABI as numbers, and the fence on the running kernel. */
#include "sandbox/landlock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/confine.h"

static void each_abi_handles_what_it_knows_and_no_more(void **state)
{
    (void)state;
    static const struct landlock_handled want[] = {
        {0, 0, 0},      {0x1fff, 0, 0},  {0x3fff, 0, 0},  {0x7fff, 0, 0},
        {0x7fff, 3, 0}, {0xffff, 3, 0},  {0xffff, 3, 3},  {0xffff, 3, 3},
        {0xffff, 3, 3}, {0x1ffff, 3, 3}, {0x1ffff, 3, 3}, /* an ABI of the future */
    };
    for (int abi = 0; abi < (int)(sizeof want / sizeof *want); abi++) {
        struct landlock_handled got = landlock_handled(abi);
        assert_memory_equal(&got, &want[abi], sizeof got);
    }
}

static void no_right_goes_beyond_what_the_abi_handles(void **state)
{
    (void)state;
    for (int abi = 1; abi <= 10; abi++)
        for (int right = LANDLOCK_READ; right <= LANDLOCK_WRITE; right++)
            assert_int_equal(landlock_access((enum landlock_right)right, true, abi) &
                                 ~landlock_handled(abi).fs,
                             0);
}

static void rights_are_what_they_say(void **state)
{
    (void)state;
    enum { EXECUTE = 1, WRITE = 2, READ = 4, LIST = 8, MAKE_CHAR = 64, MAKE_BLOCK = 2048 };
    enum { TRUNCATE = 1 << 14, IOCTL_DEV = 1 << 15, RESOLVE_UNIX = 1 << 16 };
    assert_int_equal(landlock_access(LANDLOCK_READ, true, 9), EXECUTE | READ | LIST);
    assert_int_equal(landlock_access(LANDLOCK_LIST, true, 9), LIST);
    assert_int_equal(landlock_access(LANDLOCK_DEV, true, 9), READ | LIST | WRITE | TRUNCATE);
    uint64_t write = landlock_access(LANDLOCK_WRITE, true, 9);
    assert_int_equal(write, 0x1ffff & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV | RESOLVE_UNIX));

    assert_int_equal(landlock_access(LANDLOCK_READ, false, 9), EXECUTE | READ);
    assert_int_equal(landlock_access(LANDLOCK_LIST, false, 9), 0);
    assert_int_equal(landlock_access(LANDLOCK_DEV, false, 9), READ | WRITE | TRUNCATE);
    assert_int_equal(landlock_access(LANDLOCK_WRITE, false, 9), EXECUTE | READ | WRITE | TRUNCATE);
    assert_int_equal(landlock_access(LANDLOCK_WRITE, false, 1), EXECUTE | READ | WRITE);
}

/* A tree for the tests on the kernel:  read/file  write/one/  write/two/  secret/file  */
static char base[64];

static void at(char *ret, const char *name)
{
    (void)snprintf(ret, 128, "%s/%s", base, name);
}

static void touch(const char *name)
{
    char path[128];
    at(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    close(fd);
}

static int make_tree(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof base, "/tmp/landlock-test-XXXXXX");
    if (!mkdtemp(base))
        return -1;
    static const char *const dirs[] = {"read", "write", "write/one", "write/two", "secret"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char path[128];
        at(path, dirs[i]);
        if (mkdir(path, 0700))
            return -1;
    }
    touch("read/file");
    touch("write/file");
    touch("secret/file");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    static const char *const names[] = {
        "write/one/moved", "write/two/moved", "write/link", "write/fifo", "write/file", "read/file",
        "secret/file",     "write/one",       "write/two",  "write",      "read",       "secret"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        at(path, names[i]);
        (void)remove(path);
    }
    return rmdir(base);
}

/* 0 or the errno. */
static int try_open(const char *name, int flags)
{
    char path[128];
    at(path, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* In the fenced child. A failed check says its line number. */
#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static int look_around(void)
{
    CHECK(try_open("read/file", O_RDONLY) == 0);
    CHECK(try_open("read", O_RDONLY | O_DIRECTORY) == 0);
    CHECK(try_open("read/file", O_WRONLY) == EACCES);
    CHECK(try_open("read/new", O_WRONLY | O_CREAT) == EACCES);
    CHECK(try_open("secret/file", O_RDONLY) == EACCES);
    CHECK(try_open("secret", O_RDONLY | O_DIRECTORY) == EACCES);
    CHECK(try_open(".", O_RDONLY | O_DIRECTORY) == EACCES);
    CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    CHECK(open("/dev/null", O_RDWR | O_CLOEXEC) >= 0);
    return 0;
}

static int use_own_files(int abi)
{
    char one[128], two[128], link[128], fifo[128], node[128];
    at(one, "write/one/moved");
    at(two, "write/two/moved");
    at(link, "write/link");
    at(fifo, "write/fifo");
    at(node, "write/node");
    CHECK(try_open("write/one/moved", O_RDWR | O_CREAT | O_TRUNC) == 0);
    CHECK(abi < 2 || rename(one, two) == 0);
    CHECK(symlink("nowhere", link) == 0);
    CHECK(mkfifo(fifo, 0600) == 0);
    CHECK(unlink(abi < 2 ? one : two) == 0);
    CHECK(truncate(link, 0) < 0 && errno == ENOENT);
    CHECK(mknod(node, S_IFCHR | 0600, makedev(1, 3)) < 0 && (errno == EACCES || errno == EPERM));
    CHECK(mknod(node, S_IFBLK | 0600, makedev(7, 0)) < 0 && (errno == EACCES || errno == EPERM));
    char script[128];
    at(script, "write/file");
    CHECK(access(script, X_OK) == 0);
    return 0;
}

static int reach_out(int abi, const struct sockaddr_un *name, socklen_t name_len)
{
    if (abi >= 4) {
        int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK(connect(tcp, (struct sockaddr *)&to, sizeof to) < 0 && errno == EACCES);
        CHECK(bind(tcp, (struct sockaddr *)&to, sizeof to) < 0 && errno == EACCES);
    }
    if (abi >= 6) {
        int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(connect(sock, (const struct sockaddr *)name, name_len) < 0 && errno == EPERM);
        CHECK(kill(getppid(), 0) < 0 && errno == EPERM);
        CHECK(kill(getpid(), 0) == 0);
    }
    return 0;
}

static void the_fence_holds(void **state)
{
    (void)state;
    int abi = landlock_abi();
    if (abi == 0)
        skip();
    char read_path[128], write_path[128];
    at(read_path, "read");
    at(write_path, "write");
    const struct landlock_rule rules[] = {
        {read_path, LANDLOCK_READ, false},
        {write_path, LANDLOCK_WRITE, false},
        {"/dev/null", LANDLOCK_DEV, false},
        {"/no/such/path", LANDLOCK_READ, true},
    };
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int len =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "landlock-test-%d", (int)getpid());
    socklen_t name_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    int outside = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(outside, (struct sockaddr *)&name, name_len), 0);
    assert_int_equal(listen(outside, 1), 0);

    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const char *path;
        int line = confine_no_new_privs() || landlock_restrict(rules, 4, &path) ? __LINE__ : 0;
        if (!line)
            line = look_around();
        if (!line)
            line = use_own_files(abi);
        if (!line)
            line = reach_out(abi, &name, name_len);
        if (line)
            (void)dprintf(STDERR_FILENO, "landlock_test.c:%d: errno %d\n", line, errno);
        _exit(line ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(outside);
    assert_int_equal(status, 0);
}

/* Runs in a child, because a rule that works would fence in the test itself. */
static int restrict_with(const struct landlock_rule *rule, bool *ret_is_named)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const char *path = "";
        int why = confine_no_new_privs();
        if (!why)
            why = landlock_restrict(rule, 1, &path);
        _exit(why | (path == rule->path ? 128 : 0));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    *ret_is_named = WEXITSTATUS(status) & 128;
    return WEXITSTATUS(status) & 127;
}

static void a_rule_that_cannot_be_made_fails_and_is_named(void **state)
{
    (void)state;
    if (landlock_abi() == 0)
        skip();
    bool is_named = false;
    struct landlock_rule missing = {"/no/such/path", LANDLOCK_READ, false};
    assert_int_equal(restrict_with(&missing, &is_named), ENOENT);
    assert_true(is_named);
    struct landlock_rule file = {"/dev/null", LANDLOCK_LIST, false};
    assert_int_equal(restrict_with(&file, &is_named), ENOTDIR);
    assert_true(is_named);
    struct landlock_rule below_file = {"/dev/null/x", LANDLOCK_READ, true};
    assert_int_equal(restrict_with(&below_file, &is_named), ENOTDIR);
    struct landlock_rule fine = {"/dev", LANDLOCK_LIST, false};
    assert_int_equal(restrict_with(&fine, &is_named), 0);
    assert_false(is_named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_abi_handles_what_it_knows_and_no_more),
        cmocka_unit_test(no_right_goes_beyond_what_the_abi_handles),
        cmocka_unit_test(rights_are_what_they_say),
        cmocka_unit_test(the_fence_holds),
        cmocka_unit_test(a_rule_that_cannot_be_made_fails_and_is_named),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
