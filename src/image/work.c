#include "image/work.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "image/raw.h"

#define WORK_LEN ((sizeof(struct work) + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE)

static long read_maps(struct work *w)
{
    long fd = raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    long n;
    while ((n = raw_read((int)fd, w->text + w->text_len, sizeof w->text - w->text_len)) > 0)
        w->text_len += (size_t)n;
    (void)raw_close((int)fd);
    return w->text_len == sizeof w->text ? -1 : n;
}

struct work *work_open(void)
{
    /* Shared, so that a copy made by fork meanwhile could not double it. */
    long at = raw_mmap(WORK_START, WORK_LEN, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (at != (long)WORK_START)
        return NULL;
    struct work *w = (struct work *)(uintptr_t)WORK_START;
    if (read_maps(w) == 0)
        return w;
    work_close(w);
    return NULL;
}

void work_close(struct work *w)
{
    (void)raw_munmap(raw_address(w), WORK_LEN);
}

bool work_is_skipped(const struct mapping *m)
{
    return maps_is_special(m) || (m->start >= LOADER_START && m->end <= LOADER_END) ||
           (m->start >= BASE_START && m->end <= WORK_END);
}
