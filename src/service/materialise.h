/* materialise.h -- contents of the store as files in a directory of ours. */
#ifndef SERVICE_MATERIALISE_H
#define SERVICE_MATERIALISE_H

#include <stdbool.h>
#include <stdint.h>

struct content;
struct err;
struct files;
struct workspace_row;

/* Writes the content to `path` below `dir_fd`, making directories on the way (0755, the file 0644);
 * what was there is replaced. Its times become `changed_us`. Not synced. The tree is ours alone: nobody
 * else writes to it. ERR_NO_SPACE when the disk has no room for it (ROOM_FOR_COPIES). */
int materialise(struct files *files, const struct workspace_row *ws, const struct content *content,
                int dir_fd, const char *path, int64_t changed_us, struct err *e);

/* The directories that lead to `path`; *ret_fd is the last of them (the caller's), *ret_name the rest
 * of the path. */
int materialise_way(int dir_fd, const char *path, int *ret_fd, const char **ret_name,
                    struct err *e);

/* A whiteout at that path, as overlayfs understands it, unless a file above it, or a directory in its
 * place, hides what was there as well. */
int materialise_gone(int dir_fd, const char *path, struct err *e);

/* Whether a change of `path` takes nothing away that the tree says already: false when a file or a
 * whiteout is where a directory above it should be, or a directory where it should be itself. */
bool materialise_fits(int dir_fd, const char *path);

#endif
