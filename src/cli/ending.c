#include "cli/ending.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "session/run.h"

int ending_exit_code(const struct run *run)
{
    static const int codes[END_COUNT] = {
        [END_OK] = EXIT_DONE,
        [END_ERROR] = EXIT_ERROR,
        [END_TIMEOUT] = EXIT_TIMEOUT,
        [END_MEMORY] = EXIT_MEMORY,
        [END_OUTPUT_LIMIT] = EXIT_OUTPUT_LIMIT,
        [END_DISK] = EXIT_DISK,
        [END_CANCELLED] = EXIT_CANCELLED,
        [END_CRASHED] = EXIT_CRASHED,
        [END_KILLED] = EXIT_KILLED,
    };
    assert(run->end < END_COUNT);
    return codes[run->end];
}

static void put_crash(const struct run *run, struct buf *out)
{
    const char *name = run->crash_signal ? sigabbrev_np(run->crash_signal) : NULL;
    const char *meaning = run->crash_signal ? sigdescr_np(run->crash_signal) : NULL;
    if (name && meaning)
        buf_fmt(out, "the interpreter crashed: SIG%s (%s)", name, meaning);
    else if (run->crash_signal)
        buf_fmt(out, "the interpreter crashed: signal %d", run->crash_signal);
    else
        buf_fmt(out, "the interpreter crashed: it exited with code %d", run->crash_code);
}

static void put_disk(const struct run *run, struct buf *out)
{
    char used[SIZE_TEXT], limit[SIZE_TEXT];
    if (run->is_disk_full) {
        buf_str(out, "ended by disk: the server's disk is nearly full");
        return;
    }
    buf_fmt(out, "ended by disk: /mnt/data grew by %s and %llu files (limit %s and %u files)",
            size_text(run->disk_bytes, used), (unsigned long long)run->disk_files,
            size_text(run->limits.disk_bytes, limit), run->limits.files);
}

void ending_text(const struct run *run, struct buf *out)
{
    const struct limits *l = &run->limits;
    char a[SIZE_TEXT], b[SIZE_TEXT];
    switch (run->end) {
    case END_TIMEOUT:
        buf_fmt(out, "ended by timeout after %.1f s (limit %g s)", (double)run->duration_us / 1e6,
                l->wall_ms / 1000.0);
        break;
    case END_MEMORY:
        buf_fmt(out, "ended by memory: peak %s (limit %s)", size_text(run->memory_peak, a),
                size_text(l->memory_bytes, b));
        break;
    case END_OUTPUT_LIMIT:
        buf_fmt(out, "ended by output_limit: printed %s (limit %s)",
                size_text(run->out.total + run->err.total, a), size_text(l->drain_bytes, b));
        break;
    case END_DISK: put_disk(run, out); break;
    case END_CANCELLED:
        buf_fmt(out, "cancelled after %.1f s", (double)run->duration_us / 1e6);
        break;
    case END_CRASHED: put_crash(run, out); break;
    case END_KILLED: buf_str(out, "the session was killed"); break;
    case END_ERROR:
        if (run_error_is_memory(&run->error))
            buf_fmt(out, "not enough memory left in the session (limit %s)",
                    size_text(l->memory_bytes, a));
        break;
    case END_OK:
    case END_COUNT: break;
    }
}

const char *ending_advice(const struct run *run)
{
    static const char more_memory[] =
        "work on smaller pieces (chunks, fewer columns), or allow more with --memory SIZE";
    switch (run->end) {
    case END_TIMEOUT: return "do less at once, or allow more with --timeout SECONDS";
    case END_MEMORY: return more_memory;
    case END_ERROR:
        if (run_error_is_memory(&run->error))
            return more_memory;
        break;
    case END_OUTPUT_LIMIT: return "print less, or write to a file and take it with -o DIR";
    case END_DISK:
        if (run->is_disk_full)
            break;
        return "write less, or allow more with --disk SIZE";
    case END_CRASHED:
        return "this was no exception: native code, os._exit or a signal ended Python itself";
    case END_OK:
    case END_CANCELLED:
    case END_KILLED:
    case END_COUNT: break;
    }
    return *run->hint ? run->hint : NULL;
}
