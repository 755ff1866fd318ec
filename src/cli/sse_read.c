#include "cli/sse_read.h"

#include <string.h>

#include "base/err.h"

void sse_done(struct sse_reader *r)
{
    size_t max = r->line.max;
    buf_done(&r->line);
    buf_done(&r->text);
    *r = SSE_READER(max);
}

/* The memory stays: the next line will need about as much. */
static void empty(struct buf *b)
{
    b->len = 0;
    if (b->bytes)
        b->bytes[0] = '\0';
}

static int dispatch(struct sse_reader *r, const struct sse_sink *sink, struct err *e)
{
    int failed = 0;
    if (r->has_text) {
        r->text.bytes[--r->text.len] = '\0'; /* the line feed after the last line */
        const struct sse_event event = {.name = *r->name ? r->name : "message",
                                        .id = r->id,
                                        .text = r->text.bytes,
                                        .len = r->text.len};
        failed = sink->put(sink->arg, &event, e);
    }
    empty(&r->text);
    r->has_text = false;
    r->name[0] = '\0';
    return failed;
}

static int set_word(char word[SSE_WORD_MAX + 1], const char *value, size_t len, struct err *e)
{
    if (len > SSE_WORD_MAX)
        return err_set(e, ERR_PROTOCOL, "an event with a name or id of %zu bytes", len);
    memcpy(word, value, len);
    word[len] = '\0';
    return 0;
}

/* Digits and nothing else, as the standard wants it; what is more than an hour is none. */
static void set_retry(struct sse_reader *r, const char *value, size_t len)
{
    enum { RETRY_MAX_MS = 3600000 };
    unsigned ms = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        ms = ms * 10 + (unsigned)(value[i] - '0');
        if (ms > RETRY_MAX_MS)
            return;
    }
    if (len > 0)
        r->retry_ms = ms;
}

static bool is_field(const char *line, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(line, name, len) == 0;
}

static int take_field(struct sse_reader *r, const char *line, size_t len, struct err *e)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len;
    size_t skip = colon ? name_len + 1 : len;
    skip += skip < len && line[skip] == ' ';
    const char *value = line + skip;
    size_t value_len = len - skip;

    if (is_field(line, name_len, "data")) {
        buf_add(&r->text, value, value_len);
        buf_str(&r->text, "\n");
        r->has_text = true;
        return r->text.failed
                   ? err_set(e, ERR_PROTOCOL, "an event larger than %zu bytes", r->text.max)
                   : 0;
    }
    if (is_field(line, name_len, "event") && !memchr(value, '\0', value_len))
        return set_word(r->name, value, value_len, e);
    if (is_field(line, name_len, "id") && !memchr(value, '\0', value_len))
        return set_word(r->id, value, value_len, e);
    if (is_field(line, name_len, "retry"))
        set_retry(r, value, value_len);
    return 0; /* comments, and what nobody knows yet */
}

static int take_line(struct sse_reader *r, const struct sse_sink *sink, struct err *e)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *line = r->line.len ? r->line.bytes : "";
    size_t len = r->line.len, skip = 0;
    if (!r->is_begun && len >= 3 && memcmp(line, mark, 3) == 0)
        skip = 3;
    r->is_begun = true;
    int failed = len == skip ? dispatch(r, sink, e) : take_field(r, line + skip, len - skip, e);
    empty(&r->line);
    return failed;
}

/* How many bytes there are before the end of the line, or all. */
static size_t line_part(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    size_t part = lf ? (size_t)(lf - bytes) : len;
    const char *cr = memchr(bytes, '\r', part);
    return cr ? (size_t)(cr - bytes) : part;
}

int sse_feed(struct sse_reader *r, const char *bytes, size_t len, const struct sse_sink *sink,
             struct err *e)
{
    size_t at = 0;
    while (at < len) {
        if (r->is_after_cr && bytes[at] == '\n')
            at++;
        r->is_after_cr = false;
        size_t part = line_part(bytes + at, len - at);
        buf_add(&r->line, bytes + at, part);
        if (r->line.failed)
            return err_set(e, ERR_PROTOCOL, "a line larger than %zu bytes", r->line.max);
        at += part;
        if (at == len)
            break;
        r->is_after_cr = bytes[at++] == '\r';
        if (take_line(r, sink, e))
            return -1;
    }
    return 0;
}
