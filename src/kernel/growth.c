#include "kernel/growth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/scope.h"
#include "kernel/rest.h"

enum {
    THREAD_STACK_SIZE = 4 << 20,
    MARGIN = 16 << 20,      /* that code does not get of the limit, and of the rest ... */
    MARGIN_SHARE = 128,     /* ... one part in so many, for page tables ... */
    MARGIN_MOST = 8,        /* ... but no more than one in so many of it all */
    CHANGED = 24 << 20,     /* of an image, sooner or later, by any code ... */
    CHANGED_SHARE = 4,      /* ... but no more than this share of the limit is kept for that */
    CHILD_LEAST = 16 << 20, /* enough for a Python */
    ALWAYS = 1 << 20,       /* that it may ask for in any case: enough to look around and delete */
};

/* What a process may have that is executed from here; as of the last run. */
static uint64_t for_child = RLIM_INFINITY;

/* What counts as data, and what is in memory of it and of the stacks. */
struct held {
    uint64_t data, resident;
};

static bool measure(struct held *ret)
{
    char text[128];
    unsigned long resident, shared, data;
    scoped(fd_closep) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %lu %lu %*u %*u %lu", &resident, &shared, &data) != 3)
        return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *ret = (struct held){data * page, (resident - shared) * page};
    return true;
}

static uint64_t between(uint64_t least, uint64_t n, uint64_t most)
{
    return n < least ? least : n > most ? most : n;
}

static void set_soft(struct rlimit *limit, uint64_t wanted)
{
    limit->rlim_cur = wanted < limit->rlim_max ? wanted : limit->rlim_max;
    (void)setrlimit(RLIMIT_DATA, limit); /* lowering and raising up to the hard one cannot fail */
}

void growth_limit(void)
{
    struct rlimit limit;
    struct held held;
    if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_max == RLIM_INFINITY || !measure(&held))
        return;
    uint64_t memory = limit.rlim_max - rest_image_bytes();
    uint64_t margin = between(0, MARGIN + memory / MARGIN_SHARE, memory / MARGIN_MOST);
    uint64_t changed = rest_is_image() ? between(0, memory / CHANGED_SHARE, CHANGED) : 0;
    uint64_t used = between(changed, held.resident, memory) + margin;
    uint64_t left = used < memory ? memory - used : 0;
    for_child = between(CHILD_LEAST, left, memory);
    uint64_t most = limit.rlim_max - margin; /* however little of what it has is in memory */
    if (held.data + left > most)
        left = most > held.data ? most - held.data : 0;
    set_soft(&limit, held.data + (left > ALWAYS ? left : ALWAYS));
}

uint64_t growth_for_child(void)
{
    return for_child;
}

void growth_free(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) == 0)
        set_soft(&limit, limit.rlim_max);
}

void growth_start(void)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr))
        return;
    (void)pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE);
    (void)pthread_setattr_default_np(&attr); /* without, fewer threads fit */
    (void)pthread_attr_destroy(&attr);
}
