#include "session/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/scratch.h"

static int entries(int dir_fd)
{
    DIR *dir = fdopendir(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    assert_non_null(dir);
    int count = -2; /* "." and ".." */
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static bool has_text(int dir_fd, const char *path, const char *text)
{
    char got[64];
    size_t len = 0;
    struct err e = {0};
    scoped(fd_closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && fd_read_all(fd, got, sizeof got, &len, &e) == 0 && len == strlen(text) &&
           memcmp(got, text, len) == 0;
}

static enum err_code bring(struct workdir *w, const struct scratch *from, const char *file,
                           const char *name, size_t *skipped)
{
    char path[256];
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/%s", from->path, file);
    return workdir_bring(w, path, name, skipped, &e) ? e.code : ERR_NONE;
}

static void it_is_private_and_leaves_nothing_behind(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    struct workdir *w;
    struct err e = {0};
    struct stat st;
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(fstat(workdir_fd(w), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(st.st_uid, geteuid() == 0 ? WORKDIR_UID : geteuid());
    assert_int_equal(mkdirat(workdir_fd(w), "made-by-code", 0), 0);
    assert_int_equal(entries(base.fd), 1);
    workdir_free(w);
    assert_int_equal(entries(base.fd), 0);
}

static void a_file_is_brought_with_content_time_and_owner(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(scratch_done) struct scratch from = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped;
    scratch_write(&from, "a.csv", "x,y\n1,2\n");
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 5}};
    assert_int_equal(utimensat(from.fd, "a.csv", times, 0), 0);
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(bring(w, &from, "a.csv", "deep/er/b.csv", &skipped), ERR_NONE);

    struct stat st;
    assert_int_equal(fstatat(workdir_fd(w), "deep/er/b.csv", &st, 0), 0);
    assert_true(has_text(workdir_fd(w), "deep/er/b.csv", "x,y\n1,2\n"));
    assert_int_equal(st.st_mtim.tv_sec, 2000);
    assert_int_equal(st.st_mtim.tv_nsec, 5);
    assert_int_equal(st.st_uid, geteuid() == 0 ? WORKDIR_UID : geteuid());
    assert_int_equal(fstatat(workdir_fd(w), "deep", &st, 0), 0);
    assert_int_equal(st.st_uid, geteuid() == 0 ? WORKDIR_UID : geteuid());
}

static void a_directory_is_brought_whole_but_without_links_and_pipes(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(scratch_done) struct scratch from = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped = 0;
    scratch_mkdir(&from, "d");
    scratch_mkdir(&from, "d/sub");
    scratch_mkdir(&from, "d/empty");
    scratch_write(&from, "d/one", "1");
    scratch_write(&from, "d/sub/two", "2");
    assert_int_equal(symlinkat("/etc/passwd", from.fd, "d/link"), 0);
    assert_int_equal(mkfifoat(from.fd, "d/sub/fifo", 0600), 0);
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(bring(w, &from, "d", "copy", &skipped), ERR_NONE);
    assert_int_equal(skipped, 2);
    assert_true(has_text(workdir_fd(w), "copy/one", "1"));
    assert_true(has_text(workdir_fd(w), "copy/sub/two", "2"));
    assert_int_equal(faccessat(workdir_fd(w), "copy/empty", F_OK, 0), 0);
    assert_int_equal(faccessat(workdir_fd(w), "copy/link", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void a_directory_that_holds_the_workdir_does_not_bring_it_into_itself(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped = 0;
    scratch_write(&base, "beside", "yes");
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(bring(w, &base, ".", "all", &skipped), ERR_NONE);
    assert_int_equal(skipped, 1);
    assert_true(has_text(workdir_fd(w), "all/beside", "yes"));
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "/abs", "..", "../x", "a/../b",
                                      "a//b", "a/",   ".",  "./a",  "a/.."};
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(scratch_done) struct scratch from = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped;
    scratch_write(&from, "f", "");
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(bring(w, &from, "f", bad[i], &skipped), ERR_INVALID);
    assert_int_equal(bring(w, &from, "f", "..a", &skipped), ERR_NONE);

    char longest[WORKDIR_NAME_MAX + 1];
    memset(longest, 'n', sizeof longest);
    for (size_t i = 200; i < WORKDIR_NAME_MAX - 1; i += 200)
        longest[i] = '/';
    longest[WORKDIR_NAME_MAX] = '\0';
    assert_int_equal(bring(w, &from, "f", longest, &skipped), ERR_INVALID);
    longest[WORKDIR_NAME_MAX - 1] = '\0';
    assert_int_equal(bring(w, &from, "f", longest, &skipped), ERR_NONE);
}

static void a_name_is_given_once(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(scratch_done) struct scratch from = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped;
    scratch_write(&from, "f", "");
    scratch_mkdir(&from, "d");
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(bring(w, &from, "f", "same", &skipped), ERR_NONE);
    assert_int_equal(bring(w, &from, "f", "same", &skipped), ERR_CONFLICT);
    assert_int_equal(bring(w, &from, "d", "same", &skipped), ERR_CONFLICT);
}

static void what_is_neither_file_nor_directory_is_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(scratch_done) struct scratch from = scratch_new();
    scoped(workdir_freep) struct workdir *w = NULL;
    struct err e = {0};
    size_t skipped;
    assert_int_equal(mkfifoat(from.fd, "fifo", 0600), 0);
    assert_int_equal(workdir_new(base.path, &w, &e), 0);
    assert_int_equal(bring(w, &from, "fifo", "x", &skipped), ERR_INVALID);
    assert_int_equal(bring(w, &from, "missing", "x", &skipped), ERR_NOT_FOUND);
    assert_int_equal(workdir_bring(w, "/dev/zero", "zero", &skipped, &e), -1);
}

/* Makes a workdir in a child that dies without cleaning up. */
static void leave_behind(const struct scratch *base)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct workdir *w;
        struct err e = {0};
        _exit(workdir_new(base->path, &w, &e) ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_a_dead_process_left_is_swept(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    leave_behind(&base);
    assert_int_equal(entries(base.fd), 1);
    workdir_sweep(base.path);
    assert_int_equal(entries(base.fd), 0);
}

static void what_a_living_process_holds_stays(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scoped(workdir_freep) struct workdir *mine = NULL, *second = NULL;
    struct err e = {0};
    assert_int_equal(workdir_new(base.path, &mine, &e), 0);
    assert_int_equal(workdir_new(base.path, &second, &e), 0);
    assert_int_equal(entries(base.fd), 2);
    assert_int_equal(mkdirat(workdir_fd(mine), "still-there", 0700), 0);
}

/* A process that got the number of one that is gone: same pid, another start time. */
static void a_later_process_with_the_same_pid_is_another(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    struct stat ns;
    char owner[128];
    assert_int_equal(stat("/proc/self/ns/pid", &ns), 0);
    (void)snprintf(owner, sizeof owner, "%d.1.%llu", getpid(), (unsigned long long)ns.st_ino);
    scratch_mkdir(&base, "cicada-work-aaaaaa");
    assert_int_equal(symlinkat(owner, base.fd, "cicada-work-aaaaaa/owner"), 0);
    workdir_sweep(base.path);
    assert_int_equal(entries(base.fd), 0);
}

static void another_pid_namespace_and_other_names_are_left_alone(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    scratch_mkdir(&base, "cicada-work-bbbbbb");
    assert_int_equal(symlinkat("999999.1.1", base.fd, "cicada-work-bbbbbb/owner"), 0);
    scratch_mkdir(&base, "cicada-work-cccccc");
    assert_int_equal(symlinkat("nonsense", base.fd, "cicada-work-cccccc/owner"), 0);
    scratch_mkdir(&base, "other");
    scratch_write(&base, "cicada-work-file", "");
    assert_int_equal(symlinkat("other", base.fd, "cicada-work-link"), 0);
    workdir_sweep(base.path);
    assert_int_equal(entries(base.fd), 5);
}

static void one_without_an_owner_is_swept_when_it_is_old(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    const struct timespec old[2] = {{.tv_sec = time(NULL) - WORKDIR_OWNERLESS_S - 10},
                                    {.tv_sec = time(NULL) - WORKDIR_OWNERLESS_S - 10}};
    scratch_mkdir(&base, "cicada-work-young");
    scratch_mkdir(&base, "cicada-work-old");
    assert_int_equal(utimensat(base.fd, "cicada-work-old", old, 0), 0);
    workdir_sweep(base.path);
    assert_int_equal(faccessat(base.fd, "cicada-work-old", F_OK, 0), -1);
    assert_int_equal(faccessat(base.fd, "cicada-work-young", F_OK, 0), 0);
}

static void a_directory_somebody_else_filled_is_never_removed(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch base = scratch_new();
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    scratch_mkdir(&base, "cicada-work-thesis");
    scratch_write(&base, "cicada-work-thesis/text", "years of work");
    assert_int_equal(utimensat(base.fd, "cicada-work-thesis", old, 0), 0);
    workdir_sweep(base.path);
    assert_true(has_text(base.fd, "cicada-work-thesis/text", "years of work"));
}

static void directories_of_other_users_are_left_alone(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    scoped(scratch_done) struct scratch base = scratch_new();
    leave_behind(&base);
    DIR *dir = opendir(base.path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            assert_int_equal(fchownat(base.fd, entry->d_name, SCRATCH_NOBODY, SCRATCH_NOBODY, 0),
                             0);
    (void)closedir(dir);
    workdir_sweep(base.path);
    assert_int_equal(entries(base.fd), 1);
}

static void a_base_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct workdir *w = NULL;
    struct err e = {0};
    assert_int_equal(workdir_new("/nonexistent/base", &w, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_private_and_leaves_nothing_behind),
        cmocka_unit_test(a_file_is_brought_with_content_time_and_owner),
        cmocka_unit_test(a_directory_is_brought_whole_but_without_links_and_pipes),
        cmocka_unit_test(a_directory_that_holds_the_workdir_does_not_bring_it_into_itself),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(a_name_is_given_once),
        cmocka_unit_test(what_is_neither_file_nor_directory_is_refused),
        cmocka_unit_test(what_a_dead_process_left_is_swept),
        cmocka_unit_test(what_a_living_process_holds_stays),
        cmocka_unit_test(a_later_process_with_the_same_pid_is_another),
        cmocka_unit_test(another_pid_namespace_and_other_names_are_left_alone),
        cmocka_unit_test(one_without_an_owner_is_swept_when_it_is_old),
        cmocka_unit_test(a_directory_somebody_else_filled_is_never_removed),
        cmocka_unit_test(directories_of_other_users_are_left_alone),
        cmocka_unit_test(a_base_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
