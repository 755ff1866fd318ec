/* reply.c -- what a tool answers with, as the client of its version understands it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "mcp/mcp_int.h"

static void next_block(struct mcp_reply *r)
{
    if (r->blocks.len)
        buf_str(&r->blocks, ",");
}

void reply_image(struct mcp_reply *r, const char *mime, const void *bytes, size_t len)
{
    next_block(r);
    struct json_writer w = JSON_WRITER(&r->blocks);
    jw_object(&w);
    jw_key(&w, "type");
    jw_text(&w, "image");
    jw_key(&w, "data");
    jw_base64(&w, bytes, len);
    jw_key(&w, "mimeType");
    jw_text(&w, mime);
    jw_end_object(&w);
    r->images++;
}

static void put_optional(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

void reply_link(struct mcp_reply *r, const struct reply_link *link)
{
    if (r->is_old) { /* the kind is not known to that client */
        buf_fmt(&r->text, "%s: %s\n", link->name, link->uri);
        return;
    }
    next_block(r);
    struct json_writer w = JSON_WRITER(&r->blocks);
    jw_object(&w);
    jw_key(&w, "type");
    jw_text(&w, "resource_link");
    jw_key(&w, "uri");
    jw_text(&w, link->uri);
    jw_key(&w, "name");
    jw_text(&w, link->name);
    put_optional(&w, "title", link->title);
    put_optional(&w, "mimeType", link->mime);
    if (link->size >= 0) {
        jw_key(&w, "size");
        jw_i64(&w, link->size);
    }
    jw_end_object(&w);
}

void reply_resource(struct mcp_reply *r, const char *uri, const char *mime, const void *bytes,
                    size_t len)
{
    next_block(r);
    struct json_writer w = JSON_WRITER(&r->blocks);
    jw_object(&w);
    jw_key(&w, "type");
    jw_text(&w, "resource");
    jw_key(&w, "resource");
    jw_object(&w);
    jw_key(&w, "uri");
    jw_text(&w, uri);
    put_optional(&w, "mimeType", mime);
    jw_key(&w, "blob");
    jw_base64(&w, bytes, len);
    jw_end_object(&w);
    jw_end_object(&w);
}

void reply_begin(struct mcp_call *m)
{
    m->reply = (struct mcp_reply){.text = BUF_INIT(4 << 20),
                                  .blocks = BUF_INIT(MCP_RESULT_MAX),
                                  .structured = BUF_INIT(1 << 20),
                                  .is_old = strcmp(m->version, "2025-06-18") < 0};
    m->reply.w = JSON_WRITER(&m->reply.structured);
    jw_object(&m->reply.w);
}

void reply_done(struct mcp_call *m)
{
    buf_done(&m->reply.text);
    buf_done(&m->reply.blocks);
    buf_done(&m->reply.structured);
}

/* A tool that could not: what was wrong, and what to do next. */
void reply_error(struct mcp_call *m, const struct err *e)
{
    reply_done(m);
    reply_begin(m);
    m->reply.is_error = true;
    buf_fmt(&m->reply.text, "Error: %s", e->text);
    if (*m->hint && !strstr(m->hint, "openapi"))
        buf_fmt(&m->reply.text, "\n%s", m->hint);
}

/* The last byte before `at` that begins a character. */
static size_t whole_characters(const char *text, size_t at)
{
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void put_text(struct json_writer *w, const struct buf *text)
{
    static const char cut[] = "\n[the rest is left out: ask for less at once]";
    jw_object(w);
    jw_key(w, "type");
    jw_text(w, "text");
    jw_key(w, "text");
    if (text->failed) {
        jw_text(w, cut + 1);
    } else if (text->len <= REPLY_TEXT_MAX) {
        jw_str(w, text->bytes ? text->bytes : "", text->len);
    } else {
        scoped(buf_done) struct buf all = BUF_INIT(REPLY_TEXT_MAX + sizeof cut);
        buf_add(&all, text->bytes, whole_characters(text->bytes, REPLY_TEXT_MAX));
        buf_str(&all, cut);
        jw_str(w, all.bytes, all.len);
    }
    jw_end_object(w);
}

void mcp_write_reply(struct mcp_call *m, struct json_writer *w)
{
    struct mcp_reply *r = &m->reply;
    jw_key(w, "content");
    jw_array(w);
    if (r->text.len || r->text.failed || !r->blocks.len)
        put_text(w, &r->text);
    if (r->blocks.len && !r->blocks.failed)
        jw_raw(w, r->blocks.bytes, r->blocks.len);
    jw_end_array(w);
    bool has_members = r->structured.len > 1;
    jw_end_object(&r->w);
    if (has_members && !r->is_old && !r->structured.failed) {
        jw_key(w, "structuredContent");
        jw_raw(w, r->structured.bytes, r->structured.len);
    }
    if (r->is_error) {
        jw_key(w, "isError");
        jw_bool(w, true);
    }
}
