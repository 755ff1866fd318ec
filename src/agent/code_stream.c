#include "agent/code_stream.h"

#include <string.h>

#include <jansson.h>

#include "agent/model.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

void code_stream_init(struct code_stream *s)
{
    *s = (struct code_stream){.code = BUF_INIT(MODEL_TEXT_MAX), .all = BUF_INIT(MODEL_TEXT_MAX)};
}

void code_stream_done(struct code_stream *s)
{
    buf_done(&s->code);
    buf_done(&s->all);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- characters ---- */

static void add_point(struct code_stream *s, uint32_t point)
{
    char utf8[4];
    size_t len;
    if (point == 0 || (point >= 0xD800 && point < 0xE000))
        point = 0xFFFD;
    if (point < 0x80) {
        utf8[0] = (char)point;
        len = 1;
    } else if (point < 0x800) {
        utf8[0] = (char)(0xC0 | point >> 6);
        len = 2;
    } else if (point < 0x10000) {
        utf8[0] = (char)(0xE0 | point >> 12);
        len = 3;
    } else {
        utf8[0] = (char)(0xF0 | point >> 18);
        len = 4;
    }
    for (size_t i = 1; i < len; i++)
        utf8[i] = (char)(0x80 | (point >> 6 * (len - 1 - i) & 0x3F));
    buf_add(&s->code, utf8, len);
}

/* Half a pair whose other half did not come. */
static void flush_high(struct code_stream *s)
{
    if (s->high)
        add_point(s, 0xFFFD);
    s->high = 0;
}

static void add_unit(struct code_stream *s, uint32_t unit)
{
    bool is_low = unit >= 0xDC00 && unit < 0xE000;
    if (is_low && s->high) {
        add_point(s, 0x10000 + ((s->high - 0xD800) << 10) + (unit - 0xDC00));
        s->high = 0;
        return;
    }
    flush_high(s);
    if (unit >= 0xD800 && unit < 0xDC00)
        s->high = unit;
    else
        add_point(s, unit);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- inside the code ---- */

static void in_string(struct code_stream *s, char c)
{
    if (c == '\\') {
        s->state = CODE_ESCAPE;
        return;
    }
    flush_high(s);
    if (c == '"')
        s->state = CODE_OVER;
    else if (c == '\0')
        add_point(s, 0);
    else
        buf_add(&s->code, &c, 1);
}

static void in_escape(struct code_stream *s, char c)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(names, c) : NULL;
    s->state = CODE_STRING;
    if (c == 'u') {
        s->state = CODE_UNICODE;
        s->unit = 0;
        s->digits = 0;
        return;
    }
    flush_high(s);
    if (at) {
        buf_add(&s->code, &meant[at - names], 1);
        return;
    }
    buf_str(&s->code, "\\");
    in_string(s, c);
}

static void in_unicode(struct code_stream *s, char c)
{
    int digit = hex(c);
    if (digit >= 0) {
        s->unit = s->unit << 4 | (uint32_t)digit;
        if (++s->digits == 4) {
            s->state = CODE_STRING;
            add_unit(s, s->unit);
        }
        return;
    }
    flush_high(s); /* no escape: as it stands */
    buf_str(&s->code, "\\u");
    if (s->digits > 0)
        buf_fmt(&s->code, "%0*x", (int)s->digits, s->unit);
    s->state = CODE_STRING;
    in_string(s, c);
}

/* ---- around it ---- */

static void begin(struct code_stream *s, char c)
{
    if (is_blank(c))
        return;
    if (c == '{')
        s->state = CODE_KEY;
    else if (c == '"' || c == '`')
        s->state = CODE_WAIT;
    else
        s->state = CODE_RAW;
    if (s->state == CODE_RAW)
        buf_add(&s->code, &c, 1);
}

static void in_key(struct code_stream *s, char c)
{
    if (c == '\\') /* a name that is written in a strange way */
        s->state = CODE_WAIT;
    else if (c == '"')
        s->state = CODE_COLON;
    else if (s->key_len < sizeof s->key)
        s->key[s->key_len++] = c;
}

static void value(struct code_stream *s, char c)
{
    bool is_code = s->key_len == 4 && memcmp(s->key, "code", 4) == 0;
    if (is_blank(c))
        return;
    if (is_code) {
        s->state = c == '"' ? CODE_STRING : CODE_WAIT;
        return;
    }
    s->state = CODE_SKIP;
    s->depth = c == '{' || c == '[';
    s->is_quoted = c == '"';
    s->is_escaped = false;
    if (c == ',' || c == '}' || c == ']')
        s->state = CODE_WAIT;
}

static void skip(struct code_stream *s, char c)
{
    if (s->is_quoted) {
        if (!s->is_escaped && c == '"')
            s->is_quoted = false;
        s->is_escaped = !s->is_escaped && c == '\\';
    } else if (c == '"') {
        s->is_quoted = true;
    } else if (c == '{' || c == '[') {
        s->depth++;
    } else if (s->depth > 0) {
        s->depth -= c == '}' || c == ']';
    } else if (c == ',') {
        s->state = CODE_KEY;
    } else if (c == '}') {
        s->state = CODE_WAIT;
    }
}

static void step(struct code_stream *s, char c)
{
    switch (s->state) {
    case CODE_BEGIN: begin(s, c); break;
    case CODE_KEY:
        s->key_len = 0;
        if (!is_blank(c))
            s->state = c == '"' ? CODE_IN_KEY : CODE_WAIT;
        break;
    case CODE_IN_KEY: in_key(s, c); break;
    case CODE_COLON:
        if (!is_blank(c))
            s->state = c == ':' ? CODE_VALUE : CODE_WAIT;
        break;
    case CODE_VALUE: value(s, c); break;
    case CODE_SKIP: skip(s, c); break;
    case CODE_STRING: in_string(s, c); break;
    case CODE_ESCAPE: in_escape(s, c); break;
    case CODE_UNICODE: in_unicode(s, c); break;
    case CODE_RAW:
    case CODE_WAIT:
    case CODE_OVER: break;
    }
}

void code_stream_feed(struct code_stream *s, struct str piece)
{
    size_t i = 0;
    buf_add(&s->all, piece.ptr, piece.len);
    while (i < piece.len && s->state < CODE_RAW)
        step(s, piece.ptr[i++]);
    if (s->state == CODE_RAW)
        buf_add(&s->code, piece.ptr + i, piece.len - i);
}

/* ---- what only the end tells ---- */

static void add_json(struct code_stream *s, const json_t *value)
{
    if (json_is_string(value))
        buf_add(&s->code, json_string_value(value), json_string_length(value));
}

/* An array of lines. */
static void add_lines(struct code_stream *s, const json_t *lines)
{
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line)
    {
        if (i > 0 && s->code.len > 0 && s->code.bytes[s->code.len - 1] != '\n')
            buf_str(&s->code, "\n");
        add_json(s, line);
    }
}

/* The one string among the members of an object; NULL: there is none, or there are several. */
static const json_t *only_string(const json_t *object)
{
    const char *key;
    json_t *member;
    const json_t *found = NULL;
    json_object_foreach((json_t *)object, key, member)
    {
        if (json_is_string(member) && found)
            return NULL;
        if (json_is_string(member))
            found = member;
    }
    return found;
}

/* True: it says what the code is. */
static bool add_object(struct code_stream *s, const json_t *object)
{
    static const char *const names[] = {"code", "source", "script", "input"};
    const json_t *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = json_object_get(object, names[i]);
    if (!found)
        found = only_string(object);
    add_json(s, found);
    add_lines(s, found);
    return found || json_object_size(object) == 0;
}

static bool add_parsed(struct code_stream *s)
{
    scoped(json_decrefp) json_t *json = NULL;
    struct err e = {0}; /* then it is no JSON */
    if (json_read(s->all.bytes, s->all.len, &json, &e))
        return false;
    if (json_is_object(json))
        return add_object(s, json);
    add_json(s, json);
    return json_is_string(json);
}

/* The text itself, without blanks around it and without the lines of a fence. */
static void add_bare(struct code_stream *s)
{
    struct str text = {s->all.bytes, s->all.len};
    for (; text.len > 0 && is_blank(*text.ptr); text.len--)
        text.ptr++;
    while (text.len > 0 && is_blank(text.ptr[text.len - 1]))
        text.len--;
    if (text.len >= 3 && memcmp(text.ptr, "```", 3) == 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t used = end ? (size_t)(end - text.ptr) + 1 : text.len;
        text = (struct str){text.ptr + used, text.len - used};
        if (text.len >= 3 && memcmp(text.ptr + text.len - 3, "```", 3) == 0)
            text.len -= 3;
    }
    buf_add(&s->code, text.ptr, text.len);
}

void code_stream_end(struct code_stream *s)
{
    bool is_open = s->state == CODE_STRING || s->state == CODE_ESCAPE || s->state == CODE_UNICODE;
    if (is_open)
        flush_high(s);
    if (!is_open && s->state != CODE_BEGIN && s->state < CODE_OVER && s->state != CODE_RAW &&
        !add_parsed(s))
        add_bare(s);
    s->state = CODE_OVER;
}
