/* layers.h -- the layers of overlays, for tests; what is in them is in layers.c. */
#ifndef TESTS_JAILS_LAYERS_H
#define TESTS_JAILS_LAYERS_H

#include <dirent.h>

#include "cases.h"

struct layers {
    char path[256];
    int home, changes;
    struct jail_data data, other; /* the same lowers */
    uid_t uid;
    gid_t gid; /* of all of it */
};

#define LAYERS_NONE                                                                              \
    {                                                                                            \
        .home = -1, .changes = -1, .data = {.dir_fd = -1, .work_fd = -1, .lower_fds = {-1, -1}}, \
        .other = {                                                                               \
            .dir_fd = -1,                                                                        \
            .work_fd = -1                                                                        \
        }                                                                                        \
    }

int layers_make(struct place *p, struct layers *l, struct err *e);
void layers_done(struct layers *l); /* removes them, too */

/* Asks for a jail with them. Does not wait. */
int layers_ask(struct place *p, struct hand *h, const struct jail_data *data, struct err *e);

static inline void dir_closep(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

#endif
