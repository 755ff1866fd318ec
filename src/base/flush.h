/* flush.h -- a tree that was just written gets to the disk, for less than an fsync of each file.
 *
 * A file system allocates blocks late: a tree that somebody else believes in (a database that says
 * that it is there, a mark whose absence says so) may after a power cut have all its names and
 * nothing in its files. One fsync for each file would help, and costs a commit of the journal each.
 * So, where the file system has one journal for everything (ext4, XFS), as git does for objects:
 *
 *   - writing back is begun for every file, then awaited for every file (sync_file_range): its
 *     blocks are allocated and its data is with the disk;
 *   - then the top directory is touched and fsynced, once. What was changed before is in the same
 *     journal, before it or with it: names, sizes and blocks of all. Touched, because the fsync of
 *     a directory that did not change since the last commit would commit nothing. The commit also
 *     empties the disk's own cache.
 *
 * Elsewhere, where that is not known to be so (btrfs; overlayfs, where sync_file_range does
 * nothing), every file and every directory is synced by itself.
 *
 * What cannot be opened is passed over: it is not what the caller has written. Somebody may be
 * changing the tree; then what was there before the call counts. Blocks on disk.
 */
#ifndef BASE_FLUSH_H
#define BASE_FLUSH_H

struct err;

int flush_tree(int dir_fd, struct err *e);

#endif
