/* state_dir.h -- where the command line keeps what it wants to find again: history, a server's log.
 *
 * $XDG_STATE_HOME/cicada, otherwise ~/.local/state/cicada. Nobody else may look into it.
 */
#ifndef CLI_STATE_DIR_H
#define CLI_STATE_DIR_H

#include <limits.h>

struct err;

/* The path of `name` there; the directories above it are made. Fails when there is no home. */
int state_path(const char *name, char ret[PATH_MAX], struct err *e);

#endif
