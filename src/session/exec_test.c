/* What kernel.h promises about runs, with a scripted stranger in place of kernel and spawner. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/expect.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"

/* The other side: what it says at once, what it says when interrupted, and what it was told. */
struct stranger {
    struct kernel k;
    int handle, control, stream[STREAM_COUNT]; /* its ends */
    struct buf obeys;                          /* frames sent when interrupted */
    struct jail_event end;                     /* sent when killed */
    int interrupts, kills, questions, marks, stop;
    bool is_ending; /* ends the jail, over its memory limit, when it is asked */
    bool is_full;   /* says so when it is asked */
    pthread_t thread;
    char dir[32];
};

static void tell(struct stranger *s, const struct jail_event *event)
{
    uint8_t bytes[JAIL_EVENT_SIZE];
    jail_event_put(event, bytes);
    assert_int_equal(send(s->handle, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
}

static void on_request(struct stranger *s, enum jail_request_kind kind)
{
    s->questions += kind == JAIL_USAGE;
    s->marks += kind == JAIL_MARK;
    if (kind == JAIL_MARK)
        tell(s, &(struct jail_event){.kind = JAIL_USED});
    if (kind == JAIL_USAGE && s->is_full)
        tell(s, &(struct jail_event){.kind = JAIL_FULL});
    if (kind == JAIL_USAGE && s->is_ending)
        tell(s, &(struct jail_event){.kind = JAIL_ENDED, .cause = JAIL_OVER_MEMORY});
    else if (kind == JAIL_USAGE)
        tell(s, &(struct jail_event){.kind = JAIL_USED, .cpu_us = 7000, .memory_peak = 99});
    if (kind == JAIL_INTERRUPT && s->interrupts++ == 0 && s->obeys.len)
        (void)!write(s->control, s->obeys.bytes, s->obeys.len);
    if (kind == JAIL_KILL && s->kills++ == 0)
        tell(s, &s->end);
}

static void *answer(void *arg)
{
    struct stranger *s = arg;
    for (;;) {
        struct pollfd ready[] = {{.fd = s->handle, .events = POLLIN},
                                 {.fd = s->stop, .events = POLLIN}};
        uint8_t bytes[JAIL_REQUEST_SIZE];
        struct jail_request request;
        struct err e = {0};
        (void)poll(ready, 2, -1);
        if (ready[0].revents & POLLIN) {
            ssize_t n = recv(s->handle, bytes, sizeof bytes, 0);
            if (n > 0 && jail_request_get(bytes, (size_t)n, &request, &e) == 0)
                on_request(s, request.kind);
        }
        if (ready[1].revents)
            return NULL;
    }
}

static int set_up(void **state)
{
    struct stranger *s = calloc(1, sizeof *s);
    int pair[2];
    struct err e = {0};
    memcpy(s->dir, "/tmp/exec-test-XXXXXX", 22);
    assert_non_null(mkdtemp(s->dir));
    s->k = (struct kernel){.state = KERNEL_IDLE,
                           .limits = LIMITS_DEFAULT,
                           .in = FRAME_READER_INIT,
                           .out_fd = -1,
                           .counters = COUNTERS_NONE,
                           .out = BUF_INIT(1 << 20)};
    s->k.data.dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->k.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    s->k.handle = pair[0], s->handle = pair[1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s->k.control = pair[0], s->control = pair[1];
    for (int i = 0; i < STREAM_COUNT; i++) {
        assert_int_equal(pipe(pair), 0);
        assert_int_equal(fd_set_nonblock(pair[0], &e), 0);
        s->k.stream[i] = pair[0], s->stream[i] = pair[1];
    }
    s->obeys = BUF_INIT(4096);
    s->end = (struct jail_event){.kind = JAIL_ENDED, .cause = JAIL_KILLED, .status = SIGKILL};
    s->stop = eventfd(0, EFD_CLOEXEC);
    *state = s;
    return pthread_create(&s->thread, NULL, answer, s);
}

static int tear_down(void **state)
{
    struct stranger *s = *state;
    uint64_t one = 1;
    assert_int_equal(write(s->stop, &one, sizeof one), sizeof one);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    int *fds[] = {&s->k.handle,  &s->k.control,     &s->k.stream[0], &s->k.stream[1],
                  &s->k.wake,    &s->k.data.dir_fd, &s->handle,      &s->control,
                  &s->stream[0], &s->stream[1],     &s->stop};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fd_closep(fds[i]);
    frame_reader_done(&s->k.in);
    buf_done(&s->k.out);
    buf_done(&s->obeys);
    counters_done(&s->k.counters);
    snapshot_done(&s->k.files);
    assert_int_equal(rmdir(s->dir), 0);
    free(s);
    return 0;
}

static void put_frame(struct buf *b, enum frame_kind kind)
{
    frame_end(b, frame_begin(b, kind));
}

static void put_text(struct buf *b, enum frame_kind kind, const char *text, const char *id)
{
    size_t mark = frame_begin(b, kind);
    uint8_t form = FORM_TEXT, one = 1;
    field_put(b, FIELD_MIME, "text/plain", 10);
    field_put(b, FIELD_FORM, &form, 1);
    field_put(b, FIELD_DATA, text, strlen(text));
    if (id) {
        field_put(b, FIELD_ID, id, strlen(id));
        field_put(b, FIELD_UPDATE, &one, 1);
    }
    frame_end(b, mark);
}

static void put_error_saying(struct buf *b, const char *name, const char *message)
{
    size_t mark = frame_begin(b, FRAME_ERROR);
    field_put(b, FIELD_NAME, name, strlen(name));
    field_put(b, FIELD_MESSAGE, message, strlen(message));
    field_put(b, FIELD_TRACEBACK, "t", 1);
    frame_end(b, mark);
}

static void put_error(struct buf *b, const char *name)
{
    put_error_saying(b, name, "m");
}

static void say(struct stranger *s, struct buf *b)
{
    assert_false(b->failed);
    assert_int_equal(write(s->control, b->bytes, b->len), b->len);
    buf_done(b);
}

static void run_it(struct stranger *s, uint32_t wall_ms, struct run *ret)
{
    struct run_spec spec = {.code = "x", .code_len = 1, .wall_ms = wall_ms};
    struct err e = {0};
    assert_int_equal(kernel_run(&s->k, &spec, NULL, ret, &e), 0);
}

struct feed {
    struct stranger *s;
    const char *frame;
    size_t len;
    int times;
};

/* The same frame again and again, then DONE. */
static void *send_many(void *arg)
{
    struct feed *feed = arg;
    struct buf done = BUF_INIT(64);
    struct err e = {0};
    for (int i = 0; i < feed->times; i++)
        if (fd_write_all(feed->s->control, feed->frame, feed->len, &e))
            return NULL;
    put_frame(&done, FRAME_DONE);
    (void)fd_write_all(feed->s->control, done.bytes, done.len, &e);
    buf_done(&done);
    return NULL;
}

static size_t acks(struct stranger *s)
{
    struct frame_reader r = FRAME_READER_INIT;
    struct frame frame;
    struct err e = {0};
    char bytes[4096];
    size_t count = 0;
    ssize_t n = recv(s->control, bytes, sizeof bytes, MSG_DONTWAIT);
    assert_true(n > 0);
    assert_int_equal(frame_fill(&r, bytes, (size_t)n, &e), 0);
    while (frame_next(&r, &frame, &e) == 1)
        count += frame.kind == FRAME_ACK;
    frame_reader_done(&r);
    return count;
}

static void a_run_collects_output_displays_and_result(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    assert_int_equal(write(s->stream[STREAM_OUT], "out", 3), 3);
    assert_int_equal(write(s->stream[STREAM_ERR], "err", 3), 3);
    put_frame(&b, FRAME_SYNC);
    put_text(&b, FRAME_DISPLAY, "shown", NULL);
    put_text(&b, FRAME_RESULT, "42", NULL);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.state, STATE_FRESH);
    assert_int_equal(run.out.total, 3);
    assert_int_equal(run.err.total, 3);
    assert_int_equal(run.display_count, 1);
    assert_string_equal(run.displays[0].entries[0].bytes, "shown");
    assert_string_equal(run.result.entries[0].bytes, "42");
    assert_int_equal(run.cpu_us, 7000);
    assert_int_equal(acks(s), 2); /* SYNC and DISPLAY */
    run_done(&run);
}

static int text_file(const char *text)
{
    int fd = memfd_create("counter", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void give_counters(struct stranger *s, const char *cpu_ns, uint64_t peak)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu\n", (unsigned long long)peak);
    s->k.counters = (struct counters){{text_file(cpu_ns), text_file("1\n"), text_file(text)}};
}

static void run_to_its_end(struct stranger *s, struct run *ret)
{
    struct buf b = BUF_INIT(64);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, ret);
}

static void what_the_counters_say_is_believed_and_nobody_is_asked(void **state)
{
    struct stranger *s = *state;
    struct run run;
    give_counters(s, "5000000\n", 1234);
    run_to_its_end(s, &run);
    assert_int_equal(run.cpu_us, 5000);
    assert_int_equal(run.memory_peak, 1234);
    assert_int_equal(s->questions, 0);
    run_done(&run);
}

static void the_spawner_is_asked_where_counters_cannot_be_read(void **state)
{
    struct stranger *s = *state;
    struct run run;
    give_counters(s, "nonsense", 1234);
    run_to_its_end(s, &run);
    assert_int_equal(run.cpu_us, 7000);
    assert_int_equal(run.memory_peak, 99);
    run_done(&run);
}

static void near_the_memory_limit_the_spawner_may_say_that_it_was_the_end(void **state)
{
    struct stranger *s = *state;
    struct run run;
    s->is_ending = true;
    give_counters(s, "5000000\n", s->k.limits.memory_bytes);
    run_to_its_end(s, &run);
    assert_int_equal(s->questions, 1);
    assert_int_equal(run.end, END_MEMORY);
    assert_int_equal(run.state, STATE_LOST);
    run_done(&run);
}

static int done_now(void *arg, const struct run_event *event)
{
    struct buf b = BUF_INIT(64);
    (void)event;
    put_frame(&b, FRAME_DONE);
    say(arg, &b);
    return 0;
}

/* DONE comes when the code runs, not before. */
static void run_from_its_beginning(struct stranger *s, struct run *ret)
{
    const struct run_sink sink = {done_now, s};
    const struct run_spec spec = {.code = "x", .code_len = 1};
    assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
    OK(kernel_run(&s->k, &spec, &sink, ret, e));
}

static void on_a_full_disk_the_spawner_is_asked_whether_the_run_did_it(void **state)
{
    struct stranger *s = *state;
    struct run run;
    give_counters(s, "5000000\n", 1234);
    run_from_its_beginning(s, &run);
    assert_int_equal(s->marks + s->questions, 0);
    run_done(&run);
    s->k.reserve_bytes = UINT64_MAX;
    s->k.is_full = true; /* that was an earlier run */
    run_from_its_beginning(s, &run);
    assert_int_equal(s->marks, 1);
    assert_int_equal(s->questions, 1);
    assert_int_equal(run.end, END_OK);
    run_done(&run);
    s->is_full = true;
    run_from_its_beginning(s, &run);
    assert_int_equal(s->questions, 2);
    assert_int_equal(run.end, END_DISK);
    assert_int_equal(run.state, STATE_KEPT);
    assert_int_equal(s->interrupts, 0);
    run_done(&run);
}

static void the_next_run_finds_its_variables(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    for (int i = 0; i < 2; i++) {
        struct run run;
        put_frame(&b, FRAME_DONE);
        say(s, &b);
        run_it(s, 0, &run);
        assert_int_equal(run.state, i == 0 ? STATE_FRESH : STATE_KEPT);
        run_done(&run);
    }
}

static void an_update_replaces_the_display_of_its_id(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    put_text(&b, FRAME_DISPLAY, "one", "a");
    put_text(&b, FRAME_DISPLAY, "two", "a");
    put_text(&b, FRAME_DISPLAY, "three", "b");
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.display_count, 2);
    assert_string_equal(run.displays[0].entries[0].bytes, "two");
    run_done(&run);
}

static void displays_over_the_limit_are_counted_not_kept(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(1 << 20);
    struct run run;
    for (int i = 0; i < DISPLAYS_MAX + 3; i++)
        put_text(&b, FRAME_DISPLAY, "x", NULL);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.display_count, DISPLAYS_MAX);
    assert_int_equal(run.displays_dropped, 3);
    run_done(&run);
}

static void updates_do_not_use_up_the_room(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4 << 20);
    struct run run;
    char *big = malloc(DISPLAY_BYTES_MAX / 200 + 1);
    memset(big, 'x', DISPLAY_BYTES_MAX / 200);
    big[DISPLAY_BYTES_MAX / 200] = '\0';
    s->k.out.max = 1 << 20;
    put_text(&b, FRAME_DISPLAY, big, "a");
    size_t len = b.len;
    char *frame = buf_take(&b, NULL);
    struct feed feed = {s, frame, len, 300};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_many, &feed), 0);
    run_it(s, 0, &run);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(run.display_count, 1);
    assert_int_equal(run.displays_dropped, 0);
    run_done(&run);
    free(frame);
    free(big);
}

/* A background thread of the session prints when its run is over. */
static void what_comes_after_the_end_is_answered(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    put_frame(&b, FRAME_DONE);
    put_frame(&b, FRAME_SYNC);
    put_text(&b, FRAME_DISPLAY, "late", NULL);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.display_count, 0);
    assert_int_equal(acks(s), 2);
    assert_true(kernel_is_alive(&s->k));
    run_done(&run);
}

static int be_slow(void *arg, const struct run_event *event)
{
    (void)event;
    const struct timespec nap = {.tv_nsec = 300000000};
    (void)nanosleep(&nap, arg);
    return 0;
}

static void a_slow_reader_does_not_use_up_the_time(void **state)
{
    struct stranger *s = *state;
    struct run_sink sink = {be_slow, NULL};
    struct run_spec spec = {.code = "x", .code_len = 1, .wall_ms = 100};
    struct buf b = BUF_INIT(64);
    struct err e = {0};
    struct run run;
    assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
    put_frame(&b, FRAME_SYNC);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    assert_int_equal(kernel_run(&s->k, &spec, &sink, &run, &e), 0);
    assert_int_equal(run.end, END_OK);
    run_done(&run);
}

static void refused_memory_comes_with_the_limit_and_what_to_do(void **state)
{
    struct stranger *s = *state;
    struct run run;
    scoped(buf_done) struct buf b = BUF_INIT(4096);
    put_error(&b, "numpy.core._exceptions._ArrayMemoryError");
    put_frame(&b, FRAME_DONE);
    assert_int_equal(write(s->control, b.bytes, b.len), (ssize_t)b.len);
    run_it(s, 1000, &run);
    assert_int_equal(run.end, END_ERROR);
    assert_non_null(strstr(run.hint, "smaller pieces"));
    assert_non_null(strstr(run.hint, "The limit is 1024 MiB. Variables are kept."));
    run_done(&run);
}

static void an_exception_is_an_error_and_the_kernel_lives(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    put_error(&b, "ValueError");
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_ERROR);
    assert_string_equal(run.error.name, "ValueError");
    assert_true(kernel_is_alive(&s->k));
    run_done(&run);
}

static void a_file_that_is_too_large_has_a_hint_with_the_limit(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    put_error_saying(&b, "OSError", "[Errno 27] File too large: 'big'");
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_ERROR);
    assert_non_null(strstr(run.hint, "256 MiB (limits.disk_mb)"));
    assert_true(strlen(run.hint) < 255); /* all of it is shown, whatever the session has to say */
    run_done(&run);
}

static void an_interrupt_that_is_obeyed_keeps_the_variables(void **state)
{
    struct stranger *s = *state;
    struct run run;
    put_error(&s->obeys, "KeyboardInterrupt");
    put_frame(&s->obeys, FRAME_DONE);
    run_it(s, 100, &run);
    assert_int_equal(run.end, END_TIMEOUT);
    assert_int_equal(run.state, STATE_FRESH);
    assert_int_equal(s->interrupts, 1);
    assert_int_equal(s->kills, 0);
    assert_true(kernel_is_alive(&s->k));
    run_done(&run);
}

static void an_interrupt_that_is_not_obeyed_ends_in_a_kill(void **state)
{
    struct stranger *s = *state;
    struct run run;
    run_it(s, 100, &run);
    assert_int_equal(run.end, END_TIMEOUT);
    assert_int_equal(run.state, STATE_LOST);
    assert_int_equal(s->interrupts, 2);
    assert_int_equal(s->kills, 1);
    assert_true(run.duration_us >= (100 + INTERRUPT_GRACE_MS) * 1000);
    assert_false(kernel_is_alive(&s->k));
    run_done(&run);
}

static int cancel(void *arg, const struct run_event *event)
{
    (void)event;
    kernel_cancel(arg);
    return 0;
}

static void cancelling_from_the_sink_interrupts(void **state)
{
    struct stranger *s = *state;
    struct run_sink sink = {cancel, &s->k};
    struct run_spec spec = {.code = "x", .code_len = 1};
    struct err e = {0};
    struct run run;
    put_frame(&s->obeys, FRAME_DONE);
    assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
    assert_int_equal(kernel_run(&s->k, &spec, &sink, &run, &e), 0);
    assert_int_equal(run.end, END_CANCELLED);
    assert_int_equal(s->interrupts, 1);
    run_done(&run);
}

static void who_does_not_stop_when_cancelled_is_killed_and_told_of_the_loss(void **state)
{
    struct stranger *s = *state;
    struct run_sink sink = {cancel, &s->k};
    struct run_spec spec = {.code = "x", .code_len = 1};
    struct err e = {0};
    struct run run;
    assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
    assert_int_equal(kernel_run(&s->k, &spec, &sink, &run, &e), 0);
    assert_int_equal(run.end, END_CANCELLED);
    assert_int_equal(run.state, STATE_LOST);
    assert_non_null(strstr(run.hint, "did not stop"));
    assert_non_null(strstr(run.hint, "Variables are lost"));
    run_done(&run);
}

static void more_output_than_is_read_ends_the_run(void **state)
{
    struct stranger *s = *state;
    struct run run;
    s->k.limits.drain_bytes = 10;
    put_frame(&s->obeys, FRAME_DONE);
    assert_int_equal(write(s->stream[STREAM_OUT], "12345678901", 11), 11);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_OUTPUT_LIMIT);
    assert_int_equal(s->interrupts, 1);
    run_done(&run);
}

static void exactly_the_output_that_is_read_is_fine(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(64);
    struct run run;
    s->k.limits.drain_bytes = 10;
    assert_int_equal(write(s->stream[STREAM_OUT], "1234567890", 10), 10);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_OK);
    run_done(&run);
}

/* A frame nobody expects, a head that is none, and a length beyond reason. */
static void a_kernel_that_breaks_the_protocol_is_killed(void **state)
{
    static const char *const lies[] = {"\0\0\0\0\x03\0\0\0", "\0\0\0\0\x46\1\0\0",
                                       "\xff\xff\xff\xff\x46\0\0\0"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        void *own = NULL;
        struct run run;
        assert_int_equal(set_up(&own), 0);
        struct stranger *s = own;
        assert_int_equal(write(s->control, lies[i], 8), 8);
        run_it(s, 0, &run);
        assert_int_equal(run.end, END_KILLED);
        assert_int_equal(run.state, STATE_LOST);
        assert_int_equal(s->kills, 1);
        run_done(&run);
        assert_int_equal(tear_down(&own), 0);
    }
    (void)state;
}

static void what_it_read_is_known_only_if_the_kernel_came_to_say_it(void **state)
{
    struct stranger *s = *state;
    struct buf b = BUF_INIT(4096);
    struct run run;
    size_t mark = frame_begin(&b, FRAME_READS);
    field_put(&b, FIELD_PATH, "a.csv", 5);
    field_put(&b, FIELD_GUESS, "b.csv", 5);
    frame_end(&b, mark);
    put_frame(&b, FRAME_DONE);
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.reads.count, 2);
    assert_false(run.reads.is_partial);
    run_done(&run);

    put_frame(&b, FRAME_DONE); /* from one that does not know of it */
    say(s, &b);
    run_it(s, 0, &run);
    assert_int_equal(run.reads.count, 0);
    assert_true(run.reads.is_partial);
    run_done(&run);
}

/* The jail ends while the code runs. */
static int end_now(void *arg, const struct run_event *event)
{
    struct stranger *s = arg;
    (void)event;
    tell(s, &s->end);
    return 0;
}

static void how_the_jail_ended_decides_the_end(void **state)
{
    static const struct {
        enum jail_cause cause;
        enum run_end end;
    } rows[] = {{JAIL_OVER_MEMORY, END_MEMORY}, {JAIL_OVER_DISK, END_DISK},
                {JAIL_OVER_RESERVE, END_DISK},  {JAIL_KILLED, END_KILLED},
                {JAIL_EXITED, END_CRASHED},     {JAIL_SIGNALLED, END_CRASHED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *own = NULL;
        struct run run;
        assert_int_equal(set_up(&own), 0);
        struct stranger *s = own;
        struct run_sink sink = {end_now, s};
        struct run_spec spec = {.code = "x", .code_len = 1};
        struct err e = {0};
        s->end.cause = rows[i].cause;
        s->end.status = SIGSEGV;
        assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
        assert_int_equal(kernel_run(&s->k, &spec, &sink, &run, &e), 0);
        assert_int_equal(run.end, rows[i].end);
        assert_int_equal(run.is_disk_full, rows[i].cause == JAIL_OVER_RESERVE);
        assert_true(!run.is_disk_full || strstr(run.hint, "server's disk"));
        assert_int_equal(run.state, STATE_LOST);
        assert_int_equal(run.crash_signal, rows[i].cause == JAIL_SIGNALLED ? SIGSEGV : 0);
        run_done(&run);
        assert_int_equal(tear_down(&own), 0);
    }
    (void)state;
}

static int full_now(void *arg, const struct run_event *event)
{
    if (event->kind == RUN_STDOUT)
        tell(arg, &(struct jail_event){.kind = JAIL_FULL});
    return 0;
}

static void who_writes_to_a_full_disk_is_interrupted_and_keeps_the_variables(void **state)
{
    struct stranger *s = *state;
    const struct run_sink sink = {full_now, s};
    const struct run_spec spec = {.code = "x", .code_len = 1};
    struct run run;
    s->k.is_full = true; /* that was an earlier run */
    run_to_its_end(s, &run);
    assert_int_equal(run.end, END_OK);
    run_done(&run);
    put_error(&s->obeys, "KeyboardInterrupt");
    put_frame(&s->obeys, FRAME_DONE);
    assert_int_equal(write(s->stream[STREAM_OUT], "x", 1), 1);
    OK(kernel_run(&s->k, &spec, &sink, &run, e));
    assert_int_equal(s->interrupts, 1);
    assert_int_equal(run.end, END_DISK);
    assert_true(run.is_disk_full);
    assert_int_equal(run.state, STATE_KEPT);
    assert_non_null(strstr(run.hint, "server's disk"));
    assert_non_null(strstr(run.hint, "Variables are kept."));
    run_done(&run);
}

/* The field of the RUN that the stranger was sent, as a number; `preset` if it has none. */
static uint32_t told(struct stranger *s, enum field_tag tag, uint32_t preset)
{
    char bytes[4096];
    scoped(frame_reader_done) struct frame_reader in = FRAME_READER_INIT;
    struct frame frame;
    struct field f;
    struct err e = {0};
    ssize_t n = recv(s->control, bytes, sizeof bytes, MSG_DONTWAIT);
    assert_true(n > 0);
    assert_int_equal(frame_fill(&in, bytes, (size_t)n, &e), 0);
    assert_int_equal(frame_next(&in, &frame, &e), 1);
    assert_int_equal(frame.kind, FRAME_RUN);
    return field_find(&frame, tag, &f) ? field_u32(&f, preset) : preset;
}

static void the_language_is_told_unless_it_is_python(void **state)
{
    struct stranger *s = *state;
    scoped(buf_done) struct buf done = BUF_INIT(64);
    struct run_spec spec = {.code = "x", .code_len = 1};
    struct run run;
    struct err e = {0};
    put_frame(&done, FRAME_DONE);
    for (enum run_language l = 0; l < LANGUAGE_COUNT; l++) {
        spec.language = l;
        assert_int_equal(write(s->control, done.bytes, done.len), done.len);
        assert_int_equal(kernel_run(&s->k, &spec, NULL, &run, &e), 0);
        assert_int_equal(run.language, l);
        assert_int_equal(told(s, FIELD_LANGUAGE, 99), l == LANGUAGE_PYTHON ? 99 : l);
        run_done(&run);
    }
}

static void a_dead_kernel_runs_nothing(void **state)
{
    struct stranger *s = *state;
    struct run_spec spec = {.code = "x", .code_len = 1};
    struct err e = {0};
    struct run run;
    tell(s, &s->end);
    assert_int_equal(kernel_run(&s->k, &spec, NULL, &run, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void code_over_the_limit_is_refused(void **state)
{
    struct stranger *s = *state;
    struct run_spec spec = {.code = "x", .code_len = CODE_MAX + (size_t)1};
    struct err e = {0};
    struct run run;
    assert_int_equal(kernel_run(&s->k, &spec, NULL, &run, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

/* Nothing comes back from DEAD, nothing returns to STARTING, and a run begins only in IDLE. */
static void every_pair_of_states(void **state)
{
    (void)state;
    for (int from = 0; from < KERNEL_STATES; from++)
        for (int to = 0; to < KERNEL_STATES; to++) {
            bool may = kernel_may_enter((enum kernel_state)from, (enum kernel_state)to);
            assert_true(!may || to != KERNEL_STARTING);
            assert_true(!may || from != KERNEL_DEAD || to == KERNEL_DEAD);
            assert_true(!may || to != KERNEL_BUSY || from == KERNEL_IDLE);
            assert_true(!may || to != KERNEL_PARKED || from == KERNEL_STARTING);
            assert_true(may || to != KERNEL_DEAD);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_run_collects_output_displays_and_result),
        TEST(what_the_counters_say_is_believed_and_nobody_is_asked),
        TEST(the_spawner_is_asked_where_counters_cannot_be_read),
        TEST(near_the_memory_limit_the_spawner_may_say_that_it_was_the_end),
        TEST(who_writes_to_a_full_disk_is_interrupted_and_keeps_the_variables),
        TEST(on_a_full_disk_the_spawner_is_asked_whether_the_run_did_it),
        TEST(the_next_run_finds_its_variables),
        TEST(an_update_replaces_the_display_of_its_id),
        TEST(displays_over_the_limit_are_counted_not_kept),
        TEST(updates_do_not_use_up_the_room),
        TEST(what_comes_after_the_end_is_answered),
        TEST(a_slow_reader_does_not_use_up_the_time),
        TEST(an_exception_is_an_error_and_the_kernel_lives),
        TEST(refused_memory_comes_with_the_limit_and_what_to_do),
        TEST(a_file_that_is_too_large_has_a_hint_with_the_limit),
        TEST(an_interrupt_that_is_obeyed_keeps_the_variables),
        TEST(an_interrupt_that_is_not_obeyed_ends_in_a_kill),
        TEST(cancelling_from_the_sink_interrupts),
        TEST(who_does_not_stop_when_cancelled_is_killed_and_told_of_the_loss),
        TEST(more_output_than_is_read_ends_the_run),
        TEST(exactly_the_output_that_is_read_is_fine),
        cmocka_unit_test(a_kernel_that_breaks_the_protocol_is_killed),
        cmocka_unit_test(how_the_jail_ended_decides_the_end),
        TEST(what_it_read_is_known_only_if_the_kernel_came_to_say_it),
        TEST(the_language_is_told_unless_it_is_python),
        TEST(a_dead_kernel_runs_nothing),
        TEST(code_over_the_limit_is_refused),
        cmocka_unit_test(every_pair_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
