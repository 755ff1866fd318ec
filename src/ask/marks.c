#include "ask/marks.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/file_object.h"

enum { URL_MAX = 16 << 10 };

void marks_done(struct marks *m)
{
    json_decref(m->all);
    m->all = NULL;
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "keep references");
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));
    return v > 0 ? (uint64_t)v : 0;
}

/* ---- which there are ---- */

static bool is_same(const json_t *one, const struct mark_place *p)
{
    return strcmp(text_of(one, "path"), p->path) == 0 &&
           strcmp(text_of(one, "workspace_id"), p->workspace) == 0 &&
           strcmp(text_of(one, "where"), p->where) == 0 &&
           number_of(one, "version") == p->version && number_of(one, "page") == p->page;
}

static int append(struct marks *m, const struct mark_place *p, struct err *e)
{
    json_t *one = json_pack("{s:s, s:s, s:I, s:I, s:s}", "workspace_id", p->workspace, "path",
                            p->path, "version", (json_int_t)p->version, "page", (json_int_t)p->page,
                            "where", p->where);
    return one && json_array_append_new(m->all, one) == 0 ? 0 : no_memory(e);
}

int marks_add(struct marks *m, const struct mark_place *place, size_t *ret_number, struct err *e)
{
    size_t i;
    json_t *one;
    if (!m->all)
        m->all = json_array();
    if (!m->all)
        return no_memory(e);
    json_array_foreach(m->all, i, one)
    {
        if (!is_same(one, place))
            continue;
        *ret_number = i + 1;
        return 0;
    }
    if (i >= MARKS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d places were looked at in one conversation",
                       MARKS_MAX);
    if (append(m, place, e))
        return -1;
    *ret_number = json_array_size(m->all);
    return 0;
}

int marks_read(struct marks *m, const json_t *from, struct err *e)
{
    size_t i;
    json_t *one;
    json_array_foreach(from, i, one)
    {
        const struct mark_place place = {.workspace = text_of(one, "workspace_id"),
                                         .path = text_of(one, "path"),
                                         .version = number_of(one, "version"),
                                         .page = number_of(one, "page"),
                                         .where = text_of(one, "where")};
        size_t number;
        if (i < MARKS_MAX && marks_add(m, &place, &number, e))
            return -1;
    }
    return 0;
}

json_t *marks_write(const struct marks *m)
{
    return m->all ? json_incref(m->all) : json_array();
}

/* ---- where they stand ---- */

struct citing {
    const struct marks *marks;
    struct str text;
    json_t *citations, *unknown;
};

/* "page" for a PDF's viewer. */
static json_t *url_of(const json_t *one)
{
    scoped(buf_done) struct buf url = BUF_INIT(URL_MAX);
    file_url(&url, text_of(one, "workspace_id"), text_of(one, "path"), number_of(one, "version"));
    if (number_of(one, "page"))
        buf_fmt(&url, "#page=%" PRIu64, number_of(one, "page"));
    return url.failed ? json_string("") : json_stringn(url.bytes, url.len);
}

static int cite(struct citing *c, size_t number, size_t start, size_t end, struct err *e)
{
    const json_t *one = json_array_get(c->marks->all, number - 1);
    json_t *citation =
        json_pack("{s:s, s:I, s:s, s:I, s:o, s:I, s:I}", "kind", "file", "mark", (json_int_t)number,
                  "path", text_of(one, "path"), "version", (json_int_t)number_of(one, "version"),
                  "url", url_of(one), "start", (json_int_t)start, "end", (json_int_t)end);
    if (!citation || json_array_append_new(c->citations, citation))
        return no_memory(e);
    if (number_of(one, "page"))
        (void)json_object_set(citation, "page", json_object_get(one, "page"));
    if (*text_of(one, "where"))
        (void)json_object_set(citation, "where", json_object_get(one, "where"));
    return 0;
}

static int miss(struct citing *c, size_t number, struct err *e)
{
    size_t i;
    json_t *one;
    json_array_foreach(c->unknown, i, one)
    {
        if (json_integer_value(one) == (json_int_t)number)
            return 0;
    }
    return json_array_append_new(c->unknown, json_integer((json_int_t)number)) ? no_memory(e) : 0;
}

/* One number between brackets, which are at bytes `from` and code points [start, end). */
static int note(struct citing *c, size_t number, size_t start, size_t end, struct err *e)
{
    if (json_array_size(c->citations) + json_array_size(c->unknown) >= MARKS_CITED_MAX)
        return 0;
    return number > 0 && number <= json_array_size(c->marks->all) ? cite(c, number, start, end, e)
                                                                  : miss(c, number, e);
}

/* The length of "[1]" or "[1, 2]" at `at`; 0: there is none. */
static size_t mark_len(struct str t, size_t at)
{
    size_t digits = 0, i = at + 1;
    for (; i < t.len && strchr("0123456789, ", t.ptr[i]) && t.ptr[i]; i++) {
        bool is_digit = t.ptr[i] >= '0' && t.ptr[i] <= '9';
        digits = is_digit ? digits + 1 : 0;
        if (digits > 4 || (i == at + 1 && !is_digit))
            return 0;
    }
    bool is_closed = digits > 0 && i < t.len && t.ptr[i] == ']';
    bool is_link = is_closed && i + 1 < t.len && (t.ptr[i + 1] == '(' || t.ptr[i + 1] == ':');
    return is_closed && !is_link ? i + 1 - at : 0;
}

static int take_all(struct citing *c, size_t at, size_t len, size_t start, struct err *e)
{
    size_t number = 0;
    for (size_t i = at + 1; i < at + len; i++) {
        char ch = c->text.ptr[i];
        if (ch >= '0' && ch <= '9') {
            number = number * 10 + (size_t)(ch - '0');
            continue;
        }
        bool is_end = c->text.ptr[i - 1] >= '0' && c->text.ptr[i - 1] <= '9';
        if (is_end && note(c, number, start, start + len, e))
            return -1;
        number = 0;
    }
    return 0;
}

static int scan(struct citing *c, struct err *e)
{
    bool is_code = false;
    size_t points = 0;
    for (size_t at = 0; at < c->text.len;) {
        char ch = c->text.ptr[at];
        size_t len = ch == '[' && !is_code ? mark_len(c->text, at) : 0;
        if (len) {
            if (take_all(c, at, len, points, e))
                return -1;
            at += len;
            points += len; /* a mark is ASCII */
            continue;
        }
        if (ch == '`')
            is_code = !is_code;
        points += ((unsigned char)ch & 0xc0) != 0x80;
        at++;
    }
    return 0;
}

int marks_cite(const struct marks *m, struct str text, json_t **ret_citations, json_t **ret_unknown,
               struct err *e)
{
    struct citing c = {
        .marks = m, .text = text, .citations = json_array(), .unknown = json_array()};
    int failed = c.citations && c.unknown ? scan(&c, e) : no_memory(e);
    if (failed) {
        json_decref(c.citations);
        json_decref(c.unknown);
        return -1;
    }
    *ret_citations = c.citations;
    *ret_unknown = c.unknown;
    return 0;
}
