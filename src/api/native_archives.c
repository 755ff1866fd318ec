/* native_archives.c -- many files at once: /api/v1/workspaces/{ws}/export and /import. */
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "api/disposition.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/archive_in.h"
#include "workspace/archive_out.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

/* By enum archive_format. */
static const char *const formats[] = {"zip", "tar", "tar.gz", NULL};
static const char *const types[] = {"application/zip", "application/x-tar", "application/gzip"};

struct export_args {
    const char *prefix;
    int format;
};

static const struct json_field export_fields[] = {
    {JF_CHOICE(struct export_args, format, formats), .preset = ARCHIVE_ZIP},
    {JF_TEXT(struct export_args, prefix), .max = PATH_BYTES_MAX + 1, .preset_text = "",
     .doc = "what the path begins with; `plots/` is what is in that directory"},
    {0},
};

static const char *const import_formats[] = {"auto", "zip", "tar", "tar.gz", "tar.zst", NULL};

struct import_args {
    const char *path;
    int format;
};

static const struct json_field import_fields[] = {
    {JF_TEXT(struct import_args, path), .max = OP_REST_SIZE, .preset_text = "",
     .doc = "the directory it goes to; the top if left out"},
    {JF_CHOICE(struct import_args, format, import_formats), .preset = 0,
     .doc = "seen from the first bytes, whatever is said here"},
    {0},
};

/* ---- export ---- */

struct sending {
    struct call *call;
    const char *type;
};

/* The head goes out with the first bytes: until then a failure can be told. */
static int begin(struct sending *s, struct err *e)
{
    struct call *c = s->call;
    if (c->is_answered)
        return 0;
    c->is_answered = true;
    c->status = 200;
    return http_begin(c->x, 200, s->type, /* length= */ -1, e);
}

static int send_some(void *arg, const void *bytes, size_t len, struct err *e)
{
    struct sending *s = arg;
    if (begin(s, e))
        return -1;
    return http_write(s->call->x, bytes, len, e);
}

static void add_name(struct call *c, const struct workspace_row *ws, const char *format)
{
    scoped(buf_done) struct buf name = BUF_INIT(1024), text = BUF_INIT(4096);
    buf_fmt(&name, "%.200s.%s", ws->name && *ws->name ? ws->name : ws->id, format);
    disposition_write(&text, name.bytes, /* is_inline= */ false);
    http_add_header(c->x, "Content-Disposition", "%s", text.bytes ? text.bytes : "attachment");
    http_add_header(c->x, "Cache-Control", "no-store");
}

static int export_files(struct call *c, struct err *e)
{
    const struct export_args *in = c->query;
    struct sending sending = {c, types[in->format]};
    const struct archive_sink sink = {send_some, &sending};
    add_name(c, &c->ws, formats[in->format]);
    bool is_head = str_is(c->request->method, "HEAD");
    if (!is_head && archive_export(c->api->o.files, &c->ws, in->prefix + (*in->prefix == '/'),
                                   (enum archive_format)in->format, &sink, e))
        return -1;
    return begin(&sending, e) || http_end(c->x, e) ? -1 : 0;
}

/* ---- import ---- */

static void show(struct call *c, const struct import_report *r, const struct commit *commit)
{
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "files");
    jw_u64(&w, r->files);
    jw_key(&w, "bytes");
    jw_u64(&w, r->bytes);
    jw_key(&w, "rev");
    jw_u64(&w, commit_rev(commit));
    jw_key(&w, "skipped");
    jw_array(&w);
    for (size_t i = 0; i < r->skipped_count; i++) {
        jw_object(&w);
        jw_key(&w, "path");
        jw_text(&w, r->skipped[i].name);
        jw_key(&w, "reason");
        jw_text(&w, r->skipped[i].reason);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_key(&w, "skipped_more");
    jw_u64(&w, r->skipped_more);
    jw_end_object(&w);
}

static int import_files(struct call *c, struct err *e)
{
    const struct import_args *in = c->query;
    scoped(import_report_done) struct import_report report = {0};
    scoped(commit_freep) struct commit *commit = NULL;
    const struct author author = call_author(c);
    const struct archive_source source = {read_request, c->x};
    char to[PATH_BYTES_MAX + 1] = "";
    bool is_top = !*in->path || strcmp(in->path, "/") == 0;
    if ((!is_top && path_clean(in->path, to, e)) ||
        archive_import(c->api->o.files, &c->ws, &author, to, &source, &report, &commit, e))
        return -1;
    show(c, &report, commit);
    return 0;
}

#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define WS "/api/v1/workspaces/{ws}"

static const struct op ops[] = {
    {.method = "GET",
     .path = WS "/export",
     .name = "exportFiles",
     .summary = "Files as one archive, made while it is sent.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(export_args, export_fields),
     .status = 200,
     .gives = "*/*",
     .run = export_files},
    {.method = "POST",
     .path = WS "/export",
     .name = "postExport",
     .summary = "The same, for whom a GET is something to be cached.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(export_args, export_fields),
     .status = 200,
     .gives = "*/*",
     .run = export_files},
    {.method = "POST",
     .path = WS "/import",
     .name = "importFiles",
     .summary = "An archive as files, all at once: zip, tar, tar.gz or tar.zst.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     .flags = OP_RAW_BODY,
     QUERY(import_args, import_fields),
     .headers = lock_headers,
     .status = 200,
     .answer = "Imported",
     .run = import_files},
};

const struct op_table native_archives = {ops, sizeof ops / sizeof *ops};
