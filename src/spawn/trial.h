/* trial.h -- tries out, in a process that is thrown away, what a jail needs of this host. */
#ifndef SPAWN_TRIAL_H
#define SPAWN_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/jail.h"

/* Sets failure[] of each namespace mechanism to 0 or to the errno it failed with. */
void trial_namespaces(bool is_root, int32_t failure[MECH_COUNT]);

/* 0, or the errno seccomp filters or pidfds fail with. */
int trial_seccomp(void);
int trial_pidfd(void);

/* 0, or the errno with which overlays cannot be made; only where namespaces can. */
int trial_overlay(bool is_root);

/* 0, or the errno with which a process cannot be put where an image says it was: at fixed
 * addresses, with a memory map of its own choosing. */
int trial_image(void);

#endif
