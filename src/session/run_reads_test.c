#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "session/run.h"

/* Reads a frame with these fields as the engine does. */
static void take_in(struct run_reads *reads, struct buf *payload)
{
    struct err e = {0};
    const struct frame frame = {
        .kind = FRAME_READS, .payload = (const uint8_t *)payload->bytes, .len = payload->len};
    assert_false(payload->failed);
    assert_int_equal(run_reads_from_frame(&frame, reads, &e), 0);
}

static void put(struct buf *out, enum field_tag tag, const char *path)
{
    field_put(out, tag, path, strlen(path));
}

static void paths_come_once_and_guesses_are_marked(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    scoped(run_reads_done) struct run_reads reads = {0};
    put(&out, FIELD_PATH, "a.csv");
    put(&out, FIELD_GUESS, "b/c.csv");
    put(&out, FIELD_PATH, "a.csv");
    put(&out, FIELD_MESSAGE, "of another version");
    take_in(&reads, &out);
    assert_int_equal(reads.count, 2);
    assert_string_equal(reads.items[0].path, "a.csv");
    assert_false(reads.items[0].is_guessed);
    assert_string_equal(reads.items[1].path, "b/c.csv");
    assert_true(reads.items[1].is_guessed);
    assert_false(reads.is_partial);
}

static void what_is_no_path_is_left_out(void **state)
{
    static const char *const bad[] = {"",     "/a",  "a/",    "a//b", ".",     "..",
                                      "a/..", "./a", "a/./b", "../a", "a/../b"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        scoped(run_reads_done) struct run_reads reads = {0};
        put(&out, FIELD_PATH, bad[i]);
        put(&out, FIELD_PATH, "..a/.b/c..");
        take_in(&reads, &out);
        assert_int_equal(reads.count, 1);
        assert_string_equal(reads.items[0].path, "..a/.b/c..");
        assert_true(reads.is_partial);
    }
    scoped(buf_done) struct buf out = BUF_INIT(4096);
    scoped(run_reads_done) struct run_reads reads = {0};
    field_put(&out, FIELD_PATH, "a\0b", 3);
    take_in(&reads, &out);
    assert_int_equal(reads.count, 0);
    assert_true(reads.is_partial);
}

static void exactly_the_limits_fit_and_one_more_does_not(void **state)
{
    (void)state;
    char path[READ_PATH_MAX + 2];
    for (int more = 0; more < 2; more++) {
        scoped(run_reads_done) struct run_reads reads = {0};
        scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
        for (int i = 0; i < READS_MAX + more; i++) {
            (void)snprintf(path, sizeof path, "%d", i);
            put(&out, FIELD_PATH, path);
        }
        take_in(&reads, &out);
        assert_int_equal(reads.count, READS_MAX);
        assert_int_equal(reads.is_partial, more);

        scoped(run_reads_done) struct run_reads one = {0};
        scoped(buf_done) struct buf name = BUF_INIT(4096);
        memset(path, 'x', sizeof path);
        field_put(&name, FIELD_PATH, path, (size_t)READ_PATH_MAX + (size_t)more);
        take_in(&one, &name);
        assert_int_equal(one.count, 1 - more);
        assert_int_equal(one.is_partial, more);
    }
}

static void many_frames_have_one_limit_together(void **state)
{
    (void)state;
    char path[READ_PATH_MAX];
    scoped(run_reads_done) struct run_reads reads = {0};
    for (int i = 0; i < 3 * READS_MAX; i++) {
        scoped(buf_done) struct buf out = BUF_INIT(4096);
        memset(path, 'a', sizeof path);
        (void)snprintf(path, sizeof path, "%d", i);
        path[strlen(path)] = 'a';
        field_put(&out, FIELD_PATH, path, sizeof path);
        take_in(&reads, &out);
    }
    assert_true(reads.count <= READS_MAX);
    assert_true(reads.bytes <= READS_BYTES_MAX);
    assert_true(reads.is_partial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_come_once_and_guesses_are_marked),
        cmocka_unit_test(what_is_no_path_is_left_out),
        cmocka_unit_test(exactly_the_limits_fit_and_one_more_does_not),
        cmocka_unit_test(many_frames_have_one_limit_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
