#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/note.h"
#include "cli/table.h"

enum {
    QUIET_US = 1000000, /* before the first line */
    EVERY_US = 250000,
    LINE_MAX_BYTES = 2048,
    WIDTH_DEFAULT = 80,
    BAR_MIN = 10,
    BAR_MAX = 30,
    NAME_COLUMNS = 24,
};

struct progress progress_here(void)
{
    const char *terminal = getenv("TERM");
    bool can_move = terminal && *terminal && strcmp(terminal, "dumb") != 0;
    return (struct progress){.fd = can_move && isatty(STDERR_FILENO) ? STDERR_FILENO : -1,
                             .now_us = clock_us};
}

void progress_begin(struct progress *p, uint64_t total, size_t file_total)
{
    int64_t now = p->now_us();
    p->total = total;
    p->file_total = file_total;
    p->files = 0;
    p->done = p->moved = 0;
    p->begun_us = p->shown_us = now;
    p->samples[0].at_us = now;
    p->samples[0].moved = 0;
    p->sample_count = 1;
}

void progress_file(struct progress *p, const char *name)
{
    p->name = name;
    p->files++;
}

static size_t terminal_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col;
}

static void show(struct progress *p, int64_t now_us)
{
    scoped(buf_done) struct buf line = BUF_INIT(LINE_MAX_BYTES);
    struct err ignored = {0}; /* the terminal is gone: nobody looks */
    size_t slot = p->sample_count++ % PROGRESS_SAMPLES;
    buf_str(&line, "\r\033[K");
    progress_text(p, now_us, terminal_columns(p->fd) - 1, &line);
    (void)fd_write_all(p->fd, line.bytes, line.len, &ignored);
    p->samples[slot].at_us = p->shown_us = now_us;
    p->samples[slot].moved = p->moved;
    p->is_shown = true;
}

void progress_moved(struct progress *p, uint64_t bytes)
{
    p->done += bytes;
    p->moved += bytes;
    if (p->fd < 0)
        return;
    int64_t now = p->now_us();
    if (now - p->begun_us >= QUIET_US && now - p->shown_us >= EVERY_US)
        show(p, now);
}

void progress_skipped(struct progress *p, uint64_t bytes)
{
    p->done += bytes;
}

void progress_undone(struct progress *p, uint64_t bytes)
{
    p->done -= bytes < p->done ? bytes : p->done;
}

void progress_clear(struct progress *p)
{
    struct err ignored = {0};
    if (p->is_shown)
        (void)fd_write_all(p->fd, "\r\033[K", 4, &ignored);
    p->is_shown = false;
}

/* Bytes in a second, since the oldest sample; 0: not known. */
static double rate(const struct progress *p, int64_t now_us)
{
    if (p->sample_count == 0)
        return 0;
    size_t oldest = p->sample_count > PROGRESS_SAMPLES ? p->sample_count % PROGRESS_SAMPLES : 0;
    int64_t span_us = now_us - p->samples[oldest].at_us;
    if (span_us <= 0)
        return 0;
    return (double)(p->moved - p->samples[oldest].moved) * 1e6 / (double)span_us;
}

static void put_left(double seconds, struct buf *out)
{
    if (seconds > 99.5 * 3600) {
        buf_str(out, "  days left");
        return;
    }
    long long s = (long long)(seconds + 0.5);
    if (s >= 3600)
        buf_fmt(out, "  %lld:%02lld:%02lld left", s / 3600, s / 60 % 60, s % 60);
    else
        buf_fmt(out, "  %lld:%02lld left", s / 60, s % 60);
}

/* All that is behind the bar: bytes, rate, what is left. */
static void put_figures(const struct progress *p, int64_t now_us, struct buf *out)
{
    char size[SIZE_TEXT];
    double per_s = rate(p, now_us);
    buf_fmt(out, "  %s", size_text(p->done, size));
    if (p->total)
        buf_fmt(out, " of %s", size_text(p->total, size));
    if (p->file_total > 1)
        buf_fmt(out, "  %zu/%zu files", p->files, p->file_total);
    if (per_s < 1)
        return;
    buf_fmt(out, "  %s/s", size_text((unsigned long long)per_s, size));
    if (p->total > p->done)
        put_left((double)(p->total - p->done) / per_s, out);
}

static void put_bar(const struct progress *p, size_t width, struct buf *out)
{
    uint64_t done = p->done < p->total ? p->done : p->total;
    size_t filled = (size_t)((double)done / (double)p->total * (double)width);
    buf_str(out, " [");
    for (size_t i = 0; i < width; i++)
        buf_str(out, i < filled ? "#" : "-");
    buf_str(out, "]");
}

void progress_text(const struct progress *p, int64_t now_us, size_t width, struct buf *out)
{
    scoped(buf_done) struct buf name = BUF_INIT(LINE_MAX_BYTES), head = BUF_INIT(LINE_MAX_BYTES),
                                tail = BUF_INIT(LINE_MAX_BYTES), line = BUF_INIT(LINE_MAX_BYTES);
    buf_str(&name, "");
    printable(p->name ? p->name : "", p->name ? strnlen(p->name, 512) : 0, &name);
    if (!name.failed)
        text_cut(name.bytes, NAME_COLUMNS, &head);
    if (p->total) {
        uint64_t done = p->done < p->total ? p->done : p->total;
        buf_fmt(&head, "  %d %%", (int)((double)done / (double)p->total * 100));
    }
    put_figures(p, now_us, &tail);
    if (name.failed || head.failed || tail.failed)
        return; /* no memory: no line */
    size_t used = text_width(head.bytes) + text_width(tail.bytes) + 3;
    buf_str(&line, head.bytes);
    if (p->total && used + BAR_MIN <= width)
        put_bar(p, width - used < BAR_MAX ? width - used : BAR_MAX, &line);
    buf_str(&line, tail.bytes);
    text_cut(line.bytes, width, out);
}
