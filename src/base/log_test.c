/* What log.h promises. A line is caught in a pipe. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/utf8.h"

struct caught {
    struct log log;
    int pipe[2];
    char text[2 * LOG_LINE_MAX];
};

static struct caught *catch_in(enum log_format format, enum log_level level)
{
    struct caught *c = calloc(1, sizeof *c);
    assert_non_null(c);
    assert_int_equal(pipe2(c->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    log_init(&c->log, c->pipe[1], format, level);
    return c;
}

static void let_go(struct caught *c)
{
    (void)close(c->pipe[0]);
    (void)close(c->pipe[1]);
    free(c);
}

/* All that was written since, behind its time stamp (which is checked). */
static const char *line(struct caught *c)
{
    ssize_t n = read(c->pipe[0], c->text, sizeof c->text - 1);
    c->text[n > 0 ? n : 0] = '\0';
    if (n <= 0)
        return "";
    bool is_json = c->log.format == LOG_JSON;
    const char *ts = c->text + strlen(is_json ? "{\"ts\":\"" : "ts=");
    int year, month, day, h, m, s, ms, end = 0;
    assert_int_equal(
        sscanf(ts, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &h, &m, &s, &ms, &end),
        7);
    assert_int_equal(end, 24);
    return ts + end + (is_json ? 2 : 1);
}

static void a_line_for_people_is_key_and_value(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_INFO);
    log_line(&c->log, LOG_INFO, "request", LOG_STR("id", "req_7"), LOG_U64("status", 200),
             LOG_I64("left", -3), LOG_MS("ms", 1042), LOG_BOOL("kept", true));
    assert_string_equal(line(c), "level=info msg=request id=req_7 status=200 left=-3 ms=1.042 "
                                 "kept=true\n");
    let_go(c);
}

static void a_line_for_programs_is_one_object(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_JSON, LOG_INFO);
    log_line(&c->log, LOG_WARNING, "disk is full", LOG_VIEW("path", ((struct str){"a b", 1})),
             LOG_U64("left", 0), LOG_MS("ms", 7), LOG_BOOL("kept", false));
    assert_string_equal(line(c), "\"level\":\"warning\",\"msg\":\"disk is full\",\"path\":\"a\","
                                 "\"left\":0,\"ms\":0.007,\"kept\":false}\n");
    let_go(c);
}

static void a_line_needs_no_fields_and_leaves_out_what_is_not_there(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_DEBUG);
    log_line(&c->log, LOG_DEBUG, "started");
    assert_string_equal(line(c), "level=debug msg=started\n");
    log_line(&c->log, LOG_ERROR, "ended", LOG_STR("why", NULL), LOG_STR("who", ""));
    assert_string_equal(line(c), "level=error msg=ended who=\"\"\n");
    let_go(c);
}

static void what_is_below_the_level_is_not_written_and_the_level_can_change(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_WARNING);
    log_line(&c->log, LOG_INFO, "no");
    assert_string_equal(line(c), "");
    assert_false(log_is_on(&c->log, LOG_INFO));
    log_set_level(&c->log, LOG_DEBUG);
    log_line(&c->log, LOG_DEBUG, "yes");
    assert_string_equal(line(c), "level=debug msg=yes\n");
    log_line(NULL, LOG_ERROR, "nobody listens");
    let_go(c);
}

static void a_value_can_neither_end_its_line_nor_pretend_to_be_a_field(void **state)
{
    (void)state;
    static const struct {
        const char *value, *text;
    } rows[] = {
        {"two words", "\"two words\""},
        {"a\nlevel=error", "\"a\\nlevel=error\""},
        {"x=1", "\"x=1\""},
        {"quo\"te", "\"quo\\\"te\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"\r\t\x01\x1b[31m\x7f", "\"\\r\\t\\u0001\\u001b[31m\\u007f\""},
        {"\xC2\x9B!", "\"\\u009b!\""},                  /* C1: begins an escape too */
        {"\xE2\x80\xAE!", "\"\\u202e!\""},              /* right-to-left override */
        {"\xF3\xA0\x80\xA1!", "\"\\udb40\\udc21!\""},   /* a tag: invisible */
        {"\xC3\xA9t\xC3\xA9", "\"\xC3\xA9t\xC3\xA9\""}, /* letters stay */
        {"\xF0\x9F\xA6\x97", "\"\xF0\x9F\xA6\x97\""},
        {"bad \xFF\xC3", "\"bad \\ufffd\\ufffd\""},
    };
    struct caught *c = catch_in(LOG_TEXT, LOG_INFO);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[256];
        log_line(&c->log, LOG_INFO, "m", LOG_STR("v", rows[i].value));
        (void)snprintf(expected, sizeof expected, "level=info msg=m v=%s\n", rows[i].text);
        assert_string_equal(line(c), expected);
    }
    let_go(c);
}

static void a_value_is_cut_at_its_limit_between_characters(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_INFO);
    char value[LOG_VALUE_MAX + 2];
    memset(value, 'x', sizeof value);
    log_line(&c->log, LOG_INFO, "m", LOG_VIEW("v", ((struct str){value, LOG_VALUE_MAX})));
    assert_null(strstr(line(c), "..."));
    log_line(&c->log, LOG_INFO, "m", LOG_VIEW("v", ((struct str){value, LOG_VALUE_MAX + 1})));
    const char *got = line(c);
    assert_int_equal(strlen(got), strlen("level=info msg=m v=\"...\"\n") + LOG_VALUE_MAX);
    memcpy(value + LOG_VALUE_MAX - 1, "\xE2\x82\xAC", 3); /* straddles the limit */
    log_line(&c->log, LOG_INFO, "m", LOG_VIEW("v", ((struct str){value, LOG_VALUE_MAX + 2})));
    got = line(c);
    assert_int_equal(strlen(got), strlen("level=info msg=m v=\"...\"\n") + LOG_VALUE_MAX - 1);
    assert_true(utf8_is_valid(got, strlen(got)));
    let_go(c);
}

static void fields_that_do_not_fit_are_left_out_and_the_line_says_so(void **state)
{
    (void)state;
    char odd[LOG_VALUE_MAX]; /* each byte takes six */
    memset(odd, 1, sizeof odd);
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        struct caught *c = catch_in((enum log_format)format, LOG_INFO);
        struct str v = {odd, sizeof odd};
        log_line(&c->log, LOG_INFO, "m", LOG_VIEW("a", v), LOG_VIEW("b", v), LOG_VIEW("c", v),
                 LOG_U64("d", 4));
        const char *got = line(c);
        assert_true(strlen(c->text) <= LOG_LINE_MAX);
        assert_non_null(strstr(got, "b"));
        assert_null(strstr(got, format == LOG_JSON ? "\"c\"" : " c="));
        const char *end = format == LOG_JSON ? ",\"cut\":true}\n" : " cut=true\n";
        assert_string_equal(got + strlen(got) - strlen(end), end);
        let_go(c);
    }
}

static void lines_that_could_not_be_written_are_counted(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_INFO);
    char full[4096];
    memset(full, '.', sizeof full);
    while (write(c->pipe[1], full, sizeof full) > 0) {
    }
    errno = EXDEV;
    log_line(&c->log, LOG_INFO, "first");
    log_line(&c->log, LOG_INFO, "second");
    assert_int_equal(errno, EXDEV); /* logging leaves no trace */
    while (read(c->pipe[0], full, sizeof full) > 0) {
    }
    log_line(&c->log, LOG_INFO, "third");
    assert_string_equal(line(c), "level=info msg=third lost=2\n");
    log_line(&c->log, LOG_INFO, "fourth");
    assert_string_equal(line(c), "level=info msg=fourth\n");
    let_go(c);
}

static void the_journal_gets_priorities_and_nobody_else(void **state)
{
    (void)state;
    struct caught *c = catch_in(LOG_TEXT, LOG_INFO);
    struct stat st;
    char stream[64];
    assert_int_equal(fstat(c->pipe[1], &st), 0);
    (void)snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
    log_init(&c->log, c->pipe[1], LOG_TEXT, LOG_INFO);
    static const char *const fronts[] = {"<7>ts=", "<6>ts=", "<4>ts=", "<3>ts="};
    for (int level = LOG_INFO; level <= LOG_ERROR; level++) {
        log_line(&c->log, (enum log_level)level, "m");
        char text[256] = {0};
        assert_true(read(c->pipe[0], text, sizeof text - 1) > 0);
        assert_memory_equal(text, fronts[level], 6);
    }
    log_init(&c->log, c->pipe[1], LOG_JSON, LOG_INFO);
    assert_false(c->log.has_priorities);
    assert_int_equal(setenv("JOURNAL_STREAM", "1:2", 1), 0);
    log_init(&c->log, c->pipe[1], LOG_TEXT, LOG_INFO);
    assert_false(c->log.has_priorities);
    assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
    let_go(c);
}

enum { THREADS = 4, LINES = 200 };

static void *write_many(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_line(arg, LOG_INFO, "tick", LOG_STR("text", "some words in a row"), LOG_I64("i", i));
    return NULL;
}

static void lines_of_many_threads_do_not_mix(void **state)
{
    (void)state;
    char path[] = "/tmp/cicada-test-log-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC | O_APPEND);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    struct log log;
    log_init(&log, fd, LOG_TEXT, LOG_INFO);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &log), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    FILE *file = fdopen(fd, "r");
    assert_non_null(file);
    rewind(file);
    char text[256];
    int count = 0, number, end;
    while (fgets(text, sizeof text, file)) {
        end = 0;
        (void)sscanf(text, "ts=%*s level=info msg=tick text=\"some words in a row\" i=%d%n",
                     &number, &end);
        assert_int_equal(text[end], '\n');
        count++;
    }
    assert_int_equal(count, THREADS * LINES);
    (void)fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_for_people_is_key_and_value),
        cmocka_unit_test(a_line_for_programs_is_one_object),
        cmocka_unit_test(a_line_needs_no_fields_and_leaves_out_what_is_not_there),
        cmocka_unit_test(what_is_below_the_level_is_not_written_and_the_level_can_change),
        cmocka_unit_test(a_value_can_neither_end_its_line_nor_pretend_to_be_a_field),
        cmocka_unit_test(a_value_is_cut_at_its_limit_between_characters),
        cmocka_unit_test(fields_that_do_not_fit_are_left_out_and_the_line_says_so),
        cmocka_unit_test(lines_that_could_not_be_written_are_counted),
        cmocka_unit_test(the_journal_gets_priorities_and_nobody_else),
        cmocka_unit_test(lines_of_many_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
