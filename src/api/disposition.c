#include "api/disposition.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

/* What means only itself between quotes, to everybody: some decode %XX there. */
static bool is_plain(unsigned char c)
{
    return c >= ' ' && c < 127 && !strchr("\"\\%", c);
}

static bool is_attr_char(unsigned char c)
{
    return c < 128 && (isalnum(c) || (c && strchr("!#$&+-.^_`|~", c)));
}

/* One underscore for a character, however many bytes it has. */
static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

void disposition_write(struct buf *out, const char *path, bool is_inline)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    bool is_same = true;
    buf_str(out, is_inline ? "inline; filename=\"" : "attachment; filename=\"");
    for (const char *at = name; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (is_plain(c))
            buf_add(out, at, 1);
        else if (!is_continuation(c))
            buf_str(out, "_");
        is_same = is_same && is_plain(c);
    }
    buf_str(out, "\"");
    if (is_same)
        return;
    buf_str(out, "; filename*=UTF-8''");
    for (const char *at = name; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (is_attr_char(c))
            buf_add(out, at, 1);
        else
            buf_fmt(out, "%%%02X", c);
    }
}
