#include "spawn/spare.h"

#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "sandbox/root.h"
#include "spawn/host.h"

static bool is_same(const struct cgroup_limits *a, const struct cgroup_limits *b)
{
    return a->memory_bytes == b->memory_bytes && a->pids == b->pids && a->cpu_milli == b->cpu_milli;
}

int spare_make_map(const struct host *host, uint32_t slot, struct idmap *map, struct err *e)
{
    uid_t uid = host_uid(host, slot);
    const struct root_ids disk = {map->uid, map->gid}, session = {uid, uid};
    return root_idmap(&disk, &session, host->hello.failure[MECH_OVERLAY] == 0, &map->fd, e);
}

void spare_make(struct host *host, uint32_t slot)
{
    const struct habit *habit = &host->habit;
    struct spare s = {.is_there = true,
                      .slot = slot,
                      .limits = habit->limits,
                      .map = {.fd = -1, .uid = habit->uid, .gid = habit->gid}};
    struct err ignored = {0}; /* whoever needs it will hear of it */
    if (host->cgroups && cgroup_new(host->cgroups, slot, &s.limits, &s.group, &ignored))
        s.group = NULL;
    if (host->is_root && habit->uid != 0 && spare_make_map(host, slot, &s.map, &ignored))
        s.map.fd = -1;
    host->spare = s;
}

void spare_done(struct spare *s)
{
    (void)cgroup_free(s->group); /* nobody is in it, so this does not fail */
    if (s->is_there)
        fd_closep(&s->map.fd);
    *s = (struct spare){0};
}

int spare_take_group(struct host *host, uint32_t slot, const struct cgroup_limits *limits,
                     struct cgroup **ret, struct err *e)
{
    struct spare *s = &host->spare;
    if (s->is_there && s->slot == slot && s->group) {
        struct cgroup *group = take(s->group);
        if (is_same(&s->limits, limits)) {
            *ret = group;
            return 0;
        }
        (void)cgroup_free(group);
    }
    return host->cgroups ? cgroup_new(host->cgroups, slot, limits, ret, e) : 0;
}

struct idmap spare_take_map(struct host *host, uint32_t slot)
{
    struct spare *s = &host->spare;
    struct idmap map = {.fd = -1};
    if (s->is_there && s->slot == slot) {
        map = s->map;
        s->map.fd = -1;
    }
    return map;
}
