/* Data directories that are overlays: what a session can do with them and what it cannot, changes
 * that are brought from outside, and what is left afterwards.
 *
 *     HOME/data HOME/work                what one session has
 *     HOME/other/data HOME/other/work    and another
 *     HOME/top      a "top"     dir/x "x"
 *     HOME/bottom   a "bottom"  dir/y "y"  b "b"  gone "gone"
 *     HOME/changes  new/file "brought", dir/new "brought", and a whiteout at b
 */
#include "layers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "base/tree.h"
#include "session/spawner.h"

enum { RACES = 60, MANY_CHANGES = 4000, FILES_MAX = 100 };

static const char *const dirs[] = {"data",       "work",    "other",       "other/data",
                                   "other/work", "top",     "top/dir",     "bottom",
                                   "bottom/dir", "changes", "changes/new", "changes/dir"};
static const char *const files[][2] = {{"top/a", "top"},
                                       {"top/dir/x", "x"},
                                       {"bottom/a", "bottom"},
                                       {"bottom/dir/y", "y"},
                                       {"bottom/b", "b"},
                                       {"bottom/gone", "gone"},
                                       {"changes/new/file", "brought"},
                                       {"changes/dir/new", "brought"}};

static int put(int home, const char *path, const char *text, struct err *e)
{
    scoped(fd_closep) int fd = openat(home, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return err_sys(e, errno, "make %s", path);
    return 0;
}

static int fill(int home, struct err *e)
{
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (mkdirat(home, dirs[i], 0755))
            return err_sys(e, errno, "make %s", dirs[i]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (put(home, files[i][0], files[i][1], e))
            return -1;
    return mknodat(home, "changes/b", S_IFCHR, makedev(0, 0)) ? err_sys(e, errno, "make a whiteout")
                                                              : 0;
}

static int open_dir(int home, const char *path)
{
    return openat(home, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* As root everything belongs to whoever has p->data_fd. */
static int hand_over(struct layers *l, struct err *e)
{
    if (geteuid() != 0)
        return 0;
    if (fchown(l->home, l->uid, l->gid))
        return err_sys(e, errno, "chown");
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (fchownat(l->home, dirs[i], l->uid, l->gid, 0))
            return err_sys(e, errno, "chown");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (fchownat(l->home, files[i][0], l->uid, l->gid, 0))
            return err_sys(e, errno, "chown");
    return 0;
}

int layers_make(struct place *p, struct layers *l, struct err *e)
{
    struct stat st;
    *l = (struct layers)LAYERS_NONE;
    (void)snprintf(l->path, sizeof l->path, "%s/layers-XXXXXX", p->base);
    if (!mkdtemp(l->path) || fstat(p->data_fd, &st))
        return err_sys(e, errno, "make a directory");
    l->uid = st.st_uid;
    l->gid = st.st_gid;
    l->home = open_dir(AT_FDCWD, l->path);
    if (l->home < 0 || fill(l->home, e) || hand_over(l, e))
        return -1;
    l->data =
        (struct jail_data){.dir_fd = open_dir(l->home, "data"),
                           .work_fd = open_dir(l->home, "work"),
                           .lower_fds = {open_dir(l->home, "top"), open_dir(l->home, "bottom")},
                           .lower_count = 2};
    l->other = l->data;
    l->other.dir_fd = open_dir(l->home, "other/data");
    l->other.work_fd = open_dir(l->home, "other/work");
    l->changes = open_dir(l->home, "changes");
    return l->changes < 0 ? err_sys(e, errno, "open the layers") : 0;
}

void layers_done(struct layers *l)
{
    struct err ignored = {0};
    int fds[] = {l->data.dir_fd,
                 l->data.work_fd,
                 l->data.lower_fds[0],
                 l->data.lower_fds[1],
                 l->other.dir_fd,
                 l->other.work_fd,
                 l->changes};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fd_closep(&fds[i]);
    if (l->home >= 0)
        (void)tree_remove(l->home, &ignored);
    fd_closep(&l->home);
    if (*l->path)
        (void)rmdir(l->path);
    *l = (struct layers)LAYERS_NONE;
}

int layers_ask(struct place *p, struct hand *h, const struct jail_data *data, struct err *e)
{
    struct jail_spec spec = from_image;
    spec.lower_count = (uint32_t)data->lower_count;
    const struct hand_parts parts = {-1, p->image, -1, -1, data};
    return hand_ask(h, p->spawner, &spec, &parts, e);
}

static int start(struct place *p, struct hand *h, const struct jail_data *data, struct err *e)
{
    return layers_ask(p, h, data, e) || hand_greet(h, e) ? -1 : 0;
}

/* Fails unless the file below `at` holds that; "" is for none at all. */
static int expect_text(int at, const char *path, const char *wanted, struct err *e)
{
    char text[64] = "";
    scoped(fd_closep) int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
        return err_sys(e, errno, "read %s", path);
    return strcmp(text, wanted) == 0 ? 0 : fail(e, "%s holds '%s', not '%s'", path, text, wanted);
}

/* Nobody may ever change a lower. */
static int expect_lowers(const struct layers *l, struct err *e)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (expect_text(l->home, files[i][0], files[i][1], e))
            return -1;
    scoped(dir_closep) DIR *top = fdopendir(open_dir(l->home, "top"));
    scoped(dir_closep) DIR *bottom = fdopendir(open_dir(l->home, "bottom"));
    size_t count = 0;
    while (top && readdir(top))
        count++;
    while (bottom && readdir(bottom))
        count++;
    return count == 2 + 2 + 2 + 4 ? 0 : fail(e, "the lowers have %zu entries", count);
}

static int expect_empty(int dir_fd, const char *name, struct err *e)
{
    scoped(dir_closep) DIR *dir = fdopendir(open_dir(dir_fd, "."));
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            return fail(e, "%s holds %s", name, entry->d_name);
    return dir ? 0 : err_sys(e, errno, "read %s", name);
}

/* Ends it and waits until nothing is left of it: then the spawner closes the handle. */
static int leave(struct hand *h, struct err *e)
{
    struct pollfd closed = {.fd = h->handle, .events = POLLIN};
    char byte;
    if (hand_tell(h, "exit 4", -1, e) || expect_end(h, JAIL_EXITED, 4, e))
        return -1;
    if (poll(&closed, 1, HAND_WAIT_S * 1000) != 1 || recv(h->handle, &byte, 1, 0) != 0)
        return fail(e, "the handle stays open");
    return 0;
}

static int a_session_sees_layers_as_one_directory(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        hand_expect(&h, "cwd", "/mnt/data", e) || hand_expect(&h, "list .", "a b dir gone", e) ||
        hand_expect(&h, "list dir", "x y", e) || hand_expect(&h, "read a", "top", e) ||
        hand_expect(&h, "read dir/y", "y", e) || hand_expect(&h, "open a", "ok", e))
        return -1;
    return leave(&h, e) || expect_lowers(&l, e) ? -1 : 0;
}

static int change_everything(struct hand *h, struct err *e)
{
    static const char *const lines[] = {"put a changed", "put made new",    "remove gone",
                                        "move b moved",  "remove dir/x",    "remove dir/y",
                                        "remove dir",    "mkdir dir",       "put dir/z z",
                                        "mkdir sub",     "move dir/z sub/z"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (hand_expect(h, lines[i], "ok", e))
            return -1;
    return hand_expect(h, "list .", "a dir made moved sub", e) ||
                   hand_expect(h, "list dir", "nothing", e) ||
                   hand_expect(h, "read moved", "b", e) || hand_expect(h, "read sub/z", "z", e)
               ? -1
               : 0;
}

/* What the engine finds: its own files, a whiteout, a directory that covers the one below. */
static int expect_upper(const struct layers *l, struct err *e)
{
    struct stat st;
    char opaque = 0;
    if (expect_text(l->data.dir_fd, "a", "changed", e) ||
        expect_text(l->data.dir_fd, "sub/z", "z", e))
        return -1;
    if (fstatat(l->data.dir_fd, "a", &st, 0) || st.st_uid != l->uid || st.st_gid != l->gid)
        return fail(e, "a belongs to %u", st.st_uid);
    if (fstatat(l->data.dir_fd, "gone", &st, AT_SYMLINK_NOFOLLOW) || !S_ISCHR(st.st_mode) ||
        st.st_rdev != 0)
        return fail(e, "what was removed is no whiteout");
    scoped(fd_closep) int dir = open_dir(l->data.dir_fd, "dir");
    if (dir < 0 || fgetxattr(dir, "user.overlay.opaque", &opaque, 1) != 1 || opaque != 'y')
        return fail(e, "the new directory does not cover the old one");
    return 0;
}

static int what_a_session_changes_is_in_the_upper_layer_alone(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE, again = h;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) || change_everything(&h, e) ||
        leave(&h, e) || expect_upper(&l, e) || expect_lowers(&l, e) ||
        expect_empty(l.data.work_fd, "work", e))
        return -1;
    return start(p, &again, &l.data, e) ||
                   hand_expect(&again, "list .", "a dir made moved sub", e) ||
                   hand_expect(&again, "list dir", "nothing", e) ||
                   hand_expect(&again, "mkdir gone", "ok", e) ||
                   hand_expect(&again, "list gone", "nothing", e) || leave(&again, e)
               ? -1
               : 0;
}

static int two_sessions_share_lowers_and_nothing_else(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE, other = h;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) || start(p, &other, &l.other, e) ||
        hand_expect(&h, "put a mine", "ok", e) || hand_expect(&h, "remove gone", "ok", e) ||
        hand_expect(&other, "put a theirs", "ok", e) || hand_expect(&h, "read a", "mine", e) ||
        hand_expect(&other, "list .", "a b dir gone", e))
        return -1;
    return leave(&h, e) || hand_expect(&other, "read a", "theirs", e) || leave(&other, e) ||
                   expect_lowers(&l, e)
               ? -1
               : 0;
}

static int expect_refusal(struct place *p, const struct jail_data *data, const char *wanted,
                          struct err *e)
{
    struct jail_spec spec = from_image;
    spec.lower_count = (uint32_t)data->lower_count;
    const struct hand_parts parts = {-1, p->image, -1, -1, data};
    return expect_no_start(p, &spec, &parts, wanted, e);
}

static int an_upper_layer_is_one_sessions(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE, next = h;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        expect_refusal(p, &l.data, "in use", e) || hand_expect(&h, "put a mine", "ok", e) ||
        leave(&h, e))
        return -1;
    return start(p, &next, &l.data, e) || hand_expect(&next, "read a", "mine", e) || leave(&next, e)
               ? -1
               : 0;
}

static int layers_that_are_not_the_engines_are_refused(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(fd_closep) int path = -1;
    if (layers_make(p, &l, e))
        return -1;
    struct jail_data swapped = l.data, foreign = l.data, unreadable = l.data, file = l.data;
    swapped.work_fd = l.other.work_fd;
    path = openat(l.home, "top", O_PATH | O_DIRECTORY | O_CLOEXEC);
    unreadable.lower_fds[1] = path;
    file.lower_fds[0] = p->file_fd;
    foreign.lower_fds[0] = p->root_fd;
    if (expect_refusal(p, &swapped, "not called data and work", e) ||
        expect_refusal(p, &unreadable, "not an open directory", e) ||
        expect_refusal(p, &file, "not an open directory", e) ||
        (p->root_fd >= 0 && expect_refusal(p, &foreign, "belongs to root", e)))
        return -1;
    if (geteuid() != 0)
        return 0;
    if (fchown(l.data.lower_fds[1], l.uid + 7, l.gid))
        return err_sys(e, errno, "chown");
    return expect_refusal(p, &l.data, "several owners", e);
}

/* As a power cut could leave it. */
static int what_an_earlier_overlay_left_is_removed(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    if (layers_make(p, &l, e))
        return -1;
    if (mkdirat(l.home, "work/work", 0755) || mkdirat(l.home, "work/work/incompat", 0755) ||
        mkdirat(l.home, "work/work/incompat/volatile", 0755) ||
        mkdirat(l.home, "work/index", 0755) ||
        mknodat(l.home, "work/work/#7", S_IFCHR, makedev(0, 0)))
        return err_sys(e, errno, "leave something behind");
    if (geteuid() == 0 && (fchownat(l.home, "work/work", l.uid + 1, l.gid + 1, 0) ||
                           fchownat(l.home, "work/work/#7", l.uid + 1, l.gid + 1, 0)))
        return err_sys(e, errno, "chown");
    if (fchmodat(l.home, "work/work", 0, 0))
        return err_sys(e, errno, "chmod");
    return start(p, &h, &l.data, e) || hand_expect(&h, "put a mine", "ok", e) || leave(&h, e) ||
                   expect_empty(l.data.work_fd, "work", e)
               ? -1
               : 0;
}

static int expect_error(struct hand *h, const char *line, struct err *e)
{
    char answer[HAND_LINE];
    if (hand_say(h, line, -1, answer, e))
        return -1;
    return strncmp(answer, "error", 5) == 0 ? 0 : fail(e, "%s: %s", line, answer);
}

/* What it can set it sees itself; to overlayfs and to whoever reads the layer it means nothing. */
static int a_session_cannot_forge_what_overlayfs_believes(struct place *p, struct err *e)
{
    static const char *const names[] = {"opaque", "redirect", "metacopy",
                                        "origin", "whiteout", "upper"};
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    char line[HAND_LINE], attribute[64];
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        hand_expect(&h, "put mine 1", "ok", e) || hand_expect(&h, "mkdir own", "ok", e) ||
        hand_expect(&h, "put dir/mine 1", "ok", e))
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static const char *const targets[] = {"dir", "own", "mine"};
        for (size_t t = 0; t < 3; t++) {
            (void)snprintf(line, sizeof line, "attribute %s user.overlay.%s", targets[t], names[i]);
            if (hand_say(&h, line, -1, line, e))
                return -1;
            (void)snprintf(line, sizeof line, "attribute %s trusted.overlay.%s", targets[t],
                           names[i]);
            if (expect_error(&h, line, e))
                return -1;
            (void)snprintf(attribute, sizeof attribute, "user.overlay.%s", names[i]);
            scoped(fd_closep) int fd = openat(l.data.dir_fd, targets[t], O_RDONLY | O_CLOEXEC);
            char value = 0;
            if (fd < 0 || fgetxattr(fd, attribute, &value, 1) == 1)
                return fail(e, "%s of %s was set to %c", attribute, targets[t], value);
        }
    }
    return expect_error(&h, "whiteout w", e) || hand_expect(&h, "list dir", "mine x y", e) ||
                   hand_expect(&h, "list .", "a b dir gone mine own", e) || leave(&h, e)
               ? -1
               : 0;
}

static int there_is_no_way_to_a_layer(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    char path[64], text[65536] = "";
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        hand_expect(&h, "list ..", "data", e) || expect_error(&h, "list ../work", e) ||
        expect_error(&h, "list work", e))
        return -1;
    (void)snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)h.player);
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    for (ssize_t n; fd >= 0 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0;)
        len += (size_t)n;
    if (!strstr(text, " /mnt/data "))
        return fail(e, "its mounts cannot be read");
    if (strstr(text, strrchr(l.path, '/') + 1))
        return fail(e, "it sees where the layers lie");
    return leave(&h, e);
}

static int the_disk_limit_holds_for_an_overlay(struct place *p, struct err *e)
{
    static const char *const ways[] = {"write big 16", "hold big 16"};
    for (size_t i = 0; i < 2; i++) {
        scoped(layers_done) struct layers l = LAYERS_NONE;
        scoped(hand_done) struct hand h = HAND_NONE;
        struct jail_spec spec = from_image;
        spec.lower_count = 2;
        spec.limits.disk_bytes = 8 << 20;
        const struct hand_parts parts = {-1, p->image, -1, -1, &l.data};
        if (layers_make(p, &l, e) || hand_ask(&h, p->spawner, &spec, &parts, e) ||
            hand_greet(&h, e) || hand_tell(&h, ways[i], -1, e) ||
            expect_end(&h, JAIL_OVER_DISK, -1, e))
            return err_wrap(e, "%s", ways[i]);
    }
    return 0;
}

static int a_parked_jail_can_get_an_overlay(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (layers_make(p, &l, e) || begin(p, &h, &parked_image, e) || hand_attach(&h, &l.data, e) ||
        expect_event(&h, JAIL_ATTACHED, &event, e) || hand_expect(&h, "cd /mnt/data", "ok", e) ||
        hand_expect(&h, "put a mine", "ok", e) || leave(&h, e))
        return -1;
    return expect_text(l.data.dir_fd, "a", "mine", e) || expect_lowers(&l, e) ? -1 : 0;
}

static int bring(struct hand *h, int changes, struct jail_event *ret, struct err *e)
{
    return hand_request(h, JAIL_BRING, 0, changes, e) || expect_event(h, JAIL_BROUGHT, ret, e) ? -1
                                                                                               : 0;
}

static int changes_are_brought_to_an_overlay(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    struct stat st;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) || bring(&h, l.changes, &event, e))
        return -1;
    if (event.status || event.brought_put != 2 || event.brought_removed != 1 ||
        event.brought_failed != 0)
        return fail(e, "status %d, %u put, %u removed, %u failed: %s: %s", event.status,
                    event.brought_put, event.brought_removed, event.brought_failed, event.step,
                    strerror(event.brought_errno));
    if (hand_expect(&h, "list .", "a dir gone new", e) ||
        hand_expect(&h, "read new/file", "brought", e) ||
        hand_expect(&h, "list dir", "new x y", e) ||
        hand_expect(&h, "put new/file mine", "ok", e) || leave(&h, e))
        return -1;
    if (fstatat(l.data.dir_fd, "new/file", &st, 0) || st.st_uid != l.uid || st.st_gid != l.gid)
        return fail(e, "what was brought belongs to %u", st.st_uid);
    return expect_lowers(&l, e) || expect_empty(l.data.work_fd, "work", e) ? -1 : 0;
}

static int what_a_session_does_not_let_in_is_left_out(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        hand_expect(&h, "move dir old", "error Invalid cross-device link", e) ||
        hand_expect(&h, "remove dir/x", "ok", e) || hand_expect(&h, "remove dir/y", "ok", e) ||
        hand_expect(&h, "remove dir", "ok", e) || hand_expect(&h, "link /tmp dir", "ok", e) ||
        hand_expect(&h, "mkdir new", "ok", e) || hand_expect(&h, "mkdir new/file", "ok", e) ||
        hand_expect(&h, "put new/file/own x", "ok", e) || bring(&h, l.changes, &event, e))
        return -1;
    if (event.status || event.brought_put != 0 || event.brought_removed != 1 ||
        event.brought_failed != 2 || event.brought_errno == 0 || event.step[0] == '\0')
        return fail(e, "status %d, %u put, %u removed, %u failed: %s: %s", event.status,
                    event.brought_put, event.brought_removed, event.brought_failed, event.step,
                    strerror(event.brought_errno));
    return hand_expect(&h, "list /tmp", "nothing", e) || leave(&h, e) || expect_lowers(&l, e) ? -1
                                                                                              : 0;
}

/* A directory that is now itself and now a link out of there, and code that writes all the time. */
static int nothing_is_brought_anywhere_else(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
        hand_expect(&h, "mkdir new", "ok", e) || hand_expect(&h, "link /tmp evil", "ok", e) ||
        hand_expect(&h, "exchange new evil", "ok", e))
        return -1;
    for (int i = 0; i < RACES; i++)
        if (bring(&h, l.changes, &event, e) || event.status)
            return fail(e, "brought with status %d: %s", event.status, e->text);
    return hand_expect(&h, "list /tmp", "nothing", e) || leave(&h, e) || expect_lowers(&l, e) ? -1
                                                                                              : 0;
}

static int a_plain_directory_is_brought_changes_too(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (layers_make(p, &l, e) || begin(p, &h, &from_image, e) || bring(&h, l.changes, &event, e))
        return -1;
    if (event.status != 0 || event.brought_failed != 0)
        return fail(e, "status %d, %u failed", event.status, event.brought_failed);
    return leave(&h, e);
}

/* The newest one that is newer than that, or 0. */
static pid_t find_child(pid_t parent, pid_t after)
{
    scoped(dir_closep) DIR *proc = opendir("/proc");
    char wanted[16], value[HAND_LINE];
    uint64_t found = 0, pid;
    (void)snprintf(wanted, sizeof wanted, "%d", (int)parent);
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        struct err ignored = {0};
        if (parse_u64(entry->d_name, (uint64_t)after + 1, INT32_MAX, &pid, &ignored) || pid < found)
            continue;
        hand_status((pid_t)pid, "PPid", value);
        if (strcmp(value, wanted) == 0)
            found = pid;
    }
    return (pid_t)found;
}

static size_t count_files(int dir_fd, const char *path)
{
    size_t count = 0;
    scoped(fd_closep) int fd = open_dir(dir_fd, path);
    scoped(dir_closep) DIR *dir = fd < 0 ? NULL : fdopendir(dup(fd));
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += *entry->d_name != '.';
    return count;
}

static int make_many_changes(const struct layers *l, struct err *e)
{
    char path[64];
    if (mkdirat(l->changes, "many", 0755))
        return err_sys(e, errno, "make many changes");
    for (int i = 0; i < MANY_CHANGES; i++) {
        (void)snprintf(path, sizeof path, "many/%d", i);
        if (put(l->changes, path, "brought", e))
            return -1;
    }
    return 0;
}

/* Begins to bring many more files than a session may make, and stops whoever does it on the way. */
static int begin_bringing(struct place *p, struct layers *l, struct hand *h, pid_t *ret,
                          struct err *e)
{
    struct jail_spec spec = from_image;
    spec.limits.files = FILES_MAX;
    if (layers_make(p, l, e) || make_many_changes(l, e))
        return -1;
    spec.lower_count = (uint32_t)l->data.lower_count;
    const struct hand_parts parts = {-1, p->image, -1, -1, &l->data};
    if (hand_ask(h, p->spawner, &spec, &parts, e) || hand_greet(h, e) ||
        hand_expect(h, "cd /mnt/data", "ok", e))
        return -1;
    pid_t spawner = spawner_pid(p->spawner), last = find_child(spawner, 0);
    struct pollfd answer = {.fd = h->handle, .events = POLLIN};
    if (hand_request(h, JAIL_BRING, 0, l->changes, e))
        return -1;
    while (count_files(l->data.dir_fd, "many") < 3 * FILES_MAX)
        if (poll(&answer, 1, 0))
            return fail(e, "nothing was brought");
    *ret = find_child(spawner, last);
    return *ret == 0 || kill(*ret, SIGSTOP) ? fail(e, "nobody brings anything") : 0;
}

/* For a while, in which the session is looked at several times. */
static int expect_quiet(struct hand *h, struct err *e)
{
    struct pollfd answer = {.fd = h->handle, .events = POLLIN};
    struct jail_event event;
    for (int i = 0; i < 30; i++) {
        if (hand_expect(h, "put mine x", "ok", e) || hand_expect(h, "remove mine", "ok", e))
            return -1;
        if (poll(&answer, 1, 10) == 0)
            continue;
        if (hand_event(h, &event, e))
            return -1;
        return fail(e, "event %d, cause %d, status %d", event.kind, event.cause, event.status);
    }
    return 0;
}

static int what_was_brought_halfway_is_no_growth(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    pid_t child;
    if (begin_bringing(p, &l, &h, &child, e) || expect_quiet(&h, e) ||
        (kill(child, SIGKILL) ? err_sys(e, errno, "kill whoever brings") : 0) ||
        expect_event(&h, JAIL_BROUGHT, &event, e))
        return -1;
    if (event.status != ECHILD)
        return fail(e, "status %d", event.status);
    return expect_quiet(&h, e) || leave(&h, e) ? -1 : 0;
}

static int the_disk_limit_holds_while_something_is_brought(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    char line[HAND_LINE], answer[HAND_LINE];
    struct err ended = {0};
    pid_t child;
    if (begin_bringing(p, &l, &h, &child, e))
        return -1;
    for (int i = 0; i < 2 * FILES_MAX; i++) {
        (void)snprintf(line, sizeof line, "put own%d x", i);
        if (hand_say(&h, line, -1, answer, &ended))
            break;
    }
    int failed = expect_end(&h, JAIL_OVER_DISK, -1, e);
    if (failed)
        (void)kill(child, SIGKILL);
    return failed ? -1 : expect_gone(child, e);
}

static int whoever_brings_ends_with_the_jail(struct place *p, struct err *e)
{
    for (int i = 0; i < 20; i++) {
        scoped(layers_done) struct layers l = LAYERS_NONE;
        scoped(hand_done) struct hand h = HAND_NONE;
        struct jail_event event;
        if (layers_make(p, &l, e) || start(p, &h, &l.data, e) ||
            hand_request(&h, JAIL_BRING, 0, l.changes, e) ||
            hand_request(&h, JAIL_KILL, 0, -1, e) || hand_event(&h, &event, e))
            return -1;
        if (event.kind == JAIL_BROUGHT && hand_event(&h, &event, e))
            return -1;
        if (event.kind != JAIL_ENDED || event.cause != JAIL_KILLED)
            return fail(e, "event %d, cause %d", event.kind, event.cause);
        if (expect_empty(l.data.work_fd, "work", e))
            return -1;
    }
    return 0;
}

/* Whoever owns the directories can remove everything, and that is not root. */
static int remove_as_owner(const struct layers *l, struct err *e)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct err why = {0};
        if (geteuid() == 0 && (setgid(l->gid) || setuid(l->uid)))
            _exit(2);
        if (tree_remove(l->home, &why)) {
            (void)fprintf(stderr, "%s\n", why.text);
            _exit(1);
        }
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        return fail(e, "the owner cannot remove what is left");
    return 0;
}

/* With `again`, another spawner can make an overlay of what is left. */
static int kill_spawner(struct place *p, bool again, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE, next = h;
    struct place mine = *p;
    if (layers_make(p, &l, e) || spawner_open(p->spawn, p->player, p->player, &mine.spawner, e))
        return -1;
    int failed = start(&mine, &h, &l.data, e) || change_everything(&h, e) ||
                 (kill(spawner_pid(mine.spawner), SIGKILL) ? fail(e, "kill the spawner") : 0) ||
                 expect_gone(h.player, e);
    spawner_close(mine.spawner);
    if (failed)
        return -1;
    if (!again)
        return expect_lowers(&l, e) || remove_as_owner(&l, e) ? -1 : 0;
    return start(p, &next, &l.data, e) || hand_expect(&next, "read a", "changed", e) ||
                   hand_expect(&next, "put a again", "ok", e) || leave(&next, e) ||
                   expect_empty(l.data.work_fd, "work", e) || expect_lowers(&l, e)
               ? -1
               : 0;
}

static int an_overlay_survives_the_death_of_its_spawner(struct place *p, struct err *e)
{
    return kill_spawner(p, /* again= */ true, e);
}

static int what_a_dead_spawner_left_can_be_removed_by_its_owner(struct place *p, struct err *e)
{
    return kill_spawner(p, /* again= */ false, e);
}

const struct test layer_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_session_sees_layers_as_one_directory),
    TEST(what_a_session_changes_is_in_the_upper_layer_alone),
    TEST(two_sessions_share_lowers_and_nothing_else),
    TEST(an_upper_layer_is_one_sessions),
    TEST(layers_that_are_not_the_engines_are_refused),
    TEST(what_an_earlier_overlay_left_is_removed),
    TEST(a_session_cannot_forge_what_overlayfs_believes),
    TEST(there_is_no_way_to_a_layer),
    TEST(the_disk_limit_holds_for_an_overlay),
    TEST(a_parked_jail_can_get_an_overlay),
    TEST(changes_are_brought_to_an_overlay),
    TEST(what_a_session_does_not_let_in_is_left_out),
    TEST(nothing_is_brought_anywhere_else),
    TEST(a_plain_directory_is_brought_changes_too),
    TEST(what_was_brought_halfway_is_no_growth),
    TEST(the_disk_limit_holds_while_something_is_brought),
    TEST(whoever_brings_ends_with_the_jail),
    TEST(an_overlay_survives_the_death_of_its_spawner),
    TEST(what_a_dead_spawner_left_can_be_removed_by_its_owner),
    {0},
};
