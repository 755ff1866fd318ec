/* metrics.h -- numbers for Prometheus: counters, gauges and histograms, counted with atomics and
 * written as text when somebody asks.
 *
 *     static const char *const ends[] = {"ok", "error", "timeout"};
 *     const struct metric_spec spec = {.name = "cicada_runs_total", .help = "Runs that ended.",
 *                                      .kind = METRIC_COUNTER,
 *                                      .labels = {METRIC_LABEL("end", ends)}};
 *     metrics_add(m, &spec, &runs, e)
 *     metric_count(runs, METRIC_AT(END_OK), 1)
 *
 * Each folder adds its own when it is opened and keeps the pointers; the registry owns them. A
 * label has a fixed list of values, known when the metric is added, and a metric is found by the
 * numbers of the values: so nothing a client sends can make another time series. Before the first
 * request everything is there, with 0.
 *
 * Values are whole numbers; `places` moves the point when they are written: microseconds with 6
 * places come out as seconds, which is what Prometheus wants to see.
 *
 * Counting is any thread's and waits for nobody. A NULL metric counts nothing, so that tests need
 * no registry. An index past the end of a label is our bug and asserts.
 */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct metric;
struct metrics;

enum {
    METRICS_MAX = 128,      /* in one registry */
    METRIC_LABELS_MAX = 2,  /* of one metric */
    METRIC_CELLS_MAX = 256, /* combinations of label values */
    METRIC_BOUNDS_MAX = 24, /* buckets of a histogram, without the last one */
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_label {
    const char *name;
    const char *const *values; /* both live as long as the registry */
    size_t count;
};
#define METRIC_LABEL(label, names)                        \
    {                                                     \
        (label), (names), sizeof(names) / sizeof *(names) \
    }

struct metric_spec {
    const char *name; /* "cicada_..."; a counter ends in _total */
    const char *help;
    enum metric_kind kind;
    unsigned places; /* at most 9 */
    struct metric_label labels[METRIC_LABELS_MAX];
    const uint64_t *bounds; /* of a histogram, rising; NULL: METRIC_BOUNDS_US */
    size_t bound_count;
};

/* From 100 microseconds to 10 minutes; wants places = 6. */
extern const uint64_t METRIC_BOUNDS_US[];
extern const size_t METRIC_BOUNDS_US_COUNT;

/* Which values the labels have: METRIC_AT(), METRIC_AT(a), METRIC_AT(a, b). */
struct metric_at {
    unsigned at[METRIC_LABELS_MAX];
};
#define METRIC_AT(...) ((struct metric_at){{__VA_ARGS__}})

int metrics_new(struct metrics **ret, struct err *e);
void metrics_free(struct metrics *m); /* NULL is fine; every metric ends */

/* Adds one; while the program starts, from one thread. The strings live as long as the registry. A
 * name that is malformed or taken, and numbers over the limits above, are our bugs and assert.
 * Fails only for lack of memory. */
int metrics_add(struct metrics *m, const struct metric_spec *spec, struct metric **ret,
                struct err *e);

void metric_count(struct metric *metric, struct metric_at at, uint64_t n); /* a counter: + n */
void metric_set(struct metric *metric, struct metric_at at, int64_t v);    /* a gauge; or a counter
                                                                                kept elsewhere */
void metric_move(struct metric *metric, struct metric_at at, int64_t by);  /* a gauge */
void metric_observe(struct metric *metric, struct metric_at at, uint64_t v); /* a histogram */

int64_t metric_get(const struct metric *metric, struct metric_at at); /* a histogram: how many */

/* Appends everything in the text format 0.0.4. Other threads may go on counting; each number is
 * one that was true, and a histogram's buckets never fall. */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
void metrics_write(const struct metrics *m, struct buf *out);

#endif
