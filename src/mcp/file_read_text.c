/* file_read_text.c -- read_file of what is text: lines with their numbers, and CSV as a table. */
#include <inttypes.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_lines.h"
#include "mcp/file_read.h"
#include "mcp/file_source.h"
#include "mcp/file_table.h"
#include "mcp/mcp_int.h"
#include "json/write.h"

enum { BODY_MAX = REPLY_TEXT_MAX - FILE_ROOM };

/* "first to last of total", of lines or rows. */
static void put_span(struct buf *text, const char *what, const struct read_part *p)
{
    if (p->count == 0 && p->total == 0)
        buf_fmt(text, ", no %s", what);
    else if (p->count == 0)
        buf_fmt(text, ", no %s after the first %" PRIu64, what, p->total);
    else
        buf_fmt(text, ", %s %" PRIu64 "-%" PRIu64, what, p->first, p->first + p->count - 1);
    if (p->count && p->total)
        buf_fmt(text, " of %" PRIu64, p->total);
}

static void put_notes(struct buf *text, const struct file_source *s, uint64_t crlf)
{
    if (s->decoder.encoding == ENCODING_LATIN1)
        buf_str(text, ".\nIt is not UTF-8: shown as Latin-1 (Windows-1252), which may be wrong for "
                      "some letters");
    else if (s->decoder.encoding != ENCODING_UTF8)
        buf_fmt(text, ", %s", encoding_name(s->decoder.encoding));
    if (crlf)
        buf_str(text, ", lines end with CRLF");
    buf_str(text, ".\n");
}

static void put_rest(struct buf *text, const struct file_source *s, const struct read_part *p)
{
    if (s->is_given_up && !p->count)
        buf_fmt(
            text,
            "[the first %d MiB were looked through and do not reach that far: use run_code, which "
            "reads /mnt/data/%s]\n",
            FILE_SCAN_MAX >> 20, s->f->path);
    else if (p->has_more)
        buf_fmt(text, "[there is more: call again with offset=%" PRIu64 "]\n",
                p->first + p->count - 1);
}

static void write_encoding(struct mcp_call *m, const struct file_source *s)
{
    jw_key(&m->reply.w, "encoding");
    jw_text(&m->reply.w, encoding_name(s->decoder.encoding));
}

/* ---- lines ---- */

static void tell_lines(struct file_source *s, const struct lines *l, const struct buf *body)
{
    struct mcp_call *m = s->m;
    const struct read_part part = {.first = l->skip + 1,
                                   .count = l->shown,
                                   .total = s->is_over ? l->count : 0,
                                   .has_more = !s->is_over || l->count > l->skip + l->shown};
    read_head(m, s->f);
    put_span(&m->reply.text, "lines", &part);
    put_notes(&m->reply.text, s, l->crlf);
    buf_add(&m->reply.text, body->bytes, body->len);
    put_rest(&m->reply.text, s, &part);
    read_tail(m, s->f, "text");
    write_encoding(m, s);
    read_write_part(m, &part);
}

int read_text(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    const struct read_args *in = m->in;
    scoped(source_done) struct file_source s = SOURCE(m, f);
    scoped(buf_done) struct buf body = BUF_INIT(REPLY_TEXT_MAX);
    struct lines l = {.skip = (uint64_t)in->offset,
                      .limit = in->limit ? (uint64_t)in->limit : READ_LINES,
                      .text_max = BODY_MAX,
                      .out = &body};
    while (!l.is_full && !s.is_over && !s.is_given_up) {
        struct str piece;
        if (source_next(&s, &piece, e))
            return -1;
        if (s.decoder.encoding == ENCODING_BINARY)
            return read_nothing(m, f, NULL, e);
        lines_feed(&l, piece.ptr, piece.len);
    }
    if (s.is_over)
        lines_end(&l);
    else if (s.is_given_up)
        lines_give_up(&l);
    if (buf_check(&body, e))
        return -1;
    tell_lines(&s, &l, &body);
    return 0;
}

/* ---- rows ---- */

static void tell_rows(struct file_source *s, const struct table *t, const struct buf *body)
{
    struct mcp_call *m = s->m;
    struct buf *text = &m->reply.text;
    const struct read_part part = {.first = t->skip + 1,
                                   .count = t->shown,
                                   .total = s->is_over && !t->is_broken ? t->rows : 0,
                                   .has_more = !t->is_broken &&
                                               (!s->is_over || t->rows > t->skip + t->shown)};
    read_head(m, s->f);
    buf_fmt(text, ", %zu columns", t->columns);
    put_span(text, "rows", &part);
    put_notes(text, s, 0);
    buf_add(text, body->bytes, body->len);
    if (t->is_broken)
        buf_str(
            text,
            "[the next row has no end within 1 MB: a quote may be missing; as=\"text\" shows the "
            "lines as they are]\n");
    put_rest(text, s, &part);
    read_tail(m, s->f, "table");
    write_encoding(m, s);
    jw_key(&m->reply.w, "columns");
    jw_u64(&m->reply.w, t->columns);
    read_write_part(m, &part);
}

int read_table(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    const struct read_args *in = m->in;
    scoped(source_done) struct file_source s = SOURCE(m, f);
    scoped(buf_done) struct buf body = BUF_INIT(REPLY_TEXT_MAX);
    scoped(file_table_done) struct table t = {.skip = (uint64_t)in->offset,
                                              .limit = in->limit ? (uint64_t)in->limit : READ_ROWS,
                                              .text_max = BODY_MAX,
                                              .out = &body};
    while (!t.is_full && !s.is_over && !s.is_given_up) {
        struct str piece;
        if (source_next(&s, &piece, e))
            return -1;
        if (s.decoder.encoding == ENCODING_BINARY)
            return read_nothing(m, f, NULL, e);
        table_feed(&t, piece.ptr, piece.len);
    }
    if (s.is_over)
        table_end(&t);
    if (buf_check(&body, e))
        return -1;
    tell_rows(&s, &t, &body);
    return 0;
}
