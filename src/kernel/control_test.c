#include "kernel/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/fdio.h"

static int engine = -1; /* the other end */

static int open_control(void **state)
{
    (void)state;
    int ends[2];
    struct err e;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(control_init(ends[0], &e), 0);
    engine = ends[1];
    return 0;
}

static int close_control(void **state)
{
    (void)state;
    return close(engine); /* the kernel's end stays open until the next test replaces it */
}

static void engine_sends(enum frame_kind kind, const char *code)
{
    struct buf out = BUF_INIT(4096);
    struct err e;
    size_t mark = frame_begin(&out, kind);
    if (code)
        field_put(&out, FIELD_CODE, code, strlen(code));
    frame_end(&out, mark);
    assert_int_equal(fd_write_all(engine, out.bytes, out.len, &e), 0);
    buf_done(&out);
}

/* The frame and, with its first byte, the descriptors. */
static void engine_passes(enum frame_kind kind, const char *code, const int *fds, size_t count)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e;
    size_t mark = frame_begin(&out, kind);
    if (code)
        field_put(&out, FIELD_CODE, code, strlen(code));
    frame_end(&out, mark);
    assert_int_equal(fd_send(engine, out.bytes, 1, fds, count, &e), 0);
    assert_int_equal(fd_write_all(engine, out.bytes + 1, out.len - 1, &e), 0);
    buf_done(&out);
}

static enum frame_kind engine_reads(void)
{
    uint8_t head[FRAME_HEAD];
    size_t len;
    struct err e;
    assert_int_equal(fd_read_all(engine, head, sizeof head, &len, &e), 0);
    assert_int_equal(len, sizeof head);
    return head[4];
}

static void assert_next_is(const char *code)
{
    struct request request = control_next();
    struct field f;
    assert_int_equal(request.frame.kind, FRAME_RUN);
    assert_int_equal(request.fd, -1);
    assert_true(field_find(&request.frame, FIELD_CODE, &f));
    assert_int_equal(f.len, strlen(code));
    assert_memory_equal(f.bytes, code, f.len);
}

static void *sync_once(void *arg)
{
    (void)arg;
    return control_sync() ? "done" : NULL;
}

static void *next_once(void *arg)
{
    assert_next_is(arg);
    return "done";
}

static void requests_come_one_by_one(void **state)
{
    (void)state;
    engine_sends(FRAME_RUN, "first");
    assert_next_is("first");
    engine_sends(FRAME_RUN, "second");
    assert_next_is("second");
}

static void requests_that_come_together_are_given_out_in_order(void **state)
{
    (void)state;
    engine_sends(FRAME_ENTER, NULL);
    engine_sends(FRAME_RESEED, NULL);
    engine_sends(FRAME_WARM, NULL);
    engine_sends(FRAME_RUN, "last");
    assert_int_equal(control_next().frame.kind, FRAME_ENTER);
    assert_int_equal(control_next().frame.kind, FRAME_RESEED);
    assert_int_equal(control_next().frame.kind, FRAME_WARM);
    assert_next_is("last");
}

static ino_t inode_of(int fd)
{
    struct stat found;
    assert_int_equal(fstat(fd, &found), 0);
    return found.st_ino;
}

static void assert_next_brings(enum frame_kind kind, int fd)
{
    struct request request = control_next();
    assert_int_equal(request.frame.kind, kind);
    assert_true(request.fd >= 0);
    assert_int_equal(inode_of(request.fd), inode_of(fd));
    assert_int_equal(fcntl(request.fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(close(request.fd), 0);
}

static void a_descriptor_comes_with_its_frame(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    engine_passes(FRAME_SLEEP, NULL, &ends[1], 1);
    assert_next_brings(FRAME_SLEEP, ends[1]);
    engine_sends(FRAME_ENTER, NULL); /* read together with what follows */
    engine_passes(FRAME_RESTORE, NULL, &ends[0], 1);
    assert_int_equal(control_next().fd, -1);
    assert_next_brings(FRAME_RESTORE, ends[0]);
    engine_sends(FRAME_SAVE, NULL);
    assert_int_equal(control_next().fd, -1);
    close(ends[0]);
    close(ends[1]);
}

/* Larger than one read: the descriptor is there long before the frame is. */
static void a_descriptor_waits_for_the_rest_of_its_frame(void **state)
{
    (void)state;
    static char long_code[40 << 10];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    memset(long_code, 'x', sizeof long_code - 1);
    engine_passes(FRAME_COPY, long_code, &ends[1], 1);
    assert_next_brings(FRAME_COPY, ends[1]);
    close(ends[0]);
    close(ends[1]);
}

/* True when this end is the only one left. */
static bool is_hung_up(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP);
}

static void descriptors_that_nobody_takes_are_closed(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    engine_passes(FRAME_RUN, "with a gift", &ends[1], 1);
    assert_next_is("with a gift");
    int twice[] = {ends[1], ends[1]};
    engine_passes(FRAME_SLEEP, NULL, twice, 2);
    struct request request = control_next();
    close(ends[1]);
    assert_false(is_hung_up(ends[0]));
    close(request.fd);
    assert_true(is_hung_up(ends[0]));
    close(ends[0]);
}

static void waiting_ends_with_the_time_or_with_a_request(void **state)
{
    (void)state;
    assert_false(control_wait(1));
    engine_sends(FRAME_RUN, "one");
    assert_true(control_wait(60000));
    engine_sends(FRAME_RUN, "two");
    assert_next_is("one");
    assert_true(control_wait(60000));
    assert_next_is("two");
    assert_false(control_wait(0));
}

/* As in a process with the memory of another: half a frame and a request are left over from before,
 * and neither is meant for it. */
static void a_new_beginning_forgets_everything(void **state)
{
    engine_sends(FRAME_WARM, NULL);
    engine_sends(FRAME_RUN, "never read");
    assert_int_equal(control_next().frame.kind, FRAME_WARM);
    assert_int_equal(write(engine, "\1\0\0", 3), 3);
    int before = engine;
    open_control(state);
    engine_sends(FRAME_RUN, "fresh");
    assert_next_is("fresh");
    assert_false(control_wait(0));
    close(before);
}

static void while_mute_nothing_is_sent_and_nobody_waits(void **state)
{
    (void)state;
    control_mute(true);
    assert_true(control_sync());
    control_mute(false);
    pthread_t asker;
    void *ret;
    assert_int_equal(pthread_create(&asker, NULL, sync_once, NULL), 0);
    assert_int_equal(engine_reads(), FRAME_SYNC); /* this one, not the other */
    engine_sends(FRAME_ACK, NULL);
    assert_int_equal(pthread_join(asker, &ret), 0);
}

static void asking_waits_for_the_answer(void **state)
{
    (void)state;
    pthread_t asker;
    void *ret;
    assert_int_equal(pthread_create(&asker, NULL, sync_once, NULL), 0);
    assert_int_equal(engine_reads(), FRAME_SYNC);
    assert_int_equal(pthread_tryjoin_np(asker, &ret), EBUSY);
    engine_sends(FRAME_ACK, NULL);
    assert_int_equal(pthread_join(asker, &ret), 0);
    assert_string_equal(ret, "done");
}

static void a_request_that_comes_before_the_answer_is_kept(void **state)
{
    (void)state;
    pthread_t asker;
    void *ret;
    assert_int_equal(pthread_create(&asker, NULL, sync_once, NULL), 0);
    assert_int_equal(engine_reads(), FRAME_SYNC);
    engine_sends(FRAME_RUN, "early");
    engine_sends(FRAME_ACK, NULL);
    assert_int_equal(pthread_join(asker, &ret), 0);
    assert_next_is("early");
}

static void an_answer_that_the_idle_thread_reads_reaches_the_asker(void **state)
{
    (void)state;
    enum { ROUNDS = 200 };
    for (int i = 0; i < ROUNDS; i++) {
        pthread_t idle, asker;
        void *ret;
        assert_int_equal(pthread_create(&idle, NULL, next_once, "after"), 0);
        assert_int_equal(pthread_create(&asker, NULL, sync_once, NULL), 0);
        assert_int_equal(engine_reads(), FRAME_SYNC);
        engine_sends(FRAME_ACK, NULL);
        engine_sends(FRAME_RUN, "after");
        assert_int_equal(pthread_join(asker, &ret), 0);
        assert_int_equal(pthread_join(idle, &ret), 0);
    }
}

static void many_askers_all_get_their_answer(void **state)
{
    (void)state;
    enum { ASKERS = 16 };
    pthread_t askers[ASKERS];
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, sync_once, NULL), 0);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(engine_reads(), FRAME_SYNC);
        engine_sends(FRAME_ACK, NULL);
    }
    for (int i = 0; i < ASKERS; i++) {
        void *ret;
        assert_int_equal(pthread_join(askers[i], &ret), 0);
        assert_string_equal(ret, "done");
    }
}

/* Runs in a forked child and gives its exit status. */
static int status_of(int (*in_child)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(in_child());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int use_it_in_a_child(void)
{
    return control_is_ours() || control_sync() ? 99 : 42;
}

static void a_forked_child_has_no_socket(void **state)
{
    (void)state;
    assert_int_equal(status_of(use_it_in_a_child), 42);
    assert_true(control_is_ours());
}

static int wait_for_an_engine_that_hangs_up(void)
{
    open_control(NULL);
    (void)close(engine);
    (void)control_next();
    return 99;
}

static int wait_for_an_engine_that_talks_nonsense(void)
{
    open_control(NULL);
    (void)!write(engine, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    (void)control_next();
    return 99;
}

static int wait_while_more_comes_than_may_wait(void)
{
    open_control(NULL);
    engine_sends(FRAME_WARM, NULL);
    (void)control_next();
    for (int i = 0; i <= CONTROL_REQUESTS_MAX; i++)
        engine_sends(FRAME_WARM, NULL);
    (void)control_next();
    return 99;
}

static int wait_for_what_only_a_kernel_says(void)
{
    open_control(NULL);
    engine_sends(FRAME_SLEPT, NULL);
    (void)control_next();
    return 99;
}

static int wait_for_an_answer_nobody_asked_for(void)
{
    open_control(NULL);
    engine_sends(FRAME_ACK, NULL);
    (void)control_next();
    return 99;
}

static void without_an_engine_the_process_ends(void **state)
{
    (void)state;
    assert_int_equal(status_of(wait_for_an_engine_that_hangs_up), 0);
    assert_int_equal(status_of(wait_for_an_engine_that_talks_nonsense), 1);
    assert_int_equal(status_of(wait_for_an_answer_nobody_asked_for), 1);
    assert_int_equal(status_of(wait_while_more_comes_than_may_wait), 1);
    assert_int_equal(status_of(wait_for_what_only_a_kernel_says), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_control, close_control)
    const struct CMUnitTest tests[] = {
        TEST(requests_come_one_by_one),
        TEST(requests_that_come_together_are_given_out_in_order),
        TEST(a_descriptor_comes_with_its_frame),
        TEST(a_descriptor_waits_for_the_rest_of_its_frame),
        TEST(descriptors_that_nobody_takes_are_closed),
        TEST(waiting_ends_with_the_time_or_with_a_request),
        TEST(a_new_beginning_forgets_everything),
        TEST(while_mute_nothing_is_sent_and_nobody_waits),
        TEST(asking_waits_for_the_answer),
        TEST(a_request_that_comes_before_the_answer_is_kept),
        TEST(an_answer_that_the_idle_thread_reads_reaches_the_asker),
        TEST(many_askers_all_get_their_answer),
        TEST(a_forked_child_has_no_socket),
        TEST(without_an_engine_the_process_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
