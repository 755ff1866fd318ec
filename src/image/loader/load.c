/* load.c -- an image, and a delta over it, become a process.
 *
 * Theory of operation. The image's list of regions, or the delta's, says what has to be where; each
 * region is one mmap. Then come the pages: of an image only the stack's, everything else is mapped;
 * of a delta all that changed, XORed with the image. At last the registers of the thread, and we are
 * gone: the process unmaps us itself.
 *
 * Nothing here trusts the delta. What it says is checked as far as it is needed to say in words what is
 * wrong with it; what it can do beyond that, the session could do itself.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "image/birth.h"
#include "image/context.h"
#include "image/format.h"
#include "image/loader/loader.h"
#include "image/places.h"
#include "image/raw.h"
#include "sandbox/filter.h"

enum {
    CODEC_SIZE = 1 << 20, /* zstd's memory for a window of 256 KiB */
    INPUT_SIZE = 128 << 10,
    BATCH = 64, /* pages */
    STACK_SIZE = 64 << 10,
    RSEQ_SIGNATURE = 0x53053053,
    DATA_MORE = 32 << 20, /* beyond what a session had that had all it may have */
    WINDOW_LOG_MAX = 18,
};

static struct {
    int image_fd, delta_fd;
    bool has_delta;
    uint64_t data_max;
    struct image_head image;
    struct delta_head delta;
    const struct machine *machine;
    struct region regions[IMAGE_REGIONS_MAX];
    uint32_t region_count;
    _Alignas(8) char paths[IMAGE_PATHS_MAX];
    struct birth birth;
    ZSTD_DCtx *codec;
    ZSTD_inBuffer in;
    char input[INPUT_SIZE];
    _Alignas(16) char codec_memory[CODEC_SIZE];
    uint64_t batch[BATCH][IMAGE_PAGE / 8];
    _Alignas(16) char stack[STACK_SIZE];
} l;

/* ---- the image ---- */

static void read_image(void)
{
    const struct image_head *h = &l.image;
    if (raw_pread_all(l.image_fd, &l.image, sizeof l.image, 0) || h->magic != IMAGE_MAGIC ||
        h->version != IMAGE_VERSION || h->region_count > IMAGE_REGIONS_MAX ||
        raw_pread_all(l.image_fd, l.regions, h->region_count * sizeof *l.regions, IMAGE_REGIONS))
        loader_fail("this is not an image", 0);
    l.region_count = h->region_count;
    l.machine = &h->machine;
    long got = raw_mmap(BASE_START, h->file_len, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE,
                        l.image_fd, 0);
    if (got != (long)BASE_START)
        loader_fail("map the image: error", got);
}

/* The OS is told where the heap is and where the arguments are; the latter only for those who look
 * into /proc. Sealing forbids it later. */
static void place_heap(void)
{
    const struct machine *m = &l.image.machine;
    struct prctl_mm_map map = {.start_code = m->start_code,
                               .end_code = m->end_code,
                               .start_data = m->start_data,
                               .end_data = m->end_data,
                               .start_brk = m->brk_start,
                               .brk = m->brk_end,
                               .start_stack = m->start_stack,
                               .arg_start = m->arg_start,
                               .arg_end = m->arg_end,
                               .env_start = m->env_start,
                               .env_end = m->env_end,
                               .exe_fd = (uint32_t)-1};
    long failed = raw6(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, raw_address(&map), sizeof map, 0, 0);
    if (failed)
        loader_fail("place the heap: error", failed);
}

/* ---- the delta ---- */

static void read_plain(void *to, size_t len)
{
    for (size_t done = 0; done < len;) {
        long n = raw_read(l.delta_fd, (char *)to + done, len - done);
        if (n == -RAW_EINTR)
            continue;
        if (n <= 0)
            loader_fail("the sleeping session is cut short", 0);
        done += (size_t)n;
    }
}

static void fill_input(void)
{
    long n;
    do
        n = raw_read(l.delta_fd, l.input, sizeof l.input);
    while (n == -RAW_EINTR);
    if (n <= 0)
        loader_fail("the sleeping session is cut short", 0);
    l.in = (ZSTD_inBuffer){.src = l.input, .size = (size_t)n};
}

static void read_squeezed(void *to, size_t len)
{
    ZSTD_outBuffer out = {.dst = to, .size = len};
    while (out.pos < out.size) {
        size_t before = out.pos + l.in.pos;
        size_t left = ZSTD_decompressStream(l.codec, &out, &l.in);
        if (ZSTD_isError(left))
            loader_fail("the sleeping session is damaged", 0);
        if (out.pos < out.size && left == 0)
            loader_fail("the sleeping session is cut short", 0);
        if (out.pos < out.size && out.pos + l.in.pos == before)
            fill_input();
    }
}

static void read_delta(void)
{
    struct delta_head *h = &l.delta;
    read_plain(h, sizeof *h);
    if (h->magic != DELTA_MAGIC || h->version != IMAGE_VERSION)
        loader_fail("this is not a sleeping session", 0);
    if (h->mark != l.image.mark)
        loader_fail("the sleeping session belongs to another image", 0);
    if (h->region_count > IMAGE_REGIONS_MAX || h->path_len > IMAGE_PATHS_MAX)
        loader_fail("the sleeping session is damaged", 0);
    l.codec = ZSTD_initStaticDCtx(l.codec_memory, sizeof l.codec_memory);
    if (!l.codec ||
        ZSTD_isError(ZSTD_DCtx_setParameter(l.codec, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        loader_fail("make a decoder", 0);
    read_squeezed(l.regions, h->region_count * sizeof *l.regions);
    read_squeezed(l.paths, h->path_len);
    l.region_count = h->region_count;
    l.machine = &h->machine;
    long got = raw3(SYS_brk, h->machine.brk_end, 0, 0);
    if ((uint64_t)got != h->machine.brk_end)
        loader_fail("its heap does not fit", 0);
}

/* ---- regions ---- */

static int open_file(const struct region *r)
{
    if (r->path > l.delta.path_len || l.delta.path_len - r->path < sizeof(struct file_ref) ||
        r->path % 8)
        loader_fail("the sleeping session is damaged", 0);
    const struct file_ref *ref = (const struct file_ref *)(l.paths + r->path);
    if (ref->len == 0 || ref->len > l.delta.path_len - r->path - sizeof *ref ||
        ref->path[ref->len - 1])
        loader_fail("the sleeping session is damaged", 0);
    int flags = r->kind == REGION_SHARED && (r->prot & PROT_WRITE) ? O_RDWR : O_RDONLY;
    long fd = raw_open(ref->path, flags | O_CLOEXEC);
    if (r->kind == REGION_SHARED)
        return (int)fd; /* may be gone */
    struct stat st;
    if (fd < 0 || raw3(SYS_fstat, (uint64_t)fd, raw_address(&st), 0) ||
        (uint64_t)st.st_mtim.tv_sec != ref->mtime_s ||
        (uint64_t)st.st_mtim.tv_nsec != ref->mtime_ns || (uint64_t)st.st_size != ref->size)
        loader_fail("a library that the session had loaded has changed since it fell asleep", 0);
    return (int)fd;
}

static long map_file(const struct region *r, uint64_t len)
{
    int fd = open_file(r);
    if (fd < 0) { /* a mapped file of the session that is gone: zeros, and the session is told */
        l.birth.lost_files++;
        return raw_mmap(r->start, len, r->prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    bool is_shared = r->kind == REGION_SHARED;
    long got = raw_mmap(r->start, len, is_shared ? r->prot : r->prot | PROT_READ | PROT_WRITE,
                        (is_shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, fd, r->offset);
    (void)raw_close(fd);
    return got;
}

/* Everything that pages will be written to is writable until the end. */
static void map_region(const struct region *r)
{
    uint64_t len = r->end - r->start;
    long got;
    if (r->start % IMAGE_PAGE || r->end % IMAGE_PAGE || r->end <= r->start ||
        (r->start < LOADER_END && r->end > LOADER_START))
        loader_fail("the sleeping session is damaged", 0);
    switch (r->kind) {
    case REGION_IMAGE:
        got = raw_mmap(r->start, len, r->prot | PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                       l.image_fd, r->offset);
        break;
    case REGION_ANON:
        got = raw_mmap(r->start, len, r->prot | PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        break;
    case REGION_NONE:
        got = raw_mmap(r->start, len, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        break;
    case REGION_FILE:
    case REGION_SHARED: got = map_file(r, len); break;
    case REGION_STACK: got = (long)r->start; break; /* it is there, and grows */
    default: loader_fail("the sleeping session is damaged", 0);
    }
    if (got != (long)r->start)
        loader_fail("map a region: error", got);
}

static void protect_regions(void)
{
    for (uint32_t i = 0; i < l.region_count; i++) {
        const struct region *r = &l.regions[i];
        bool was_widened =
            r->kind == REGION_IMAGE || r->kind == REGION_ANON || r->kind == REGION_FILE;
        if (was_widened && (r->prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE) &&
            raw3(SYS_mprotect, r->start, r->end - r->start, r->prot))
            loader_fail("protect a region", 0);
    }
}

/* ---- pages ---- */

static void read_image_stack(const struct region *r)
{
    if (raw_pread_all(l.image_fd, (void *)(uintptr_t)r->start, r->end - r->start, r->offset))
        loader_fail("the image is cut short", 0);
}

static void unmask(const struct region *r, const struct page_run *run)
{
    uint64_t offset = r->offset + (run->start - r->start);
    if (r->kind != REGION_IMAGE || offset > l.image.file_len ||
        l.image.file_len - offset < (uint64_t)run->count * IMAGE_PAGE)
        loader_fail("the sleeping session is damaged", 0);
    uint64_t *to = (uint64_t *)(uintptr_t)run->start;
    const uint64_t *base = (const uint64_t *)(uintptr_t)(BASE_START + offset);
    for (uint32_t done = 0; done < run->count;) {
        uint32_t count = run->count - done > BATCH ? BATCH : run->count - done;
        size_t words = (size_t)count * IMAGE_PAGE / 8;
        read_squeezed(l.batch, words * 8);
        const uint64_t *mask = &l.batch[0][0];
        for (size_t i = 0; i < words; i++)
            to[i] = base[i] ^ mask[i];
        to += words;
        base += words;
        done += count;
    }
}

static void read_pages(void)
{
    uint32_t i = 0;
    for (;;) {
        struct page_run run;
        read_squeezed(&run, sizeof run);
        if (run.count == 0)
            return;
        while (i < l.region_count && l.regions[i].end <= run.start)
            i++;
        uint64_t len = (uint64_t)run.count * IMAGE_PAGE;
        if (i == l.region_count || run.start < l.regions[i].start ||
            l.regions[i].end - run.start < len || run.start % IMAGE_PAGE)
            loader_fail("the sleeping session is damaged", 0);
        if (run.is_xor)
            unmask(&l.regions[i], &run);
        else
            read_squeezed((void *)(uintptr_t)run.start, len);
    }
}

/* ---- limits ---- */

/* What counts as data. A list of regions that says more than there is hurts only its own session: what it uses is
 * counted elsewhere. */
static uint64_t data_mapped(void)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l.region_count; i++) {
        const struct region *r = &l.regions[i];
        bool is_own = r->kind == REGION_IMAGE || r->kind == REGION_ANON || r->kind == REGION_FILE;
        if (is_own && (r->prot & PROT_WRITE))
            bytes += r->end - r->start;
    }
    return bytes;
}

/* Only now: what the session had is put back in any case, also what it may not ask for any more. */
static void limit_data(void)
{
    struct rlimit limit;
    uint64_t wanted = data_mapped() + DATA_MORE;
    if (wanted < l.data_max)
        wanted = l.data_max;
    long failed = raw6(SYS_prlimit64, 0, RLIMIT_DATA, 0, raw_address(&limit), 0, 0);
    if (!failed && limit.rlim_max > wanted) {
        limit = (struct rlimit){.rlim_cur = wanted, .rlim_max = wanted};
        failed = raw6(SYS_prlimit64, 0, RLIMIT_DATA, raw_address(&limit), 0, 0, 0);
    }
    if (failed)
        loader_fail("limit the data: error", failed);
}

/* ---- the thread ---- */

static void restore_thread(void)
{
    const struct machine *m = l.machine;
    long tid = raw3(SYS_set_tid_address, m->tid_address, 0, 0);
    *(int *)(uintptr_t)m->tid_address = (int)tid;
    (void)raw3(SYS_set_robust_list, m->robust_list, m->robust_len, 0);
    uint32_t *rseq = (uint32_t *)(uintptr_t)m->rseq;
    rseq[0] = 0;
    rseq[1] = (uint32_t)-1; /* not registered yet */
    rseq[2] = rseq[3] = rseq[4] = 0;
    long failed = raw6(SYS_rseq, m->rseq, m->rseq_len, 0, RSEQ_SIGNATURE, 0, 0);
    if (failed)
        loader_fail("register restartable sequences: error", failed);
    for (uint64_t i = 1; i <= IMAGE_SIGNALS; i++)
        if (m->signals[i][0] || m->signals[i][1]) /* the others are as exec leaves them */
            (void)raw6(SYS_rt_sigaction, i, raw_address(m->signals[i]), 0, 8, 0, 0);
    failed = raw3(SYS_arch_prctl, ARCH_SET_FS, m->fs_base, 0);
    if (failed)
        loader_fail("set the thread pointer: error", failed);
}

static void load(void)
{
    read_image();
    place_heap();
    int why = filter_load_seal();
    if (why)
        loader_fail("seal: error", why);
    if (l.has_delta)
        read_delta();
    for (uint32_t i = 0; i < l.region_count; i++) {
        map_region(&l.regions[i]);
        if (l.regions[i].kind == REGION_STACK && !l.has_delta)
            read_image_stack(&l.regions[i]);
    }
    if (l.has_delta)
        read_pages();
    protect_regions();
    if (l.has_delta)
        limit_data();
    (void)raw_close(l.image_fd);
    if (l.has_delta)
        (void)raw_close(l.delta_fd);
    restore_thread();
    context_load(l.machine->registers, raw_address(&l.birth));
}

_Noreturn void loader_load(int control, bool has_delta, uint64_t data_max)
{
    l.image_fd = control + 1;
    l.delta_fd = control + 2;
    l.has_delta = has_delta;
    l.data_max = data_max;
    l.birth = (struct birth){.control = control, .is_woken = has_delta};
    /* The stack we were started on belongs to the image. */
    context_move(load, l.stack + sizeof l.stack);
}
