/* log.h -- one line per event, for people (logfmt) or for programs (JSON), to one descriptor.
 *
 *     struct log log;
 *     log_init(&log, STDERR_FILENO, LOG_TEXT, LOG_INFO);
 *     log_line(&log, LOG_INFO, "request", LOG_STR("id", id), LOG_U64("status", 200),
 *              LOG_MS("ms", spent_us));
 *
 *     ts=2026-11-16T05:14:30.123Z level=info msg=request id=req_7 status=200 ms=0.412
 *     {"ts":"2026-11-16T05:14:30.123Z","level":"info","msg":"request","id":"req_7", ...}
 *
 * There is no log of the process: whoever opens one hands it down. A line is put together on the
 * stack and written with one write(2), so lines of many threads do not mix, and running out of
 * memory can still be logged. Nothing here fails or waits for long: what cannot be written is
 * counted, and the next line that can says how many are missing (lost=N).
 *
 * Values may be a stranger's. Each is cut to LOG_VALUE_MAX bytes between two characters and marked
 * with "..."; control characters, what turns the direction of text, and bytes that are no UTF-8
 * are escaped, so a value can neither end its line nor pretend to be another field. Messages and
 * keys are ours: letters, digits, '_', and blanks in messages.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

enum {
    LOG_VALUE_MAX = 256, /* bytes of one value */
    LOG_LINE_MAX =
        4096, /* of a line: as much as a pipe takes whole; what does not fit is left out */
};

struct log {
    int fd; /* borrowed */
    enum log_format format;
    bool has_priorities; /* "<6>" in front, which systemd's journal takes for the level */
    atomic_int level;    /* the least that is written */
    atomic_uint lost;    /* lines that could not be */
};

/* With LOG_TEXT and $JOURNAL_STREAM naming what `fd` is, priorities are put in front. */
void log_init(struct log *log, int fd, enum log_format format, enum log_level level);

void log_set_level(struct log *log, enum log_level level); /* any thread, any time */
bool log_is_on(const struct log *log, enum log_level level);

enum log_kind { LOG_KIND_TEXT, LOG_KIND_U64, LOG_KIND_I64, LOG_KIND_MS, LOG_KIND_BOOL };

struct log_field {
    const char *key; /* NULL: no field */
    enum log_kind kind;
    union {
        struct str text;
        uint64_t u64;
        int64_t i64;
    };
};

/* The value of LOG_STR may be NULL: then the field is left out. LOG_MS takes microseconds. */
#define LOG_VIEW(name, view) ((struct log_field){.key = (name), .text = (view)})
#define LOG_STR(name, value) log_str((name), (value))
#define LOG_U64(name, value) \
    ((struct log_field){.key = (name), .kind = LOG_KIND_U64, .u64 = (value)})
#define LOG_I64(name, value) \
    ((struct log_field){.key = (name), .kind = LOG_KIND_I64, .i64 = (value)})
#define LOG_MS(name, us) ((struct log_field){.key = (name), .kind = LOG_KIND_MS, .i64 = (us)})
#define LOG_BOOL(name, is) ((struct log_field){.key = (name), .kind = LOG_KIND_BOOL, .u64 = (is)})

static inline struct log_field log_str(const char *key, const char *value)
{
    return (struct log_field){.key = value ? key : NULL, .text = value ? str_of(value) : STR_NONE};
}

/* Writes the line if its level is on. `log` may be NULL: nobody listens. */
#define log_line(log, level, msg, ...)                                               \
    log_write((log), (level), (msg), (const struct log_field[]){{0}, ##__VA_ARGS__}, \
              sizeof((const struct log_field[]){{0}, ##__VA_ARGS__}) / sizeof(struct log_field))
void log_write(struct log *log, enum log_level level, const char *msg,
               const struct log_field *fields, size_t count);

#endif
