/* How a tree of any depth is removed with few descriptors: the stack holds TREE_HELD levels. A
 * directory that would be one level too deep is not entered but moved up to the top, under a name
 * of ours, where a later pass over the top finds it. So each pass takes off TREE_HELD levels, no
 * path is ever longer than one name, and nothing has to be found again through "..".
 */
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"

enum {
    TREE_HELD = 32,
    TREE_PASSES = 16, /* over a directory that somebody keeps filling while it is removed */
    TREE_NAME_SIZE = 256,
};

struct level {
    struct dir dir;
    char name[TREE_NAME_SIZE]; /* in the level above */
    uint64_t removed;          /* entries, in this pass */
    uint32_t passes;
};

struct removal {
    struct level levels[TREE_HELD];
    uint32_t depth;
    uint64_t moved; /* directories moved to the top; also the number in their names */
    bool has_failed;
    struct err *first;
};

static void failed(struct removal *r, int errnum, const char *what)
{
    if (!r->has_failed)
        err_sys(r->first, errnum, "remove a tree: %s", what);
    r->has_failed = true;
}

/* Gives the owner all permissions on a directory that cannot be opened. The descriptor pins it, so
 * that what is changed is what was looked at. */
static void permit(int dir_fd, const char *name)
{
    scoped(fd_closep) int pinned = below_open(dir_fd, name, O_PATH | O_DIRECTORY);
    if (pinned < 0)
        return;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", pinned);
    (void)chmod(path, 0700); /* if it does not help, opening says so */
}

/* Opens a directory so that its entries can be removed; or -errno. */
static int open_to_empty(int dir_fd, const char *name)
{
    int fd = below_open_dir(dir_fd, name);
    if (fd == -EACCES) {
        permit(dir_fd, name);
        fd = below_open_dir(dir_fd, name);
    }
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700); /* if it does not help, removing says so */
    return fd;
}

static void push(struct removal *r, int fd, const char *name)
{
    struct level *level = &r->levels[++r->depth];
    dir_init(&level->dir, fd);
    level->removed = 0;
    level->passes = 0;
    snprintf(level->name, sizeof level->name, "%s", name);
}

static void move_to_top(struct removal *r, int dir_fd, const char *name)
{
    char top_name[64];
    int done;
    do {
        snprintf(top_name, sizeof top_name, ".cicada-removed-%llu", (unsigned long long)r->moved++);
        done = renameat2(dir_fd, name, r->levels[0].dir.fd, top_name, RENAME_NOREPLACE);
    } while (done != 0 && errno == EEXIST);
    if (done != 0)
        failed(r, errno, "move a deep directory up");
    else
        r->levels[0].removed++; /* so that the top is looked at again */
}

static void remove_directory(struct removal *r, struct level *level, const char *name)
{
    scoped(fd_closep) int fd = open_to_empty(level->dir.fd, name);
    if (fd == -ENOENT)
        return;
    if (fd < 0) {
        /* It may still be empty, and then its own permissions do not matter. */
        if (unlinkat(level->dir.fd, name, AT_REMOVEDIR) == 0)
            level->removed++;
        else
            failed(r, -fd, "open a directory");
    } else if (r->depth + 1 < TREE_HELD) {
        push(r, take_fd(&fd), name);
    } else {
        move_to_top(r, level->dir.fd, name);
    }
}

static void remove_entry(struct removal *r, struct level *level, const struct dirent64 *entry)
{
    if (entry->d_type != DT_DIR) {
        if (unlinkat(level->dir.fd, entry->d_name, 0) == 0) {
            level->removed++;
            return;
        }
        if (errno != EISDIR) {
            if (errno != ENOENT)
                failed(r, errno, "unlink");
            return;
        }
    }
    remove_directory(r, level, entry->d_name);
}

/* Some file systems skip entries when others are removed while reading, and moved directories
 * arrive at the top at any time: what changed in a pass deserves another. */
static bool begin_another_pass(struct removal *r, struct level *level)
{
    uint64_t passes_max = TREE_PASSES + (r->depth == 0 ? r->moved : 0);
    if (level->removed == 0 || level->passes >= passes_max)
        return false;
    level->removed = 0;
    level->passes++;
    dir_seek(&level->dir, 0);
    return true;
}

/* Returns false when the top is done. */
static bool end_of_level(struct removal *r, struct level *level)
{
    if (level->dir.error)
        failed(r, level->dir.error, "read a directory");
    if (r->depth == 0)
        return begin_another_pass(r, level);

    struct level *above = level - 1;
    if (unlinkat(above->dir.fd, level->name, AT_REMOVEDIR) == 0)
        above->removed++;
    else if (errno == ENOTEMPTY && begin_another_pass(r, level))
        return true;
    else if (errno != ENOENT)
        failed(r, errno, "remove a directory");
    dir_done(&level->dir);
    r->depth--;
    return true;
}

int tree_remove(int dir_fd, struct err *e)
{
    int fd = open_to_empty(dir_fd, ".");
    if (fd < 0)
        return err_sys(e, -fd, "remove a tree");
    scoped(fd_closep) int top = fd;
    scoped(freep) struct removal *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NO_MEMORY, "remove a tree");

    r->first = e;
    dir_init(&r->levels[0].dir, top);
    for (bool is_done = false; !is_done;) {
        struct level *level = &r->levels[r->depth];
        const struct dirent64 *entry = dir_next(&level->dir);
        if (entry)
            remove_entry(r, level, entry);
        else
            is_done = !end_of_level(r, level);
    }
    return r->has_failed ? -1 : 0;
}
