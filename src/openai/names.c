#include "openai/names.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/utf8.h"

enum { RAW_MAX = 16 << 10, ENDING_MAX = 32 };

/* The three that forms escape in names, and nothing else: "100%25.csv" is what it says. */
static int escaped(const char *at)
{
    if (at[0] != '%' || !at[1] || !at[2])
        return -1;
    char digit = (char)toupper((unsigned char)at[2]);
    if (at[1] == '2' && digit == '2')
        return '"';
    return at[1] == '0' && (digit == 'D' || digit == 'A') ? ' ' : -1;
}

static void unescape(const char *raw, struct buf *out)
{
    for (; *raw; raw++) {
        int byte = escaped(raw);
        char c = byte >= 0 ? (char)byte : *raw;
        if ((unsigned char)c < ' ' || c == 127)
            c = '_';
        buf_add(out, &c, 1);
        raw += byte >= 0 ? 2 : 0;
    }
}

static const char *last_piece(const char *name)
{
    const char *slash = strrchr(name, '/');
    name = slash ? slash + 1 : name;
    const char *back = strrchr(name, '\\');
    return back ? back + 1 : name;
}

/* Shortens the stem, so that "long name.csv" is still a .csv. */
static void cut(const char *name, size_t len, char ret[NAME_SIZE])
{
    const char *dot = strrchr(name, '.');
    size_t ending = dot && dot != name ? strlen(dot) : 0;
    if (ending > ENDING_MAX)
        ending = 0;
    size_t stem = len - ending, room = NAME_SIZE - 1 - ending;
    stem = stem > room ? utf8_cut(name, room) : stem;
    memcpy(ret, name, stem);
    memcpy(ret + stem, name + len - ending, ending);
    ret[stem + ending] = '\0';
}

void name_plain(const char *raw, char ret[NAME_SIZE])
{
    scoped(buf_done) struct buf text = BUF_INIT(RAW_MAX);
    scoped(buf_done) struct buf clean = BUF_INIT(4 * RAW_MAX);
    unescape(last_piece(raw), &text);
    if (!text.failed && text.len)
        utf8_clean(text.bytes, text.len, &clean);
    const char *name = clean.bytes && !clean.failed ? clean.bytes : "";
    cut(name, strlen(name), ret);
    if (!*ret || strcmp(ret, ".") == 0 || strcmp(ret, "..") == 0)
        memcpy(ret, "unknown_file", sizeof "unknown_file");
}
