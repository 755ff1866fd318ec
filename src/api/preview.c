#include "api/preview.h"

#include <string.h>

#include "base/filetype.h"
#include "base/utf8.h"

static bool ends_in(const char *type, const char *end)
{
    size_t len = strlen(type), end_len = strlen(end);
    return len >= end_len && strcmp(type + len - end_len, end) == 0;
}

static bool is_picture(const char *type)
{
    return strcmp(type, "image/png") == 0 || strcmp(type, "image/jpeg") == 0 ||
           strcmp(type, "image/gif") == 0 || strcmp(type, "image/webp") == 0;
}

/* Also HTML and the like: as text it does nothing. */
static bool is_text(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || strcmp(type, "application/json") == 0 ||
           strcmp(type, "application/xml") == 0 || strcmp(type, "application/javascript") == 0 ||
           strcmp(type, "application/yaml") == 0 || strcmp(type, "application/x-ndjson") == 0 ||
           strcmp(type, "application/toml") == 0 || strcmp(type, "application/sql") == 0 ||
           strcmp(type, "image/svg+xml") == 0 || ends_in(type, "+json") || ends_in(type, "+xml");
}

enum preview preview_of(const char *path)
{
    const char *type = filetype_of(path);
    if (is_picture(type))
        return PREVIEW_PICTURE;
    if (strcmp(type, "text/csv") == 0 || strcmp(type, "text/tab-separated-values") == 0)
        return PREVIEW_TABLE;
    return is_text(type) ? PREVIEW_TEXT : PREVIEW_NONE;
}

const char *preview_type(const char *path)
{
    const char *type = filetype_of(path);
    switch (preview_of(path)) {
    case PREVIEW_PICTURE: return type;
    case PREVIEW_TEXT:
    case PREVIEW_TABLE: return "text/plain";
    case PREVIEW_NONE: break;
    }
    return NULL;
}

/* ---- CSV ---- */

static size_t count(struct str line, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < line.len; i++)
        n += line.ptr[i] == c;
    return n;
}

struct csv csv_begin(struct str text, bool is_tabs)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that some programs put in front */
    if (text.len >= 3 && memcmp(text.ptr, mark, 3) == 0)
        text = (struct str){text.ptr + 3, text.len - 3};
    const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
    struct str line = {text.ptr, end ? (size_t)(end - text.ptr) : text.len};
    char best = is_tabs ? '\t' : ',';
    static const char others[] = {';', '\t'};
    for (size_t i = 0; !is_tabs && i < sizeof others; i++)
        if (count(line, others[i]) > count(line, best))
            best = others[i];
    return (struct csv){text, best};
}

/* How long the cell is that begins there. Inside quotes separators and line ends are text. */
static size_t cell_len(struct str s, char separator)
{
    bool is_quoted = s.len > 0 && s.ptr[0] == '"', is_inside = is_quoted;
    size_t at = is_quoted;
    for (; at < s.len; at++) {
        if (is_quoted && s.ptr[at] == '"')
            is_inside = !is_inside; /* twice, for a doubled one */
        else if (!is_inside && (s.ptr[at] == separator || s.ptr[at] == '\n'))
            break;
    }
    return at;
}

enum csv_end csv_next(struct csv *c, struct str *ret)
{
    if (c->rest.len == 0)
        return CSV_NONE;
    size_t len = cell_len(c->rest, c->separator);
    bool is_row = len == c->rest.len || c->rest.ptr[len] == '\n';
    *ret = (struct str){c->rest.ptr, len};
    if (is_row && len > 0 && c->rest.ptr[len - 1] == '\r')
        ret->len--;
    size_t used = len < c->rest.len ? len + 1 : len;
    c->rest = (struct str){c->rest.ptr + used, c->rest.len - used};
    return is_row ? CSV_ROW : CSV_CELL;
}

size_t csv_text(struct str cell, char *to, size_t size)
{
    bool is_quoted = cell.len > 0 && cell.ptr[0] == '"';
    size_t len = 0;
    for (size_t i = is_quoted; i < cell.len && len + 1 < size; i++) {
        if (is_quoted && cell.ptr[i] == '"' && (++i >= cell.len || cell.ptr[i] != '"'))
            if (i >= cell.len)
                break;
        to[len++] = cell.ptr[i];
    }
    if (len + 1 == size)
        len = utf8_cut(to, len);
    to[len] = '\0';
    return len;
}
