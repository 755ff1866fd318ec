/* shelf.c -- the libraries that images were made of, copied beside them.
 *
 * What is true at a power cut: a copy is made under another name, everything is synced, then it is
 * given the name of its image; it is taken away under another name too. So what is called `ID.lib` is
 * whole, and the two other names are nobody's.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/tree.h"
#include "session/images_int.h"
#include "session/libraries.h"
#include "wire/jail.h"

#define DRAFT "libraries.tmp"
#define DISCARDED "libraries.old"

static void remove_tree(struct images *s, const char *name)
{
    struct err ignored = {0}; /* what stays is tried again by the next sweep */
    scoped(fd_closep) int fd = below_open_dir(s->dir_fd, name);
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
    (void)unlinkat(s->dir_fd, name, AT_REMOVEDIR);
}

void images_sweep_libraries(struct images *s)
{
    remove_tree(s, DRAFT);
    remove_tree(s, DISCARDED);
}

void images_drop_libraries(struct images *s, const char *id)
{
    char name[IMAGE_NAME_SIZE];
    image_name(id, "lib", name);
    remove_tree(s, DISCARDED);
    if (renameat(s->dir_fd, name, s->dir_fd, DISCARDED) == 0)
        remove_tree(s, DISCARDED);
}

int images_open_libraries(struct images *s, const char *id, int *ret, struct err *e)
{
    char name[IMAGE_NAME_SIZE];
    struct stat st;
    image_name(id, "lib", name);
    scoped(fd_closep) int fd = below_open_dir(s->dir_fd, name);
    if (fd < 0)
        return err_sys(e, -fd, "open the libraries of an image");
    if (fstat(fd, &st))
        return err_sys(e, errno, "look at the libraries of an image");
    if (images_check_owner(&st, 022, "a copy of libraries", e))
        return -1;
    *ret = take_fd(&fd);
    return 0;
}

/* The copy made last, to link to; -1 if there is none. */
static int open_newest(struct images *s)
{
    int64_t newest_ns = INT64_MIN;
    struct dir d;
    int best = -1, fd = below_open_dir(s->dir_fd, ".");
    if (fd < 0)
        return -1; /* then nothing is linked */
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        char id[HASH_HEX_SIZE];
        struct err ignored = {0};
        struct stat st;
        int one = -1;
        if (!image_split_name(entry->d_name, "lib", id) ||
            images_open_libraries(s, id, &one, &ignored))
            continue;
        int64_t made_ns =
            fstat(one, &st) ? INT64_MIN : st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
        if (made_ns > newest_ns) {
            fd_closep(&best);
            best = take_fd(&one);
            newest_ns = made_ns;
        }
        fd_closep(&one);
    }
    dir_done(&d);
    return best;
}

/* Copies are a convenience: they leave at least as much room as they take. */
static int check_room(const struct libraries_plan *plan, struct err *e)
{
    uint64_t bytes;
    struct statvfs fs;
    if (libraries_measure(plan, &bytes, e))
        return -1;
    if (fstatvfs(plan->to_fd, &fs))
        return err_sys(e, errno, "look at the disk");
    if (fs.f_bavail * fs.f_frsize / 2 < bytes)
        return err_set(e, ERR_NO_SPACE,
                       "a copy of the libraries needs %llu MB, and twice as many free",
                       (unsigned long long)(bytes >> 20));
    return 0;
}

/* One call for tens of thousands of files, even if it has to write what others wrote too. */
static int name_copy(struct images *s, const struct libraries_plan *plan, const char *id,
                     struct err *e)
{
    char name[IMAGE_NAME_SIZE];
    image_name(id, "lib", name);
    if (fchmod(plan->to_fd, 0755) || syncfs(plan->to_fd) ||
        renameat(s->dir_fd, DRAFT, s->dir_fd, name) || fsync(s->dir_fd))
        return err_sys(e, errno, "keep the libraries");
    return 0;
}

static int fill(struct images *s, const struct libraries_plan *plan, const char *id, struct err *e)
{
    int64_t begun_wall_us = clock_wall_us();
    scoped(image_done) struct image image = IMAGE_NONE;
    if (images_open_id(s, id, &image, e))
        return -1;
    if (image.changed.count > 0)
        return err_set(e, ERR_CONFLICT, "libraries were upgraded since the image was made");
    if (check_room(plan, e) || libraries_copy(plan, e) ||
        libraries_check_since(plan, begun_wall_us, e))
        return -1;
    return name_copy(s, plan, id, e);
}

/* An empty directory to copy into, with the lock held; -1 with *e. */
static int begin_copy(struct images *s, struct err *e)
{
    remove_tree(s, DRAFT); /* of one who was killed */
    if (mkdirat(s->dir_fd, DRAFT, 0700))
        return err_sys(e, errno, "make a directory for the libraries");
    int fd = below_open_dir(s->dir_fd, DRAFT);
    return fd < 0 ? err_sys(e, -fd, "open a directory for the libraries") : fd;
}

int images_keep_libraries(struct images *s, const char *id, const struct libraries_wish *wish,
                          struct err *e)
{
    scoped(fd_closep) int lock = images_lock(s, LOCK_EX | LOCK_NB, e), there = -1;
    if (lock < 0)
        return -1;
    if (images_open_libraries(s, id, &there, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    *e = (struct err){0};
    scoped(fd_closep) int to = begin_copy(s, e), like = open_newest(s);
    const struct libraries_plan plan = {s->libraries, s->library_count, to, like, wish};
    if (to < 0)
        return -1;
    if (fill(s, &plan, id, e)) {
        remove_tree(s, DRAFT);
        return -1;
    }
    return 0;
}

int images_link_libraries(struct images *from, struct images *to, const char *id,
                          const struct libraries_wish *wish, struct err *e)
{
    enum { PATH_SIZE = 64 };
    struct jail_library list[JAIL_LIBRARIES];
    char paths[JAIL_LIBRARIES][PATH_SIZE];
    scoped(fd_closep) int source = -1, lock = -1, draft = -1, there = -1;
    if (images_open_libraries(to, id, &there, e) == 0)
        return 0;
    *e = (struct err){0};
    if (images_open_libraries(from, id, &source, e))
        return -1;
    lock = images_lock(to, LOCK_EX | LOCK_NB, e);
    draft = lock < 0 ? -1 : begin_copy(to, e);
    if (draft < 0)
        return -1;
    assert(from->library_count <= JAIL_LIBRARIES);
    for (size_t i = 0; i < from->library_count; i++) {
        (void)snprintf(paths[i], PATH_SIZE, "/proc/self/fd/%d/%.32s", source,
                       from->libraries[i].name);
        list[i] = (struct jail_library){from->libraries[i].name, paths[i]};
    }
    /* A copy of the copy: every file is what it is there, and so becomes a link. */
    const struct libraries_plan plan = {list, from->library_count, draft, source, wish};
    if (libraries_copy(&plan, e) || name_copy(to, &plan, id, e)) {
        remove_tree(to, DRAFT);
        return -1;
    }
    return 0;
}
