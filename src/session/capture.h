/* capture.h -- which files a run made or changed.
 *
 * A capture looks at a directory tree that hostile code can write to, even while it is being looked
 * at: symbolic links to anywhere, FIFOs, sockets, sparse terabytes, thousands of levels, names that
 * are not UTF-8, files that are swapped for links between two calls. The rules are
 *
 *   - whatever is opened is opened by openat2 with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and
 *     NO_XDEV (base/dir.h); what is read is the descriptor that was checked;
 *   - only regular files count; opening never blocks (O_NONBLOCK);
 *   - depth, number of entries and time are bounded; what was not looked at is said.
 *
 *     struct snapshot before;  snapshot_take(dir_fd, &before, e);
 *     ... the run ...
 *     capture_take(dir_fd, &before, &files, e);
 *
 * or, for one run after the other, where nothing may be missed that happens between two of them:
 *
 *     snapshot_take(dir_fd, &state, e);
 *     for (;;) { snapshot_settle(&state); ... a run ...; capture_next(dir_fd, &state, &files, e); }
 *
 * Caches that nobody wants back are not looked at: ignore.h has the list.
 */
#ifndef SESSION_CAPTURE_H
#define SESSION_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h" /* tree_remove: what is done with such a directory in the end */

struct err;

enum {
    CAPTURE_MISSED_MAX = 100,
    CAPTURE_ENTRIES_MAX = 100000,       /* looked at in one walk */
    CAPTURE_PATHS_BYTES_MAX = 32 << 20, /* of all paths together */
    CAPTURE_MS_MAX = 10000,             /* one snapshot or capture takes no longer */
    CAPTURE_HASH_MAX = 1 << 30,         /* bytes of a file that is still hashed */
};

enum capture_change { FILE_CREATED, FILE_MODIFIED, FILE_DELETED };

enum stamp_kind {
    STAMP_FILE, /* regular */
    STAMP_ODD,
    STAMP_DIRECTORY, /* this one and the rest: only of the upper layer of an overlay */
    STAMP_OPAQUE,    /* a directory that hides those below it in other layers */
    STAMP_WHITEOUT,
    STAMP_GONE, /* not there any more; never in what a look has found */
};

/* The state of one file at one moment, enough to notice that it changed. */
struct file_stamp {
    char *path;      /* relative to the directory, bytes as they are on disk, NUL-terminated */
    const char *odd; /* static: what it is if not a regular file, "symbolic link"; NULL: regular */
    enum stamp_kind kind;
    bool is_executable;
    uint64_t inode;
    uint64_t size;
    uint64_t stored;            /* bytes of it that take up space; a hole does not */
    int64_t mtime_ns, ctime_ns; /* ctime -1: no file has that, so it differs the next time */
    bool is_fresh;              /* so new that a later change could get the same times */
    uint32_t generation;     /* of the inode's number, when fresh and the file system tells; or 0 */
    bool is_changed, is_new; /* while it is compared */
};

struct snapshot {
    struct file_stamp *files; /* sorted by path, bytewise */
    size_t count;
    bool is_whole;     /* false: the walk was ended by a limit */
    int64_t begun_ns;  /* wall clock, when the walk began */
    int64_t newest_ns; /* the latest change of any of them */
};

/* Every regular file that changed is listed, also one that could not be read: that is then listed
 * in `missed` too, with the reason. */
struct captured_file {
    char *path;
    uint64_t size; /* 0 for deleted files */
    enum capture_change change;
    bool has_sha256; /* not for deleted files, nor for what could not be read */
    uint8_t sha256[32];
    const char *mime; /* by the name's ending; static */
    /* Where it is kept: filled by whoever keeps it, not by a capture. */
    uint64_t version; /* 0: nowhere */
    char *aside;      /* another path, because others changed the file too; NULL: its own */
    char *why;        /* why it is there: a lock of somebody's; NULL: others changed the file */
    bool is_torn;     /* it was being written to all the time; what is kept is what could be read */
};

/* What was brought into the directory before the run, because others had changed it. */
struct brought_file {
    char *path;
    enum capture_change change;
};

struct not_captured {
    char *path;         /* "." for the whole directory */
    const char *reason; /* static: "symbolic link", "too deep", ... */
    char *more; /* whose fault it is, where that is somebody's; behind the reason; or NULL */
};

struct capture {
    struct captured_file *files; /* sorted by path */
    size_t count;
    struct not_captured *missed; /* new since before, or never looked into; at most
                                    CAPTURE_MISSED_MAX, more are counted in missed_more */
    size_t missed_count;
    size_t missed_more;
    struct brought_file *brought; /* not by a capture, either */
    size_t brought_count;
    struct not_captured
        *unbrought; /* nor these: what others changed and could not be brought; bounded
                                       like `missed` */
    size_t unbrought_count;
    size_t unbrought_more;
};

/* Records what is below `dir_fd`, and waits for the clock's next tick (milliseconds) if a file was
 * changed in the present one, as snapshot_settle does. Fails with ERR_NO_MEMORY, or when the
 * directory itself cannot be read. Blocks on disk. */
int snapshot_take(int dir_fd, struct snapshot *ret, struct err *e);
void snapshot_done(struct snapshot *s);

/* Waits until a file changed from now on cannot get the same time stamp as one in the snapshot.
 * That is mostly already so. Blocks for at most some milliseconds. */
void snapshot_settle(const struct snapshot *s);

/* What differs from `before`, with the hash of what is new. Fails like snapshot_take; what happens
 * to single files is no failure. Blocks on disk. */
int capture_take(int dir_fd, const struct snapshot *before, struct capture *ret, struct err *e);
void capture_done(struct capture *c);

/* Adds to the list of what was missed; `reason` is static. */
int capture_miss(struct capture *c, const char *path, const char *reason, struct err *e);
/* Adds to the list of what was not brought; a path is in it once. `reason` is static. */
int capture_unbrought(struct capture *c, const char *path, const char *reason, struct err *e);

/* The same, and makes *state what was found, so that the next call reports what differs from now.
 * Files that could not be read for a passing reason are reported again by the next. On failure
 * *state stays what it was. */
int capture_next(int dir_fd, struct snapshot *state, struct capture *ret, struct err *e);

/* Copies the captured file `path` from below `from_fd` to below `to_fd`, making directories as
 * needed; never through a link on either side, never anything but a regular file, at most
 * `size_max` bytes (ERR_LIMIT). An existing file or link is replaced, in one step when the copy is
 * whole; an existing directory is not. Fails with ERR_CONFLICT if the file changes meanwhile.
 * Blocks on disk. */
int capture_copy(int from_fd, int to_fd, const char *path, uint64_t size_max, struct err *e);

const char *file_change_name(enum capture_change change);

/* The same with more behind the reason, which is copied. */
int capture_miss_more(struct capture *c, const char *path, const char *reason, const char *more,
                      struct err *e);

#endif
