#include "mcp/file_lines.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

enum { NUMBER_MAX = 64 }; /* bytes besides the line itself */

static size_t line_max(const struct lines *l)
{
    return l->line_max && l->line_max < LINES_LINE_MAX ? (size_t)l->line_max : LINES_LINE_MAX;
}

static void hold(struct lines *l, const char *bytes, size_t len)
{
    size_t room = sizeof l->held - l->held_len;
    size_t kept = len < room ? len : room;
    if (l->count >= l->skip && !l->is_full) {
        memcpy(l->held + l->held_len, bytes, kept);
        l->held_len += kept;
    }
    l->line_len += len;
}

static void show(struct lines *l, bool is_open)
{
    size_t most = line_max(l), len = l->held_len < most ? l->held_len : most;
    uint64_t whole = l->line_len;
    if (!is_open && whole == l->held_len && whole > 0 && l->held[whole - 1] == '\r')
        len = len < whole ? len : (size_t)whole - 1;
    bool is_cut = is_open || (len < whole && !(len + 1 == whole && l->held[len] == '\r'));
    if (is_cut)
        len = utf8_cut(l->held, len);
    if (l->shown > 0 && l->out->len + len + NUMBER_MAX > l->text_max) {
        l->is_full = true;
        return;
    }
    buf_fmt(l->out, "%6" PRIu64 "\t", l->count + 1);
    buf_add(l->out, l->held, len);
    if (is_cut)
        buf_fmt(l->out, " [cut: %s%" PRIu64 " more bytes]", is_open ? "at least " : "",
                whole - len);
    buf_str(l->out, "\n");
    l->shown++;
    l->cut += is_cut;
}

static void end_line(struct lines *l, bool has_cr)
{
    l->crlf += has_cr;
    if (l->count >= l->skip && !l->is_full) {
        show(l, /* is_open= */ false);
        l->is_full = l->is_full || l->shown >= l->limit;
    }
    l->count++;
    l->line_len = 0;
    l->held_len = 0;
}

void lines_feed(struct lines *l, const char *bytes, size_t len)
{
    bool was_cr = l->line_len > 0 && l->held_len == l->line_len && l->held[l->held_len - 1] == '\r';
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        hold(l, bytes, part);
        if (!end)
            return;
        end_line(l, part > 0 ? bytes[part - 1] == '\r' : was_cr);
        was_cr = false;
        bytes += part + 1;
        len -= part + 1;
    }
}

void lines_end(struct lines *l)
{
    if (l->line_len > 0)
        end_line(l, false);
}

void lines_give_up(struct lines *l)
{
    if (l->held_len > 0 && !l->is_full)
        show(l, /* is_open= */ true);
}
