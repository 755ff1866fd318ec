#include "json/read.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* One pass over JSON text that knows only strings. Of text that is not JSON it says nothing useful,
 * but it always ends. */
struct scan {
    bool in_string;
    bool is_escaped; /* the byte before was a backslash that escapes this one */
};

/* Takes the next byte. True if it belongs to a string, its quotes included. */
static bool scan_byte(struct scan *s, char c)
{
    if (!s->in_string) {
        s->in_string = c == '"';
        return s->in_string;
    }
    if (s->is_escaped)
        s->is_escaped = false;
    else if (c == '\\')
        s->is_escaped = true;
    else if (c == '"')
        s->in_string = false;
    return true;
}

struct shape {
    size_t depth, values;
};

/* The deepest nesting of brackets outside strings, and how many values there are at most. For broken JSON it
 * may be wrong in both directions, but never less than how far a parser gets before it notices. */
static struct shape shape_of(const char *text, size_t len)
{
    struct scan s = {0};
    size_t depth = 0, deepest = 0, values = 1;
    for (size_t i = 0; i < len; i++) {
        if (scan_byte(&s, text[i]))
            continue;
        values += text[i] == '[' || text[i] == '{' || text[i] == ',';
        if (text[i] == '[' || text[i] == '{')
            depth++;
        else if ((text[i] == ']' || text[i] == '}') && depth > 0)
            depth--;
        if (depth > deepest)
            deepest = depth;
    }
    return (struct shape){deepest, values};
}

int json_read(const char *text, size_t len, struct json_t **ret, struct err *e)
{
    if (len > JSON_READ_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "JSON of %zu bytes; at most %d are read", len,
                       JSON_READ_SIZE_MAX);
    if (memchr(text, '\0', len)) /* jansson skips them, as if they were blanks */
        return err_set(e, ERR_INVALID, "not JSON: it contains a NUL byte");
    const struct shape shape = shape_of(text, len);
    if (shape.depth > JSON_READ_DEPTH_MAX)
        return err_set(e, ERR_LIMIT, "JSON nested deeper than %d levels", JSON_READ_DEPTH_MAX);
    if (shape.values > JSON_READ_VALUES_MAX)
        return err_set(e, ERR_LIMIT, "JSON with more than %d values", JSON_READ_VALUES_MAX);

    json_error_t why;
    json_t *value =
        json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!value)
        return err_set(e, ERR_INVALID, "not JSON: %s (line %d, column %d)", why.text, why.line,
                       why.column);
    *ret = value;
    return 0;
}

static bool is_line_separator(const char *at, size_t left)
{
    return left >= 3 && (memcmp(at, "\xe2\x80\xa8", 3) == 0 || memcmp(at, "\xe2\x80\xa9", 3) == 0);
}

/* Copies checked JSON without its blanks. In the text of a valid value every byte outside strings
 * is a blank or part of a token, and a separator can only stand inside a string. */
static void copy_compact(const char *text, size_t len, struct buf *out)
{
    struct scan s = {0};
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        bool in_string = scan_byte(&s, text[i]);
        if (in_string && is_line_separator(text + i, len - i)) {
            buf_add(out, text + from, i - from);
            buf_str(out, (unsigned char)text[i + 2] == 0xa8 ? "\\u2028" : "\\u2029");
            from = i + 3;
            i += 2;
        } else if (!in_string && memchr(" \t\r\n", text[i], 4)) {
            buf_add(out, text + from, i - from);
            from = i + 1;
        }
    }
    buf_add(out, text + from, len - from);
}

int json_compact(const char *text, size_t len, struct buf *out, struct err *e)
{
    json_t *value;
    if (json_read(text, len, &value, e))
        return -1;
    json_decref(value);
    copy_compact(text, len, out);
    return 0;
}
