/* tree.h -- taking a whole tree away, however hostile whoever made it.
 *
 * Thousands of levels, paths longer than any path may be, directories without permissions, names
 * that are not text: all of it goes, without recursion and with a fixed number of descriptors.
 * Nothing is followed or entered that is not part of the tree: no link, no mount.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

struct err;

/* Removes everything below `dir_fd`, but not the directory itself. Directories that deny their
 * owner access are given it first, so an unprivileged owner can remove them. Keeps going after a
 * failure and reports the first. Blocks on disk. */
int tree_remove(int dir_fd, struct err *e);

#endif
