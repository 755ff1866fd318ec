#include "base/metrics.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

const uint64_t METRIC_BOUNDS_US[] = {
    100,     250,      500,      1000,     2500,      5000,      10000,
    25000,   50000,    100000,   250000,   500000,    1000000,   2500000,
    5000000, 10000000, 30000000, 60000000, 120000000, 300000000, 600000000,
};
const size_t METRIC_BOUNDS_US_COUNT = sizeof METRIC_BOUNDS_US / sizeof *METRIC_BOUNDS_US;
_Static_assert(sizeof METRIC_BOUNDS_US / sizeof *METRIC_BOUNDS_US <= METRIC_BOUNDS_MAX,
               "a metric has room for these buckets");

enum { PLACES_MAX = 9, NUMBER_SIZE = 48 };

/* A counter or gauge has one slot for each combination of label values. A histogram has, for each,
 * its buckets, the one without a bound, and the sum of all that was observed. */
struct metric {
    struct metric_spec spec;
    size_t cells, width;
    _Atomic int64_t slots[]; /* relaxed everywhere: each number is only itself */
};

struct metrics {
    struct metric *all[METRICS_MAX];
    size_t count;
};

int metrics_new(struct metrics **ret, struct err *e)
{
    struct metrics *m = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, ERR_NO_MEMORY, "make a registry of metrics");
    *ret = m;
    return 0;
}

void metrics_free(struct metrics *m)
{
    for (size_t i = 0; m && i < m->count; i++)
        free(m->all[i]);
    free(m);
}

static bool is_name(const char *name)
{
    for (const char *p = name; *p; p++)
        if (!islower((unsigned char)*p) && *p != '_' && (p == name || !isdigit((unsigned char)*p)))
            return false;
    return *name != '\0';
}

static bool ends_in_total(const char *name)
{
    size_t len = strlen(name), end = strlen("_total");
    return len > end && strcmp(name + len - end, "_total") == 0;
}

static void check_histogram(const struct metric_spec *s)
{
    assert(s->bound_count > 0 && s->bound_count <= METRIC_BOUNDS_MAX);
    for (size_t i = 1; i < s->bound_count; i++)
        assert(s->bounds[i] > s->bounds[i - 1]);
}

static void check(const struct metrics *m, const struct metric_spec *s)
{
    assert(m->count < METRICS_MAX);
    assert(is_name(s->name) && s->help && s->places <= PLACES_MAX);
    assert((s->kind == METRIC_COUNTER) == ends_in_total(s->name));
    for (size_t i = 0; i < m->count; i++)
        assert(strcmp(m->all[i]->spec.name, s->name) != 0);
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++) {
        assert(!s->labels[i].name || (is_name(s->labels[i].name) && s->labels[i].count > 0));
        assert(i == 0 || !s->labels[i].name || s->labels[i - 1].name); /* no gaps */
    }
    if (s->kind == METRIC_HISTOGRAM)
        check_histogram(s);
}

static size_t label_count(const struct metric_spec *s, size_t index)
{
    return s->labels[index].name ? s->labels[index].count : 1;
}

int metrics_add(struct metrics *m, const struct metric_spec *spec, struct metric **ret,
                struct err *e)
{
    struct metric_spec s = *spec;
    if (s.kind == METRIC_HISTOGRAM && !s.bounds) {
        s.bounds = METRIC_BOUNDS_US;
        s.bound_count = METRIC_BOUNDS_US_COUNT;
    }
    check(m, &s);
    size_t cells = 1, width = s.kind == METRIC_HISTOGRAM ? s.bound_count + 2 : 1;
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        cells *= label_count(&s, i);
    assert(cells <= METRIC_CELLS_MAX);
    struct metric *metric = calloc(1, sizeof *metric + cells * width * sizeof *metric->slots);
    if (!metric)
        return err_set(e, ERR_NO_MEMORY, "add a metric");
    metric->spec = s;
    metric->cells = cells;
    metric->width = width;
    m->all[m->count++] = metric;
    *ret = metric;
    return 0;
}

/* The number of the first slot for these label values. */
static size_t slot(const struct metric *metric, struct metric_at at)
{
    size_t cell = 0;
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++) {
        assert(at.at[i] < label_count(&metric->spec, i));
        cell = cell * label_count(&metric->spec, i) + at.at[i];
    }
    return cell * metric->width;
}

static void add_to(struct metric *metric, size_t index, int64_t by)
{
    (void)atomic_fetch_add_explicit(&metric->slots[index], by, memory_order_relaxed);
}

static int64_t load(const struct metric *metric, size_t index)
{
    return atomic_load_explicit(&metric->slots[index], memory_order_relaxed);
}

void metric_count(struct metric *metric, struct metric_at at, uint64_t n)
{
    if (!metric)
        return;
    assert(metric->spec.kind == METRIC_COUNTER);
    add_to(metric, slot(metric, at), (int64_t)n);
}

void metric_set(struct metric *metric, struct metric_at at, int64_t v)
{
    if (!metric)
        return;
    assert(metric->spec.kind != METRIC_HISTOGRAM);
    atomic_store_explicit(&metric->slots[slot(metric, at)], v, memory_order_relaxed);
}

void metric_move(struct metric *metric, struct metric_at at, int64_t by)
{
    if (!metric)
        return;
    assert(metric->spec.kind == METRIC_GAUGE);
    add_to(metric, slot(metric, at), by);
}

void metric_observe(struct metric *metric, struct metric_at at, uint64_t v)
{
    if (!metric)
        return;
    assert(metric->spec.kind == METRIC_HISTOGRAM);
    size_t first = slot(metric, at), bucket = 0;
    while (bucket < metric->spec.bound_count && v > metric->spec.bounds[bucket])
        bucket++;
    add_to(metric, first + bucket, 1);
    add_to(metric, first + metric->spec.bound_count + 1, (int64_t)v);
}

int64_t metric_get(const struct metric *metric, struct metric_at at)
{
    if (!metric)
        return 0;
    size_t first = slot(metric, at);
    int64_t sum = 0;
    size_t count = metric->spec.kind == METRIC_HISTOGRAM ? metric->spec.bound_count + 1 : 1;
    for (size_t i = 0; i < count; i++)
        sum += load(metric, first + i);
    return sum;
}

/* v / 10^places, without trailing zeros. */
static const char *number(char space[NUMBER_SIZE], int64_t v, unsigned places)
{
    uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v, unit = 1;
    for (unsigned i = 0; i < places; i++)
        unit *= 10;
    uint64_t rest = size % unit;
    for (; rest && rest % 10 == 0; rest /= 10)
        places--;
    const char *sign = v < 0 ? "-" : "";
    if (rest)
        (void)snprintf(space, NUMBER_SIZE, "%s%" PRIu64 ".%0*" PRIu64, sign, size / unit,
                       (int)places, rest);
    else
        (void)snprintf(space, NUMBER_SIZE, "%s%" PRIu64, sign, size / unit);
    return space;
}

/* In HELP a backslash and a line end are escaped, in label values the quotation mark too. */
static void put_escaped(struct buf *out, const char *text, bool is_label)
{
    for (const char *p = text; *p; p++)
        if (*p == '\n')
            buf_str(out, "\\n");
        else if (*p == '\\' || (*p == '"' && is_label))
            buf_fmt(out, "\\%c", *p);
        else
            buf_add(out, p, 1);
}

/* name_suffix{labels,le="bound"} with a blank behind it; `bound` NULL: without le. */
static void put_series(struct buf *out, const struct metric *metric, size_t cell,
                       const char *suffix, const char *bound)
{
    const struct metric_spec *s = &metric->spec;
    size_t second = label_count(s, 1), at[METRIC_LABELS_MAX] = {cell / second, cell % second};
    const char *separator = "{";
    buf_fmt(out, "%s%s", s->name, suffix);
    for (size_t i = 0; i < METRIC_LABELS_MAX && s->labels[i].name; i++) {
        buf_fmt(out, "%s%s=\"", separator, s->labels[i].name);
        put_escaped(out, s->labels[i].values[at[i]], /* is_label= */ true);
        buf_str(out, "\"");
        separator = ",";
    }
    if (bound)
        buf_fmt(out, "%sle=\"%s\"", separator, bound);
    buf_str(out, bound || s->labels[0].name ? "} " : " ");
}

static void put_histogram(struct buf *out, const struct metric *metric, size_t cell)
{
    const struct metric_spec *s = &metric->spec;
    size_t first = cell * metric->width;
    int64_t count = 0;
    char space[NUMBER_SIZE];
    for (size_t i = 0; i <= s->bound_count; i++) {
        bool is_last = i == s->bound_count;
        count += load(metric, first + i);
        put_series(out, metric, cell, "_bucket",
                   is_last ? "+Inf" : number(space, (int64_t)s->bounds[i], s->places));
        buf_fmt(out, "%" PRId64 "\n", count);
    }
    put_series(out, metric, cell, "_sum", /* bound= */ NULL);
    buf_fmt(out, "%s\n", number(space, load(metric, first + s->bound_count + 1), s->places));
    put_series(out, metric, cell, "_count", /* bound= */ NULL);
    buf_fmt(out, "%" PRId64 "\n", count);
}

static void put_metric(struct buf *out, const struct metric *metric)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    const struct metric_spec *s = &metric->spec;
    char space[NUMBER_SIZE];
    buf_fmt(out, "# HELP %s ", s->name);
    put_escaped(out, s->help, /* is_label= */ false);
    buf_fmt(out, "\n# TYPE %s %s\n", s->name, kinds[s->kind]);
    for (size_t cell = 0; cell < metric->cells; cell++)
        if (s->kind == METRIC_HISTOGRAM) {
            put_histogram(out, metric, cell);
        } else {
            put_series(out, metric, cell, "", /* bound= */ NULL);
            buf_fmt(out, "%s\n", number(space, load(metric, cell), s->places));
        }
}

void metrics_write(const struct metrics *m, struct buf *out)
{
    for (size_t i = 0; i < m->count; i++)
        put_metric(out, m->all[i]);
}
