/* spawner.h -- the engine's end of the privileged spawner.
 *
 * Starts cicada-spawn, hears what this host can do, and asks it for jails. One spawner serves any
 * number of jails and threads. When it is closed, or the process ends, every jail ends.
 */
#ifndef SESSION_SPAWNER_H
#define SESSION_SPAWNER_H

#include <sys/types.h>

#include "wire/jail.h"

struct err;
struct spawner;

/* Starts the program `spawn_path`, which will exec `kernel_path` inside each jail, or `loader_path`
 * for a start from an image (NULL: there is none; the greeting says whether it can be used,
 * MECH_IMAGE). Blocks until it has greeted. Fails with ERR_UNAVAILABLE and the reason when this
 * host cannot hold a jail. */
int spawner_open(const char *spawn_path, const char *kernel_path, const char *loader_path,
                 struct spawner **ret, struct err *e);

/* The same for a server. As root it mounts directories of `data_uid` only (0: anybody's but root's),
 * whatever this process asks for later: for one that is about to become that user. Code that writes
 * leaves `reserve_bytes` free on the disk of its data directory (base/disk.h; 0: nothing). */
int spawner_open_for(const char *spawn_path, const char *kernel_path, const char *loader_path,
                     uid_t data_uid, uint64_t reserve_bytes, struct spawner **ret, struct err *e);

void spawner_close(struct spawner *s);

const struct jail_hello *spawner_hello(const struct spawner *s);
int spawner_pid(const struct spawner *s);
uint64_t spawner_reserve(const struct spawner *s); /* the bytes it was opened with */

/* Asks for a jail. `fds` are borrowed; those that do not come with this spec (jail_spec_fds) are
 * not looked at. Does not wait: the answer comes over the handle. Fails with ERR_UNAVAILABLE when the
 * spawner is gone. */
int spawner_jail(struct spawner *s, const struct jail_spec *spec, const int fds[JAIL_FDS],
                 struct err *e);

#endif
