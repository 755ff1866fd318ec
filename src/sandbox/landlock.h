/* landlock.h -- a fence around files, TCP, abstract sockets and signals, by what the kernel offers.
 *
 * The rights asked for are cut down to those the running kernel's ABI knows:
 *
 *     1 (5.13)  files          4 (6.7)   TCP bind and connect      6 (6.12)  abstract sockets, signals
 *     2 (5.19)  rename, link   5 (6.10)  ioctl on devices          9 (7.1)   sockets in the file system
 *     3 (6.2)   truncate
 *
 * Everything not named by a rule is denied. Rules hold for what is beneath a path now and for what is
 * mounted beneath it later, but not for what is mounted *on* it later: name the parent of a mount
 * point. Sockets and signals within one fence are always free.
 */
#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { LANDLOCK_ABI_SCOPES = 6 }; /* the first that fences signals and abstract sockets */

enum landlock_right {
    LANDLOCK_READ,  /* read files, list directories, execute */
    LANDLOCK_LIST,  /* list this directory, nothing beneath it but names */
    LANDLOCK_DEV,   /* read and write existing files: devices, /proc/self/... */
    LANDLOCK_WRITE, /* everything one does with files of one's own, except device nodes */
};

struct landlock_rule {
    const char *path;
    enum landlock_right right;
    bool optional; /* a path that does not exist is no error */
};

int landlock_abi(void); /* 0: not available */

/* What is denied unless a rule allows it, and what a right comes to, with a given ABI. A file as
 * opposed to a directory gets only what applies to files. */
struct landlock_handled {
    uint64_t fs, net, scoped;
};
struct landlock_handled landlock_handled(int abi);
uint64_t landlock_access(enum landlock_right right, bool is_dir, int abi);

/* Restricts this thread and all its descendants. no_new_privs must be set. Returns 0 or the errno;
 * *ret_path names the rule that failed, NULL if it was none. Async-signal-safe. */
int landlock_restrict(const struct landlock_rule *rules, size_t count, const char **ret_path);

#endif
