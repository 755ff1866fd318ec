#include "cli/resume.h"

#include <dirent.h>
#include <fcntl.h>
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

#include "base/scope.h"
#include "base/scratch.h"

static const struct resume_key key = {"put", "/home/me/big.bin", "default", "big.bin"};
static const int64_t day_us = (int64_t)86400 * 1000000;

static struct scratch home(void)
{
    struct scratch s = scratch_new();
    assert_int_equal(setenv("XDG_STATE_HOME", s.path, 1), 0);
    return s;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000;
}

static size_t note_count(const struct scratch *s)
{
    char path[256];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/cicada/transfers", s->path);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        (void)closedir(dir);
    return count;
}

static void a_note_comes_back_as_it_was_until_it_is_forgotten(void **state)
{
    scoped(scratch_done) struct scratch s = home();
    struct resume_note note = {
        .upload = "upl_1", .etag = "\"f:1\"", .size = 1, .inode = 2, .mtime_ns = 3};
    struct resume_note got;
    (void)state;
    assert_false(resume_load(&key, &got));
    resume_save(&key, &note, now_us());
    assert_true(resume_load(&key, &got));
    assert_string_equal(got.upload, "upl_1");
    assert_string_equal(got.etag, "\"f:1\"");
    assert_true(resume_is_same_file(&note, &got));
    assert_int_equal(note_count(&s), 1);
    resume_forget(&key);
    assert_false(resume_load(&key, &got));
    resume_forget(&key);
    assert_int_equal(note_count(&s), 0);
}

static void every_part_of_a_key_counts(void **state)
{
    scoped(scratch_done) struct scratch s = home();
    const struct resume_note note = {.upload = "upl_1"};
    const struct resume_key others[] = {
        {"get", key.local, key.workspace, key.path},
        {key.way, "/home/me/other", key.workspace, key.path},
        {key.way, key.local, "other", key.path},
        {key.way, key.local, key.workspace, "other"},
        {key.way, "/home/me/big.bindefault", "", "big.bin"},
    };
    struct resume_note got;
    (void)state;
    resume_save(&key, &note, now_us());
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(resume_load(&others[i], &got));
    assert_int_equal(note_count(&s), 1);
}

static void a_file_that_was_changed_is_another_one(void **state)
{
    struct resume_note before = {.size = 5, .inode = 7, .mtime_ns = 9}, now;
    const struct stat st = {.st_size = 5, .st_ino = 7, .st_mtim = {.tv_nsec = 9}};
    (void)state;
    resume_fingerprint(&st, &now);
    assert_true(resume_is_same_file(&before, &now));
    before.mtime_ns++;
    assert_false(resume_is_same_file(&before, &now));
    before = now;
    before.size++;
    assert_false(resume_is_same_file(&before, &now));
    before = now;
    before.inode++;
    assert_false(resume_is_same_file(&before, &now));
}

static void old_notes_are_swept_when_another_is_made(void **state)
{
    scoped(scratch_done) struct scratch s = home();
    const struct resume_note note = {.upload = "upl_1"};
    const struct resume_key other = {"get", "/x", "default", "x"};
    struct resume_note got;
    int64_t now = now_us();
    (void)state;
    resume_save(&key, &note, now);
    resume_save(&other, &note, now + (RESUME_DAYS - 1) * day_us);
    assert_int_equal(note_count(&s), 2);
    resume_forget(&other);
    resume_save(&other, &note, now + (RESUME_DAYS + 1) * day_us);
    assert_false(resume_load(&key, &got));
}

static void what_is_no_note_is_none(void **state)
{
    scoped(scratch_done) struct scratch s = home();
    static const char *const texts[] = {"", "{", "[]", "null", "{\"size\":1}", "{\"upload\":7}"};
    const struct resume_note note = {.upload = "upl_1"};
    struct resume_note got;
    char path[512], dir_path[256];
    (void)state;
    resume_save(&key, &note, now_us());
    (void)snprintf(dir_path, sizeof dir_path, "%s/cicada/transfers", s.path);
    DIR *dir = opendir(dir_path);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)) && entry->d_name[0] == '.')
        ;
    assert_non_null(entry);
    (void)snprintf(path, sizeof path, "%s/%.200s", dir_path, entry->d_name);
    (void)closedir(dir);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scoped(fd_closep) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), (ssize_t)strlen(texts[i]));
        assert_false(resume_load(&key, &got));
    }
}

static void without_a_home_nothing_is_remembered_and_nothing_fails(void **state)
{
    const struct resume_note note = {.upload = "upl_1"};
    struct resume_note got;
    (void)state;
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    resume_save(&key, &note, now_us());
    assert_false(resume_load(&key, &got));
    resume_forget(&key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_comes_back_as_it_was_until_it_is_forgotten),
        cmocka_unit_test(every_part_of_a_key_counts),
        cmocka_unit_test(a_file_that_was_changed_is_another_one),
        cmocka_unit_test(old_notes_are_swept_when_another_is_made),
        cmocka_unit_test(what_is_no_note_is_none),
        cmocka_unit_test(without_a_home_nothing_is_remembered_and_nothing_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
