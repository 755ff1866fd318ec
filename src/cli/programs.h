/* programs.h -- where the other programs are, and where sessions are kept while they live.
 *
 * cicada-spawn, cicada-kernel and cicada-load lie beside cicada (in a build directory) or in ../libexec/cicada
 * (installed). No environment variable changes that: the spawner may run as root.
 */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H

#include <limits.h>
#include <stdbool.h>

struct err;
struct spawner;

struct programs {
    char spawn[PATH_MAX], kernel[PATH_MAX], load[PATH_MAX];
};

/* Fails with ERR_NOT_FOUND and what to do. */
int programs_find(struct programs *ret, struct err *e);

/* Finds them and starts the spawner. Fails like programs_find and spawner_open. Blocks. */
int programs_spawner(struct spawner **ret, struct err *e);

/* The weights of the sentence encoder: in encoder/ beside cicada (in a build directory) or in
 * ../share/cicada/encoder (installed). False when there are none. */
bool programs_encoder(char ret[PATH_MAX]);

/* The directory in which work directories are made: CICADA_TMP, TMPDIR, or /var/tmp. */
const char *work_base(void);

#endif
