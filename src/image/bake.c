/* bake.c -- see bake.h and format.h.
 *
 * The pages come in the order of their addresses, so regions that touch are one in the file too, and
 * one mmap brings them back. For the same reason all get the same rights, read, write and execute:
 * kept apart they would be some 600 mappings, a millisecond at every start. Code in a session can
 * make any page of its own executable anyway.
 */
#include "image/bake.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "image/context.h"
#include "image/raw.h"
#include "image/work.h"

static uint64_t page_up(uint64_t n)
{
    return (n + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
}

/* How a mapping comes back. */
static void describe(const struct mapping *m, uint64_t stack, struct region *ret)
{
    *ret = (struct region){.start = m->start, .end = m->end, .kind = REGION_IMAGE};
    ret->prot = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (maps_is_named(m, "[stack]")) {
        ret->kind = REGION_STACK;
        ret->prot = PROT_READ | PROT_WRITE;
        ret->start = stack / IMAGE_PAGE * IMAGE_PAGE;
    } else if (m->prot == 0 && m->inode == 0) {
        ret->kind = REGION_NONE; /* a guard; what is reserved in a library becomes zeros */
        ret->prot = 0;
    }
}

static void add(struct work *w, const struct region *r)
{
    struct region *last = w->region_count > 0 ? &w->regions[w->region_count - 1] : NULL;
    if (last && last->kind == r->kind && last->prot == r->prot && last->end == r->start &&
        r->kind == REGION_IMAGE)
        last->end = r->end;
    else
        w->regions[w->region_count++] = *r;
}

/* What loader/bake.c keeps free below the vDSO is not for images. */
static void forget_kept_free(struct work *w, uint64_t special)
{
    if (w->region_count > 0 && w->regions[w->region_count - 1].kind == REGION_NONE &&
        w->regions[w->region_count - 1].end == special)
        w->region_count--;
}

static long list_regions(struct work *w, uint64_t stack)
{
    const char *at = w->text, *end = w->text + w->text_len;
    struct mapping m;
    int got;
    while ((got = maps_next(&at, end, &m)) == 1) {
        if (maps_is_special(&m))
            forget_kept_free(w, m.start);
        if (work_is_skipped(&m))
            continue;
        if (m.is_shared && (m.prot & PROT_WRITE))
            return -EBUSY; /* would stop being shared */
        if (w->region_count == IMAGE_REGIONS_MAX)
            return -E2BIG;
        struct region r;
        describe(&m, stack, &r);
        add(w, &r);
    }
    return got;
}

static uint64_t place_pages(struct work *w, uint64_t at)
{
    for (uint64_t i = 0; i < w->region_count; i++) {
        struct region *r = &w->regions[i];
        if (r->kind == REGION_NONE)
            continue;
        r->offset = at;
        at += r->end - r->start;
    }
    return at;
}

static long write_at(int fd, const void *from, size_t len, uint64_t offset)
{
    for (size_t done = 0; done < len;) {
        long n = raw6(SYS_pwrite64, (uint64_t)fd, raw_address((const char *)from + done),
                      len - done, offset + done, 0, 0);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? n : -EIO;
        done += (size_t)n;
    }
    return 0;
}

static bool is_zero(const uint64_t *page)
{
    for (size_t i = 0; i < IMAGE_PAGE / 8; i++)
        if (page[i])
            return false;
    return true;
}

/* Memory: pages of zeros become holes. */
static long write_memory(int fd, uint64_t start, uint64_t end, uint64_t offset)
{
    for (uint64_t at = start; at < end;) {
        if (is_zero((const uint64_t *)(uintptr_t)at)) {
            at += IMAGE_PAGE;
            continue;
        }
        uint64_t from = at;
        while (at < end && !is_zero((const uint64_t *)(uintptr_t)at))
            at += IMAGE_PAGE;
        long failed =
            write_at(fd, (const void *)(uintptr_t)from, at - from, offset + (from - start));
        if (failed)
            return failed;
    }
    return 0;
}

/* A mapped file may be shorter than its mapping; its pages behind the end cannot be read, and only
 * the kernel can find that out without a signal. */
static long write_file(int fd, uint64_t start, uint64_t end, uint64_t offset)
{
    long failed = write_at(fd, (const void *)(uintptr_t)start, end - start, offset);
    return failed == -EFAULT ? 0 : failed;
}

/* Walks the mappings again, in the same order: each lies in a region, and the pages of a region are
 * in the file in one piece. */
static long write_pages(struct work *w, int fd)
{
    const char *at = w->text, *end = w->text + w->text_len;
    uint64_t i = 0;
    for (struct mapping m; maps_next(&at, end, &m) == 1;) {
        if (work_is_skipped(&m))
            continue;
        if (m.prot == 0)
            continue;
        while (w->regions[i].end < m.end)
            i++;
        const struct region *r = &w->regions[i];
        uint64_t start = r->kind == REGION_STACK ? r->start : m.start;
        uint64_t offset = r->offset + (start - r->start);
        long failed =
            m.inode ? write_file(fd, start, m.end, offset) : write_memory(fd, start, m.end, offset);
        if (failed)
            return failed;
    }
    return 0;
}

static long write_head(const struct work *w, int fd, struct image_head *head, const char *deps)
{
    long failed = raw3(SYS_getrandom, raw_address(&head->mark), sizeof head->mark, 0);
    if (failed != sizeof head->mark)
        return failed < 0 ? failed : -EIO;
    failed = write_at(fd, w->regions, w->region_count * sizeof *w->regions, IMAGE_REGIONS);
    if (!failed)
        failed = write_at(fd, deps, head->deps_len, head->deps_at);
    if (!failed)
        failed = raw3(SYS_ftruncate, (uint64_t)fd, head->file_len, 0);
    /* Last: a file without its head is no image. */
    return failed ? failed : write_at(fd, head, sizeof *head, 0);
}

long bake_write(int fd, const struct machine *machine, const char *deps, size_t deps_len,
                const char **ret_step)
{
    struct work *w = work_open();
    *ret_step = "read /proc/self/maps";
    if (!w)
        return -ENOMEM;
    *ret_step = "list the mappings";
    long failed = list_regions(w, machine->registers[CONTEXT_STACK]);
    struct image_head head = {.magic = IMAGE_MAGIC,
                              .version = IMAGE_VERSION,
                              .region_count = (uint32_t)w->region_count,
                              .deps_at = IMAGE_REGIONS + w->region_count * sizeof *w->regions,
                              .deps_len = deps_len,
                              .machine = *machine};
    head.file_len = place_pages(w, page_up(head.deps_at + deps_len));
    if (!failed) {
        *ret_step = "write the pages";
        failed = write_pages(w, fd);
    }
    if (!failed) {
        *ret_step = "write the head";
        failed = write_head(w, fd, &head, deps);
    }
    work_close(w);
    return failed;
}
