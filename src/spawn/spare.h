/* spare.h -- what the next jail will need, made while nobody waits for it.
 *
 * A control group with its limits, and as root the user namespace that maps the ids of /mnt/data,
 * cost a third of the way to a kernel. The next jail will most likely have the limits of the last
 * one, and a data directory of the same owner: so they are made for it in advance. If it has
 * others, or none were made, it makes its own: a spare is never waited for and its failure is no
 * failure.
 */
#ifndef SPAWN_SPARE_H
#define SPAWN_SPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"

struct err;
struct host;

/* How ids of a directory become a session's: as root, otherwise unused. */
struct idmap {
    int fd; /* -1: none */
    uid_t uid;
    gid_t gid; /* of the files on disk */
};

struct spare {
    bool is_there;
    uint32_t slot; /* what it is good for */
    struct cgroup *group;
    struct cgroup_limits limits;
    struct idmap map;
};

/* What the last jail was like; nothing is made before there was one. */
struct habit {
    bool is_known;
    struct cgroup_limits limits;
    uid_t uid; /* of its data directory; 0: none was seen yet, for root's are refused */
    gid_t gid;
};

/* Makes what can be made for a jail in that slot. Takes about as long as it saves. */
void spare_make(struct host *host, uint32_t slot);
void spare_done(struct spare *s);

/* The namespace for a map of which the rest is set. Where overlays can be made it is good for those,
 * too, so that it does not matter which of the two comes. */
int spare_make_map(const struct host *host, uint32_t slot, struct idmap *map, struct err *e);

/* A control group for the jail in that slot: the spare one if it fits. */
int spare_take_group(struct host *host, uint32_t slot, const struct cgroup_limits *limits,
                     struct cgroup **ret, struct err *e);

/* The spare map, if there is one for that slot; otherwise one without a descriptor. The caller
 * closes its descriptor. */
struct idmap spare_take_map(struct host *host, uint32_t slot);

#endif
