/* What sleeper.h promises: a file is believed in full or refused, and what is there is whole. */
#include "session/sleeper.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/scope.h"
#include "base/scratch.h"

static const char body[] = "what a kernel wrote";

static struct sleeper sample(void)
{
    struct sleeper s = {.kind = SLEEPER_DELTA,
                        .snapshots = 3,
                        .created_wall_us = 1735689600000000,
                        .generation = 2,
                        .runs = 17,
                        .body_len = sizeof body,
                        .limits = LIMITS_DEFAULT,
                        .session_id = "ses_abc",
                        .tz = "Europe/Berlin"};
    struct err e = {0};
    scoped(hash_done) struct hash h = {0};
    int failed =
        hash_init(&h, &e) || hash_add(&h, body, sizeof body, &e) || hash_end(&h, s.body_sha256, &e);
    memset(s.image, 0xab, sizeof s.image);
    assert_int_equal(failed || names_add(&s.lost, "gen", 3, &e) || names_add(&s.lost, "", 0, &e),
                     0);
    return s;
}

static void write_file(const struct scratch *dir, const struct sleeper *s)
{
    struct sleeper_draft d;
    struct err e = {0};
    uint64_t size = 0;
    assert_int_equal(sleeper_begin(dir->fd, s, &d, &e), 0);
    assert_int_equal(write(d.fd, body, sizeof body), sizeof body);
    assert_int_equal(sleeper_commit(&d, s, &size, &e), 0);
    assert_int_equal(d.fd, -1);
}

static enum err_code open_code(const struct scratch *dir, const char *id)
{
    scoped(fd_closep) int fd = -1;
    struct sleeper s;
    struct err e = {0};
    if (sleeper_open(dir->fd, id, &s, &fd, &e)) {
        assert_true(e.text[0]);
        return e.code;
    }
    sleeper_done(&s);
    return ERR_NONE;
}

static void what_was_written_is_read_again(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    scoped(fd_closep) int fd = -1;
    struct sleeper got;
    struct err e = {0};
    char bytes[64];
    write_file(&dir, &s);
    assert_int_equal(sleeper_open(dir.fd, "ses_abc", &got, &fd, &e), 0);
    assert_int_equal(got.kind, SLEEPER_DELTA);
    assert_int_equal(got.snapshots, 3);
    assert_int_equal(got.generation, 2);
    assert_int_equal(got.runs, 17);
    assert_string_equal(got.tz, "Europe/Berlin");
    assert_int_equal(got.created_wall_us, s.created_wall_us);
    assert_memory_equal(got.image, s.image, HASH_LEN);
    assert_memory_equal(&got.limits, &s.limits, sizeof s.limits);
    assert_int_equal(got.lost.count, 2);
    assert_string_equal(got.lost.list[0], "gen");
    assert_int_equal(read(fd, bytes, sizeof bytes), sizeof body);
    assert_memory_equal(bytes, body, sizeof body);
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    sleeper_done(&got);
}

static void the_file_is_for_nobody_else(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    struct stat st;
    write_file(&dir, &s);
    assert_int_equal(fstatat(dir.fd, "ses_abc.sleep", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(fchmodat(dir.fd, "ses_abc.sleep", 0640, 0), 0);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_DENIED);
}

static void any_byte_that_differs_is_noticed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    scoped(sleeper_done) struct sleeper s = sample();
    write_file(&dir, &s);
    scoped(fd_closep) int fd = openat(dir.fd, "ses_abc.sleep", O_RDWR | O_CLOEXEC);
    off_t len = lseek(fd, 0, SEEK_END);
    assert_int_equal(len, SLEEPER_HEAD + 5 + sizeof body);
    for (off_t at = 0; at < len; at++) {
        uint8_t kept, wrong;
        assert_int_equal(pread(fd, &kept, 1, at), 1);
        wrong = kept ^ 0x40;
        assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
        enum err_code code = open_code(&dir, "ses_abc");
        assert_true(code == ERR_DAMAGED || (code == ERR_UNAVAILABLE && at >= 8 && at < 12));
        assert_int_equal(pwrite(fd, &kept, 1, at), 1);
    }
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NONE);
}

static void any_byte_less_or_more_is_noticed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new_fast();
    scoped(sleeper_done) struct sleeper s = sample();
    write_file(&dir, &s);
    scoped(fd_closep) int fd = openat(dir.fd, "ses_abc.sleep", O_RDWR | O_CLOEXEC);
    off_t len = lseek(fd, 0, SEEK_END);
    assert_int_equal(ftruncate(fd, len + 1), 0);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_DAMAGED);
    for (off_t cut = len - 1; cut >= 0; cut -= 7) {
        assert_int_equal(ftruncate(fd, cut), 0);
        assert_int_equal(open_code(&dir, "ses_abc"), ERR_DAMAGED);
    }
}

static void another_version_is_told_apart_from_damage(void **state)
{
    (void)state;
    scoped(sleeper_done) struct sleeper s = sample();
    scoped(buf_done) struct buf bytes = BUF_INIT(4096);
    struct sleeper got;
    struct err e = {0};
    assert_int_equal(sleeper_put(&s, &bytes, &e), 0);
    put_u32((uint8_t *)bytes.bytes + 8, 2);
    assert_int_equal(
        sleeper_get((uint8_t *)bytes.bytes, bytes.len, bytes.len + sizeof body, &got, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
}

static void the_file_of_another_session_is_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    write_file(&dir, &s);
    assert_int_equal(renameat(dir.fd, "ses_abc.sleep", dir.fd, "ses_other.sleep"), 0);
    assert_int_equal(open_code(&dir, "ses_other"), ERR_DAMAGED);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NOT_FOUND);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    write_file(&dir, &s);
    assert_int_equal(renameat(dir.fd, "ses_abc.sleep", dir.fd, "elsewhere"), 0);
    assert_int_equal(symlinkat("elsewhere", dir.fd, "ses_abc.sleep"), 0);
    assert_int_not_equal(open_code(&dir, "ses_abc"), ERR_NONE);
}

static void ids_that_are_paths_are_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    static const char *const ids[] = {"", "..", "../x", "a/b", "A", "a.b"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(open_code(&dir, ids[i]), ERR_INVALID);
}

static void an_abandoned_draft_leaves_nothing(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    struct sleeper_draft d;
    struct err e = {0};
    assert_int_equal(sleeper_begin(dir.fd, &s, &d, &e), 0);
    assert_int_equal(faccessat(dir.fd, "ses_abc.tmp", F_OK, 0), 0);
    sleeper_abandon(&d);
    assert_int_equal(faccessat(dir.fd, "ses_abc.tmp", F_OK, 0), -1);
    sleeper_abandon(&d);
}

static void what_a_killed_process_left_is_in_nobodys_way(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    scratch_write(&dir, "ses_abc.tmp",
                  "half of one, and more of it than the next will need .......");
    write_file(&dir, &s);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NONE);
}

static void a_branch_is_another_session_that_reseeds(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample(), branch = {0}, old = {0};
    scoped(fd_closep) int fd = -1;
    uint64_t size = 0;
    struct err e = {0};
    char bytes[64];
    write_file(&dir, &s);
    assert_int_equal(sleeper_branch(dir.fd, "ses_abc", "ses_branch", &size, &e), 0);
    assert_true(size > 0);
    assert_int_equal(sleeper_open(dir.fd, "ses_branch", &branch, &fd, &e), 0);
    assert_true(branch.reseeds);
    assert_int_equal(branch.lost.count, 2);
    assert_int_equal(read(fd, bytes, sizeof bytes), sizeof body);
    assert_memory_equal(bytes, body, sizeof body);
    assert_int_equal(sleeper_look(dir.fd, "ses_abc", &old, &size, &e), 0);
    assert_false(old.reseeds);
}

static void removed_and_set_aside_are_gone(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    struct err e = {0};
    write_file(&dir, &s);
    sleeper_set_aside(dir.fd, "ses_abc");
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NOT_FOUND);
    assert_int_equal(faccessat(dir.fd, "ses_abc.bad", F_OK, 0), 0);
    sleeper_discard(dir.fd, "ses_abc");
    assert_int_equal(faccessat(dir.fd, "ses_abc.bad", F_OK, 0), -1);
    write_file(&dir, &s);
    sleeper_remove(dir.fd, "ses_abc");
    assert_int_equal(sleeper_sync(dir.fd, &e), 0);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NOT_FOUND);
}

static void drafts_of_the_dead_are_swept_and_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {"ses_1.tmp", "ses_1.sleep", "ses_2.bad", "other.tmp.txt"};
    scoped(scratch_done) struct scratch dir = scratch_new();
    for (size_t i = 0; i < 4; i++)
        (void)close(openat(dir.fd, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    sleeper_sweep(dir.fd);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(faccessat(dir.fd, names[i], F_OK, 0), i == 0 ? -1 : 0);
}

static void names_of_files_are_told_from_others(void **state)
{
    (void)state;
    char id[ID_SIZE];
    assert_true(sleeper_is_named("ses_7.sleep", id));
    assert_string_equal(id, "ses_7");
    assert_false(sleeper_is_named("ses_7.tmp", id));
    assert_false(sleeper_is_named("ses_7.sleep.bak", id));
    assert_false(sleeper_is_named(".sleep", id));
    assert_false(sleeper_is_named("Ses.sleep", id));
}

/* As many as fit, as long as can be. */
static void the_longest_list_of_names_fits(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample(), got = {0};
    scoped(fd_closep) int fd = -1;
    struct err e = {0};
    char name[NAMES_LEN_MAX];
    memset(name, 'n', sizeof name);
    while (s.lost.count < NAMES_MAX)
        assert_int_equal(names_add(&s.lost, name, sizeof name, &e), 0);
    write_file(&dir, &s);
    assert_int_equal(sleeper_open(dir.fd, "ses_abc", &got, &fd, &e), 0);
    assert_int_equal(got.lost.count, NAMES_MAX);
}

static void a_snapshot_is_named_after_its_session_and_run(void **state)
{
    (void)state;
    static const char *const others[] = {
        "ses_7.sleep",    "ses_7.snap",    "ses_7.0.snap",
        "ses_7.012.snap", "ses_7.1x.snap", "ses_7.12.snap.tmp",
        ".12.snap",       "SES.12.snap",   "ses_7.1234567890123456789.snap"};
    char id[ID_SIZE];
    uint64_t before;
    assert_true(sleeper_is_snapshot("ses_7.12.snap", id, &before));
    assert_string_equal(id, "ses_7");
    assert_int_equal(before, 12);
    assert_false(sleeper_is_named("ses_7.12.snap", id));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(sleeper_is_snapshot(others[i], id, &before));
}

static void write_snapshot(const struct scratch *dir, const struct sleeper *s)
{
    struct sleeper_draft d;
    struct err e = {0};
    uint64_t size = 0;
    assert_int_equal(sleeper_begin(dir->fd, s, &d, &e), 0);
    assert_int_equal(write(d.fd, body, sizeof body), sizeof body);
    assert_int_equal(sleeper_commit_snapshot(&d, s, &size, &e), 0);
}

static void a_snapshot_becomes_the_file_of_its_session_and_the_other_way_round(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    struct sleeper got;
    struct stat st;
    struct err e = {0};
    uint64_t size;
    write_snapshot(&dir, &s);
    assert_int_equal(sleeper_sync_snapshot(dir.fd, "ses_abc", 18, &e), 0);
    assert_int_equal(sleeper_look_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), 0);
    assert_false(got.is_past);
    sleeper_done(&got);
    sleeper_mark_snapshot(dir.fd, "ses_abc", 18, /* has_begun= */ true);
    assert_int_equal(sleeper_look_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), 0);
    assert_true(got.is_past);
    sleeper_done(&got);

    s.runs = 20; /* what the session sleeps in meanwhile */
    write_file(&dir, &s);
    assert_int_equal(sleeper_from_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), 0);
    assert_int_equal(got.runs, 17);
    sleeper_done(&got);
    assert_int_equal(fstatat(dir.fd, "ses_abc.sleep", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NONE);
    assert_int_equal(sleeper_look_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);

    assert_true(sleeper_to_snapshot(dir.fd, "ses_abc", 18));
    assert_false(sleeper_exists(dir.fd, "ses_abc"));
    assert_false(sleeper_to_snapshot(dir.fd, "ses_abc", 18));
    assert_int_equal(sleeper_look_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), 0);
    sleeper_done(&got);
}

static void a_damaged_snapshot_leaves_the_file_of_its_session_alone(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    scoped(sleeper_done) struct sleeper s = sample();
    struct sleeper got;
    struct err e = {0};
    uint64_t size;
    write_file(&dir, &s);
    write_snapshot(&dir, &s);
    scoped(fd_closep) int fd = openat(dir.fd, "ses_abc.18.snap", O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "!", 1, SLEEPER_HEAD + 8), 1);
    assert_int_equal(sleeper_from_snapshot(dir.fd, "ses_abc", 18, &got, &size, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    assert_int_equal(open_code(&dir, "ses_abc"), ERR_NONE);
    sleeper_set_snapshot_aside(dir.fd, "ses_abc", 18);
    assert_int_equal(faccessat(dir.fd, "ses_abc.bad", F_OK, 0), 0);
    sleeper_remove_snapshot(dir.fd, "ses_abc", 18); /* is not there any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_again),
        cmocka_unit_test(the_file_is_for_nobody_else),
        cmocka_unit_test(any_byte_that_differs_is_noticed),
        cmocka_unit_test(any_byte_less_or_more_is_noticed),
        cmocka_unit_test(another_version_is_told_apart_from_damage),
        cmocka_unit_test(the_file_of_another_session_is_refused),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(ids_that_are_paths_are_refused),
        cmocka_unit_test(an_abandoned_draft_leaves_nothing),
        cmocka_unit_test(what_a_killed_process_left_is_in_nobodys_way),
        cmocka_unit_test(a_branch_is_another_session_that_reseeds),
        cmocka_unit_test(removed_and_set_aside_are_gone),
        cmocka_unit_test(drafts_of_the_dead_are_swept_and_nothing_else),
        cmocka_unit_test(names_of_files_are_told_from_others),
        cmocka_unit_test(the_longest_list_of_names_fits),
        cmocka_unit_test(a_snapshot_is_named_after_its_session_and_run),
        cmocka_unit_test(a_snapshot_becomes_the_file_of_its_session_and_the_other_way_round),
        cmocka_unit_test(a_damaged_snapshot_leaves_the_file_of_its_session_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
