#include "cli/note.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/utf8.h"

enum { NOTE_MAX = 8 << 10 };

struct notes notes_to_stderr(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool is_plain = (no_colour && *no_colour) || !terminal || strcmp(terminal, "dumb") == 0;
    return (struct notes){.fd = STDERR_FILENO, .is_coloured = !is_plain && isatty(STDERR_FILENO)};
}

/* True for C0, DEL and, at the first of its two bytes, C1: the characters terminals obey. */
static bool is_control(const char *at, size_t left, size_t *ret_len)
{
    unsigned char c = (unsigned char)at[0];
    *ret_len = c == 0xc2 ? 2 : 1;
    if (c == 0xc2)
        return left >= 2 && (unsigned char)at[1] < 0xa0;
    return c < 0x20 || c == 0x7f;
}

void printable(const char *bytes, size_t len, struct buf *out)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * len + 1);
    utf8_clean(bytes, len, &clean);
    for (size_t i = 0, char_len; i < clean.len; i += char_len) {
        if (is_control(clean.bytes + i, clean.len - i, &char_len))
            buf_str(out, "?");
        else
            buf_add(out, clean.bytes + i, char_len);
    }
}

void printable_lines(const char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len;) {
        size_t part = 0;
        while (i + part < len && bytes[i + part] != '\n' && bytes[i + part] != '\t')
            part++;
        printable(bytes + i, part, out);
        i += part;
        if (i < len)
            buf_add(out, bytes + i++, 1);
    }
}

/* One write for the whole line, so that lines of several processes do not mix. */
static void put_note(struct notes *n, const char *colour, const char *text)
{
    scoped(buf_done) struct buf line = BUF_INIT(NOTE_MAX);
    buf_str(&line, n->is_mid_line ? "\n" : "");
    n->is_mid_line = false;
    buf_str(&line, n->is_coloured ? colour : "");
    buf_str(&line, "cicada: ");
    buf_str(&line, n->is_coloured ? "\033[0m" : "");
    printable(text, strlen(text), &line);
    buf_str(&line, "\n");
    struct err ignored = {0}; /* nobody is left to be told */
    (void)fd_write_all(n->fd, line.bytes, line.len, &ignored);
}

void note(struct notes *n, const char *fmt, ...)
{
    char text[NOTE_MAX / 4];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_note(n, "\033[2m", text);
}

void note_lines(struct notes *n, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        note(n, "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

void note_problem(struct notes *n, const char *fmt, ...)
{
    char text[NOTE_MAX / 4];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_note(n, "\033[1;31m", text);
}

const char *size_text(unsigned long long bytes, char space[SIZE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double value = (double)bytes;
    for (; value >= 1023.5 && unit < 6; unit++)
        value /= 1024;
    unsigned tenths = (unsigned)(value * 10 + 0.5);
    bool is_whole = tenths % 10 == 0 || tenths >= 1000;
    (void)snprintf(space, SIZE_TEXT, is_whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return space;
}
