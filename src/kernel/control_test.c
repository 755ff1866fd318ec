#include "kernel/control.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
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
    struct frame frame = control_next();
    struct field f;
    assert_int_equal(frame.kind, FRAME_RUN);
    assert_true(field_find(&frame, FIELD_CODE, &f));
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
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_control, close_control)
    const struct CMUnitTest tests[] = {
        TEST(requests_come_one_by_one),
        TEST(asking_waits_for_the_answer),
        TEST(a_request_that_comes_before_the_answer_is_kept),
        TEST(an_answer_that_the_idle_thread_reads_reaches_the_asker),
        TEST(many_askers_all_get_their_answer),
        TEST(a_forked_child_has_no_socket),
        TEST(without_an_engine_the_process_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
