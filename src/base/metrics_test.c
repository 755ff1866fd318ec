/* What metrics.h promises. The text is read by a checker that knows the format and nothing of us. */
#include "base/metrics.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

static const char *const ends[] = {"ok", "error", "time\"out\\\n"};
static const char *const doors[] = {"native", "openai"};
enum { END_OK, END_ERROR, END_TIMEOUT };
enum { DOOR_NATIVE, DOOR_OPENAI };

static struct metrics *new_registry(void)
{
    struct err e = {0};
    struct metrics *m = NULL;
    assert_int_equal(metrics_new(&m, &e), 0);
    return m;
}

static struct metric *add(struct metrics *m, struct metric_spec spec)
{
    struct err e = {0};
    struct metric *metric = NULL;
    assert_int_equal(metrics_add(m, &spec, &metric, &e), 0);
    return metric;
}

/* ---- a reader of the text format 0.0.4 ---- */

struct family {
    char name[64], kind[16];
    bool has_help;
    double last_bound, last_bucket; /* of the histogram series being read */
};

static size_t name_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
}

/* Past {a="x",b="y"}; fails on anything else. *ret_bound is le, or -1. */
static const char *skip_labels(const char *at, double *ret_bound)
{
    *ret_bound = -1;
    if (*at != '{')
        return at;
    do {
        at++;
        size_t len = name_length(at);
        bool is_bound = len == 2 && strncmp(at, "le", 2) == 0;
        assert_true(len > 0);
        at += len;
        assert_memory_equal(at, "=\"", 2);
        at += 2;
        if (is_bound)
            *ret_bound = strtod(at, NULL);
        for (; *at != '"'; at++) {
            assert_true(*at != '\0' && *at != '\n');
            if (*at == '\\') {
                at++;
                assert_true(*at == '\\' || *at == '"' || *at == 'n');
            }
        }
        at++;
    } while (*at == ',');
    assert_int_equal(*at, '}');
    return at + 1;
}

static void check_sample(struct family *f, const char *at)
{
    char name[80] = {0};
    double bound;
    size_t len = name_length(at);
    assert_true(len > 0 && len < sizeof name && f->has_help && *f->kind);
    memcpy(name, at, len);
    at = skip_labels(at + len, &bound);
    assert_int_equal(*at, ' ');
    char *end;
    double value = strtod(at + 1, &end);
    assert_true(end > at + 1 && *end == '\0');
    assert_memory_equal(name, f->name, strlen(f->name));
    const char *suffix = name + strlen(f->name);
    if (strcmp(f->kind, "histogram") != 0) {
        assert_string_equal(suffix, "");
        assert_true(bound < 0);
        return;
    }
    if (strcmp(suffix, "_bucket") == 0) {
        assert_true(bound > f->last_bound && value >= f->last_bucket);
        f->last_bound = bound;
        f->last_bucket = value;
    } else if (strcmp(suffix, "_count") == 0) {
        assert_true(f->last_bound > 1e300 && value == f->last_bucket); /* +Inf was last */
        f->last_bound = f->last_bucket = -1;
    } else {
        assert_string_equal(suffix, "_sum");
    }
}

static void check_comment(struct family *f, const char *at)
{
    size_t len = name_length(at + 7);
    assert_true(len > 0 && len < sizeof f->name && at[7 + len] == ' ');
    if (strncmp(at, "# HELP ", 7) == 0) {
        *f = (struct family){.has_help = true, .last_bound = -1, .last_bucket = -1};
        memcpy(f->name, at + 7, len);
        return;
    }
    assert_memory_equal(at, "# TYPE ", 7);
    assert_memory_equal(at + 7, f->name, strlen(f->name));
    assert_string_equal(f->kind, "");
    (void)snprintf(f->kind, sizeof f->kind, "%s", at + 8 + len);
}

/* Fails unless the whole text is well-formed. Returns how many samples there are. */
static size_t check_text(const struct buf *out)
{
    struct family f = {0};
    size_t samples = 0;
    assert_false(out->failed);
    scoped(freep) char *copy = strdup(out->bytes ? out->bytes : "");
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!rest) { /* behind the last line end */
            assert_string_equal(line, "");
            break;
        }
        if (*line == '#') {
            check_comment(&f, line);
        } else {
            check_sample(&f, line);
            samples++;
        }
    }
    return samples;
}

static struct buf text_of(const struct metrics *m)
{
    struct buf out = BUF_INIT(1 << 20);
    metrics_write(m, &out);
    return out;
}

/* ---- the promises ---- */

static void an_empty_registry_writes_nothing(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    scoped(buf_done) struct buf out = text_of(m);
    assert_int_equal(check_text(&out), 0);
    metrics_free(m);
    metrics_free(NULL);
}

static void everything_is_there_before_it_happens(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    (void)add(m, (struct metric_spec){
                     .name = "cicada_runs_total",
                     .help = "Runs.",
                     .labels = {METRIC_LABEL("end", ends), METRIC_LABEL("door", doors)}});
    (void)add(m, (struct metric_spec){
                     .name = "cicada_sessions", .help = "Two\nlines \\.", .kind = METRIC_GAUGE});
    scoped(buf_done) struct buf out = text_of(m);
    assert_int_equal(check_text(&out), 7);
    assert_string_equal(out.bytes,
                        "# HELP cicada_runs_total Runs.\n"
                        "# TYPE cicada_runs_total counter\n"
                        "cicada_runs_total{end=\"ok\",door=\"native\"} 0\n"
                        "cicada_runs_total{end=\"ok\",door=\"openai\"} 0\n"
                        "cicada_runs_total{end=\"error\",door=\"native\"} 0\n"
                        "cicada_runs_total{end=\"error\",door=\"openai\"} 0\n"
                        "cicada_runs_total{end=\"time\\\"out\\\\\\n\",door=\"native\"} 0\n"
                        "cicada_runs_total{end=\"time\\\"out\\\\\\n\",door=\"openai\"} 0\n"
                        "# HELP cicada_sessions Two\\nlines \\\\.\n"
                        "# TYPE cicada_sessions gauge\n"
                        "cicada_sessions 0\n");
    metrics_free(m);
}

static void each_combination_of_labels_counts_by_itself(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    struct metric *runs = add(m, (struct metric_spec){.name = "cicada_runs_total",
                                                      .help = "Runs.",
                                                      .labels = {METRIC_LABEL("end", ends),
                                                                 METRIC_LABEL("door", doors)}});
    metric_count(runs, METRIC_AT(END_OK, DOOR_OPENAI), 2);
    metric_count(runs, METRIC_AT(END_ERROR, DOOR_NATIVE), 1);
    metric_count(runs, METRIC_AT(END_OK, DOOR_OPENAI), 40);
    assert_int_equal(metric_get(runs, METRIC_AT(END_OK, DOOR_OPENAI)), 42);
    assert_int_equal(metric_get(runs, METRIC_AT(END_OK, DOOR_NATIVE)), 0);
    scoped(buf_done) struct buf out = text_of(m);
    assert_int_equal(check_text(&out), 6);
    assert_non_null(strstr(out.bytes, "{end=\"ok\",door=\"openai\"} 42\n"));
    assert_non_null(strstr(out.bytes, "{end=\"error\",door=\"native\"} 1\n"));
    metrics_free(m);
}

static void a_gauge_is_set_and_moved_and_may_be_negative(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    struct metric *g =
        add(m, (struct metric_spec){.name = "cicada_queue", .help = "Q.", .kind = METRIC_GAUGE});
    metric_set(g, METRIC_AT(), 5);
    metric_move(g, METRIC_AT(), -8);
    assert_int_equal(metric_get(g, METRIC_AT()), -3);
    scoped(buf_done) struct buf out = text_of(m);
    (void)check_text(&out);
    assert_non_null(strstr(out.bytes, "\ncicada_queue -3\n"));
    metrics_free(m);
}

static void places_move_the_point(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {{0, " 0\n"},
                {1, " 0.000001\n"},
                {1500000, " 1.5\n"},
                {20, " 0.00002\n"},
                {-250000, " -0.25\n"},
                {3000000, " 3\n"},
                {INT64_MIN, " -9223372036854.775808\n"}};
    struct metrics *m = new_registry();
    struct metric *g = add(
        m,
        (struct metric_spec){.name = "cicada_s", .help = "S.", .kind = METRIC_GAUGE, .places = 6});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        metric_set(g, METRIC_AT(), rows[i].value);
        scoped(buf_done) struct buf out = text_of(m);
        (void)check_text(&out);
        assert_non_null(strstr(out.bytes, rows[i].text));
    }
    metrics_free(m);
}

static void a_histogram_counts_up_to_each_bound(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {1000, 2000000};
    struct metrics *m = new_registry();
    struct metric *h = add(m, (struct metric_spec){.name = "cicada_run_seconds",
                                                   .help = "H.",
                                                   .kind = METRIC_HISTOGRAM,
                                                   .places = 6,
                                                   .labels = {METRIC_LABEL("door", doors)},
                                                   .bounds = bounds,
                                                   .bound_count = 2});
    metric_observe(h, METRIC_AT(DOOR_OPENAI), 0);
    metric_observe(h, METRIC_AT(DOOR_OPENAI), 1000); /* the bound itself is within */
    metric_observe(h, METRIC_AT(DOOR_OPENAI), 1001);
    metric_observe(h, METRIC_AT(DOOR_OPENAI), 5000000);
    assert_int_equal(metric_get(h, METRIC_AT(DOOR_OPENAI)), 4);
    scoped(buf_done) struct buf out = text_of(m);
    assert_int_equal(check_text(&out), 10);
    assert_non_null(strstr(out.bytes, "_bucket{door=\"openai\",le=\"0.001\"} 2\n"
                                      "cicada_run_seconds_bucket{door=\"openai\",le=\"2\"} 3\n"
                                      "cicada_run_seconds_bucket{door=\"openai\",le=\"+Inf\"} 4\n"
                                      "cicada_run_seconds_sum{door=\"openai\"} 5.002001\n"
                                      "cicada_run_seconds_count{door=\"openai\"} 4\n"));
    metrics_free(m);
}

static void a_histogram_without_bounds_has_those_for_microseconds(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    struct metric *h = add(
        m, (struct metric_spec){
               .name = "cicada_x_seconds", .help = "H.", .kind = METRIC_HISTOGRAM, .places = 6});
    metric_observe(h, METRIC_AT(), 350);
    scoped(buf_done) struct buf out = text_of(m);
    assert_int_equal(check_text(&out), METRIC_BOUNDS_US_COUNT + 3);
    assert_non_null(strstr(out.bytes, "le=\"0.00025\"} 0\n"));
    assert_non_null(strstr(out.bytes, "le=\"0.0005\"} 1\n"));
    assert_non_null(strstr(out.bytes, "le=\"600\"} 1\n"));
    metrics_free(m);
}

static void without_a_registry_nothing_is_counted(void **state)
{
    (void)state;
    metric_count(NULL, METRIC_AT(7), 1);
    metric_set(NULL, METRIC_AT(), 1);
    metric_move(NULL, METRIC_AT(), 1);
    metric_observe(NULL, METRIC_AT(), 1);
    assert_int_equal(metric_get(NULL, METRIC_AT()), 0);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *count_many(void *arg)
{
    struct metric **both = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        metric_count(both[0], METRIC_AT(i % 3), 1);
        metric_observe(both[1], METRIC_AT(), i);
    }
    return NULL;
}

static void threads_lose_no_count_and_the_text_is_sound_meanwhile(void **state)
{
    (void)state;
    struct metrics *m = new_registry();
    struct metric *both[] = {
        add(m, (struct metric_spec){.name = "cicada_runs_total",
                                    .help = "Runs.",
                                    .labels = {METRIC_LABEL("end", ends)}}),
        add(m,
            (struct metric_spec){
                .name = "cicada_x_seconds", .help = "H.", .kind = METRIC_HISTOGRAM, .places = 6}),
    };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, both), 0);
    for (int i = 0; i < 50; i++) {
        scoped(buf_done) struct buf out = text_of(m);
        (void)check_text(&out);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    int64_t sum = 0;
    for (unsigned i = 0; i < 3; i++)
        sum += metric_get(both[0], METRIC_AT(i));
    assert_int_equal(sum, THREADS * ROUNDS);
    assert_int_equal(metric_get(both[1], METRIC_AT()), THREADS * ROUNDS);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_registry_writes_nothing),
        cmocka_unit_test(everything_is_there_before_it_happens),
        cmocka_unit_test(each_combination_of_labels_counts_by_itself),
        cmocka_unit_test(a_gauge_is_set_and_moved_and_may_be_negative),
        cmocka_unit_test(places_move_the_point),
        cmocka_unit_test(a_histogram_counts_up_to_each_bound),
        cmocka_unit_test(a_histogram_without_bounds_has_those_for_microseconds),
        cmocka_unit_test(without_a_registry_nothing_is_counted),
        cmocka_unit_test(threads_lose_no_count_and_the_text_is_sound_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
