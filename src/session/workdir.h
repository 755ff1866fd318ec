/* workdir.h -- the directory of this host that one session sees as /mnt/data, and its end.
 *
 *     BASE/cicada-work-Xy12Zw/     0700, ours: nobody else comes past it
 *         owner -> 812.61337.4026531836     who made it: pid, its start time, its pid namespace
 *         data/                    what the session gets, handed over as a descriptor
 *
 * The session can see the name of the directory (in its mountinfo), so the name says nothing. As
 * root the data directory and what is in it belong to WORKDIR_UID: never to root, or a session
 * could leave set-uid programs of root behind.
 *
 * A process that was killed leaves its directory; workdir_new removes those of its own user whose
 * maker is gone.
 *
 *     workdir_new("/var/tmp", &w, e)
 *     workdir_bring(w, "sales.csv", "sales.csv", &skipped, e)
 *     kernel_start(spawner, &limits, &JAIL_DATA_PLAIN(workdir_fd(w)), &ORIGIN_COLD, &k, e)
 *     ...
 *     workdir_free(w)
 */
#ifndef SESSION_WORKDIR_H
#define SESSION_WORKDIR_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct workdir;

enum {
    WORKDIR_UID = 190000,          /* owner of the files as root, and their group */
    WORKDIR_UID_SMALL = 65534,     /* the same where that one is not mapped, as in a container */
    WORKDIR_FILES_MAX = 50000,     /* files and directories that may be brought to one workdir */
    WORKDIR_NAME_MAX = 1024,       /* bytes of the name of a brought file */
    WORKDIR_OWNERLESS_S = 60 * 60, /* an empty one without an owner is left alone for so long */
};
#define WORKDIR_BYTES_MAX ((uint64_t)64 << 30) /* that may be brought to one workdir */

/* Makes a new empty directory below `base_dir`, after sweeping what others left there. Blocks on
 * disk. Fails with what the system says. */
int workdir_new(const char *base_dir, struct workdir **ret, struct err *e);

/* Removes it with everything in it. NULL is fine. Blocks on disk. */
void workdir_free(struct workdir *w);
static inline void workdir_freep(struct workdir **w)
{
    workdir_free(*w);
}

/* The data directory; the workdir's own. */
int workdir_fd(const struct workdir *w);

/* Copies the file or the directory at `path` of this host to `name`, a relative path without ".."
 * in it; directories on the way are made. A symbolic link at `path` is followed; what is neither
 * file nor directory inside a directory, links included, is not copied but counted in *ret_skipped.
 * Fails with ERR_INVALID (the name, or nothing that can be copied), ERR_CONFLICT (something of that
 * name is there already), ERR_LIMIT, or with what the system says. Only before the session starts:
 * what is in the directory is trusted. Blocks on disk. */
int workdir_bring(struct workdir *w, const char *path, const char *name, size_t *ret_skipped,
                  struct err *e);

/* Removes the directories below `base_dir` whose makers are gone. workdir_new does it too. */
void workdir_sweep(const char *base_dir);

#endif
