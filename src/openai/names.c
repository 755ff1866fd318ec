#include "openai/names.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
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

/* Of ".csv", its dot included; 0: there is none. */
static size_t ending_len(const char *name)
{
    const char *dot = strrchr(name, '.');
    const size_t len = dot && dot != name ? strlen(dot) : 0;
    return len > ENDING_MAX ? 0 : len;
}

/* Shortens the stem, so that "long name.csv" is still a .csv. */
static void cut(const char *name, size_t len, char ret[NAME_SIZE])
{
    const size_t ending = ending_len(name);
    size_t stem = len - ending, room = NAME_SIZE - 1 - ending;
    stem = stem > room ? utf8_cut(name, room) : stem;
    memcpy(ret, name, stem);
    memcpy(ret + stem, name + len - ending, ending);
    ret[stem + ending] = '\0';
}

/* Those above ASCII, which text of another encoding is full of; every other character stays. */
static void replace_controls(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++) {
        const bool is_control = (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0;
        *to++ = is_control ? '_' : *at;
        at += is_control;
    }
    *to = '\0';
}

void name_plain(const char *raw, char ret[NAME_SIZE])
{
    scoped(buf_done) struct buf text = BUF_INIT(RAW_MAX);
    scoped(buf_done) struct buf clean = BUF_INIT(4 * RAW_MAX);
    unescape(last_piece(raw), &text);
    if (!text.failed && text.len)
        utf8_clean(text.bytes, text.len, &clean);
    if (clean.bytes && !clean.failed)
        replace_controls(clean.bytes);
    const char *name = clean.bytes && !clean.failed ? clean.bytes : "";
    cut(name, strlen(name), ret);
    if (!*ret || strcmp(ret, ".") == 0 || strcmp(ret, "..") == 0)
        memcpy(ret, "unknown_file", sizeof "unknown_file");
}

/* "a.csv" with 2 becomes "a-2.csv". */
static void number(const char *name, unsigned index, char ret[NAME_SIZE])
{
    char mark[16];
    (void)snprintf(mark, sizeof mark, "-%u", index);
    const size_t ending = ending_len(name), stem = strlen(name) - ending;
    const size_t room = NAME_SIZE - 1 - ending - strlen(mark);
    (void)snprintf(ret, NAME_SIZE, "%.*s%s%s", (int)(stem > room ? utf8_cut(name, room) : stem),
                   name, mark, name + stem);
}

int name_give(struct json_t *given, const char *source, char name[NAME_SIZE], struct err *e)
{
    char tried[NAME_SIZE];
    const char *owner;
    memcpy(tried, name, strlen(name) + 1);
    for (unsigned index = 2;
         (owner = json_string_value(json_object_get(given, tried))) && strcmp(owner, source) != 0;
         index++)
        number(name, index, tried);
    if (json_object_set_new(given, tried, json_string(source)))
        return err_set(e, ERR_NO_MEMORY, "name a file");
    memcpy(name, tried, strlen(tried) + 1);
    return 0;
}
