/* environment.h -- what the kernel finds in its environment. Nothing of the spawner's is
 * inherited. */
#ifndef SPAWN_ENVIRONMENT_H
#define SPAWN_ENVIRONMENT_H

#include <limits.h>
#include <stddef.h>

struct limits;

enum { VARIABLES_MAX = 24 };

struct environment {
    char *list[VARIABLES_MAX + 1]; /* for execve */
    size_t count;
    size_t used;
    char text[6 * PATH_MAX];
};

/* `home` is where temporary files go too; `control_at` the number of the control socket. */
void environment_init(struct environment *env, const struct limits *limits, const char *home,
                      int control_at);

#endif
