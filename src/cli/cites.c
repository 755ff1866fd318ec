#include "cli/cites.h"

#include <string.h>

#include "base/buf.h"
#include "cli/note.h"
#include "cli/pick.h"

static void add_span(struct buf *to, const json_t *cite, const char *key, const char *one)
{
    const json_t *span = json_object_get(cite, key);
    json_int_t first = json_integer_value(json_array_get(span, 0));
    json_int_t last = json_integer_value(json_array_get(span, 1));
    if (!span)
        return;
    if (first == last)
        buf_fmt(to, ", %s %lld", one, (long long)first);
    else
        buf_fmt(to, ", %ss %lld-%lld", one, (long long)first, (long long)last);
}

static void add_number(struct buf *to, const json_t *cite, const char *key)
{
    const json_t *number = json_object_get(cite, key);
    if (json_is_integer(number))
        buf_fmt(to, ", %s %lld", key, (long long)json_integer_value(number));
}

static void add_text(struct buf *to, const json_t *cite, const char *key, const char *before)
{
    const char *text = pick_text(cite, key);
    if (!*text)
        return;
    buf_str(to, before);
    printable(text, strlen(text), to);
}

void cite_add(struct buf *to, const struct json_t *cite)
{
    add_number(to, cite, "page");
    add_number(to, cite, "slide");
    add_number(to, cite, "cell");
    add_text(to, cite, "part", ", ");
    add_text(to, cite, "sheet", ", sheet ");
    add_text(to, cite, *pick_text(cite, "cell") ? "cell" : "range", " ");
    add_span(to, cite, "lines", "line");
    add_span(to, cite, "rows", "row");
    add_span(to, cite, "paragraphs", "paragraph");
    add_text(to, cite, "heading", " below ");
}
