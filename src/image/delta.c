/* delta.c -- see delta.h and format.h.
 *
 * Most changed pages differ from the image's by a few bytes (a reference count), so they are XORed
 * with it, and zstd makes next to nothing of the zeros. What has become equal again, and pages of
 * zeros where zeros will be anyway, are left out.
 */
#include "image/delta.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "image/context.h"
#include "image/raw.h"
#include "image/work.h"

enum { ZSTD_LEVEL = 1, ZSTD_WINDOW_LOG = 18, LONG_RUN = 4096 /* pages */ };

struct writer {
    struct work *work;
    ZSTD_CCtx *codec;
    int fd;
    const char *why; /* set by the first thing that fails */
    uint32_t device; /* the image's file, as maps shows it */
    uint64_t inode;
    size_t out_len;        /* bytes that wait in work->out */
    struct page_run batch; /* XORed pages that wait in work->batch */
};

static int fail(struct writer *w, const char *why)
{
    if (!w->why)
        w->why = why;
    return -1;
}

/* ---- bytes out ---- */

static int send_out(struct writer *w)
{
    if (w->out_len > 0 && raw_write_all(w->fd, w->work->out, w->out_len))
        return fail(w, "there was nobody to take its memory");
    w->out_len = 0;
    return 0;
}

/* What comes out is collected: a block of zeros becomes a few bytes, and whoever reads the pipe should
 * not be woken for those. */
static int squeeze(struct writer *w, const void *from, size_t len, ZSTD_EndDirective directive)
{
    ZSTD_inBuffer in = {.src = from, .size = len};
    for (;;) {
        ZSTD_outBuffer out = {.dst = w->work->out, .size = sizeof w->work->out, .pos = w->out_len};
        size_t left = ZSTD_compressStream2(w->codec, &out, &in, directive);
        if (ZSTD_isError(left))
            return fail(w, "its memory could not be compressed");
        w->out_len = out.pos;
        if (out.pos == out.size && send_out(w))
            return -1;
        if (directive == ZSTD_e_continue ? in.pos == in.size : left == 0)
            return 0;
    }
}

static int put(struct writer *w, const void *from, size_t len)
{
    return squeeze(w, from, len, ZSTD_e_continue);
}

static int open_codec(struct writer *w)
{
    w->codec = ZSTD_initStaticCCtx(w->work->codec, sizeof w->work->codec);
    if (!w->codec ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->codec, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->codec, ZSTD_c_windowLog, ZSTD_WINDOW_LOG)))
        return fail(w, "its memory could not be compressed");
    return 0;
}

/* ---- regions ---- */

static bool begins_with(const struct mapping *m, const char *text)
{
    size_t i = 0;
    while (text[i] && i < m->name_len && m->name[i] == text[i])
        i++;
    return !text[i];
}

/* The last file_ref, if it is of that path already: a library is mapped in several pieces. */
static bool is_last_path(const struct work *w, uint64_t last, const struct mapping *m)
{
    if (w->path_len == 0)
        return false;
    const struct file_ref *ref = (const struct file_ref *)(w->paths + last);
    for (size_t i = 0; i < m->name_len; i++)
        if (ref->path[i] != m->name[i])
            return false;
    return ref->path[m->name_len] == '\0';
}

static int add_path(struct writer *w, const struct mapping *m, uint64_t *last, uint32_t *ret)
{
    struct work *work = w->work;
    if (is_last_path(work, *last, m)) {
        *ret = (uint32_t)*last;
        return 0;
    }
    uint64_t len = (m->name_len + 8) / 8 * 8;
    if (work->path_len + sizeof(struct file_ref) + len > sizeof work->paths)
        return fail(w, "it maps too many files");
    struct file_ref *ref = (struct file_ref *)(work->paths + work->path_len);
    for (size_t i = 0; i < len; i++)
        ref->path[i] = i < m->name_len ? m->name[i] : '\0';
    struct stat st;
    if (raw6(SYS_newfstatat, (uint64_t)(int64_t)AT_FDCWD, raw_address(ref->path), raw_address(&st),
             0, 0, 0))
        return fail(w, "a file that it maps cannot be found any more");
    ref->mtime_s = (uint64_t)st.st_mtim.tv_sec;
    ref->mtime_ns = (uint64_t)st.st_mtim.tv_nsec;
    ref->size = (uint64_t)st.st_size;
    ref->len = (uint32_t)len;
    ref->zero = 0;
    *ret = (uint32_t)work->path_len;
    *last = work->path_len;
    work->path_len += sizeof *ref + len;
    return 0;
}

/* What a mapping is, and whether it can be made again elsewhere. */
static int describe(struct writer *w, const struct mapping *m, const struct machine *machine,
                    uint64_t *last_path, struct region *ret)
{
    *ret = (struct region){.start = m->start, .end = m->end, .offset = m->offset, .prot = m->prot};
    if (maps_is_named(m, "[stack]")) {
        ret->kind = REGION_STACK;
        ret->offset = 0;
        ret->start = machine->registers[CONTEXT_STACK] / IMAGE_PAGE * IMAGE_PAGE;
        return 0;
    }
    if (m->inode == w->inode && m->device == w->device) {
        ret->kind = REGION_IMAGE;
        return 0;
    }
    if (m->inode == 0 && !m->is_shared) {
        ret->kind = m->prot ? REGION_ANON : REGION_NONE;
        ret->offset = 0;
        return 0;
    }
    if (maps_is_deleted(m) || m->inode == 0)
        return fail(w, "it shares memory that has no file (multiprocessing's, say)");
    if (m->is_shared && (m->prot & PROT_WRITE) && !begins_with(m, "/mnt/data/"))
        return fail(w, "it shares a mapped file that is not in /mnt/data");
    ret->kind = m->is_shared ? REGION_SHARED : REGION_FILE;
    return add_path(w, m, last_path, &ret->path);
}

/* The image itself is in the list, at BASE_START: that is how its other mappings are recognised. */
static int find_image(struct writer *w)
{
    const char *at = w->work->text, *end = at + w->work->text_len;
    for (struct mapping m; maps_next(&at, end, &m) == 1;)
        if (m.start == BASE_START) {
            w->device = m.device;
            w->inode = m.inode;
            return 0;
        }
    return fail(w, "it was not started from an image");
}

static int list_regions(struct writer *w, const struct machine *machine)
{
    struct work *work = w->work;
    const char *at = work->text, *end = work->text + work->text_len;
    uint64_t last_path = 0;
    struct mapping m;
    int got;
    while ((got = maps_next(&at, end, &m)) == 1) {
        if (work_is_skipped(&m))
            continue;
        if (work->region_count == IMAGE_REGIONS_MAX)
            return fail(w, "it has too many mappings");
        if (describe(w, &m, machine, &last_path, &work->regions[work->region_count]))
            return -1;
        work->region_count++;
    }
    return got ? fail(w, "its mappings could not be read") : 0;
}

/* ---- pages ---- */

static bool is_equal(const uint64_t *a, const uint64_t *b)
{
    for (size_t i = 0; i < IMAGE_PAGE / 8; i += 8) {
        uint64_t differ = 0;
        for (size_t k = i; k < i + 8; k++)
            differ |= a[k] ^ b[k];
        if (differ)
            return false;
    }
    return true;
}

static bool is_zero(const uint64_t *page)
{
    for (size_t i = 0; i < IMAGE_PAGE / 8; i += 8) {
        uint64_t any = 0;
        for (size_t k = i; k < i + 8; k++)
            any |= page[k];
        if (any)
            return false;
    }
    return true;
}

static const uint64_t *in_image(const struct region *r, uint64_t at)
{
    return (const uint64_t *)(uintptr_t)(BASE_START + r->offset + (at - r->start));
}

static int flush_batch(struct writer *w)
{
    struct page_run run = w->batch;
    w->batch.count = 0;
    if (run.count == 0)
        return 0;
    return put(w, &run, sizeof run) ||
                   put(w, w->work->batch, (size_t)run.count * sizeof *w->work->batch)
               ? -1
               : 0;
}

static int put_changed(struct writer *w, const struct region *r, uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at += IMAGE_PAGE) {
        const uint64_t *page = (const uint64_t *)(uintptr_t)at, *base = in_image(r, at);
        if (is_equal(page, base))
            continue;
        struct page_run *b = &w->batch;
        bool is_next = b->count > 0 && b->count < WORK_BATCH &&
                       b->start + (uint64_t)b->count * IMAGE_PAGE == at && b->start >= r->start;
        if (!is_next) {
            if (flush_batch(w))
                return -1;
            *b = (struct page_run){.start = at, .is_xor = 1};
        }
        uint64_t *to = w->work->batch[b->count++];
        for (size_t i = 0; i < IMAGE_PAGE / 8; i++)
            to[i] = page[i] ^ base[i];
    }
    return 0;
}

/* Pages that lie over nothing. Zeros may be left out only where the mapping brings zeros. */
static int put_new(struct writer *w, const struct region *r, uint64_t start, uint64_t end)
{
    bool brings_zeros = r->kind == REGION_ANON;
    if (flush_batch(w))
        return -1;
    for (uint64_t at = start; at < end;) {
        if (brings_zeros && is_zero((const uint64_t *)(uintptr_t)at)) {
            at += IMAGE_PAGE;
            continue;
        }
        struct page_run run = {.start = at};
        while (at < end && run.count < LONG_RUN &&
               !(brings_zeros && is_zero((const uint64_t *)(uintptr_t)at))) {
            run.count++;
            at += IMAGE_PAGE;
        }
        if (put(w, &run, sizeof run) ||
            put(w, (const void *)(uintptr_t)run.start, (size_t)run.count * IMAGE_PAGE))
            return -1;
    }
    return 0;
}

static int put_region(struct writer *w, const struct scan *scan, const struct region *r)
{
    if (r->kind == REGION_STACK)
        return put_new(w, r, r->start, r->end);
    if (r->kind == REGION_NONE || r->kind == REGION_SHARED)
        return 0;
    for (uint64_t at = r->start; at < r->end;) {
        long count = scan_next(scan, &at, r->end, w->work->ranges, WORK_RANGES);
        if (count < 0)
            return fail(w, "its changed pages could not be found");
        for (long i = 0; i < count; i++) {
            const struct page_range *range = &w->work->ranges[i];
            if (r->kind == REGION_IMAGE ? put_changed(w, r, range->start, range->end)
                                        : put_new(w, r, range->start, range->end))
                return -1;
        }
    }
    return 0;
}

static int put_pages(struct writer *w)
{
    struct scan scan;
    int failed = 0;
    if (scan_open(&scan))
        return fail(w, "its changed pages could not be found");
    for (uint64_t i = 0; i < w->work->region_count && !failed; i++)
        failed = put_region(w, &scan, &w->work->regions[i]);
    scan_close(&scan);
    struct page_run last = {0};
    if (failed || flush_batch(w))
        return -1;
    return squeeze(w, &last, sizeof last, ZSTD_e_end) || send_out(w) ? -1 : 0;
}

static int put_all(struct writer *w, const struct machine *machine)
{
    struct work *work = w->work;
    if (find_image(w) || list_regions(w, machine) || open_codec(w))
        return -1;
    const struct image_head *image = (const struct image_head *)(uintptr_t)BASE_START;
    struct delta_head head = {.magic = DELTA_MAGIC,
                              .version = IMAGE_VERSION,
                              .region_count = (uint32_t)work->region_count,
                              .mark = image->mark,
                              .path_len = work->path_len,
                              .machine = *machine};
    if (raw_write_all(w->fd, &head, sizeof head))
        return fail(w, "there was nobody to take its memory");
    if (put(w, work->regions, work->region_count * sizeof *work->regions) ||
        put(w, work->paths, work->path_len))
        return -1;
    return put_pages(w);
}

int delta_write(int fd, const struct machine *machine, const char **ret_why)
{
    struct writer w = {.work = work_open(), .fd = fd};
    if (!w.work) {
        *ret_why = "there is no room to work in";
        return -1;
    }
    int failed = put_all(&w, machine);
    work_close(w.work);
    if (failed)
        *ret_why = w.why;
    return failed;
}

/* ---- giving back ---- */

static long trim_range(const struct region *r, uint64_t start, uint64_t end)
{
    long given = 0;
    for (uint64_t at = start; at < end;) {
        uint64_t from = at;
        while (at < end && is_equal((const uint64_t *)(uintptr_t)at, in_image(r, at)))
            at += IMAGE_PAGE;
        if (at > from && raw3(SYS_madvise, from, at - from, MADV_DONTNEED) == 0)
            given += (long)((at - from) / IMAGE_PAGE);
        at += at < end ? IMAGE_PAGE : 0;
    }
    return given;
}

static long trim_region(struct work *w, const struct scan *scan, const struct region *r)
{
    long given = 0;
    for (uint64_t at = r->start; at < r->end;) {
        long count = scan_next(scan, &at, r->end, w->ranges, WORK_RANGES);
        if (count < 0)
            return count;
        for (long i = 0; i < count; i++)
            given += trim_range(r, w->ranges[i].start, w->ranges[i].end);
    }
    return given;
}

long delta_trim(void)
{
    struct writer w = {.work = work_open()};
    struct scan scan;
    long given = 0;
    if (!w.work)
        return -ENOMEM;
    if (find_image(&w) || scan_open(&scan)) {
        work_close(w.work);
        return -ENOENT;
    }
    const char *at = w.work->text, *end = at + w.work->text_len;
    for (struct mapping m; maps_next(&at, end, &m) == 1;) {
        if (work_is_skipped(&m) || m.inode != w.inode || m.device != w.device)
            continue;
        const struct region r = {.start = m.start, .end = m.end, .offset = m.offset};
        long n = trim_region(w.work, &scan, &r);
        given += n > 0 ? n : 0;
    }
    scan_close(&scan);
    work_close(w.work);
    return given;
}
