/* cgroup_layout.h -- where the control group hierarchies are, read from two texts of /proc.
 *
 * No system calls: /proc/self/mountinfo and /proc/self/cgroup go in, places come out. A place is one
 * mounted hierarchy that may have controllers we want. In a container a hierarchy's mount often shows
 * only a part of it; `own` is then relative to that part, and `top` when we are outside of it.
 */
#ifndef SANDBOX_CGROUP_LAYOUT_H
#define SANDBOX_CGROUP_LAYOUT_H

#include <limits.h>
#include <stddef.h>

struct err;

enum cgroup_controller {
    CGROUP_MEMORY = 1 << 0,
    CGROUP_PIDS = 1 << 1,
    CGROUP_CPU = 1 << 2,
    CGROUP_CPUACCT = 1 << 3, /* version 1; part of every group in version 2 */
};

struct cgroup_place {
    int version;
    unsigned controllers; /* version 2: 0, a file in the directory tells */
    char top[PATH_MAX];   /* where it is mounted */
    char own[PATH_MAX];   /* the directory of this process's group */
};

enum { CGROUP_PLACES_MAX = 16 };

struct cgroup_layout {
    struct cgroup_place *places; /* owned */
    size_t count;
};

/* Lines that make no sense are skipped, and so are hierarchies without a controller of ours and
 * read-only mounts. Fails with ERR_NO_MEMORY. */
int cgroup_layout_parse(const char *mountinfo, const char *self_cgroup, struct cgroup_layout *ret,
                        struct err *e);
void cgroup_layout_done(struct cgroup_layout *layout);

/* The controllers named in `list`, whose words are separated by any of `separators`. */
unsigned cgroup_controllers(const char *list, const char *separators);

#endif
