/* fileref.h -- a file in a workspace as people write it, as an address needs it, and as a name here.
 *
 * People write "/mnt/data/plots/a.png", "./plots/a.png" and "plots/": all mean a path relative to the
 * workspace. "" is the workspace itself. What a server says is called so may be anything: before a name
 * becomes one here, fileref_is_local says whether it stays where it is put.
 */
#ifndef CLI_FILEREF_H
#define CLI_FILEREF_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { FILEREF_SIZE = 1025 }; /* the longest path and its NUL */

#define WORKSPACES_PATH "/api/v1/workspaces"
#define WORKSPACE_DEFAULT "default"

/* The path that is meant. *ret_is_dir (may be NULL) says whether a slash stood at its end. Fails with
 * ERR_INVALID for one that leads out, is too long, or has a control character. */
int fileref_clean(const char *word, char ret[FILEREF_SIZE], bool *ret_is_dir, struct err *e);

/* Whether it has a *, a ? or a [. */
bool fileref_is_pattern(const char *path);

/* The length of the directories before the first component of a pattern that has one of these, with
 * the slash: 5 of "data/2*""/x.csv". For a path it is where its last component begins. */
size_t fileref_fixed_len(const char *pattern);

/* Whether a path that a server gave may be made below a directory here. */
bool fileref_is_local(const char *path);

/* Whether a component of it begins with a dot. */
bool fileref_is_hidden(const char *path);

const char *fileref_base(const char *path); /* the last component */

/* DIR/NAME; NAME if DIR is "". Fails with ERR_INVALID when that is too long. */
int fileref_join(const char *dir, const char *name, char ret[FILEREF_SIZE], struct err *e);

/* Appends the address of the workspace's `door` ("files", "move", ...), NULL: of the workspace. */
void workspace_url(const char *workspace, const char *door, struct buf *out);

/* Appends the address of a file: each component encoded; `query` is "" or "stat&version=2". */
void fileref_url(const char *workspace, const char *path, const char *query, struct buf *out);

#endif
