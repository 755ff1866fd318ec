/* format.h -- a process as a file: images and deltas, byte by byte.
 *
 * An **image** is a Python with its libraries imported, written down by itself at a quiet moment:
 *
 *     offset 0                struct image_head
 *     IMAGE_REGIONS           head.region_count times struct region
 *     head.deps_at            head.deps_len bytes: what it was made of, see below
 *     page-aligned            the pages that REGION_IMAGE and REGION_STACK regions point to
 *
 * Every REGION_IMAGE region is mapped MAP_PRIVATE from the file, so a page that nobody has written
 * costs nothing, and a page that differs from the file is one the session has changed.
 *
 * A **delta** is what a session has changed since: a second list of regions, and the changed pages,
 * XORed with the image where they lie over it.
 *
 *     struct delta_head       as it is
 *     one zstd frame of       head.region_count times struct region
 *                             head.path_len bytes: struct file_ref, for REGION_FILE and _SHARED
 *                             { struct page_run, then its pages }, until a run of no pages
 *
 * deps: one file or directory per line, `seconds.nanoseconds size path`: mtime and size of everything
 * that was mapped or imported (of directories the size is 0). While they are what they were, the image
 * is what a fresh start would be.
 *
 * Numbers are as the machine has them (x86-64 only, little-endian). A delta comes out of a sandbox:
 * it is read by nobody but the loader, inside another sandbox.
 */
#ifndef IMAGE_FORMAT_H
#define IMAGE_FORMAT_H

#include <stdint.h>

#define IMAGE_MAGIC 0x31474d4941434943ull /* CICAIMG1 */
#define DELTA_MAGIC 0x31544c4441434943ull /* CICADLT1 */

enum {
    IMAGE_VERSION = 1,
    IMAGE_PAGE = 4096,
    IMAGE_REGIONS = 4096,      /* offset of the regions of an image */
    IMAGE_REGIONS_MAX = 16384, /* in an image or a delta */
    IMAGE_PATHS_MAX = 1 << 18, /* bytes of paths in a delta */
    IMAGE_SIGNALS = 64,
};

enum region_kind {
    REGION_IMAGE = 1, /* private, from the image at `offset` */
    REGION_ANON,      /* private, zero; in a delta its pages may follow */
    REGION_NONE,      /* reserved, no access */
    REGION_STACK,     /* the main thread's; grows by itself */
    REGION_FILE,      /* private, from the file of the file_ref at `path`, at `offset` */
    REGION_SHARED,    /* shared, from that file */
};

struct region {
    uint64_t start, end; /* page-aligned, in rising order, not overlapping */
    uint64_t offset;
    uint32_t path; /* FILE, SHARED: offset of a struct file_ref */
    uint16_t kind;
    uint16_t prot; /* PROT_* */
};

/* What the kernel keeps of a process beside its memory, as far as a resting one needs it. */
struct machine {
    uint64_t registers[10]; /* see context.h */
    uint64_t fs_base;
    uint64_t tid_address;
    uint64_t robust_list, robust_len;
    uint64_t rseq, rseq_len;
    uint64_t brk_start, brk_end;
    uint64_t start_code, end_code, start_data, end_data, start_stack;
    uint64_t arg_start, arg_end, env_start, env_end;
    uint64_t signals[IMAGE_SIGNALS + 1][4]; /* struct kernel_sigaction of each; 0 is unused */
};

struct image_head {
    uint64_t magic;
    uint32_t version;
    uint32_t region_count;
    uint64_t mark; /* random; a delta made over this image carries it */
    uint64_t file_len;
    uint64_t deps_at, deps_len;
    struct machine machine;
};

struct delta_head {
    uint64_t magic;
    uint32_t version;
    uint32_t region_count;
    uint64_t mark; /* of the image */
    uint64_t path_len;
    struct machine machine;
};

/* A file that is mapped. Of a REGION_FILE, which is a library as a rule, everything must be as it was:
 * only changed pages are in the delta. */
struct file_ref {
    uint64_t mtime_s, mtime_ns, size;
    uint32_t len; /* of the path, with its NUL, and of what fills up to 8 bytes */
    uint32_t zero;
    char path[];
};

/* Pages in a row. */
struct page_run {
    uint64_t start;
    uint32_t count;
    uint32_t is_xor; /* 1: XORed with the image's pages */
};

_Static_assert(sizeof(struct image_head) <= IMAGE_REGIONS, "the head fits before the regions");

#endif
