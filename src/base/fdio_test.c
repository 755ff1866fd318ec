/* What fdio.h promises. The build wraps read and write for this test, so that they can be
 * interrupted and come back short on demand. */
#include "base/fdio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

ssize_t __real_read(int fd, void *bytes, size_t len);
ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);

static bool is_nervous; /* every second call is interrupted, the others do three bytes at most */
static unsigned calls;

static bool is_interrupted(void)
{
    errno = EINTR;
    return is_nervous && calls++ % 2 == 0;
}

static size_t at_most(size_t len)
{
    return is_nervous && len > 3 ? 3 : len;
}

ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
    return is_interrupted() ? -1 : __real_read(fd, bytes, at_most(len));
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    return is_interrupted() ? -1 : __real_write(fd, bytes, at_most(len));
}

/* Two ends of a socket, closed when the test is left. */
struct pair {
    int near, far;
};

static void pair_done(struct pair *p)
{
    fd_closep(&p->near);
    fd_closep(&p->far);
}

static struct pair sockets(int type)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
    return (struct pair){fds[0], fds[1]};
}

static struct pair packets(void)
{
    return sockets(SOCK_SEQPACKET);
}

static struct pair pipe_of_our_own(void)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    return (struct pair){fds[0], fds[1]};
}

/* How many descriptors are open: the same number before and after means nothing leaked. */
static int open_count(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    assert_non_null(list);
    while (readdir(list))
        count++;
    (void)closedir(list);
    return count;
}

static bool is_same_file(int a, int b)
{
    struct stat sa, sb;
    assert_int_equal(fstat(a, &sa), 0);
    assert_int_equal(fstat(b, &sb), 0);
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static void all_bytes_arrive_though_the_pipe_holds_fewer(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 }; /* sixteen times what a pipe holds */
    scoped(pair_done) struct pair p = pipe_of_our_own();
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        struct err e = {0};
        char *bytes = malloc(SIZE);
        if (!bytes)
            _exit(1);
        for (int i = 0; i < SIZE; i++)
            bytes[i] = (char)(i % 251);
        int failed = fd_write_all(p.far, bytes, SIZE, &e);
        free(bytes);
        _exit(failed ? 1 : 0);
    }
    fd_closep(&p.far);
    p.far = -1;

    struct err e = {0};
    scoped(freep) char *got = malloc(SIZE + 1);
    size_t len = 0;
    assert_non_null(got);
    assert_int_equal(fd_read_all(p.near, got, SIZE + 1, &len, &e), 0);
    assert_int_equal(len, SIZE);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(got[i], (char)(i % 251));

    int status = -1;
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_int_equal(status, 0);
}

static void interruptions_and_short_counts_go_unnoticed(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = pipe_of_our_own();
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    struct err e = {0};
    char got[sizeof text] = {0};
    size_t len = 0;
    is_nervous = true;
    int wrote = fd_write_all(p.far, text, sizeof text, &e);
    int read_back = fd_read_all(p.near, got, sizeof got, &len, &e);
    is_nervous = false;
    assert_int_equal(wrote, 0);
    assert_int_equal(read_back, 0);
    assert_int_equal(len, sizeof text);
    assert_string_equal(got, text);
}

static void reading_stops_at_what_was_asked_for(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = pipe_of_our_own();
    struct err e = {0};
    char got[4] = {0};
    size_t len = 0;
    assert_int_equal(fd_write_all(p.far, "abcdef", 6, &e), 0);
    assert_int_equal(fd_read_all(p.near, got, 3, &len, &e), 0);
    assert_int_equal(len, 3);
    assert_string_equal(got, "abc");
}

static void end_of_file_is_a_short_count_and_no_error(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = pipe_of_our_own();
    struct err e = {0};
    char got[8];
    size_t len = 99;
    assert_int_equal(fd_write_all(p.far, "ab", 2, &e), 0);
    fd_closep(&p.far);
    p.far = -1;
    assert_int_equal(fd_read_all(p.near, got, sizeof got, &len, &e), 0);
    assert_int_equal(len, 2);
    assert_int_equal(fd_read_all(p.near, got, sizeof got, &len, &e), 0);
    assert_int_equal(len, 0);
}

static void a_descriptor_of_the_wrong_kind_is_an_error(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = pipe_of_our_own();
    struct err e = {0};
    char got[1];
    size_t len = 99;
    assert_int_equal(fd_write_all(p.near, "x", 1, &e), -1);
    assert_int_equal(fd_read_all(p.far, got, 1, &len, &e), -1);
    assert_int_equal(len, 99);
    assert_int_equal(fd_set_nonblock(-1, &e), -1);
}

static void a_message_and_its_descriptors_arrive_together(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    scoped(pair_done) struct pair given = pipe_of_our_own();
    struct err e = {0};
    int sent[] = {given.near, given.far}, got[FDIO_FDS_MAX];
    char bytes[16] = {0};
    size_t len = 0, count = 0;

    assert_int_equal(fd_send(p.near, "hello", 5, sent, 2, &e), 0);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, got, FDIO_FDS_MAX, &count, &e), 0);
    assert_int_equal(len, 5);
    assert_string_equal(bytes, "hello");
    assert_int_equal(count, 2);
    assert_true(is_same_file(got[0], given.near));
    assert_true(is_same_file(got[1], given.far));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fcntl(got[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        (void)close(got[i]);
    }
}

static void messages_keep_their_borders(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    struct err e = {0};
    int none[1];
    char bytes[16];
    size_t len = 0, count = 99;
    assert_int_equal(fd_send(p.near, "one", 3, NULL, 0, &e), 0);
    assert_int_equal(fd_send(p.near, "three", 5, NULL, 0, &e), 0);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, none, 0, &count, &e), 0);
    assert_int_equal(len, 3);
    assert_int_equal(count, 0);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, none, 0, &count, &e), 0);
    assert_int_equal(len, 5);
}

static void what_was_said_before_the_other_left_is_heard(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    struct err e = {0};
    int none[1];
    char bytes[16];
    size_t len = 0, count = 99;
    assert_int_equal(fd_send(p.far, "unread", 6, NULL, 0, &e), 0);
    assert_int_equal(fd_send(p.near, "last", 4, NULL, 0, &e), 0);
    (void)close(p.near); /* with something unread: the far end has a reset and the message */
    p.near = -1;
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, none, 0, &count, &e), 0);
    assert_int_equal(len, 4);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, none, 0, &count, &e), 0);
    assert_int_equal(len, 0);
}

static void as_many_descriptors_as_agreed_fit_and_one_more_does_not(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    int sent[FDIO_FDS_MAX], got[FDIO_FDS_MAX];
    for (size_t i = 0; i < FDIO_FDS_MAX; i++)
        sent[i] = p.near;
    int before = open_count();
    struct err e = {0};
    char byte;
    size_t len = 0, count = 0;

    assert_int_equal(fd_send(p.near, "x", 1, sent, FDIO_FDS_MAX, &e), 0);
    assert_int_equal(fd_recv(p.far, &byte, 1, &len, got, FDIO_FDS_MAX, &count, &e), 0);
    assert_int_equal(count, FDIO_FDS_MAX);
    for (size_t i = 0; i < count; i++)
        (void)close(got[i]);

    count = 77;
    assert_int_equal(fd_send(p.near, "x", 1, sent, FDIO_FDS_MAX, &e), 0);
    assert_int_equal(fd_recv(p.far, &byte, 1, &len, got, FDIO_FDS_MAX - 1, &count, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(count, 77);
    assert_int_equal(open_count(), before);
}

static void a_stranger_who_sends_more_than_we_ever_take_leaks_nothing(void **state)
{
    (void)state;
    enum { MANY = 100 };
    scoped(pair_done) struct pair p = packets();
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * MANY)] = {0};
    struct iovec iov = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * MANY);
    for (size_t i = 0; i < MANY; i++)
        memcpy(CMSG_DATA(head) + i * sizeof(int), &p.near, sizeof(int));
    int before = open_count();
    assert_int_equal(sendmsg(p.near, &msg, 0), 1);

    struct err e = {0};
    int got[FDIO_FDS_MAX];
    char byte;
    size_t len, count;
    assert_int_equal(fd_recv(p.far, &byte, 1, &len, got, FDIO_FDS_MAX, &count, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(open_count(), before);
}

static void a_control_message_of_another_kind_is_refused(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    int on = 1;
    assert_int_equal(setsockopt(p.far, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    struct err e = {0};
    int got[FDIO_FDS_MAX];
    char byte;
    size_t len, count;
    int before = open_count();
    assert_int_equal(fd_send(p.near, "x", 1, &p.near, 1, &e), 0);
    assert_int_equal(fd_recv(p.far, &byte, 1, &len, got, FDIO_FDS_MAX, &count, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(open_count(), before);
}

static void a_message_longer_than_agreed_is_refused_with_its_descriptors(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    struct err e = {0};
    int got[FDIO_FDS_MAX];
    char bytes[4];
    size_t len = 99, count = 99;
    int before = open_count();
    assert_int_equal(fd_send(p.near, "12345", 5, &p.near, 1, &e), 0);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, got, FDIO_FDS_MAX, &count, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(len, 99);
    assert_int_equal(open_count(), before);

    assert_int_equal(fd_send(p.near, "1234", 4, NULL, 0, &e), 0);
    assert_int_equal(fd_recv(p.far, bytes, sizeof bytes, &len, got, 0, &count, &e), 0);
    assert_int_equal(len, 4);
}

static void a_peer_that_is_gone_reads_as_the_end_and_writes_as_an_error(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    struct err e = {0};
    int got[1];
    char byte;
    size_t len = 99, count = 99;
    fd_closep(&p.far);
    p.far = -1;
    assert_int_equal(fd_recv(p.near, &byte, 1, &len, got, 1, &count, &e), 0);
    assert_int_equal(len, 0);
    assert_int_equal(count, 0);
    assert_int_equal(fd_send(p.near, "x", 1, NULL, 0, &e), -1);
}

/* Only stream sockets raise SIGPIPE; if this one did, the test would be dead. */
static void writing_to_nobody_is_an_error_and_not_a_signal(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = sockets(SOCK_STREAM);
    struct err e = {0};
    fd_closep(&p.far);
    p.far = -1;
    assert_int_equal(fd_send(p.near, "x", 1, NULL, 0, &e), -1);
}

static void a_non_blocking_socket_without_a_message_says_so(void **state)
{
    (void)state;
    scoped(pair_done) struct pair p = packets();
    struct err e = {0};
    int got[1];
    char byte;
    size_t len, count;
    assert_int_equal(fd_set_nonblock(p.far, &e), 0);
    assert_int_equal(fcntl(p.far, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fd_recv(p.far, &byte, 1, &len, got, 1, &count, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_arrive_though_the_pipe_holds_fewer),
        cmocka_unit_test(interruptions_and_short_counts_go_unnoticed),
        cmocka_unit_test(reading_stops_at_what_was_asked_for),
        cmocka_unit_test(end_of_file_is_a_short_count_and_no_error),
        cmocka_unit_test(a_descriptor_of_the_wrong_kind_is_an_error),
        cmocka_unit_test(a_message_and_its_descriptors_arrive_together),
        cmocka_unit_test(messages_keep_their_borders),
        cmocka_unit_test(what_was_said_before_the_other_left_is_heard),
        cmocka_unit_test(as_many_descriptors_as_agreed_fit_and_one_more_does_not),
        cmocka_unit_test(a_stranger_who_sends_more_than_we_ever_take_leaks_nothing),
        cmocka_unit_test(a_control_message_of_another_kind_is_refused),
        cmocka_unit_test(a_message_longer_than_agreed_is_refused_with_its_descriptors),
        cmocka_unit_test(a_peer_that_is_gone_reads_as_the_end_and_writes_as_an_error),
        cmocka_unit_test(writing_to_nobody_is_an_error_and_not_a_signal),
        cmocka_unit_test(a_non_blocking_socket_without_a_message_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
