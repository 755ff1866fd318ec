#include "mcp/file_table.h"

#include <string.h>

#include "api/preview.h"
#include "base/str.h"
#include "base/utf8.h"

enum { HELD_MAX = 16 << 20 };

static void put_cell(struct buf *out, struct str cell)
{
    char text[TABLE_CELL + 1];
    size_t len = csv_text(cell, text, sizeof text);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '|')
            buf_str(out, "\\|");
        else
            buf_add(out, c < 32 || c == 127 ? " " : &text[i], 1);
    }
    if (len + 4 > TABLE_CELL && cell.len > len + 2)
        buf_str(out, "…");
}

static void put_rule(struct buf *out, size_t columns)
{
    buf_str(out, "|");
    for (size_t i = 0; i < columns; i++)
        buf_str(out, " --- |");
    buf_str(out, "\n");
}

/* Shows the row at the beginning of `c`, unless there is no room for it. */
static void show_row(struct table *t, struct csv c)
{
    size_t before = t->out->len, columns = 0;
    struct str cell;
    enum csv_end end = CSV_CELL;
    buf_str(t->out, "|");
    while (end == CSV_CELL && (end = csv_next(&c, &cell)) != CSV_NONE) {
        if (columns++ < TABLE_COLUMNS) {
            buf_str(t->out, " ");
            put_cell(t->out, cell);
            buf_str(t->out, " |");
        }
    }
    buf_fmt(t->out, columns > TABLE_COLUMNS ? " … |\n" : "\n");
    if (!t->has_head) {
        t->columns = columns;
        put_rule(t->out, columns > TABLE_COLUMNS ? TABLE_COLUMNS + 1 : columns);
    } else if (t->shown > 0 && t->out->len > t->text_max && !t->out->failed) {
        t->out->len = before; /* as if it had not been written */
        t->out->bytes[before] = '\0';
        t->is_full = true;
        return;
    }
    t->shown += t->has_head;
}

/* Where the row ends that `c` begins with: after its line end; 0: it does not, or is empty. */
static size_t row_len(struct csv c, bool is_last, bool *ret_empty)
{
    const char *begin = c.rest.ptr;
    struct str cell = STR_NONE;
    size_t cells = 0;
    for (;;) {
        struct str before = c.rest;
        enum csv_end end = csv_next(&c, &cell);
        if (end == CSV_NONE)
            return 0;
        cells++;
        if (end == CSV_CELL)
            continue;
        size_t at = (size_t)(cell.ptr - before.ptr) + cell.len;
        at += at + 1 < before.len && before.ptr[at] == '\r';
        if (!is_last && (at >= before.len || before.ptr[at] != '\n'))
            return 0;
        *ret_empty = cells == 1 && cell.len == 0;
        return (size_t)(c.rest.ptr - begin);
    }
}

static void take_row(struct table *t, struct csv c)
{
    if (!t->has_head) {
        show_row(t, c);
        t->has_head = true;
        return;
    }
    if (t->rows >= t->skip && !t->is_full) {
        show_row(t, c);
        t->is_full = t->is_full || t->shown >= t->limit;
    }
    t->rows++;
}

static void take_rows(struct table *t, bool is_last)
{
    struct csv c = {{t->held.bytes, t->held.len}, t->separator};
    bool is_empty = false;
    size_t used = 0;
    for (size_t len; c.rest.len > 0 && (len = row_len(c, is_last, &is_empty)) > 0; used += len) {
        if (!is_empty)
            take_row(t, c);
        c.rest = (struct str){c.rest.ptr + len, c.rest.len - len};
    }
    if (used > 0) {
        memmove(t->held.bytes, t->held.bytes + used, t->held.len - used);
        t->held.len -= used;
        t->held.bytes[t->held.len] = '\0';
    }
    if (!is_last && t->held.len > TABLE_ROW_MAX)
        t->is_broken = t->is_full = true;
}

void table_feed(struct table *t, const char *bytes, size_t len)
{
    t->held.max = HELD_MAX;
    if (t->is_broken)
        return;
    buf_add(&t->held, bytes, len);
    if (t->held.failed)
        t->is_broken = t->is_full = true;
    if (t->is_broken || t->held.len == 0)
        return;
    if (!t->separator)
        t->separator = csv_begin((struct str){t->held.bytes, t->held.len}, t->is_tabs).separator;
    take_rows(t, /* is_last= */ false);
}

void table_end(struct table *t)
{
    if (t->held.len > 0 && !t->is_broken)
        take_rows(t, /* is_last= */ true);
}

void file_table_done(struct table *t)
{
    buf_done(&t->held);
}
