#include "cli/table.h"

#include <assert.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/note.h"

enum { GAP = 2, WIDTH_DEFAULT = 80 };

static const char ellipsis[] = "\xe2\x80\xa6";

void text_locale(void)
{
    const char *set = setlocale(LC_CTYPE, "");
    if (!set || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
}

size_t terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col;
}

/* The next character: its bytes, and how many columns it takes. Never 0 bytes. */
static size_t next_char(const char *at, size_t len, size_t *ret_width)
{
    wchar_t c;
    mbstate_t state = {0};
    size_t n = mbrtowc(&c, at, len, &state);
    if (n == 0 || n > len) { /* not UTF-8, or no locale for it */
        *ret_width = 1;
        return 1;
    }
    int width = wcwidth(c);
    *ret_width = width > 0 ? (size_t)width : 0;
    return n;
}

size_t text_width(const char *text)
{
    size_t total = 0, width, len = strlen(text);
    for (size_t at = 0; at < len; total += width)
        at += next_char(text + at, len - at, &width);
    return total;
}

void text_cut(const char *text, size_t width, struct buf *out)
{
    size_t used = 0, char_width, len = strlen(text), at = 0;
    if (text_width(text) <= width) {
        buf_str(out, text);
        return;
    }
    while (at < len) {
        size_t n = next_char(text + at, len - at, &char_width);
        if (used + char_width + 1 > width)
            break;
        buf_add(out, text + at, n);
        at += n;
        used += char_width;
    }
    if (used < width)
        buf_str(out, ellipsis);
}

void table_done(struct table *t)
{
    for (size_t i = 0; i < t->filled; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = TABLE(t->columns, t->count);
}

static char *clean(const char *text)
{
    scoped(buf_done) struct buf out = BUF_INIT(3 * strlen(text) + 1);
    printable(text, strlen(text), &out);
    return out.len > 0 && !out.failed ? buf_take(&out, NULL) : strdup("");
}

void table_add(struct table *t, const char *value, const char *shown)
{
    char **grown = reallocarray(t->cells, t->filled + 2, sizeof *grown);
    if (grown)
        t->cells = grown;
    char *for_programs = clean(value), *for_eyes = clean(shown ? shown : value);
    if (!grown || !for_programs || !for_eyes) {
        free(for_programs);
        free(for_eyes);
        t->failed = true;
        return;
    }
    t->cells[t->filled++] = for_programs;
    t->cells[t->filled++] = for_eyes;
}

static size_t row_count(const struct table *t)
{
    return t->filled / 2 / t->count;
}

static const char *cell(const struct table *t, size_t row, size_t column, bool is_for_eyes)
{
    return t->cells[(row * t->count + column) * 2 + is_for_eyes];
}

static void print_for_programs(const struct table *t, struct buf *out)
{
    for (size_t row = 0; row < row_count(t); row++)
        for (size_t i = 0; i < t->count; i++)
            buf_fmt(out, "%s%s", cell(t, row, i, false), i + 1 < t->count ? "\t" : "\n");
}

static size_t total_width(const size_t *widths, size_t count)
{
    size_t total = GAP * (count - 1);
    for (size_t i = 0; i < count; i++)
        total += widths[i];
    return total;
}

/* Takes columns from the widest one that may be cut, until the row fits or none can give more. */
static void squeeze(const struct table *t, size_t width, size_t *widths)
{
    while (total_width(widths, t->count) > width) {
        size_t widest = t->count;
        for (size_t i = 0; i < t->count; i++)
            if (t->columns[i].may_be_cut && widths[i] > TABLE_CUT_MIN &&
                (widest == t->count || widths[i] > widths[widest]))
                widest = i;
        if (widest == t->count)
            return;
        widths[widest]--;
    }
}

static void measure(const struct table *t, size_t width, size_t *widths)
{
    for (size_t i = 0; i < t->count; i++) {
        widths[i] = text_width(t->columns[i].title);
        for (size_t row = 0; row < row_count(t); row++) {
            size_t needed = text_width(cell(t, row, i, true));
            widths[i] = needed > widths[i] ? needed : widths[i];
        }
    }
    squeeze(t, width, widths);
}

static void print_cell(const struct column *c, const char *text, size_t width, bool is_last,
                       struct buf *out)
{
    size_t used = text_width(text);
    int padding = used < width ? (int)(width - used) : 0;
    if (c->is_number)
        buf_fmt(out, "%*s", padding, "");
    text_cut(text, width, out);
    if (!c->is_number && !is_last)
        buf_fmt(out, "%*s", padding, "");
    buf_str(out, is_last ? "\n" : "  ");
}

int table_print(const struct table *t, size_t width, struct buf *out, struct err *e)
{
    size_t widths[TABLE_COLUMNS_MAX];
    assert(t->count > 0 && t->count <= TABLE_COLUMNS_MAX);
    if (t->failed)
        return err_set(e, ERR_NO_MEMORY, "make a table");
    assert(t->filled % (2 * t->count) == 0);
    if (width == 0) {
        print_for_programs(t, out);
        return buf_check(out, e);
    }
    measure(t, width, widths);
    for (size_t i = 0; i < t->count; i++)
        print_cell(&t->columns[i], t->columns[i].title, widths[i], i + 1 == t->count, out);
    for (size_t row = 0; row < row_count(t); row++)
        for (size_t i = 0; i < t->count; i++)
            print_cell(&t->columns[i], cell(t, row, i, true), widths[i], i + 1 == t->count, out);
    return buf_check(out, e);
}
