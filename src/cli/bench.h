/* bench.h -- `cicada bench kernel`: how fast sessions start, answer, sleep, wake and branch here, beside
 * what people use otherwise, all in one run.
 *
 * A **series** is a list of times; a row of the table is a series, maybe beside another one's, maybe
 * with a bar it should stay under. Numbers of different machines, or of different minutes on a busy
 * one, do not compare; ratios within one run do.
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct notes;

enum { SERIES_MAX = 1024 };

struct series {
    int64_t us[SERIES_MAX];
    size_t count;
};

/* More than SERIES_MAX are not kept. */
void series_add(struct series *s, int64_t us);

/* The value below which `percent` of them lie; 0 for an empty one. Sorts it. */
int64_t series_at(struct series *s, unsigned percent);

/* What was measured of cicada. */
struct bench_own {
    struct series start_cold; /* no image: session_new and a first pandas cell */
    struct series start;      /* from the image */
    struct series from_pool;  /* a kernel that waits */
    struct series warm;       /* 1+1 in a session that is awake */
    struct series sleep_small, wake_small, sleep_rich, wake_rich;
    struct series snapshot, rollback, branch;
    uint64_t small_bytes, rich_bytes; /* of the sleeping session on disk */
    uint64_t memory_bytes;            /* the host lost per idle session after 1+1, all in all */
    size_t live;                      /* sessions that were alive at once, each answering */
    size_t asleep;                    /* sessions that slept at once, and */
    uint64_t asleep_bytes;            /* what they took on disk; */
    struct series wake_any;           /* some of them woken */
};

/* And of others; an empty series: it is not installed. */
struct bench_peers {
    struct series python;          /* python3 -c: import pandas, the same cell */
    struct series ipykernel_start; /* to its answer to the same cell */
    struct series ipykernel_warm;  /* 1+1 */
};

struct bench_size {
    size_t rounds; /* samples of each */
    size_t live, asleep;
};

/* Each says on stderr what it is at. They block for as long as it takes. */
int bench_own_measure(const struct bench_size *size, struct notes *notes, struct bench_own *ret,
                      struct err *e);
int bench_peers_measure(size_t rounds, struct notes *notes, struct bench_peers *ret, struct err *e);

/* The table, with a verdict for every bar. */
void bench_table(struct bench_own *own, struct bench_peers *peers, struct buf *out);

#endif
