/* A working copy over layers: made by hand here, and by overlayfs itself where it can be mounted. */
#include <sched.h>
#include <sys/mount.h>

#include "base/walk.h"
#include "session/working_fixture.h"

static void only_what_the_session_touched_is_told(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_mkdir(&lower, "d");
    scratch_write(&lower, "d/a", "old");
    scratch_write(&lower, "d/b", "old");
    scratch_write(&lower, "c", "old");
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    const struct jail_data *data = working_data(w);
    assert_int_equal(data->lower_count, 1);
    assert_true(data->work_fd >= 0);
    expect_nothing(w);
    scratch_mkdir(&s, "data/d");
    scratch_write(&s, "data/d/a", "new");
    make_whiteout(&s, "data/c");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 2);
    assert_int_equal(r.found.missed_count, 0);
    expect_changed(&r, "d/a", "new");
    expect_deleted(&r, "c");
    assert_true(r.items[0].is_deleted); /* those come first */
    expect_nothing(w);
    assert_int_equal(unlinkat(s.fd, "data/c", 0), 0);
    scratch_write(&s, "data/c", "again");
    scoped(record_done) struct record back = look(w);
    assert_int_equal(back.count, 1);
    expect_changed(&back, "c", "again");
    assert_int_equal(unlinkat(s.fd, "data/c", 0), 0);
    make_whiteout(&s, "data/c");
    scoped(record_done) struct record gone = look(w);
    assert_int_equal(gone.count, 1);
    expect_deleted(&gone, "c");
}

static void whatever_a_removed_directory_held_is_deleted(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_mkdir(&lower, "d");
    scratch_mkdir(&lower, "d/deep");
    scratch_mkdir(&lower, "d/__pycache__");
    scratch_write(&lower, "d/a", "x");
    scratch_write(&lower, "d/deep/b", "x");
    scratch_write(&lower, "d/__pycache__/c.pyc", "x");
    assert_int_equal(symlinkat("a", lower.fd, "d/link"), 0);
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    make_whiteout(&s, "data/d");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 2);
    expect_deleted(&r, "d/a");
    expect_deleted(&r, "d/deep/b");

    assert_int_equal(unlinkat(s.fd, "data/d", 0), 0);
    make_opaque(&s, "data/d");
    scratch_write(&s, "data/d/a", "made again");
    scoped(record_done) struct record again = look(w);
    assert_int_equal(again.count, 1);
    expect_changed(&again, "d/a", "made again");
}

static void an_opaque_directory_hides_what_is_not_in_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_mkdir(&lower, "d");
    scratch_write(&lower, "d/a", "x");
    scratch_write(&lower, "d/b", "x");
    scratch_write(&lower, "d/c", "x");
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    scratch_mkdir(&s, "data/d");
    make_whiteout(&s, "data/d/c");
    scoped(record_done) struct record before = look(w);
    assert_int_equal(before.count, 1);
    assert_int_equal(unlinkat(s.fd, "data/d/c", 0), 0);
    assert_int_equal(unlinkat(s.fd, "data/d", AT_REMOVEDIR), 0);
    make_opaque(&s, "data/d");
    scratch_write(&s, "data/d/a", "new");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 2);
    expect_changed(&r, "d/a", "new");
    expect_deleted(&r, "d/b"); /* that c is gone was told before */
    expect_nothing(w);
}

static void a_file_in_place_of_a_directory_and_the_other_way(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_mkdir(&lower, "d");
    scratch_write(&lower, "d/a", "x");
    scratch_write(&lower, "f", "x");
    scratch_mkdir(&lower, "l");
    scratch_write(&lower, "l/a", "x");
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    scratch_write(&s, "data/d", "now a file");
    scratch_mkdir(&s, "data/f");
    scratch_write(&s, "data/f/g", "now below a directory");
    assert_int_equal(symlinkat("d", s.fd, "data/l"), 0);
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 5);
    expect_changed(&r, "d", "now a file");
    expect_deleted(&r, "d/a");
    expect_deleted(&r, "f");
    expect_changed(&r, "f/g", "now below a directory");
    expect_deleted(&r, "l/a");
    assert_string_equal(why_missed(&r.found, "l"), "symbolic link");
    expect_nothing(w);
}

/* The first is on top. */
static void layers_hide_each_other(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    struct scratch lowers[3];
    for (size_t i = 0; i < 3; i++) {
        lowers[i] = scratch_new();
        scratch_mkdir(&lowers[i], "d");
    }
    scratch_write(&lowers[2], "d/everywhere", "2");
    scratch_write(&lowers[1], "d/everywhere", "1");
    scratch_write(&lowers[2], "d/bottom", "2");
    scratch_write(&lowers[2], "d/gone", "2");
    make_whiteout(&lowers[0], "d/gone");
    scratch_mkdir(&lowers[2], "d/hidden");
    scratch_write(&lowers[2], "d/hidden/a", "2");
    make_opaque(&lowers[1], "d/hidden");
    scratch_write(&lowers[1], "d/hidden/b", "1");
    scratch_mkdir(&lowers[2], "d/cut");
    scratch_write(&lowers[2], "d/cut/a", "2");
    make_whiteout(&lowers[1], "d/cut");
    scratch_mkdir(&lowers[0], "d/cut");
    scratch_write(&lowers[0], "d/cut/b", "0");
    scratch_mkdir(&lowers[2], "d/file");
    scratch_write(&lowers[2], "d/file/a", "2");
    scratch_write(&lowers[0], "d/file", "0");
    scratch_write(&lowers[0], "d/top", "0");
    scoped(working_closep) struct working *w = open_copy(&s, lowers, 3);
    make_whiteout(&s, "data/d");
    scoped(record_done) struct record r = look(w);
    static const char *const visible[] = {"d/everywhere", "d/bottom", "d/hidden/b",
                                          "d/cut/b",      "d/file",   "d/top"};
    for (size_t i = 0; i < sizeof visible / sizeof *visible; i++)
        expect_deleted(&r, visible[i]);
    assert_int_equal(r.count, sizeof visible / sizeof *visible);
    for (size_t i = 0; i < 3; i++)
        scratch_done(&lowers[i]);
}

static void what_goes_from_the_upper_layer_shows_what_is_below(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_write(&lower, "a", "lower");
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    scratch_write(&s, "data/a", "upper");
    scratch_write(&s, "data/b", "upper");
    OK(working_all_known(w, e));
    assert_int_equal(unlinkat(s.fd, "data/a", 0), 0);
    assert_int_equal(unlinkat(s.fd, "data/b", 0), 0);
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 2);
    expect_changed(&r, "a", "lower");
    expect_deleted(&r, "b");
}

static void what_was_brought_is_known(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), lower = scratch_new();
    scratch_write(&lower, "a", "x");
    scratch_write(&lower, "b", "x");
    scoped(working_closep) struct working *w = open_copy(&s, &lower, 1);
    make_whiteout(&s, "data/a");
    scratch_write(&s, "data/b", "brought");
    OK(working_known(w, "a", e));
    OK(working_known(w, "b", e));
    expect_nothing(w);
    assert_int_equal(unlinkat(s.fd, "data/b", 0), 0);
    make_whiteout(&s, "data/b");
    scoped(record_done) struct record r = look(w);
    assert_int_equal(r.count, 1);
    expect_deleted(&r, "b");
}

static bool is_opaque_at(const struct scratch *s, const char *path)
{
    char whole[256], value[4];
    snprintf(whole, sizeof whole, "%s/%s", s->path, path);
    return lgetxattr(whole, "user.overlay.opaque", value, sizeof value) == 1;
}

static void a_copy_has_the_same_changes(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), other = scratch_new();
    scoped(scratch_done) struct scratch lower = scratch_new();
    scratch_write(&lower, "gone", "x");
    scratch_mkdir(&lower, "d");
    scratch_write(&lower, "d/hidden", "x");
    scoped(working_closep) struct working *from = open_copy(&s, &lower, 1);
    scoped(working_closep) struct working *to = open_copy(&other, &lower, 1);
    make_whiteout(&s, "data/gone");
    make_opaque(&s, "data/d");
    scratch_mkdir(&s, "data/e");
    scratch_write(&s, "data/d/tool", "bytes");
    assert_int_equal(fchmodat(s.fd, "data/d/tool", 0700, 0), 0);
    assert_int_equal(symlinkat("d/tool", s.fd, "data/e/link"), 0);
    assert_int_equal(mkfifoat(s.fd, "data/e/fifo", 0600), 0);
    scoped(fd_closep) int fd = openat(s.fd, "data/e/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
    OK(working_copy(from, to, 1 << 20, e));
    scoped(record_done) struct record r = look(to);
    assert_int_equal(r.count, 3);
    expect_deleted(&r, "gone");
    expect_deleted(&r, "d/hidden");
    expect_changed(&r, "d/tool", "bytes");
    assert_true(record_find(&r, "d/tool")->is_executable);
    assert_true(is_opaque_at(&other, "data/d"));
    assert_false(is_opaque_at(&other, "data/e"));
    char target[16] = {0};
    assert_int_equal(readlinkat(other.fd, "data/e/link", target, sizeof target), 6);
    struct stat st;
    assert_int_equal(fstatat(other.fd, "data/e/sparse", &st, 0), 0);
    assert_true(st.st_size == (off_t)1 << 40 && st.st_blocks < 100);
    assert_int_equal(faccessat(other.fd, "data/e/fifo", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void a_copy_over_the_limit_fails(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new(), most = scratch_new(),
                                        less = scratch_new();
    scoped(working_closep) struct working *from = open_copy(&s, NULL, 0);
    scoped(working_closep) struct working *fits = open_copy(&most, NULL, 0);
    scoped(working_closep) struct working *fails = open_copy(&less, NULL, 0);
    scratch_write(&s, "data/a", "12345");
    scratch_write(&s, "data/b", "12345");
    OK(working_copy(from, fits, 10, e));
    FAILS(ERR_LIMIT, working_copy(from, fails, 9, e));
}

/* ---- the real one ---- */

static bool has_mounts; /* this process may mount, and nobody else sees it */

static void become_able_to_mount(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    char map[64];
    if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER))
        return;
    if (uid != 0) {
        scoped(fd_closep) int groups = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
        (void)!write(groups, "deny", 4);
        scoped(fd_closep) int uids = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
        snprintf(map, sizeof map, "0 %u 1", uid);
        (void)!write(uids, map, strlen(map));
        scoped(fd_closep) int gids = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
        snprintf(map, sizeof map, "0 %u 1", gid);
        (void)!write(gids, map, strlen(map));
    }
    has_mounts = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

struct world {
    struct scratch s, lowers[2], merged;
    struct working *w;
};

static bool mount_overlay(struct world *v)
{
    char options[512];
    snprintf(options, sizeof options, "lowerdir=%s:%s,upperdir=%s/data,workdir=%s/work,userxattr",
             v->lowers[0].path, v->lowers[1].path, v->s.path, v->s.path);
    return has_mounts && mount("overlay", v->merged.path, "overlay", 0, options) == 0;
}

/* False: it cannot be mounted here. */
static bool world_begin(struct world *v, void (*furnish)(const struct scratch lowers[2]))
{
    *v = (struct world){.s = scratch_new(), .merged = scratch_new()};
    v->lowers[0] = scratch_new();
    v->lowers[1] = scratch_new();
    furnish(v->lowers);
    v->w = open_copy(&v->s, v->lowers, 2);
    if (!mount_overlay(v))
        return false;
    (void)close(v->merged.fd);
    v->merged.fd = open(v->merged.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(v->merged.fd >= 0);
    return true;
}

static void world_end(struct world *v)
{
    struct err ignored = {0};
    (void)close(v->merged.fd);
    (void)umount2(v->merged.path, MNT_DETACH);
    v->merged.fd = open(v->merged.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    working_close(v->w);
    scratch_done(&v->merged);
    scratch_done(&v->s);
    for (size_t i = 0; i < 2; i++)
        scratch_done(&v->lowers[i]);
    (void)ignored;
}

enum { NAMES = 4, MIRROR = NAMES + NAMES * NAMES + NAMES * NAMES * NAMES };

static void name_of(size_t index, char ret[8])
{
    size_t deep = index >= NAMES + NAMES * NAMES ? 3 : index >= NAMES ? 2 : 1;
    index -= deep == 3 ? NAMES + NAMES * NAMES : deep == 2 ? NAMES : 0;
    char *at = ret;
    for (size_t i = 0; i < deep; i++) {
        *at++ = (char)('a' + index % NAMES);
        *at++ = '/';
        index /= NAMES;
    }
    at[-1] = '\0';
}

static void furnish_at_random(const struct scratch lowers[2])
{
    unsigned seed = 11;
    for (int layer = 1; layer >= 0; layer--)
        for (size_t i = 0; i < MIRROR; i++) {
            char name[8];
            name_of(i, name);
            int fd = lowers[layer].fd;
            struct stat st;
            char parent[8];
            snprintf(parent, sizeof parent, "%s", name);
            char *slash = strrchr(parent, '/');
            if (slash && (*slash = '\0', fstatat(fd, parent, &st, 0) || !S_ISDIR(st.st_mode)))
                continue;
            switch (rand_r(&seed) % 8) {
            case 0: scratch_write(&lowers[layer], name, layer ? "bottom" : "top"); break;
            case 1: make_opaque(&lowers[layer], name); break;
            case 2:
                if (layer == 0)
                    make_whiteout(&lowers[layer], name);
                break;
            default: scratch_mkdir(&lowers[layer], name);
            }
        }
}

struct mirror {
    char texts[MIRROR][16]; /* "": not there */
};

static size_t index_of(const char *path)
{
    for (size_t i = 0; i < MIRROR; i++) {
        char name[8];
        name_of(i, name);
        if (strcmp(name, path) == 0)
            return i;
    }
    fail_msg("%s is none of ours", path);
    return 0;
}

static int mirror_changed(void *arg, const char *path, int fd, uint64_t size, bool is_executable,
                          struct err *e)
{
    struct mirror *m = arg;
    char *text = m->texts[index_of(path)];
    (void)is_executable, (void)size, (void)e;
    memset(text, 0, 16);
    assert_true(read(fd, text, 15) > 0);
    return 0;
}

static int mirror_settled(void *arg, const char *path, bool is_torn, struct err *e)
{
    (void)arg, (void)path, (void)e;
    assert_false(is_torn);
    return 0;
}

static int mirror_deleted(void *arg, const char *path, struct err *e)
{
    struct mirror *m = arg;
    (void)e;
    if (!m->texts[index_of(path)][0])
        fail_msg("%s is told to be deleted, and was not there", path);
    m->texts[index_of(path)][0] = '\0';
    return 0;
}

static struct mirror read_merged(const struct scratch *merged)
{
    struct mirror m = {0};
    for (size_t i = 0; i < MIRROR; i++) {
        char name[8];
        name_of(i, name);
        struct stat st;
        if (fstatat(merged->fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        scoped(fd_closep) int fd = openat(merged->fd, name, O_RDONLY | O_CLOEXEC);
        assert_true(read(fd, m.texts[i], 15) > 0);
    }
    return m;
}

/* Empties a directory and removes it, as rm -r does. */
static void remove_all(int dir_fd, const char *name)
{
    struct err e = {0};
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)tree_remove(fd, &e);
    if (fd >= 0)
        (void)close(fd);
    (void)unlinkat(dir_fd, name, fd >= 0 ? AT_REMOVEDIR : 0);
}

static void do_something(int merged_fd, unsigned *seed, int step)
{
    char name[8], other[8], text[16];
    name_of((size_t)rand_r(seed) % MIRROR, name);
    name_of((size_t)rand_r(seed) % MIRROR, other);
    snprintf(text, sizeof text, "step %d", step);
    switch (rand_r(seed) % 6) {
    case 0: remove_all(merged_fd, name); break;
    case 1: (void)mkdirat(merged_fd, name, 0755); break;
    case 2: (void)renameat(merged_fd, name, merged_fd, other); break;
    case 3: (void)unlinkat(merged_fd, name, 0); break;
    default: {
        int fd = openat(merged_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        (void)!write(fd, text, strlen(text));
        (void)close(fd);
    }
    }
}

/* Whatever is done through the mount: what was there, with what the looks told, is what is there. */
static void what_is_told_of_a_mounted_overlay_is_what_happened(void **state)
{
    (void)state;
    struct world v;
    if (!world_begin(&v, furnish_at_random)) {
        world_end(&v);
        skip();
    }
    struct mirror m = read_merged(&v.merged);
    const struct working_sink sink = {
        .changed = mirror_changed, .settled = mirror_settled, .deleted = mirror_deleted, .arg = &m};
    unsigned seed = 5;
    for (int step = 0; step < 1500; step++) {
        do_something(v.merged.fd, &seed, step);
        if (rand_r(&seed) % 4)
            continue;
        scoped(capture_done) struct capture found = {0};
        OK(working_look(v.w, &sink, &found, e));
        assert_int_equal(found.missed_count, 0);
        struct mirror now = read_merged(&v.merged);
        for (size_t i = 0; i < MIRROR; i++) {
            char name[8];
            name_of(i, name);
            if (strcmp(now.texts[i], m.texts[i]) != 0)
                fail_msg("step %d: %s is \"%s\", told \"%s\"", step, name, now.texts[i],
                         m.texts[i]);
        }
    }
    world_end(&v);
}

int main(void)
{
    become_able_to_mount();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_session_touched_is_told),
        cmocka_unit_test(whatever_a_removed_directory_held_is_deleted),
        cmocka_unit_test(an_opaque_directory_hides_what_is_not_in_it),
        cmocka_unit_test(a_file_in_place_of_a_directory_and_the_other_way),
        cmocka_unit_test(layers_hide_each_other),
        cmocka_unit_test(what_goes_from_the_upper_layer_shows_what_is_below),
        cmocka_unit_test(what_was_brought_is_known),
        cmocka_unit_test(a_copy_has_the_same_changes),
        cmocka_unit_test(a_copy_over_the_limit_fails),
        cmocka_unit_test(what_is_told_of_a_mounted_overlay_is_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
