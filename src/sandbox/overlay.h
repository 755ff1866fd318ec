/* overlay.h -- a data directory made of layers, of which only the top one is written to.
 *
 *     HOME/data    the upper layer: whatever the session changes, and whiteouts for what it removed
 *     HOME/work    overlayfs's own, on the same file system
 *     lowers       directories elsewhere that are only read, the first on top
 *
 * Like root_data, it ends as a mount that is nowhere yet, for root_attach; the layers themselves are
 * not reachable from it. Extended attributes of overlayfs are user.overlay.*: those a session sets
 * through the mount are escaped or refused by it, so it can forge none.
 *
 * With an id map (root_idmap with root in it) the layers are mapped: files the session makes belong
 * on disk to the owner of the directories, and what overlayfs makes for itself, whiteouts above all,
 * to the id after the owner's, because it works as who mounted it: root.
 *
 * It is mounted `volatile`: unmounting would otherwise write back the whole file system, everybody
 * else's files too. Nothing is promised of what a session wrote before somebody else has synced it.
 */
#ifndef SANDBOX_OVERLAY_H
#define SANDBOX_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct root;

enum { OVERLAY_LOWERS_MAX = 8 };

struct overlay_layers {
    int upper_fd, work_fd; /* called "data" and "work", side by side */
    const int *lower_fds;
    size_t lower_count; /* 1 .. OVERLAY_LOWERS_MAX */
};

/* Mounts them; work is emptied first. The caller closes *ret. Fails with ERR_INVALID when upper and
 * work do not lie as they should, ERR_UNAVAILABLE where the file system cannot do it. */
int overlay_mount(const struct root *r, const struct overlay_layers *layers, int idmap_fd, int *ret,
                  struct err *e);

/* Removes what overlayfs has left in `work_fd`, when nobody uses the overlay any more. */
int overlay_clean(int work_fd, struct err *e);

/* 0, or the errno with which overlays cannot be made here: of id-mapped layers if `is_root`,
 * otherwise in the user namespace of the caller. Covers /tmp: to be called in a mount namespace that
 * is thrown away. */
int overlay_try(bool is_root);

#endif
