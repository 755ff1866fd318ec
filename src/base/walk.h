/* walk.h -- every entry of a tree that somebody else may be changing, one call at a time.
 *
 * A walk never recurses, never opens anything but directories, follows no link, stays on one mount
 * and can be left between any two calls. It goes into a directory only when told to:
 *
 *     walk_new(dir_fd, &w, e)
 *     while (walk_next(w, &entry))
 *         if (S_ISDIR(entry.st.stx_mode))
 *             walk_enter(w);
 *
 * Depth costs no descriptors: the first WALK_HELD - 1 levels stay open; below them only one
 * directory is, and the way back up is "..", believed when the inode there is the one remembered.
 * If it is not, somebody moved a directory away under our feet: the walk goes on in the deepest
 * level still open, and walk_lost says that something was not seen.
 */
#ifndef BASE_WALK_H
#define BASE_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct err;
struct walk;

enum { WALK_HELD = 16, WALK_DEPTH_MAX = 1 << 16 };

struct walk_entry {
    const char *name;    /* in its directory; borrowed until the next call */
    uint32_t depth;      /* 1: directly in the directory the walk began in */
    int error;           /* errno: there is an entry, but it could not be looked at; st is empty */
    bool is_other_mount; /* something is mounted here: it cannot be entered */
    struct statx st;     /* of the entry itself, not of what it points to */
};

/* Takes a descriptor of its own. */
int walk_new(int dir_fd, struct walk **ret, struct err *e);
void walk_free(struct walk *w);

/* Back to the beginning. */
void walk_restart(struct walk *w);

/* False at the end. Entries that vanish while they are looked at are passed over. */
bool walk_next(struct walk *w, struct walk_entry *ret);

/* Goes into the directory that walk_next returned last: its entries come next. Returns 0 or -errno;
 * -EMLINK at WALK_DEPTH_MAX. */
int walk_enter(struct walk *w);

/* The directory whose entries come next; borrowed until the next call. */
int walk_dir(const struct walk *w);

/* The way from where the walk began to the entry at hand, for whoever enters every directory that
 * has a path: names joined by slashes. Starts as zeroes. */
struct walk_path {
    char text[PATH_MAX];
    size_t len_at[PATH_MAX / 2 + 1]; /* of the part of it that is the directory at a level */
};

/* False when the path is longer than any path can be opened by; then it is that of the directory
 * the entry is in, and the entry must not be entered. */
bool walk_path_set(struct walk_path *path, const struct walk_entry *entry);

/* How many directories could not be read to their end since the beginning. */
uint32_t walk_lost(const struct walk *w);

#endif
