#include "api/page.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/scope.h"
#include "base/utf8.h"

#define UNKNOWN "\xef\xbf\xbd" /* U+FFFD */

/* ---- escaping ---- */

static const char *entity(char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

/* U+202A to U+202E, U+2066 to U+2069: three bytes. */
static bool turns(const char *at, size_t left)
{
    const unsigned char *b = (const unsigned char *)at;
    if (left < 3 || b[0] != 0xe2)
        return false;
    return (b[1] == 0x80 && b[2] >= 0xaa && b[2] <= 0xae) ||
           (b[1] == 0x81 && b[2] >= 0xa6 && b[2] <= 0xa9);
}

static bool is_control(char c)
{
    unsigned char byte = (unsigned char)c;
    return (byte < ' ' && byte != '\n' && byte != '\t' && byte != '\r') || byte == 127;
}

void page_escape(struct buf *out, const char *bytes, size_t len)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * len + 1);
    utf8_clean(bytes, len, &clean);
    for (size_t at = 0; at < clean.len;) {
        const char *text = entity(clean.bytes[at]);
        bool is_turn = turns(clean.bytes + at, clean.len - at);
        if (text)
            buf_str(out, text);
        else if (is_turn || is_control(clean.bytes[at]))
            buf_str(out, UNKNOWN);
        else
            buf_add(out, clean.bytes + at, 1);
        at += is_turn ? 3 : 1;
    }
}

/* ---- blocks ---- */

static const char *find(const char *html, const char *mark, const char *block)
{
    char text[64];
    int len = snprintf(text, sizeof text, "<!--[%s%s]-->", mark, block);
    assert(len > 0 && (size_t)len < sizeof text);
    const char *at = strstr(html, text);
    assert(at && "the template has no such block");
    return *mark ? at : at + len;
}

static const char *value_of(const struct page_value *values, const char *name, size_t len)
{
    for (; values && values->name; values++)
        if (strlen(values->name) == len && memcmp(values->name, name, len) == 0)
            return values->text ? values->text : "";
    assert(false && "the template wants a value that was not given");
    return "";
}

void page_block(struct buf *out, const char *html, const char *block,
                const struct page_value *values)
{
    const char *at = find(html, "", block), *end = find(html, "/", block);
    while (at < end) {
        const char *open = memmem(at, (size_t)(end - at), "{{", 2);
        if (!open) {
            buf_add(out, at, (size_t)(end - at));
            return;
        }
        const char *close = strstr(open, "}}");
        assert(close && close < end);
        buf_add(out, at, (size_t)(open - at));
        const char *text = value_of(values, open + 2, (size_t)(close - open - 2));
        page_escape(out, text, strlen(text));
        at = close + 2;
    }
}

void page_size(struct buf *out, unsigned long long bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
    if (bytes < 1000) {
        buf_fmt(out, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
        return;
    }
    size_t unit = 0;
    unsigned long long tenths = (bytes + 50) / 100;
    while (tenths >= 10000 && unit + 1 < sizeof units / sizeof *units) {
        tenths = (tenths + 500) / 1000;
        unit++;
    }
    buf_fmt(out, "%llu.%llu %s", tenths / 10, tenths % 10, units[unit]);
}
