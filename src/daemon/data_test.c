/* What data.h promises. Those tests that hand directories from root to another run as root only. */
#include "daemon/data.h"

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

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "daemon/drop.h"

enum { SERVICE = 190000, STRANGER = 4711 };

static const struct drop_user service = {SERVICE, SERVICE, true, "uid 190000"};

static struct drop_user myself(void)
{
    return (struct drop_user){.uid = geteuid(), .gid = getegid(), .name = "the same user"};
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("not root: skipped\n");
        skip();
    }
}

/* Opens DATA at `name` in the scratch directory. */
static int open_at(const struct scratch *s, const char *name, const struct drop_user *owner,
                   struct data *ret, struct err *e)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", s->path, name);
    return data_open(path, owner, ret, e);
}

static void assert_is(const struct scratch *s, const char *name, uid_t uid, mode_t mode)
{
    struct stat st;
    assert_int_equal(fstatat(s->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_uid, uid);
    assert_int_equal(st.st_mode & 07777, mode);
}

/* Refused with that code; whatever was there stays as it is. */
static void assert_refused(const struct scratch *s, const char *name, const struct drop_user *owner,
                           const char *why)
{
    struct err e = {0};
    struct data d = DATA_NONE;
    assert_int_equal(open_at(s, name, owner, &d, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
    assert_non_null(strstr(e.text, why));
}

static void what_is_missing_is_made_for_us_alone(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    struct data d = DATA_NONE;
    struct err e = {0};
    assert_int_equal(open_at(&s, "a/b/data", &me, &d, &e), 0);
    assert_is(&s, "a/b/data", me.uid, 0700);
    assert_is(&s, "a/b/data/sleepers", me.uid, 0700);
    assert_is(&s, "a/b/data/live", me.uid, 0700);
    assert_is(&s, "a/b/data/tmp", me.uid, 0700);
    scoped(fd_closep) int more = -1;
    assert_int_equal(data_dir(&d, "images", &me, &more, &e), 0);
    assert_is(&s, "a/b/data/images", me.uid, 0700);
    data_close(&d);
    assert_int_equal(d.fd, -1);
    data_close(&d);
}

static void a_second_start_finds_everything_and_a_slash_does_not_matter(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    struct err e = {0};
    for (int i = 0; i < 2; i++) {
        struct data d = DATA_NONE;
        assert_int_equal(open_at(&s, "data//", &me, &d, &e), 0);
        scratch_write(&s, "data/sleepers/ses_1.sleep", "x");
        data_close(&d);
    }
}

static void one_that_others_can_read_is_closed_to_them(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    struct data d = DATA_NONE;
    struct err e = {0};
    scratch_mkdir(&s, "data"); /* 0755 */
    assert_int_equal(open_at(&s, "data", &me, &d, &e), 0);
    assert_is(&s, "data", me.uid, 0700);
    data_close(&d);
}

static void one_that_others_can_write_to_is_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    static const mode_t modes[] = {0770, 0707, 01777};
    scratch_mkdir(&s, "data");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(fchmodat(s.fd, "data", modes[i], 0), 0);
        assert_refused(&s, "data", &me, "others may write");
        assert_is(&s, "data", me.uid, modes[i]);
    }
    struct err e = {0};
    struct data d = DATA_NONE;
    assert_int_equal(open_at(&s, "other", &me, &d, &e), 0);
    data_close(&d);
    assert_int_equal(fchmodat(s.fd, "other/live", 0777, 0), 0); /* also below */
    assert_refused(&s, "other", &me, "live");
}

static void links_and_files_are_refused(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    scratch_mkdir(&s, "real");
    scratch_write(&s, "file", "x");
    assert_int_equal(symlinkat("real", s.fd, "link"), 0);
    assert_refused(&s, "link", &me, "link");
    assert_refused(&s, "link/", &me, "link");
    assert_refused(&s, "file", &me, "no directory");
    assert_int_equal(symlinkat("../real", s.fd, "real/live"), 0);
    assert_refused(&s, "real", &me, "live");
}

static void as_root_everything_is_made_for_the_service_user(void **state)
{
    (void)state;
    need_root();
    scoped(scratch_done) struct scratch s = scratch_new();
    struct data d = DATA_NONE;
    struct err e = {0};
    assert_int_equal(open_at(&s, "lib/data", &service, &d, &e), 0);
    assert_is(&s, "lib", 0, 0755); /* not ours to close */
    assert_is(&s, "lib/data", SERVICE, 0700);
    assert_is(&s, "lib/data/live", SERVICE, 0700);
    data_close(&d);
}

static void an_empty_directory_of_root_is_given_and_a_full_one_is_not(void **state)
{
    (void)state;
    need_root();
    scoped(scratch_done) struct scratch s = scratch_new();
    struct data d = DATA_NONE;
    struct err e = {0};
    scratch_mkdir(&s, "empty");
    assert_int_equal(open_at(&s, "empty", &service, &d, &e), 0);
    assert_is(&s, "empty", SERVICE, 0700);
    data_close(&d);
    scratch_mkdir(&s, "etc");
    scratch_write(&s, "etc/passwd", "root");
    assert_refused(&s, "etc", &service, "not empty");
    assert_is(&s, "etc", 0, 0755);
}

static void one_of_somebody_else_is_refused(void **state)
{
    (void)state;
    need_root();
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    scratch_mkdir(&s, "data");
    assert_int_equal(fchownat(s.fd, "data", STRANGER, STRANGER, 0), 0);
    assert_refused(&s, "data", &service, "belongs to uid 4711");
    assert_refused(&s, "data", &me, "belongs to uid 4711");
    assert_is(&s, "data", STRANGER, 0755);
}

static void sweeping_empties_tmp_and_nothing_else(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    struct data d = DATA_NONE;
    struct err e = {0};
    assert_int_equal(open_at(&s, "data", &me, &d, &e), 0);
    scratch_mkdir(&s, "data/tmp/deep");
    scratch_write(&s, "data/tmp/deep/draft", "x");
    scratch_write(&s, "data/live/kept", "x");
    data_sweep(&d);
    assert_int_equal(faccessat(s.fd, "data/tmp/deep", F_OK, 0), -1);
    assert_int_equal(faccessat(s.fd, "data/live/kept", F_OK, 0), 0);
    data_close(&d);
}

static void where_data_is(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct err e = {0};
    assert_int_equal(data_path("/srv/cicada", path, &e), 0);
    assert_string_equal(path, "/srv/cicada");
    assert_int_equal(data_path("srv", path, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    char endless[PATH_MAX + 2];
    memset(endless, '/', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_int_equal(data_path(endless, path, &e), -1);
}

/* The next two with a home, an XDG directory, and neither; as a user, in a child. */
static int of_a_user(void)
{
    char path[PATH_MAX], expected[PATH_MAX];
    struct err e = {0};
    (void)unsetenv("XDG_DATA_HOME");
    (void)unsetenv("XDG_RUNTIME_DIR");
    (void)setenv("HOME", "/home/ann", 1);
    if (data_path("auto", path, &e) || strcmp(path, "/home/ann/.local/share/cicada") != 0)
        return 1;
    (void)snprintf(expected, sizeof expected, "/tmp/cicada-%u", geteuid());
    if (runtime_path(path, &e) || strcmp(path, expected) != 0)
        return 2;
    (void)setenv("XDG_DATA_HOME", "/d", 1);
    (void)setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    if (data_path("auto", path, &e) || strcmp(path, "/d/cicada") != 0)
        return 3;
    if (runtime_path(path, &e) || strcmp(path, "/run/user/7/cicada") != 0)
        return 4;
    (void)setenv("XDG_DATA_HOME", "relative", 1); /* to be ignored */
    (void)unsetenv("HOME");
    return data_path("auto", path, &e) == -1 && e.code == ERR_NOT_FOUND ? 0 : 5;
}

static void a_user_has_both_at_home(void **state)
{
    (void)state;
    assert_true(scratch_as_nobody(of_a_user));
}

static void root_has_both_in_the_system(void **state)
{
    (void)state;
    need_root();
    char path[PATH_MAX];
    struct err e = {0};
    assert_int_equal(data_path("auto", path, &e), 0);
    assert_string_equal(path, "/var/lib/cicada");
    assert_int_equal(runtime_path(path, &e), 0);
    assert_string_equal(path, "/run/cicada");
}

static void the_directory_of_the_socket_is_checked_alike(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct drop_user me = myself();
    struct err e = {0};
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/run", s.path);
    assert_int_equal(runtime_make(path, &me, &e), 0);
    assert_is(&s, "run", me.uid, 0700);
    assert_int_equal(runtime_make(path, &me, &e), 0);
    assert_int_equal(fchmodat(s.fd, "run", 0777, 0), 0);
    assert_int_equal(runtime_make(path, &me, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
    assert_int_equal(symlinkat("run", s.fd, "link"), 0);
    assert_int_equal(fchmodat(s.fd, "run", 0700, 0), 0);
    (void)snprintf(path, sizeof path, "%s/link", s.path);
    assert_int_equal(runtime_make(path, &me, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

static void the_socket_of_a_service_can_be_reached_by_all(void **state)
{
    (void)state;
    need_root();
    scoped(scratch_done) struct scratch s = scratch_new();
    struct err e = {0};
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/run", s.path);
    assert_int_equal(runtime_make(path, &service, &e), 0);
    assert_is(&s, "run", SERVICE, 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_made_for_us_alone),
        cmocka_unit_test(a_second_start_finds_everything_and_a_slash_does_not_matter),
        cmocka_unit_test(one_that_others_can_read_is_closed_to_them),
        cmocka_unit_test(one_that_others_can_write_to_is_refused),
        cmocka_unit_test(links_and_files_are_refused),
        cmocka_unit_test(as_root_everything_is_made_for_the_service_user),
        cmocka_unit_test(an_empty_directory_of_root_is_given_and_a_full_one_is_not),
        cmocka_unit_test(one_of_somebody_else_is_refused),
        cmocka_unit_test(sweeping_empties_tmp_and_nothing_else),
        cmocka_unit_test(where_data_is),
        cmocka_unit_test(a_user_has_both_at_home),
        cmocka_unit_test(root_has_both_in_the_system),
        cmocka_unit_test(the_directory_of_the_socket_is_checked_alike),
        cmocka_unit_test(the_socket_of_a_service_can_be_reached_by_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
