/* download.c -- the bytes of a file, or a part of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "api/disposition.h"
#include "api/native_files.h"
#include "api/share_door.h"
#include "base/err.h"
#include "base/filetype.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/range.h"
#include "service/file_object.h"

/* ---- headers ---- */

/* Those that can run code, and would do so as a page of this server. */
static bool is_active(const char *type)
{
    return strcmp(type, "text/html") == 0 || strcmp(type, "image/svg+xml") == 0 ||
           strcmp(type, "application/xml") == 0 || strcmp(type, "application/xhtml+xml") == 0 ||
           strcmp(type, "text/xml") == 0;
}

static void add_date(struct call *c, int64_t wall_us)
{
    char text[64];
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    http_add_header(c->x, "Last-Modified", "%s", text);
}

static void add_validators(struct call *c, const struct download *d, const struct version_row *row,
                           const char *etag)
{
    http_add_header(c->x, "ETag", "%s", etag);
    add_date(c, row->created_us);
    if (d->is_shared) {
        share_bytes_headers(c);
        http_add_header(c->x, "Cache-Control", "private, no-store");
        return;
    }
    http_add_header(c->x, "X-File-Version", "%" PRIu64, row->version);
    http_add_header(c->x, "Cache-Control", "%s",
                    d->version ? "private, max-age=31536000, immutable" : "private, no-cache");
}

static void add_kind(struct call *c, const struct download *d, const char *type)
{
    scoped(buf_done) struct buf text = BUF_INIT(8 << 10);
    disposition_write(&text, d->path, d->is_inline);
    http_add_header(c->x, "Accept-Ranges", "%s", d->is_whole ? "none" : "bytes");
    http_add_header(c->x, "Content-Disposition", "%s", text.bytes ? text.bytes : "attachment");
    if (d->is_inline && is_active(type) && !d->is_shared)
        http_add_header(c->x, "Content-Security-Policy",
                        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:");
}

/* ---- which part ---- */

static bool is_true_if(struct str if_range, const char *etag)
{
    return !if_range.ptr || (!str_is(if_range, "*") && http_etag_in(if_range, etag, true));
}

static int choose_range(struct call *c, uint64_t size, const char *etag, bool is_whole,
                        struct http_range *ret, struct err *e)
{
    struct str value = http_header_get(c->request, "Range");
    if (is_whole || !is_true_if(http_header_get(c->request, "If-Range"), etag))
        value = STR_NONE;
    switch (http_range_parse(value, size, ret)) {
    case HTTP_RANGE_WHOLE: c->status = 200; return 0;
    case HTTP_RANGE_ONE:
        c->status = 206;
        http_add_header(c->x, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, ret->first,
                        ret->first + ret->len - 1, size);
        return 0;
    case HTTP_RANGE_BAD: break;
    }
    http_add_header(c->x, "Content-Range", "bytes */%" PRIu64, size);
    return err_set(e, ERR_RANGE, "the file has only %" PRIu64 " bytes", size);
}

/* ---- the bytes ---- */

static int read_some(struct content_reader *reader, const struct http_range *range, char *piece,
                     size_t *ret_len, struct err *e)
{
    size_t want = range->len < TRANSFER_SIZE ? (size_t)range->len : TRANSFER_SIZE;
    if (content_read(reader, range->first, piece, want, ret_len, e))
        return -1;
    return *ret_len || !want ? 0 : err_set(e, ERR_DAMAGED, "a file is shorter than its version");
}

static int send_bytes(struct call *c, struct content_reader *reader, struct http_range range,
                      const char *type, struct err *e)
{
    size_t len = 0;
    bool has_body = !str_is(c->request->method, "HEAD");
    scoped(freep) char *piece = malloc(TRANSFER_SIZE);
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "send a file");
    /* The first before the head: what is damaged there can still be told. */
    if (has_body && read_some(reader, &range, piece, &len, e))
        return -1;
    c->is_answered = true;
    if (http_begin(c->x, c->status, type, (int64_t)range.len, e))
        return -1;
    while (has_body && range.len) {
        if (http_write(c->x, piece, len, e))
            return -1;
        range.first += len;
        range.len -= len;
        if (read_some(reader, &range, piece, &len, e))
            return -1;
    }
    return http_end(c->x, e);
}

/* Whether it may go out after all. A part that is not the first belongs to what was counted already. */
static int begin(struct call *c, const struct download *d, const struct http_range *range,
                 struct err *e)
{
    bool is_counted = d->begin && range->first == 0 && !str_is(c->request->method, "HEAD");
    return is_counted ? d->begin(c, e) : 0;
}

int send_version(struct call *c, const struct workspace_row *ws, const struct download *d,
                 const struct version_row *row, struct err *e)
{
    scoped(content_closep) struct content_reader *reader = NULL;
    char etag[ETAG_SIZE], full[128];
    struct http_range range;
    const char *type = d->type ? d->type : filetype_of(d->path);
    if (row->change == CHANGE_DELETED)
        return err_set(e, ERR_NOT_FOUND, "'%.80s' was deleted at version %" PRIu64, d->path,
                       row->version);
    file_etag(row->file, row->version, etag);
    struct str match = http_header_get(c->request, "If-Match");
    if (match.ptr && !http_etag_in(match, etag, /* is_strong= */ true))
        return err_set(e, ERR_PRECONDITION, "'%.80s' is at version %" PRIu64, d->path,
                       row->version);
    struct str none = http_header_get(c->request, "If-None-Match");
    bool is_had = none.ptr && http_etag_in(none, etag, /* is_strong= */ false);
    if (!is_had && (choose_range(c, row->content.size, etag, d->is_whole, &range, e) ||
                    files_open_content(c->api->o.files, ws, &row->content, &reader, e) ||
                    begin(c, d, &range, e)))
        return -1;
    add_validators(c, d, row, etag);
    if (is_had) {
        c->is_answered = true;
        c->status = 304;
        return http_send(c->x, 304, NULL, NULL, 0, e);
    }
    add_kind(c, d, type);
    (void)snprintf(full, sizeof full, "%s%s", type,
                   strncmp(type, "text/", 5) == 0 ? "; charset=utf-8" : "");
    return send_bytes(c, reader, range, full, e);
}

int send_download(struct call *c, const struct workspace_row *ws, const struct download *d,
                  struct err *e)
{
    struct version_row row;
    struct err why = {0};
    bool is_dir = false;
    if (files_stat(c->api->o.files, ws, d->path, d->version, &row, &why)) {
        if (why.code == ERR_NOT_FOUND && !d->version && look_below(c, ws, d->path, &is_dir, e))
            return -1;
        *e = why;
        if (is_dir)
            return err_set(e, ERR_CONFLICT,
                           "'%.80s' is a directory; list it with files?prefix=", d->path);
        return -1;
    }
    int failed = send_version(c, ws, d, &row, e);
    version_row_done(&row);
    return failed;
}
