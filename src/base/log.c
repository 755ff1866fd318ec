#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

enum { CHARACTER_MAX = 4, RESERVE = 40 }; /* kept free for " cut=true}", lost and the line's end */

static const char *const level_names[] = {"debug", "info", "warning", "error"};
static const int priorities[] = {7, 6, 4, 3}; /* as syslog counts them */

/* A line in the making. It never grows past its end: a field that does not fit is taken back. */
struct line {
    enum log_format format;
    size_t len;
    bool is_full;
    char bytes[LOG_LINE_MAX];
};

/* True if descriptor `fd` is the one that $JOURNAL_STREAM, "device:inode", speaks of. */
static bool is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat st;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &st) == 0 &&
           st.st_dev == device && st.st_ino == inode;
}

void log_init(struct log *log, int fd, enum log_format format, enum log_level level)
{
    log->fd = fd;
    log->format = format;
    log->has_priorities = format == LOG_TEXT && is_journal(fd);
    atomic_init(&log->level, (int)level);
    atomic_init(&log->lost, 0);
}

void log_set_level(struct log *log, enum log_level level)
{
    atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

bool log_is_on(const struct log *log, enum log_level level)
{
    return log && (int)level >= atomic_load_explicit(&log->level, memory_order_relaxed);
}

static void put(struct line *l, const char *bytes, size_t len)
{
    if (l->is_full || len > sizeof l->bytes - RESERVE - l->len) {
        l->is_full = true;
        return;
    }
    memcpy(l->bytes + l->len, bytes, len);
    l->len += len;
}

static void put_text(struct line *l, const char *text)
{
    put(l, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_fmt(struct line *l, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert(len >= 0 && (size_t)len < sizeof text);
    put(l, text, (size_t)len);
}

/* How many bytes the character at `at` has; 0: it is none. */
static size_t character(const char *at, size_t len)
{
    for (size_t n = 1; n <= CHARACTER_MAX && n <= len; n++)
        if (utf8_is_valid(at, n))
            return n;
    return 0;
}

static uint32_t code_point(const char *at, size_t len)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (uint8_t)at[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((uint8_t)at[i] & 0x3f);
    return c;
}

/* Control characters, line and paragraph separators, what turns or hides text. */
static bool is_odd(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0xfeff ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || (c >= 0xe0000 && c <= 0xe007f);
}

static void put_odd(struct line *l, uint32_t c)
{
    if (c == '\n')
        put_text(l, "\\n");
    else if (c == '\t')
        put_text(l, "\\t");
    else if (c == '\r')
        put_text(l, "\\r");
    else if (c <= 0xffff)
        put_fmt(l, "\\u%04x", c);
    else /* as JSON has it: a pair of surrogates */
        put_fmt(l, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
}

/* Both formats quote alike: a text value is then read by whatever reads JSON strings. */
static void put_quoted(struct line *l, struct str s)
{
    size_t len = s.len > LOG_VALUE_MAX ? utf8_cut(s.ptr, LOG_VALUE_MAX) : s.len;
    put_text(l, "\"");
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = character(s.ptr + i, len - i);
        uint32_t c = n ? code_point(s.ptr + i, n) : 0xfffd;
        if (n == 0)
            put_text(l, "\\ufffd");
        else if (is_odd(c))
            put_odd(l, c);
        else if (c == '"' || c == '\\')
            put_fmt(l, "\\%c", (int)c);
        else
            put(l, s.ptr + i, n);
    }
    put_text(l, s.len > len ? "...\"" : "\"");
}

/* May the value stand in logfmt without quotation marks? */
static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '=')
            return false;
    }
    return s.len > 0 && s.len <= LOG_VALUE_MAX;
}

static void put_value(struct line *l, const struct log_field *f)
{
    uint64_t us = f->i64 < 0 ? 0 : (uint64_t)f->i64;
    switch (f->kind) {
    case LOG_KIND_TEXT:
        if (l->format == LOG_TEXT && is_plain(f->text))
            put(l, f->text.ptr, f->text.len);
        else
            put_quoted(l, f->text);
        break;
    case LOG_KIND_U64: put_fmt(l, "%" PRIu64, f->u64); break;
    case LOG_KIND_I64: put_fmt(l, "%" PRId64, f->i64); break;
    case LOG_KIND_MS: put_fmt(l, "%" PRIu64 ".%03u", us / 1000, (unsigned)(us % 1000)); break;
    case LOG_KIND_BOOL: put_text(l, f->u64 ? "true" : "false"); break;
    }
}

/* The whole field or nothing of it. */
static void put_field(struct line *l, const struct log_field *f)
{
    size_t start = l->len;
    if (!f->key)
        return;
    put_text(l, l->format == LOG_JSON ? ",\"" : " ");
    put_text(l, f->key);
    put_text(l, l->format == LOG_JSON ? "\":" : "=");
    put_value(l, f);
    if (l->is_full)
        l->len = start;
}

static void put_head(struct line *l, enum log_level level, const char *msg)
{
    struct timespec now;
    struct tm t;
    char ts[40];
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    (void)gmtime_r(&now.tv_sec, &t);
    size_t len = strftime(ts, sizeof ts, "%Y-%m-%dT%H:%M:%S", &t);
    (void)snprintf(ts + len, sizeof ts - len, ".%03ldZ", now.tv_nsec / 1000000);
    put_text(l, l->format == LOG_JSON ? "{\"ts\":\"" : "ts=");
    put_text(l, ts);
    put_text(l, l->format == LOG_JSON ? "\"" : "");
    const struct log_field head[] = {LOG_STR("level", level_names[level]), LOG_STR("msg", msg)};
    put_field(l, &head[0]);
    put_field(l, &head[1]);
}

/* In the room that was kept free. */
static void put_tail(struct line *l, unsigned lost)
{
    bool is_json = l->format == LOG_JSON;
    char text[RESERVE];
    int len = 0;
    if (l->is_full)
        len = snprintf(text, sizeof text, "%s", is_json ? ",\"cut\":true" : " cut=true");
    if (lost)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        is_json ? ",\"lost\":%u" : " lost=%u", lost);
    len += snprintf(text + len, sizeof text - (size_t)len, is_json ? "}\n" : "\n");
    assert(len < RESERVE);
    memcpy(l->bytes + l->len, text, (size_t)len);
    l->len += (size_t)len;
}

/* All of it in one call or not at all, as far as that is ours to decide: pipes take a line of this
 * length whole, files and sockets of the journal do too. */
static bool send_line(int fd, const struct line *l)
{
    ssize_t n;
    do
        n = write(fd, l->bytes, l->len);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)l->len;
}

void log_write(struct log *log, enum log_level level, const char *msg,
               const struct log_field *fields, size_t count)
{
    if (!log_is_on(log, level))
        return;
    int saved = errno; /* whoever logs an error may still want to know it */
    struct line l;
    l.format = log->format;
    l.len = 0;
    l.is_full = false;
    if (log->has_priorities)
        put_fmt(&l, "<%d>", priorities[level]);
    put_head(&l, level, msg);
    for (size_t i = 0; i < count; i++)
        put_field(&l, &fields[i]);
    unsigned lost = atomic_exchange_explicit(&log->lost, 0, memory_order_relaxed);
    put_tail(&l, lost);
    if (!send_line(log->fd, &l))
        (void)atomic_fetch_add_explicit(&log->lost, lost + 1, memory_order_relaxed);
    errno = saved;
}
