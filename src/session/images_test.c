/* What images.h promises, with images that hold nothing but their head and a list of files. */
#include "session/images.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "image/format.h"
#include "session/fake.h"
#include "session/images_int.h"
#include "session/meta.h"

struct world {
    struct scratch dir;
    char deps[96];
    struct spawner *spawner;
    struct images *images;
    int heard; /* by the sink */
};

/* A library and the list that names it as it is now. */
static void list_library(struct world *w)
{
    struct stat st;
    char line[256];
    assert_int_equal(fstatat(w->dir.fd, "library.py", &st, 0), 0);
    (void)snprintf(line, sizeof line, "%lld.%09ld %lld %s/library.py\n1.0 5 /opt/cicada/kernel\n",
                   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size,
                   w->dir.path);
    scratch_write(&w->dir, "deps", line);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    w->dir = scratch_new();
    scratch_write(&w->dir, "library.py", "x = 1\n");
    list_library(w);
    (void)snprintf(w->deps, sizeof w->deps, "%s/deps", w->dir.path);
    w->spawner = fake_spawner(w->deps);
    w->images = fake_images(&w->dir, "images");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    images_close(w->images);
    spawner_close(w->spawner);
    scratch_done(&w->dir);
    free(w);
    return 0;
}

static void hear(void *arg, const char *text)
{
    struct world *w = arg;
    assert_true(*text);
    w->heard++;
}

static struct image bake(struct world *w, enum bake_way way)
{
    const struct bake_sink sink = {hear, w};
    struct image image = IMAGE_NONE;
    struct err e = {0};
    if (images_bake(w->images, w->spawner, way, &sink, /* stop_fd= */ -1, &image, &e))
        fail_msg("%s", e.text);
    return image;
}

static void expect_none(struct world *w, const char *why)
{
    struct image image = IMAGE_NONE;
    struct err e = {0};
    assert_int_equal(images_find(w->images, &image, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    if (!strstr(e.text, why))
        fail_msg("%s", e.text);
}

/* The path of an image or its note. */
static void path_of(const struct world *w, const struct image *image, const char *ending,
                    char ret[256])
{
    char name[IMAGE_NAME_SIZE];
    image_name(image->id, ending, name);
    (void)snprintf(ret, 256, "%s/images/%s", w->dir.path, name);
}

static bool exists(const struct world *w, const struct image *image, const char *ending)
{
    char path[256];
    path_of(w, image, ending, path);
    return access(path, F_OK) == 0;
}

static void change_byte(const struct world *w, const struct image *image, off_t at)
{
    char path[256];
    path_of(w, image, "img", path);
    assert_int_equal(chmod(path, 0600), 0);
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "!", 1, at), 1);
    assert_int_equal(fchmod(fd, 0400), 0);
}

static void what_was_baked_is_found(void **state)
{
    struct world *w = *state;
    expect_none(w, "there is no image");
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    struct err e = {0};
    assert_int_equal(w->heard, 2);
    assert_int_equal(images_find(w->images, &found, &e), 0);
    assert_string_equal(found.id, made.id);
    assert_int_equal(found.size, 4 * IMAGE_PAGE);
    assert_int_equal(found.mark, made.mark);
    assert_int_equal(found.made_wall_us, made.made_wall_us);
    assert_int_equal(fcntl(found.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_true(write(found.fd, "x", 1) < 0);
}

static void nothing_else_is_left_in_the_directory(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image image = bake(w, BAKE_IF_NEEDED);
    char path[256];
    struct stat st;
    path_of(w, &image, "img", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
    assert_true(exists(w, &image, "meta"));
    DIR *dir = opendir(dirname(path));
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    assert_int_equal(count, 4); /* the two, and "." and ".." */
}

static void a_second_bake_uses_what_is_there_unless_told_otherwise(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image first = bake(w, BAKE_IF_NEEDED);
    scoped(image_done) struct image second = bake(w, BAKE_IF_NEEDED);
    assert_string_equal(first.id, second.id);
    assert_int_equal(w->heard, 2);
    scoped(image_done) struct image third = bake(w, BAKE_ANEW), found = IMAGE_NONE;
    struct err e = {0};
    assert_string_not_equal(first.id, third.id);
    assert_int_equal(images_find(w->images, &found, &e), 0);
    assert_string_equal(found.id, third.id); /* the newest */
}

static void *bake_too(void *arg)
{
    struct world *w = arg;
    struct image *image = malloc(sizeof *image);
    struct err e = {0};
    *image = IMAGE_NONE;
    (void)images_bake(w->images, w->spawner, BAKE_ANEW, NULL, /* stop_fd= */ -1, image, &e);
    return image;
}

static void two_at_once_make_one(void **state)
{
    struct world *w = *state;
    pthread_t threads[2];
    struct image *made[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, bake_too, w), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], (void **)&made[i]), 0);
    assert_true(made[0]->fd >= 0 && made[1]->fd >= 0);
    assert_string_equal(made[0]->id, made[1]->id);
    for (int i = 0; i < 2; i++) {
        image_done(made[i]);
        free(made[i]);
    }
}

static void a_changed_library_makes_an_image_old_but_not_unusable(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), old = IMAGE_NONE;
    struct err e = {0};
    scratch_write(&w->dir, "library.py", "x = 2  # longer\n");
    expect_none(w, "libraries were upgraded");
    assert_int_equal(images_open_id(w->images, made.id, &old, &e), 0);
    assert_int_equal(old.changed.count, 1);
    assert_non_null(strstr(old.changed.list[0], "library.py"));
    list_library(w);
    scoped(image_done) struct image newer = bake(w, BAKE_IF_NEEDED);
    assert_string_not_equal(made.id, newer.id);
}

static void a_library_that_is_gone_is_a_change_too(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED);
    assert_int_equal(unlinkat(w->dir.fd, "library.py", 0), 0);
    expect_none(w, "libraries were upgraded");
    assert_true(exists(w, &made, "img"));
}

static void a_changed_byte_is_noticed_and_the_image_set_aside(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    struct err e = {0};
    change_byte(w, &made, 3 * IMAGE_PAGE + 17);
    assert_int_equal(images_open_id(w->images, made.id, &found, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    assert_true(exists(w, &made, "bad"));
    assert_false(exists(w, &made, "img"));
    assert_false(exists(w, &made, "meta"));
    expect_none(w, "there is no image");
}

static void looking_for_one_sets_the_damaged_aside_and_says_so(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED);
    change_byte(w, &made, 0);
    expect_none(w, "damaged");
    assert_true(exists(w, &made, "bad"));
}

static void one_that_was_cut_off_is_noticed(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED);
    char path[256];
    path_of(w, &made, "img", path);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(truncate(path, IMAGE_PAGE), 0);
    assert_int_equal(chmod(path, 0400), 0);
    expect_none(w, "damaged");
}

/* As after a copy, or a restart of the machine: other times, same content. */
static void one_whose_times_differ_is_hashed_once(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    const struct timespec times[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    char path[256], before[META_LEN_MAX] = "", after[META_LEN_MAX] = "";
    struct err e = {0};
    path_of(w, &made, "img", path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    path_of(w, &made, "meta", path);
    scoped(fd_closep) int old = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(old, before, sizeof before - 1) > 0);
    assert_int_equal(images_find(w->images, &found, &e), 0);
    scoped(fd_closep) int new = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(new, after, sizeof after - 1) > 0);
    assert_string_not_equal(before, after);
    assert_non_null(strstr(after, " 1000000000000000 "));
}

static void one_that_others_may_write_to_is_not_used(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED);
    char path[256];
    path_of(w, &made, "img", path);
    assert_int_equal(chmod(path, 0660), 0);
    expect_none(w, "others");
}

static void a_directory_others_may_write_to_is_refused(void **state)
{
    struct world *w = *state;
    struct images *images = NULL;
    struct err e = {0};
    char path[256];
    (void)snprintf(path, sizeof path, "%s/images", w->dir.path);
    const struct images_options options = {path, "/proc/self/exe", "/proc/self/exe"};
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(images_open(&options, &images, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

/* Rewrites a line of the note. */
static void forge(struct world *w, const struct image *image, const char *key, const char *line)
{
    char path[256], text[META_LEN_MAX] = "", name[IMAGE_NAME_SIZE + 8];
    path_of(w, image, "meta", path);
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    char *at = strstr(text, key), *end = strchr(at, '\n');
    assert_true(strlen(line) == (size_t)(end - at));
    memcpy(at, line, strlen(line));
    (void)snprintf(name, sizeof name, "images/%s.meta", image->id);
    scratch_write(&w->dir, name, text);
}

static void another_cpu_gets_another_image(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    struct err e = {0};
    forge(w, &made, "cpu ", "cpu 0000000000000000000000000000000000000000000000000000000000000000");
    expect_none(w, "CPU");
    assert_int_equal(images_open_id(w->images, made.id, &found, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
}

static void a_note_that_is_damaged_makes_it_nobodys(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    struct err e = {0};
    forge(w, &made, "made ", "made -123456789012345");
    expect_none(w, "there is no image");
    assert_int_equal(images_open_id(w->images, made.id, &found, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
}

static void what_nobody_needs_is_removed(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image old = bake(w, BAKE_ANEW), slept = bake(w, BAKE_ANEW);
    scoped(image_done) struct image current = bake(w, BAKE_ANEW);
    char keep[1][HASH_HEX_SIZE];
    uint64_t freed = 0;
    struct err e = {0};
    memcpy(keep[0], slept.id, HASH_HEX_SIZE);
    scratch_write(&w->dir, "images/README", "not ours\n");
    assert_int_equal(images_gc(w->images, (const char(*)[HASH_HEX_SIZE])keep, 1, &freed, &e), 0);
    assert_true(freed > 0);
    assert_false(exists(w, &old, "img"));
    assert_false(exists(w, &old, "meta"));
    assert_true(exists(w, &slept, "img"));
    assert_true(exists(w, &slept, "meta"));
    assert_true(exists(w, &current, "img"));
}

/* All there is, as somebody does it who wants room. */
static void remove_images(struct world *w)
{
    struct err e = {0};
    scoped(fd_closep) int fd = openat(w->dir.fd, "images", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(tree_remove(fd, &e), 0);
    assert_int_equal(unlinkat(w->dir.fd, "images", AT_REMOVEDIR), 0);
}

static uint64_t inode_of(const struct world *w, const char *store, const struct image *image)
{
    char path[256];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s.img", store, image->id);
    assert_int_equal(fstatat(w->dir.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_ino;
}

static void one_in_two_stores_is_one_file_that_outlives_either(void **state)
{
    struct world *w = *state;
    struct images *kept = fake_images(&w->dir, "kept");
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    scoped(image_done) struct image again = IMAGE_NONE;
    struct err e = {0};
    assert_int_equal(images_link(w->images, kept, made.id, &e), 0);
    assert_int_equal(images_link(w->images, kept, made.id, &e), 0);
    assert_int_equal(inode_of(w, "images", &made), inode_of(w, "kept", &made));
    remove_images(w);
    assert_int_equal(images_open_id(kept, made.id, &found, &e), 0);
    assert_int_equal(found.made_wall_us, made.made_wall_us);
    /* and back, into a directory that was removed */
    assert_int_equal(images_link(kept, w->images, made.id, &e), 0);
    assert_int_equal(images_find(w->images, &again, &e), 0);
    assert_int_equal(inode_of(w, "images", &made), inode_of(w, "kept", &made));
    images_close(kept);
}

static void a_link_leaves_nothing_to_be_hashed(void **state)
{
    struct world *w = *state;
    struct images *kept = fake_images(&w->dir, "kept");
    scoped(image_done) struct image made = bake(w, BAKE_IF_NEEDED);
    struct err e = {0};
    assert_int_equal(images_link(w->images, kept, made.id, &e), 0);
    struct images *const stores[] = {w->images, kept};
    for (size_t i = 0; i < 2; i++) {
        char name[IMAGE_NAME_SIZE], text[META_LEN_MAX];
        struct checked now;
        struct meta meta;
        struct stat st;
        size_t len;
        image_name(made.id, "meta", name);
        scoped(fd_closep) int fd = openat(stores[i]->dir_fd, name, O_RDONLY | O_CLOEXEC);
        assert_int_equal(fd_read_all(fd, text, sizeof text, &len, &e), 0);
        assert_int_equal(meta_get(text, len, &meta, &e), 0);
        assert_int_equal(fstat(made.fd, &st), 0);
        assert_int_equal(checked_now(&st, &now, &e), 0);
        assert_true(checked_equal(&now, &meta.checked));
    }
    images_close(kept);
}

static void what_another_store_has_gives_no_room(void **state)
{
    struct world *w = *state;
    struct images *kept = fake_images(&w->dir, "kept");
    scoped(image_done) struct image old = bake(w, BAKE_ANEW), current = bake(w, BAKE_ANEW);
    uint64_t freed = 0;
    struct err e = {0};
    assert_int_equal(images_link(w->images, kept, old.id, &e), 0);
    assert_int_equal(images_link(w->images, kept, current.id, &e), 0);
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    assert_false(exists(w, &old, "img"));
    assert_true(freed < old.disk_bytes);
    assert_int_equal(images_gc(kept, NULL, 0, &freed, &e), 0);
    assert_true(freed >= old.disk_bytes);
    images_close(kept);
}

static void a_directory_that_was_removed_is_made_again(void **state)
{
    struct world *w = *state;
    scoped(image_done) struct image first = bake(w, BAKE_IF_NEEDED);
    remove_images(w);
    expect_none(w, "there is no image");
    scoped(image_done) struct image second = bake(w, BAKE_IF_NEEDED), found = IMAGE_NONE;
    struct err e = {0};
    assert_true(exists(w, &second, "img"));
    assert_int_equal(images_find(w->images, &found, &e), 0);
}

static void expect_given_up(struct world *w)
{
    struct image image = IMAGE_NONE;
    struct err e = {0};
    scoped(fd_closep) int stop_fd = eventfd(1, EFD_CLOEXEC);
    assert_int_equal(images_bake(w->images, w->spawner, BAKE_ANEW, NULL, stop_fd, &image, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "not wanted any more"));
}

static void one_that_is_not_wanted_any_more_is_given_up(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    expect_given_up(w);
    expect_none(w, "there is no image");
    assert_int_equal(faccessat(w->dir.fd, "images/image.tmp", F_OK, 0), -1);
    /* also by who waits for another to make one */
    scoped(fd_closep) int lock = images_lock(w->images, LOCK_EX, &e);
    expect_given_up(w);
}

static void an_id_that_is_none_is_refused(void **state)
{
    struct world *w = *state;
    static const char *const ids[] = {"", "abc", "../../../etc/passwd", "zz"};
    struct image image = IMAGE_NONE;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct err e = {0};
        assert_int_equal(images_open_id(w->images, ids[i], &image, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_baked_is_found),
        TEST(nothing_else_is_left_in_the_directory),
        TEST(a_second_bake_uses_what_is_there_unless_told_otherwise),
        TEST(two_at_once_make_one),
        TEST(a_changed_library_makes_an_image_old_but_not_unusable),
        TEST(a_library_that_is_gone_is_a_change_too),
        TEST(a_changed_byte_is_noticed_and_the_image_set_aside),
        TEST(looking_for_one_sets_the_damaged_aside_and_says_so),
        TEST(one_that_was_cut_off_is_noticed),
        TEST(one_whose_times_differ_is_hashed_once),
        TEST(one_that_others_may_write_to_is_not_used),
        TEST(a_directory_others_may_write_to_is_refused),
        TEST(another_cpu_gets_another_image),
        TEST(a_note_that_is_damaged_makes_it_nobodys),
        TEST(what_nobody_needs_is_removed),
        TEST(one_in_two_stores_is_one_file_that_outlives_either),
        TEST(a_link_leaves_nothing_to_be_hashed),
        TEST(what_another_store_has_gives_no_room),
        TEST(a_directory_that_was_removed_is_made_again),
        TEST(one_that_is_not_wanted_any_more_is_given_up),
        TEST(an_id_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
