/* share_files.c -- the bytes behind a link, one file or all of a folder; and the table of its doors. */
#include <string.h>

#include "api/api_int.h"
#include "api/disposition.h"
#include "api/native_files.h"
#include "api/preview.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/archive_out.h"
#include "json/fields.h"

/* ---- what they take ---- */

static const struct json_field page_fields[] = {
    {JF_TEXT(struct share_page_args, path), .max = PATH_BYTES_MAX, .preset_text = "",
     .doc = "below the folder; itself if left out"},
    {JF_TEXT(struct share_page_args, after), .max = 2 * PATH_BYTES_MAX, .preset_text = "",
     .doc = "next_cursor of the list before"},
    {JF_INT(struct share_page_args, uploaded), .min = 0, .max = 1000,
     .doc = "so many files were uploaded just now: for the page to say"},
    {0},
};

struct file_args {
    bool is_inline;
};

static const struct json_field file_fields[] = {
    {JF_KEY("inline", JF_KIND_BOOL, bool, struct file_args, is_inline),
     .doc = "to be shown rather than kept: pictures, and text as plain text"},
    {0},
};

struct zip_args {
    const char *path;
};

static const struct json_field zip_fields[] = {
    {JF_TEXT(struct zip_args, path), .max = PATH_BYTES_MAX, .preset_text = "",
     .doc = "a folder below; all of it if left out"},
    {0},
};

static const char *const headers[] = {
    "X-Share-Password", "the password of a link that has one; never in the address", "Accept",
    "application/json: not a page, but what programs read", NULL};

/* ---- one file ---- */

static int count_download(struct call *c, struct err *e)
{
    if (!meta_share_download(files_meta(c->api->o.files), c->share->share.id, clock_wall_us(), e))
        return 0;
    return e->code == ERR_NOT_FOUND ? shares_gone(e) : -1;
}

static int send(struct call *c, const struct download *d, const char *path, struct err *e)
{
    struct version_row row;
    if (shares_stat(c->api->o.files, c->share, path, &row, e))
        return -1;
    int failed = send_version(c, &c->share->ws, d, &row, e);
    version_row_done(&row);
    return failed && e->code == ERR_NOT_FOUND ? shares_gone(e) : failed;
}

int share_file(struct call *c, struct err *e)
{
    const struct file_args *in = c->query;
    const struct share_row *share = &c->share->share;
    char path[PATH_BYTES_MAX + 1];
    if (shares_path(share, c->rest, path, e))
        return -1;
    const char *type = in->is_inline && !share->max_downloads ? preview_type(path) : NULL;
    if (share_may(c, type ? SHARE_VIEW : SHARE_DOWNLOAD, e))
        return -1;
    const struct download d = {.path = c->rest,
                               .type = type,
                               .is_inline = type != NULL,
                               .is_shared = true,
                               .is_whole = share->max_downloads > 0,
                               .begin = type ? NULL : count_download};
    return send(c, &d, path, e);
}

/* ---- all of a folder ---- */

/* The head goes out with the first bytes: until then a failure can be told. */
static int begin(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf name = BUF_INIT(1024), text = BUF_INIT(4096);
    if (c->is_answered)
        return 0;
    const struct zip_args *in = c->query;
    const char *slash = strrchr(in->path, '/');
    buf_fmt(&name, "%.250s.zip", slash ? slash + 1 : *in->path ? in->path : shares_name(c->share));
    disposition_write(&text, name.bytes, /* is_inline= */ false);
    share_bytes_headers(c);
    http_add_header(c->x, "Content-Disposition", "%s", text.bytes ? text.bytes : "attachment");
    http_add_header(c->x, "Cache-Control", "private, no-store");
    c->is_answered = true;
    c->status = 200;
    return http_begin(c->x, 200, "application/zip", /* length= */ -1, e);
}

static int send_some(void *arg, const void *bytes, size_t len, struct err *e)
{
    struct call *c = arg;
    return begin(c, e) ? -1 : http_write(c->x, bytes, len, e);
}

int share_zip(struct call *c, struct err *e)
{
    const struct zip_args *in = c->query;
    const struct archive_sink sink = {send_some, c};
    char path[PATH_BYTES_MAX + 1];
    bool is_head = str_is(c->request->method, "HEAD"), is_there = true;
    if (!c->share->share.is_folder || shares_path(&c->share->share, in->path, path, e))
        return shares_gone(e);
    if (share_may(c, SHARE_DOWNLOAD, e) ||
        (*in->path && look_below(c, &c->share->ws, path, &is_there, e)))
        return -1;
    if (!is_there)
        return shares_gone(e);
    if (!is_head && (count_download(c, e) || archive_export_folder(c->api->o.files, &c->share->ws,
                                                                   path, ARCHIVE_ZIP, &sink, e)))
        return -1;
    return begin(c, e) || http_end(c->x, e) ? -1 : 0;
}

/* ---- how it looks ---- */

static int style(struct call *c, struct err *e)
{
    c->is_answered = true;
    c->status = 200;
    http_add_header(c->x, "Cache-Control", "public, max-age=3600");
    return http_send(c->x, 200, "text/css; charset=utf-8", share_css, strlen(share_css), e);
}

#define DOOR                                                                             \
    .flags = OP_SHARE, .needs = NEEDS_NOTHING, .admit = share_admit, .tell = share_tell, \
    .headers = headers
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)

static const struct op ops[] = {
    {.method = "GET",
     .path = "/s/static/share.css",
     .name = "shareStyle",
     .summary = "How the pages of links look.",
     .flags = OP_PUBLIC | OP_HIDDEN,
     .needs = NEEDS_NOTHING,
     .status = 200,
     .gives = "text/css",
     .run = style},
    {.method = "GET",
     .path = "/s/{token}",
     .name = "openShare",
     .summary = "What a link shows: a page for people, JSON for programs.",
     DOOR,
     QUERY(share_page_args, page_fields),
     .status = 200,
     .answer = "Shared",
     .gives = "text/html",
     .run = share_show},
    {.method = "POST",
     .path = "/s/{token}",
     .name = "unlockShare",
     .summary = "Give the password of a link, once; a cookie stands for it then, for an hour.",
     .flags = OP_SHARE | OP_RAW_BODY,
     .needs = NEEDS_NOTHING,
     .admit = share_admit_any,
     .tell = share_tell,
     .takes = "application/x-www-form-urlencoded",
     .form = "SharePassword",
     .status = 303,
     .gives = "text/html",
     .run = share_unlock},
    {.method = "GET",
     .path = "/s/{token}/files/{path...}",
     .name = "downloadShared",
     .summary = "The bytes of a file behind a link, or a part of them.",
     DOOR,
     QUERY(file_args, file_fields),
     .status = 200,
     .also = {206, 304},
     .gives = "*/*",
     .run = share_file},
    {.method = "GET",
     .path = "/s/{token}/zip",
     .name = "zipShared",
     .summary = "All files behind a link as one archive, made while it is sent.",
     DOOR,
     QUERY(zip_args, zip_fields),
     .status = 200,
     .gives = "application/zip",
     .run = share_zip},
    {.method = "POST",
     .path = "/s/{token}/upload",
     .name = "uploadShared",
     .summary = "Put files into the folder of a link: a form with `file`, once or more.",
     .flags = OP_SHARE | OP_RAW_BODY,
     .needs = NEEDS_NOTHING,
     .admit = share_admit,
     .tell = share_tell,
     .headers = headers,
     .takes = "multipart/form-data",
     .form = "ShareForm",
     .status = 201,
     .also = {303},
     .answer = "ShareUploaded",
     .run = share_upload},
};

const struct op_table share_doors = {ops, sizeof ops / sizeof *ops};
