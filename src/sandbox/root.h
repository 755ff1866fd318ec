/* root.h -- the file system a session sees, and how it gets there.
 *
 * The spawner builds a template once and moves into it:
 *
 *     /usr            the host's, read-only, nosuid, nodev (with /bin, /lib, ... as on the host)
 *     /etc            a handful of files: linker cache, fonts, alternatives; passwd and group of our own
 *     /dev            null zero full random urandom, fd stdin stdout stderr, an empty shm
 *     /opt/cicada     the kernel program and the loader
 *     /proc           the host's, whole: without one the kernel refuses a session its own
 *     /tmp /mnt/data  empty; each session mounts its own on them
 *
 * and the root itself is read-only. Each session's pid 1 gets a copy of that mount namespace and
 * lays its own /proc, /tmp and /dev/shm over it (root_enter), and /mnt/data then or later
 * (root_attach). Those mounts are locked: code without capabilities cannot take them away again.
 *
 * The template has no way back to the host's tree. A data directory therefore arrives as a
 * descriptor, and root_data makes a detached mount of it from inside the host's namespace, which
 * the spawner keeps a descriptor of. The same goes for libraries that one session sees instead of the
 * host's (root_libraries, root_cover).
 */
#ifndef SANDBOX_ROOT_H
#define SANDBOX_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define ROOT_KERNEL "/opt/cicada/kernel" /* the kernel program, inside the template */
#define ROOT_LOADER "/opt/cicada/load"
#define ROOT_DATA "/mnt/data"

struct root {
    int host_ns;     /* mount namespace data directories are found in */
    int template_ns; /* the one with the template, where the spawner lives */
};

/* Builds the template and moves this process into it. The caller already owns its mount namespace
 * (and as an unprivileged user its user namespace: then `has_host_root` is false and /proc is the
 * host's, bound). `kernel_path` is the kernel program, `loader_path` the loader, NULL if there is
 * none. The caller's root is the template afterwards; nothing of the host is reachable by path. */
int root_build(const char *kernel_path, const char *loader_path, bool has_host_root,
               struct root *ret, struct err *e);
void root_done(struct root *r);

/* A detached mount of the directory `data_fd`, nosuid and nodev, for root_attach. When `idmap_fd`
 * is a user namespace, ids are mapped through it; ERR_UNAVAILABLE where the file system cannot do
 * that. The caller closes *ret. */
int root_data(const struct root *r, int data_fd, int idmap_fd, int *ret, struct err *e);

/* The same of a directory with libraries: read-only, and nobody's ids are mapped. */
int root_libraries(const struct root *r, int dir_fd, int *ret, struct err *e);

/* In pid 1 of a session: lays /proc, /tmp and /dev/shm over the template. Returns 0 or the errno,
 * and *ret_step names what failed. Async-signal-safe. */
int root_enter(uint64_t tmp_bytes, const char **ret_step);

/* In pid 1: lays /mnt/data over it; also when the session runs already. Returns 0 or the errno.
 * Async-signal-safe: one system call. */
int root_attach(int data_mount);

/* In pid 1: lays such a mount over a directory that is there. Returns 0 or the errno.
 * Async-signal-safe: one system call. */
int root_cover(int mount_fd, const char *path);

struct root_ids {
    uid_t uid;
    gid_t gid;
};

/* A user namespace in which what belongs to `disk` on disk is `host`'s, for root_data. `has_root`:
 * and what belongs to the ids after those is root's, for overlays (overlay.h). The caller closes
 * it. */
int root_idmap(const struct root_ids *disk, const struct root_ids *host, bool has_root, int *ret,
               struct err *e);

#endif
