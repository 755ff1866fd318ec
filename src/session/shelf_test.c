/* What images.h promises of libraries beside images, and what sessions make of them. */
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "session/images_int.h"
#include "session/libraries.h"
#include "session/session.h"
#include "session/session_fixture.h"
#include "wire/jail.h"

/* What images are made of here, and what is kept of it. */
static char from[128];
static const struct jail_library list[] = {{"python3", from}};

static void list_library(struct world *w)
{
    struct stat st;
    char line[256];
    assert_int_equal(fstatat(w->dir.fd, "lib/library.py", &st, 0), 0);
    (void)snprintf(line, sizeof line, "%lld.%09ld %lld %s/library.py\n",
                   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size, from);
    scratch_write(&w->dir, "deps", line);
}

static int set_up_library(void **state)
{
    struct world *w = make_world();
    char deps[128];
    scratch_mkdir(&w->dir, "lib");
    scratch_write(&w->dir, "lib/library.py", "x = 1\n");
    (void)snprintf(from, sizeof from, "%s/lib", w->dir.path);
    (void)snprintf(deps, sizeof deps, "%s/deps", w->dir.path);
    list_library(w);
    spawner_close(w->spawner);
    w->spawner = fake_spawner(deps);
    w->images->libraries = list;
    w->images->library_count = 1;
    bake(w);
    open_sessions(w);
    *state = w;
    return 0;
}

static void upgrade(struct world *w)
{
    scratch_write(&w->dir, "lib/library.py", "x = 2  # longer\n");
}

static struct current_image current(struct world *w)
{
    struct current_image image = CURRENT_IMAGE_NONE;
    struct err e = {0};
    assert_int_equal(current_take(w->current, &image, &e), 0);
    return image;
}

/* Fails unless that is what comes of it; ERR_NONE: a copy. */
static void keep(struct world *w, enum err_code wanted)
{
    scoped(current_image_done) struct current_image image = current(w);
    struct err e = {0};
    int failed = images_keep_libraries(w->images, image.id, NULL, &e);
    if (e.code != wanted || failed != (wanted ? -1 : 0))
        fail_msg("%d: %s", e.code, e.text);
}

static bool exists(struct world *w, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "images/%s", name);
    return faccessat(w->dir.fd, path, F_OK, 0) == 0;
}

static bool is_kept(struct world *w, const char *id)
{
    char name[IMAGE_NAME_SIZE];
    image_name(id, "lib", name);
    return exists(w, name);
}

static void a_copy_is_made_once_and_can_be_opened(void **state)
{
    struct world *w = *state;
    scoped(current_image_done) struct current_image image = current(w);
    scoped(fd_closep) int fd = -1, none = -1;
    struct stat first, again;
    struct err e = {0};
    assert_int_equal(images_open_libraries(w->images, image.id, &none, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    keep(w, ERR_NONE);
    assert_int_equal(images_open_libraries(w->images, image.id, &fd, &e), 0);
    assert_int_equal(fstatat(fd, "python3/library.py", &first, 0), 0);
    keep(w, ERR_NONE);
    assert_int_equal(fstatat(fd, "python3/library.py", &again, 0), 0);
    assert_int_equal(first.st_ino, again.st_ino);
    assert_false(exists(w, "libraries.tmp"));
}

static void of_libraries_that_have_changed_none_is_made(void **state)
{
    struct world *w = *state;
    scoped(current_image_done) struct current_image image = current(w);
    upgrade(w);
    keep(w, ERR_CONFLICT);
    assert_false(is_kept(w, image.id));
    assert_false(exists(w, "libraries.tmp"));
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void nothing_is_left_of_one_that_was_given_up(void **state)
{
    struct world *w = *state;
    scoped(current_image_done) struct current_image image = current(w);
    const struct libraries_wish wish = {never, NULL};
    struct err e = {0};
    assert_int_equal(images_keep_libraries(w->images, image.id, &wish, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_false(is_kept(w, image.id));
    assert_false(exists(w, "libraries.tmp"));
}

/* As whoever was killed leaves it. */
static void half_a_copy_is_nobodys_and_goes(void **state)
{
    struct world *w = *state;
    uint64_t freed;
    struct err e = {0};
    scratch_mkdir(&w->dir, "images/libraries.tmp");
    scratch_write(&w->dir, "images/libraries.tmp/half.py", "x =");
    keep(w, ERR_NONE);
    scoped(current_image_done) struct current_image image = current(w);
    scoped(fd_closep) int fd = -1;
    assert_int_equal(images_open_libraries(w->images, image.id, &fd, &e), 0);
    assert_int_equal(faccessat(fd, "half.py", F_OK, 0), -1);
    scratch_mkdir(&w->dir, "images/libraries.tmp");
    scratch_mkdir(&w->dir, "images/libraries.old");
    scratch_write(&w->dir, "images/libraries.old/half.py", "x =");
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    assert_false(exists(w, "libraries.tmp"));
    assert_false(exists(w, "libraries.old"));
    assert_true(is_kept(w, image.id));
}

static void while_another_is_at_work_none_is_made(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    scoped(fd_closep) int lock = images_lock(w->images, LOCK_EX, &e);
    assert_true(lock >= 0);
    keep(w, ERR_UNAVAILABLE);
}

static void libraries_in_two_stores_are_the_same_files(void **state)
{
    struct world *w = *state;
    struct images *kept = fake_images(&w->dir, "kept");
    kept->libraries = list;
    kept->library_count = 1;
    scoped(current_image_done) struct current_image image = current(w);
    scoped(fd_closep) int first = -1, second = -1;
    struct stat one, other;
    struct err e = {0};
    assert_int_equal(images_link_libraries(w->images, kept, image.id, NULL, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    keep(w, ERR_NONE);
    assert_int_equal(images_link_libraries(w->images, kept, image.id, NULL, &e), 0);
    assert_int_equal(images_link_libraries(w->images, kept, image.id, NULL, &e), 0);
    assert_int_equal(images_open_libraries(w->images, image.id, &first, &e), 0);
    assert_int_equal(images_open_libraries(kept, image.id, &second, &e), 0);
    assert_int_equal(fstatat(first, "python3/library.py", &one, 0), 0);
    assert_int_equal(fstatat(second, "python3/library.py", &other, 0), 0);
    assert_int_equal(one.st_ino, other.st_ino);
    images_close(kept);
}

/* After an upgrade, when somebody has removed all images to make room. */
static void one_whose_image_is_only_in_the_second_store_wakes(void **state)
{
    struct world *w = *state;
    struct images *kept = fake_images(&w->dir, "kept");
    kept->libraries = list;
    kept->library_count = 1;
    struct err e = {0};
    uint64_t freed;
    scoped(current_image_done) struct current_image old = current(w), again = CURRENT_IMAGE_NONE;
    keep(w, ERR_NONE);
    assert_int_equal(images_link(w->images, kept, old.id, &e), 0);
    assert_int_equal(images_link_libraries(w->images, kept, old.id, NULL, &e), 0);
    upgrade(w);
    list_library(w);
    bake(w);
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    struct current *both;
    assert_int_equal(current_new(w->images, kept, &both, &e), 0);
    assert_int_equal(current_take_id(both, old.id, &again, &e), 0);
    assert_true(again.is_old);
    assert_true(again.libraries_fd >= 0);
    current_free(both);
    images_close(kept);
}

static void one_that_others_may_write_to_is_not_used(void **state)
{
    struct world *w = *state;
    keep(w, ERR_NONE);
    scoped(current_image_done) struct current_image image = current(w);
    char name[IMAGE_NAME_SIZE], path[192];
    int fd = -1;
    struct err e = {0};
    image_name(image.id, "lib", name);
    (void)snprintf(path, sizeof path, "%s/images/%s", w->dir.path, name);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(images_open_libraries(w->images, image.id, &fd, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_copy_goes_with_its_image(void **state)
{
    struct world *w = *state;
    uint64_t freed;
    struct err e = {0};
    keep(w, ERR_NONE);
    scoped(current_image_done) struct current_image old = current(w);
    char used[1][HASH_HEX_SIZE];
    memcpy(used[0], old.id, HASH_HEX_SIZE);
    upgrade(w);
    list_library(w);
    bake(w);
    keep(w, ERR_NONE);
    scoped(current_image_done) struct current_image new = current(w);
    assert_int_equal(images_gc(w->images, (const char(*)[HASH_HEX_SIZE])used, 1, &freed, &e), 0);
    assert_true(is_kept(w, old.id));
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    assert_false(is_kept(w, old.id));
    assert_true(is_kept(w, new.id));
}

static void one_whose_image_is_gone_goes_too(void **state)
{
    struct world *w = *state;
    char name[IMAGE_NAME_SIZE], path[128];
    uint64_t freed;
    struct err e = {0};
    keep(w, ERR_NONE);
    scoped(current_image_done) struct current_image image = current(w);
    image_name(image.id, "img", name);
    (void)snprintf(path, sizeof path, "images/%s", name);
    assert_int_equal(unlinkat(w->dir.fd, path, 0), 0);
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    assert_false(is_kept(w, image.id));
}

static struct session *fell_asleep(struct world *w, const char *code)
{
    struct session *s = start(w, 0);
    expect(w, s, code, "", STATE_FRESH);
    put_to_sleep(s);
    return s;
}

/* Wakes, and says what libraries it sees, `hint` being in the hint; "": there is none. */
static void expect_woken(struct world *w, struct session *s, const char *libraries,
                         const char *hint)
{
    struct run run;
    run_code(w, s, "libraries", &run);
    scoped(freep) char *text = fake_output(&run);
    assert_non_null(text);
    assert_string_equal(text, libraries);
    assert_int_equal(run.state, STATE_WOKEN);
    if (*hint ? !strstr(run.hint, hint) : *run.hint)
        fail_msg("hint: %s", run.hint);
    run_done(&run);
}

static void one_that_wakes_after_an_upgrade_has_the_libraries_of_then(void **state)
{
    struct world *w = *state;
    keep(w, ERR_NONE);
    scoped(session_unrefp) struct session *s = fell_asleep(w, "set x"), *branch = NULL;
    struct err e = {0};
    upgrade(w);
    list_library(w);
    bake(w);
    /* The library is not in one of the places that jails know: so it counts as the system's. */
    expect_woken(w, s, "python3\n", "System libraries were upgraded");
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), 0);
    expect_woken(w, branch, "python3\n", "");
}

/* Nobody has looked for a current image since the upgrade. */
static void an_upgrade_is_noticed_in_seconds_by_whoever_wakes(void **state)
{
    struct world *w = *state;
    keep(w, ERR_NONE);
    scoped(session_unrefp) struct session *s = fell_asleep(w, "set x");
    upgrade(w);
    int64_t deadline_us = clock_us() + 10 * CURRENT_SURE_US;
    for (bool is_noticed = false; !is_noticed; put_to_sleep(s)) {
        scoped(freep) char *text = output(w, s, "libraries");
        is_noticed = strcmp(text, "python3\n") == 0;
        assert_true(clock_us() < deadline_us);
    }
}

static void while_nothing_was_upgraded_it_has_the_hosts(void **state)
{
    struct world *w = *state;
    keep(w, ERR_NONE);
    scoped(session_unrefp) struct session *s = fell_asleep(w, "set x");
    expect_woken(w, s, "\n", "");
}

static void without_a_copy_it_has_the_hosts_and_says_so(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = fell_asleep(w, "set x");
    upgrade(w);
    list_library(w);
    bake(w);
    expect_woken(w, s, "\n", "What it imports from now on may not fit");
}

static void one_that_cannot_wake_with_them_wakes_without(void **state)
{
    struct world *w = *state;
    keep(w, ERR_NONE);
    scoped(session_unrefp) struct session *s = fell_asleep(w, "mixed");
    upgrade(w);
    list_library(w);
    bake(w);
    expect_woken(w, s, "\n", "What it imports from now on may not fit");
}

int main(void)
{
#define TEST_KEPT(name) cmocka_unit_test_setup_teardown(name, set_up_library, tear_down)
    const struct CMUnitTest tests[] = {
        TEST_KEPT(a_copy_is_made_once_and_can_be_opened),
        TEST_KEPT(of_libraries_that_have_changed_none_is_made),
        TEST_KEPT(nothing_is_left_of_one_that_was_given_up),
        TEST_KEPT(half_a_copy_is_nobodys_and_goes),
        TEST_KEPT(while_another_is_at_work_none_is_made),
        TEST_KEPT(libraries_in_two_stores_are_the_same_files),
        TEST_KEPT(one_whose_image_is_only_in_the_second_store_wakes),
        TEST_KEPT(one_that_others_may_write_to_is_not_used),
        TEST_KEPT(a_copy_goes_with_its_image),
        TEST_KEPT(one_whose_image_is_gone_goes_too),
        TEST_KEPT(one_that_wakes_after_an_upgrade_has_the_libraries_of_then),
        TEST_KEPT(an_upgrade_is_noticed_in_seconds_by_whoever_wakes),
        TEST_KEPT(while_nothing_was_upgraded_it_has_the_hosts),
        TEST_KEPT(without_a_copy_it_has_the_hosts_and_says_so),
        TEST_KEPT(one_that_cannot_wake_with_them_wakes_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
