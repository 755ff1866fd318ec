#include "cli/run_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "cli/note.h"
#include "cli/run_options.h"

static struct piece piece(char *code)
{
    return (struct piece){.code = code, .code_len = strlen(code)};
}

static void only_what_was_said_is_asked_for(void **state)
{
    const struct run_options o = {.limits = LIMITS_DEFAULT};
    const struct piece p = piece("1+1");
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(1000), alone = BUF_INIT(1000);
    struct notes notes = {.fd = -1};
    (void)state;
    assert_int_equal(run_request(&o, &p, &out, &e), 0);
    assert_string_equal(out.bytes, "{\"code\":\"1+1\"}");
    assert_int_equal(run_request_alone(&o, &p, &notes, &alone, &e), 0);
    assert_string_equal(alone.bytes, "{\"code\":\"1+1\"}");
}

static void everything_that_was_said_is_asked_for(void **state)
{
    struct run_options o = {.limits = LIMITS_DEFAULT,
                            .limits_given = 63,
                            .env = {"A=1", "B=x=y", "A=2"},
                            .env_count = 3,
                            .stdin_text = "7\n",
                            .stdin_len = 2};
    struct piece p = piece("input()");
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    struct notes notes = {.fd = -1};
    (void)state;
    o.limits.wall_ms = 1500;
    p.name = "job.py";
    assert_int_equal(run_request_alone(&o, &p, &notes, &out, &e), 0);
    assert_string_equal(out.bytes,
                        "{\"code\":\"input()\",\"name\":\"job.py\",\"stdin\":\"7\\n\","
                        "\"timeout_s\":1.5,\"env\":{\"B\":\"x=y\",\"A\":\"2\"},"
                        "\"limits\":{\"memory_mb\":1024,\"disk_mb\":256,\"cpu\":1,\"pids\":128,"
                        "\"output_bytes\":1048576}}");
}

static void a_session_gets_its_limits(void **state)
{
    const struct limits limits = LIMITS_DEFAULT;
    scoped(buf_done) struct buf out = BUF_INIT(1000), bare = BUF_INIT(1000);
    (void)state;
    session_request("work", "reports", &limits, LIMIT_GIVEN_WALL | LIMIT_GIVEN_PIDS, &out);
    assert_string_equal(
        out.bytes,
        "{\"name\":\"work\",\"workspace\":\"reports\",\"limits\":{\"wall_s\":60,\"pids\":128}}");
    session_request(/* name= */ NULL, /* workspace= */ NULL, &limits, 0, &bare);
    assert_string_equal(bare.bytes, "{}");
}

static void files_and_directories_travel_as_base64(void **state)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128], link[128];
    struct guest guest = {.path = path, .name = "in"};
    const struct run_options o = {.guests = &guest, .guest_count = 1};
    const struct piece p = piece("1");
    struct err e = {0};
    scoped(buf_done) struct buf out = BUF_INIT(1000), single = BUF_INIT(1000);
    struct notes notes = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    (void)state;
    scratch_mkdir(&s, "dir");
    scratch_write(&s, "dir/a.txt", "abc");
    (void)snprintf(link, sizeof link, "%s/dir/link", s.path);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    (void)snprintf(path, sizeof path, "%s/dir", s.path);
    assert_int_equal(run_request_alone(&o, &p, &notes, &out, &e), 0);
    assert_string_equal(
        out.bytes,
        "{\"code\":\"1\",\"files\":[{\"path\":\"in/a.txt\",\"content_base64\":\"YWJj\"}]}");
    (void)snprintf(path, sizeof path, "%s/dir/a.txt", s.path);
    assert_int_equal(run_request_alone(&o, &p, &notes, &single, &e), 0);
    assert_string_equal(
        single.bytes, "{\"code\":\"1\",\"files\":[{\"path\":\"in\",\"content_base64\":\"YWJj\"}]}");
    (void)close(notes.fd);
}

static void exactly_the_limit_of_files_fits_and_one_more_does_not(void **state)
{
    scoped(scratch_done) struct scratch s = scratch_new();
    char path[128];
    struct guest guest = {.path = path, .name = "in"};
    const struct run_options o = {.guests = &guest, .guest_count = 1};
    const struct piece p = piece("1");
    struct err e = {0};
    struct notes notes = {.fd = -1};
    scoped(buf_done) struct buf out = BUF_INIT(RUN_REQUEST_MAX), more = BUF_INIT(RUN_REQUEST_MAX);
    (void)state;
    scratch_write(&s, "big", "");
    (void)snprintf(path, sizeof path, "%s/big", s.path);
    assert_int_equal(truncate(path, RUN_FILES_MAX), 0);
    assert_int_equal(run_request_alone(&o, &p, &notes, &out, &e), 0);
    assert_int_equal(truncate(path, RUN_FILES_MAX + 1), 0);
    assert_int_equal(run_request_alone(&o, &p, &notes, &more, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
    assert_non_null(strstr(e.text, "--direct"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_said_is_asked_for),
        cmocka_unit_test(everything_that_was_said_is_asked_for),
        cmocka_unit_test(a_session_gets_its_limits),
        cmocka_unit_test(files_and_directories_travel_as_base64),
        cmocka_unit_test(exactly_the_limit_of_files_fits_and_one_more_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
