#include "cli/show.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/note.h"

/* A show whose streams and notes are pipes that the test reads. */
struct stage {
    struct notes notes;
    struct show show;
    struct run run;
    int out, err; /* read ends */
};

static void stage_init(struct stage *s, uint64_t output_bytes)
{
    int out[2], err[2];
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    *s = (struct stage){.notes = {.fd = err[1]}, .out = out[0], .err = err[0]};
    s->show = show_new(&s->notes, /* stop= */ NULL, IMAGE_NOT, output_bytes);
    s->show.out.fd = out[1];
    s->show.err.fd = err[1];
    s->run = (struct run){.out = KEEP_INIT(output_bytes), .err = KEEP_INIT(output_bytes)};
}

static void stage_done(struct stage *s)
{
    run_done(&s->run);
    (void)close(s->show.out.fd);
    (void)close(s->show.err.fd);
    (void)close(s->out);
    (void)close(s->err);
}

/* The code writes to a stream: the engine keeps it and shows it. */
static int wrote(struct stage *s, enum run_event_kind kind, const char *text)
{
    struct err e = {0};
    struct keep *k = kind == RUN_STDOUT ? &s->run.out : &s->run.err;
    assert_int_equal(keep_add(k, text, strlen(text), &e), 0);
    return show_event(&s->show,
                      &(struct run_event){.kind = kind, .bytes = text, .len = strlen(text)});
}

static const char *seen(int fd, char space[4096])
{
    ssize_t len = read(fd, space, 4095);
    space[len > 0 ? len : 0] = '\0';
    return space;
}

static void output_goes_to_the_stream_it_was_written_to(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    stage_init(&s, 1000);
    assert_int_equal(wrote(&s, RUN_STDOUT, "one "), 0);
    assert_int_equal(wrote(&s, RUN_STDERR, "two\n"), 0);
    assert_string_equal(seen(s.out, space), "one ");
    assert_string_equal(seen(s.err, space), "two\n");
    stage_done(&s);
}

static void results_are_printed_and_tracebacks_go_to_stderr(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    struct mime entries[] = {{"text/html", FORM_TEXT, "<b>4</b>", 8},
                             {"text/plain", FORM_TEXT, "4", 1}};
    struct display display = {entries, 2, NULL};
    struct run_error error = {"E", "m", "Traceback\nE: m", 1};
    stage_init(&s, 1000);
    assert_int_equal(
        show_event(&s.show, &(struct run_event){.kind = RUN_RESULT, .display = &display}), 0);
    assert_int_equal(show_event(&s.show, &(struct run_event){.kind = RUN_ERROR, .error = &error}),
                     0);
    assert_string_equal(seen(s.out, space), "4\n");
    assert_string_equal(seen(s.err, space), "Traceback\nE: m\n");
    stage_done(&s);
}

/* 10 bytes are kept of each stream: 5 at the beginning, 5 at the end. */
static void of_long_output_the_beginning_comes_live_and_the_end_afterwards(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    stage_init(&s, 10);
    wrote(&s, RUN_STDOUT, "abc");
    wrote(&s, RUN_STDOUT, "defgh");
    assert_string_equal(seen(s.out, space), "abcde");
    wrote(&s, RUN_STDOUT, "ijklmnopqrstuvwxyz");
    show_rest(&s.show, &s.run);
    assert_string_equal(seen(s.out, space), "vwxyz");
    assert_string_equal(
        seen(s.err, space),
        "cicada: 16 B left out of the middle of standard output; --output SIZE keeps more\n");
    stage_done(&s);
}

static void output_that_just_fits_is_whole_and_nothing_is_said(void **state)
{
    (void)state;
    char space[4096];
    for (int len = 1; len <= 10; len++) {
        struct stage s;
        char text[16] = "0123456789";
        text[len] = '\0';
        stage_init(&s, 10);
        wrote(&s, RUN_STDOUT, text);
        show_rest(&s.show, &s.run);
        assert_string_equal(seen(s.out, space), text);
        assert_false(s.notes.is_mid_line);
        wrote(&s, RUN_STDERR, "!");
        assert_string_equal(seen(s.err, space), "!"); /* no note was before it */
        stage_done(&s);
    }
}

static void a_result_after_long_output_waits_for_its_end(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    stage_init(&s, 10);
    s.run.result.count = 1;
    s.run.result.entries = calloc(1, sizeof *s.run.result.entries);
    assert_non_null(s.run.result.entries);
    s.run.result.entries[0] =
        (struct mime){strdup("text/plain"), FORM_TEXT, strdup("result"), strlen("result")};
    wrote(&s, RUN_STDOUT, "0123456789abcdef");
    show_event(&s.show, &(struct run_event){.kind = RUN_RESULT, .display = &s.run.result});
    show_rest(&s.show, &s.run);
    assert_string_equal(seen(s.out, space), "01234bcdefresult\n");
    stage_done(&s);
}

static void a_second_run_begins_anew(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    stage_init(&s, 10);
    wrote(&s, RUN_STDOUT, "0123456789abcdef");
    show_rest(&s.show, &s.run);
    (void)seen(s.out, space);
    keep_done(&s.run.out);
    wrote(&s, RUN_STDOUT, "new");
    assert_string_equal(seen(s.out, space), "new");
    stage_done(&s);
}

static void images_are_not_printed_as_text(void **state)
{
    (void)state;
    char space[4096];
    struct stage s;
    struct mime entries[] = {{"text/plain", FORM_TEXT, "<Figure>", 8},
                             {"image/png", FORM_BINARY, "png", 3}};
    struct display display = {entries, 2, NULL};
    stage_init(&s, 1000);
    show_event(&s.show, &(struct run_event){.kind = RUN_DISPLAY, .display = &display});
    wrote(&s, RUN_STDOUT, "after");
    assert_string_equal(seen(s.out, space), "after");
    stage_done(&s);
}

static void a_reader_that_is_gone_ends_the_run(void **state)
{
    (void)state;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    assert_int_equal(sigaction(SIGPIPE, &ignore, NULL), 0);
    struct stage s;
    stage_init(&s, 1000);
    (void)close(s.out);
    assert_int_not_equal(wrote(&s, RUN_STDOUT, "x"), 0);
    assert_int_equal(s.show.failed, EPIPE);
    s.out = -1;
    stage_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_goes_to_the_stream_it_was_written_to),
        cmocka_unit_test(results_are_printed_and_tracebacks_go_to_stderr),
        cmocka_unit_test(of_long_output_the_beginning_comes_live_and_the_end_afterwards),
        cmocka_unit_test(output_that_just_fits_is_whole_and_nothing_is_said),
        cmocka_unit_test(a_result_after_long_output_waits_for_its_end),
        cmocka_unit_test(a_second_run_begins_anew),
        cmocka_unit_test(images_are_not_printed_as_text),
        cmocka_unit_test(a_reader_that_is_gone_ends_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
