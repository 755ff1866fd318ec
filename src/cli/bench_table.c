/* The table of `cicada bench`, and what a series is. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/bench.h"
#include "cli/note.h"

void series_add(struct series *s, int64_t us)
{
    if (s->count < SERIES_MAX)
        s->us[s->count++] = us;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int64_t series_at(struct series *s, unsigned percent)
{
    assert(percent <= 100);
    if (s->count == 0)
        return 0;
    qsort(s->us, s->count, sizeof *s->us, by_value);
    return s->us[(s->count - 1) * percent / 100];
}

enum { TIME_TEXT = 24 };

/* 87 us, 6.3 ms, 1.2 s. */
static const char *time_text(int64_t us, char space[TIME_TEXT])
{
    if (us < 1000)
        (void)snprintf(space, TIME_TEXT, "%lld us", (long long)us);
    else if (us < 1000000)
        (void)snprintf(space, TIME_TEXT, "%.2f ms", (double)us / 1e3);
    else
        (void)snprintf(space, TIME_TEXT, "%.2f s", (double)us / 1e6);
    return space;
}

static const char *verdict(bool is_met)
{
    return is_met ? "ok" : "MISSED";
}

static void row(struct buf *out, const char *what, struct series *s, int64_t bar_us)
{
    char p50[TIME_TEXT], best[TIME_TEXT], worst[TIME_TEXT], bar[TIME_TEXT];
    if (s->count == 0) {
        buf_fmt(out, "%-52s not measured\n", what);
        return;
    }
    int64_t mid = series_at(s, 50);
    buf_fmt(out, "%-52s %10s %10s %10s", what, time_text(mid, p50),
            time_text(series_at(s, 0), best), time_text(series_at(s, 100), worst));
    if (bar_us > 0)
        buf_fmt(out, "   at most %8s  %s", time_text(bar_us, bar), verdict(mid <= bar_us));
    buf_str(out, "\n");
}

static void compare(struct buf *out, const char *what, struct series *own, struct series *peer,
                    double parts)
{
    if (own->count == 0 || peer->count == 0)
        return;
    double ratio = (double)series_at(peer, 50) / (double)series_at(own, 50);
    buf_fmt(out, "%-52s 1/%-8.0f %23s at most 1/%-5.0f  %s\n", what, ratio, "", parts,
            verdict(ratio >= parts));
}

static void size_row(struct buf *out, const char *what, uint64_t bytes, uint64_t bar)
{
    char size[SIZE_TEXT], most[SIZE_TEXT];
    if (bytes > 0)
        buf_fmt(out, "%-52s %10s %24s at most %8s  %s\n", what, size_text(bytes, size), "",
                size_text(bar, most), verdict(bytes <= bar));
}

void bench_table(struct bench_own *own, struct bench_peers *peers, struct buf *out)
{
    char text[96];
    buf_fmt(out, "%-52s %10s %10s %10s\n", "", "p50", "best", "worst");
    row(out, "python3 -c, import pandas, first sum", &peers->python, 0);
    row(out, "ipykernel: start to the same sum", &peers->ipykernel_start, 0);
    row(out, "cicada without an image", &own->start_cold, 0);
    row(out, "cicada: new session to the same sum", &own->start, 10000);
    compare(out, "    beside ipykernel", &own->start, &peers->ipykernel_start, 80);
    row(out, "    from the warm pool", &own->from_pool, 1500);
    row(out, "ipykernel: 1+1", &peers->ipykernel_warm, 0);
    row(out, "cicada: 1+1 in a session that is awake", &own->warm, 120);
    compare(out, "    beside ipykernel", &own->warm, &peers->ipykernel_warm, 30);
    row(out, "sleep, a described DataFrame", &own->sleep_small, 12000);
    row(out, "wake it, to an answer", &own->wake_small, 15000);
    size_row(out, "    on disk", own->small_bytes, 250 * 1000);
    row(out, "sleep: frame, figure, random forest, generator, class", &own->sleep_rich, 45000);
    row(out, "wake it, to an answer", &own->wake_rich, 40000);
    size_row(out, "    on disk", own->rich_bytes, 3 * 1000 * 1000);
    row(out, "snapshot: the session is held up for", &own->snapshot, 14000);
    row(out, "roll back to it", &own->rollback, 2000);
    row(out, "branch into a session with a jail of its own", &own->branch, 15000);
    (void)snprintf(text, sizeof text, "memory of each of %zu idle sessions", own->live);
    size_row(out, text, own->memory_bytes, 3 << 20);
    (void)snprintf(text, sizeof text, "%zu sleeping sessions on disk", own->asleep);
    size_row(out, text, own->asleep_bytes, 1000 * 1000 * 1000);
    if (own->asleep > 0)
        row(out, "    wake any of them, to an answer", &own->wake_any, 15000);
}
