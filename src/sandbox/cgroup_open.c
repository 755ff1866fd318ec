#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "sandbox/cgroup_int.h"

enum { MOUNTINFO_MAX = 16 << 20, CLOSE_WAIT_US = 200000 };

int cgroup_put(int dir_fd, const char *file, const char *text)
{
    scoped(fd_closep) int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t n = write(fd, text, strlen(text));
    if (n < 0)
        return errno;
    return (size_t)n == strlen(text) ? 0 : EIO;
}

int cgroup_put_u64(int dir_fd, const char *file, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return cgroup_put(dir_fd, file, text);
}

/* These files are written by the kernel in one go, so one read is all of it. */
int cgroup_get(int dir_fd, const char *file, char *ret, size_t size)
{
    scoped(fd_closep) int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t n = read(fd, ret, size - 1);
    if (n < 0)
        return errno;
    ret[n] = '\0';
    return 0;
}

int cgroup_get_u64(int dir_fd, const char *file, uint64_t *ret)
{
    char text[32];
    unsigned long long value;
    int why = cgroup_get(dir_fd, file, text, sizeof text);
    if (why)
        return why;
    if (sscanf(text, "%llu", &value) != 1)
        return EINVAL;
    *ret = value;
    return 0;
}

bool cgroup_find_key(const char *text, const char *key, uint64_t *ret)
{
    size_t len = strlen(key);
    unsigned long long value;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, key, len) == 0 && line[len] == ' ' &&
            sscanf(line + len, " %llu", &value) == 1) {
            *ret = value;
            return true;
        }
    return false;
}

static int read_text(const char *path, struct buf *ret, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char chunk[16384];
    ssize_t n;
    while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(ret, chunk, (size_t)n);
    buf_str(ret, ""); /* a file that is not there is an empty one */
    return buf_check(ret, e);
}

static void hierarchy_done(struct hierarchy *h)
{
    fd_closep(&h->own_fd);
    fd_closep(&h->parent_fd);
}

/* Our directory there, empty. One with our name is left over from a process that had our pid at our
 * start time: a spawner that went through exec. */
static int make_own(struct hierarchy *h, const char *name)
{
    cgroup_sweep(h->ops, h->parent_fd);
    if (mkdirat(h->parent_fd, name, 0755) && errno != EEXIST)
        return errno;
    h->own_fd = openat(h->parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (h->own_fd < 0)
        return errno;
    int why = h->ops->prepare(h->own_fd, h->controllers);
    if (why)
        (void)unlinkat(h->parent_fd, name, AT_REMOVEDIR); /* else the next spawner does it */
    return why;
}

static unsigned covered(const struct cgroups *all)
{
    unsigned controllers = 0;
    for (unsigned i = 0; i < all->count; i++)
        controllers |= all->all[i].controllers;
    return controllers;
}

/* Takes a place into use if it has something we do not have yet. Returns 0 or the errno. */
static int add(struct cgroups *all, const struct cgroup_place *place)
{
    if (all->count == HIERARCHIES_MAX)
        return ENOSPC;
    if (place->version == 1 && !(place->controllers & ~covered(all)))
        return 0; /* the same hierarchy mounted twice */
    struct hierarchy h = {.parent_fd = -1, .own_fd = -1};
    int why = (place->version == 2 ? &cgroup_v2 : &cgroup_v1)->find(place, &h);
    if (!why)
        why = make_own(&h, all->name);
    if (why) {
        if (h.own_fd >= 0)
            (void)unlinkat(h.parent_fd, all->name, AT_REMOVEDIR); /* it is empty */
        hierarchy_done(&h);
        return why;
    }
    all->all[all->count++] = h;
    return 0;
}

static void judge(struct cgroup_support *support, const struct cgroup_place *place, int why)
{
    /* Version 2 does not say what it would have had. */
    unsigned about = place->version == 2 ? ~0u : place->controllers;
    if (support->memory == ENODEV && (about & CGROUP_MEMORY) && why)
        support->memory = why;
    if (support->pids == ENODEV && (about & CGROUP_PIDS) && why)
        support->pids = why;
    if (support->cpu == ENODEV && (about & CGROUP_CPU) && why)
        support->cpu = why;
}

static void conclude(struct cgroup_support *support, const struct cgroups *all)
{
    for (unsigned i = 0; i < all->count; i++) {
        unsigned has = all->all[i].controllers;
        if (has & CGROUP_MEMORY)
            support->version = all->all[i].ops->version;
        support->memory = has & CGROUP_MEMORY ? 0 : support->memory;
        support->pids = has & CGROUP_PIDS ? 0 : support->pids;
        support->cpu = has & CGROUP_CPU ? 0 : support->cpu;
    }
}

static int read_layout(struct cgroup_layout *ret, struct err *e)
{
    scoped(buf_done) struct buf mounts = BUF_INIT(MOUNTINFO_MAX);
    scoped(buf_done) struct buf own = BUF_INIT(MOUNTINFO_MAX);
    if (read_text("/proc/self/mountinfo", &mounts, e) || read_text("/proc/self/cgroup", &own, e))
        return -1;
    return cgroup_layout_parse(mounts.bytes, own.bytes, ret, e);
}

int cgroups_open(struct cgroups **ret, struct cgroup_support *ret_support, struct err *e)
{
    struct cgroup_support support = {.memory = ENODEV, .pids = ENODEV, .cpu = ENODEV};
    scoped(cgroup_layout_done) struct cgroup_layout layout = {0};
    scoped(freep) struct cgroups *all = calloc(1, sizeof *all);
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "control groups");
    if (read_layout(&layout, e))
        return err_wrap(e, "control groups");
    bool has_name = cgroup_own_name(all->name) == 0;
    for (size_t i = 0; i < layout.count && has_name; i++)
        judge(&support, &layout.places[i], add(all, &layout.places[i]));
    conclude(&support, all);
    *ret_support = support;
    *ret = all->count ? take(all) : NULL;
    return 0;
}

void cgroups_close(struct cgroups *all)
{
    if (!all)
        return;
    int64_t deadline_us = clock_us() + CLOSE_WAIT_US;
    for (unsigned i = 0; i < all->count; i++) {
        /* What cannot be removed now is swept by the next spawner. */
        cgroup_remove_tree(all->all[i].ops, all->all[i].parent_fd, all->name, deadline_us);
        hierarchy_done(&all->all[i]);
    }
    free(all);
}
