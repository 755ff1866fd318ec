/* share_show.c -- GET /s/{token}: the page of a link, or what is in it as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "api/page.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/filetype.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/file_object.h"
#include "service/object.h"
#include "json/write.h"

enum { LIST_MAX = 200 };

/* What the address names. */
struct sight {
    char path[PATH_BYTES_MAX + 1]; /* in the workspace */
    const char *below;             /* in what is shared; "": that itself */
    const char *name;
    bool is_folder;
    struct version_row file; /* of a file */
    struct file_rows rows;   /* of a folder */
    char *next;
};

static void sight_done(struct sight *s)
{
    version_row_done(&s->file);
    file_rows_done(&s->rows);
    free(s->next);
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- looking ---- */

/* The path below what is shared of something in the folder that is shown. */
static const char *below_of(const struct call *c, const char *path)
{
    size_t len = strlen(c->share->share.path);
    return path + len + (len > 0);
}

static int list(struct call *c, const char *after, struct sight *s, struct err *e)
{
    char prefix[PATH_BYTES_MAX + 2];
    const char *top = c->share->share.path;
    scoped(buf_done) struct buf from = BUF_INIT(3 * PATH_BYTES_MAX);
    (void)snprintf(prefix, sizeof prefix, "%s%s", s->path, *s->path ? "/" : "");
    buf_fmt(&from, "%s%s%s", top, *top ? "/" : "",
            after); /* a cursor says nothing of what is above */
    if (buf_check(&from, e))
        return -1;
    const struct file_query query = {
        .prefix = prefix, .is_flat = true, .after = *after ? from.bytes : NULL, .limit = LIST_MAX};
    if (meta_file_list(files_meta(c->api->o.files), c->share->ws.id, &query, &s->rows, &s->next, e))
        return -1;
    s->is_folder = true;
    return 0;
}

/* Whether a directory was made there, with nothing in it. */
static bool is_made(struct call *c, const char *path)
{
    struct file_row row;
    struct err ignored = {0};
    if (meta_file_get(files_meta(c->api->o.files), c->share->ws.id, path, &row, &ignored))
        return false;
    bool is_dir = row.kind == FILE_DIR;
    file_row_done(&row);
    return is_dir;
}

static bool is_file(struct call *c, const char *path)
{
    struct file_row row;
    struct err ignored = {0};
    if (!c->share->share.is_folder)
        return true;
    if (!*path || meta_file_get(files_meta(c->api->o.files), c->share->ws.id, path, &row, &ignored))
        return false;
    bool is_regular = row.kind == FILE_REGULAR;
    file_row_done(&row);
    return is_regular;
}

static int look(struct call *c, const struct share_page_args *in, struct sight *s, struct err *e)
{
    const struct share_row *share = &c->share->share;
    s->below = in->path;
    if (shares_path(share, in->path, s->path, e))
        return -1;
    s->name = *in->path ? last_name(in->path) : shares_name(c->share);
    if (is_file(c, s->path))
        return shares_stat(c->api->o.files, c->share, s->path, &s->file, e);
    if (list(c, in->after, s, e))
        return -1;
    bool is_there = s->rows.count || !*in->path || *in->after || is_made(c, s->path);
    return is_there ? 0 : shares_gone(e);
}

/* ---- as JSON ---- */

static void put_file(struct json_writer *w, const char *path, uint64_t size, int64_t changed_us)
{
    jw_key(w, "size");
    jw_u64(w, size);
    jw_key(w, "type");
    jw_text(w, filetype_of(path));
    object_time(w, "modified_at", changed_us);
}

static void put_named(struct json_writer *w, const char *name, bool is_folder)
{
    jw_key(w, "name");
    jw_text(w, name);
    jw_key(w, "kind");
    jw_text(w, is_folder ? "folder" : "file");
}

static void put_entries(const struct call *c, struct json_writer *w, const struct sight *s)
{
    jw_key(w, "entries");
    jw_array(w);
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct file_row *row = &s->rows.items[i];
        jw_object(w);
        put_named(w, last_name(row->path), row->kind == FILE_DIR);
        if (row->kind != FILE_DIR)
            put_file(w, row->path, row->content.size, row->changed_us);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_key(w, "next_cursor");
    jw_text(w, s->next ? below_of(c, s->next) : NULL);
}

static void put_rights(struct json_writer *w, uint32_t rights)
{
    jw_key(w, "rights");
    jw_array(w);
    for (unsigned i = 0; share_right_names[i]; i++)
        if (rights & 1u << i)
            jw_text(w, share_right_names[i]);
    jw_end_array(w);
}

static void show_json(struct call *c, const struct sight *s)
{
    struct json_writer w = JSON_WRITER(&c->out);
    const struct share_row *share = &c->share->share;
    jw_object(&w);
    put_named(&w, s->name, s->is_folder);
    jw_key(&w, "path");
    jw_text(&w, s->below);
    put_rights(&w, share->rights);
    object_time(&w, "expires_at", share->expires_us);
    if (s->is_folder && share->rights & SHARE_VIEW)
        put_entries(c, &w, s);
    else if (!s->is_folder)
        put_file(&w, s->name, s->file.content.size, s->file.created_us);
    jw_end_object(&w);
}

/* ---- as a page ---- */

static void add_date(struct buf *out, int64_t wall_us, bool has_time)
{
    char text[64];
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(text, sizeof text, has_time ? "%Y-%m-%d %H:%M UTC" : "%Y-%m-%d", &utc);
    buf_str(out, text);
}

static void show_top(struct call *c, const struct sight *s)
{
    const struct share_row *share = &c->share->share;
    scoped(buf_done) struct buf facts = BUF_INIT(512);
    if (s->is_folder) {
        buf_str(&facts, "Folder");
    } else {
        page_size(&facts, s->file.content.size);
        buf_str(&facts, ", changed ");
        add_date(&facts, s->file.created_us, /* has_time= */ true);
    }
    if (share->expires_us) {
        buf_str(&facts, ". The link works until ");
        add_date(&facts, share->expires_us, /* has_time= */ true);
    }
    page_block(&c->out, share_html, "head", PAGE_WITH({"title", s->name}));
    page_block(&c->out, share_html, "top", PAGE_WITH({"name", s->name}, {"facts", facts.bytes}));
    page_block(&c->out, share_html, "top_end", NULL);
}

/* The way from what is shared to here. */
static void show_crumbs(struct call *c, const struct sight *s)
{
    if (!*s->below)
        return;
    scoped(buf_done) struct buf href = BUF_INIT(16 << 10);
    char part[PATH_BYTES_MAX + 1];
    page_block(&c->out, share_html, "crumbs", NULL);
    share_url(&href, c, "", "");
    page_block(&c->out, share_html, "crumb",
               PAGE_WITH({"href", href.bytes}, {"name", shares_name(c->share)}));
    for (const char *at = s->below; (at = strchr(at, '/')); at++) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(at - s->below), s->below);
        buf_done(&href);
        share_url(&href, c, "?path=", part);
        page_block(&c->out, share_html, "crumb",
                   PAGE_WITH({"href", href.bytes}, {"name", last_name(part)}));
    }
    page_block(&c->out, share_html, "crumb_here", PAGE_WITH({"name", last_name(s->below)}));
    page_block(&c->out, share_html, "crumbs_end", NULL);
}

static void show_button(struct call *c, const char *door, const char *path, const char *label)
{
    scoped(buf_done) struct buf href = BUF_INIT(16 << 10);
    if (!(c->share->share.rights & SHARE_DOWNLOAD))
        return;
    share_url(&href, c, door, path);
    page_block(&c->out, share_html, "actions", NULL);
    page_block(&c->out, share_html, "download", PAGE_WITH({"href", href.bytes}, {"label", label}));
    page_block(&c->out, share_html, "actions_end", NULL);
}

static void show_row(struct call *c, const struct file_row *row)
{
    scoped(buf_done) struct buf href = BUF_INIT(16 << 10), get = BUF_INIT(16 << 10),
                                size = BUF_INIT(64), date = BUF_INIT(64);
    const char *below = below_of(c, row->path);
    bool may_have = c->share->share.rights & SHARE_DOWNLOAD;
    share_url(&href, c, "?path=", below);
    if (row->kind == FILE_DIR) {
        page_block(&c->out, share_html, "folder_row",
                   PAGE_WITH({"href", href.bytes}, {"name", last_name(row->path)}));
        return;
    }
    share_url(&get, c, "/files/", below);
    page_size(&size, row->content.size);
    add_date(&date, row->changed_us, /* has_time= */ false);
    page_block(&c->out, share_html, may_have ? "file_row" : "file_row_view",
               PAGE_WITH({"href", href.bytes}, {"get", get.bytes}, {"name", last_name(row->path)},
                         {"size", size.bytes}, {"date", date.bytes}));
}

static void show_folder(struct call *c, const struct sight *s)
{
    scoped(buf_done) struct buf more = BUF_INIT(32 << 10);
    if (s->rows.count == 0) {
        page_block(&c->out, share_html, "empty", NULL);
        return;
    }
    show_button(c, *s->below ? "/zip?path=" : "/zip", s->below, "Download all as zip");
    page_block(&c->out, share_html, "list", NULL);
    for (size_t i = 0; i < s->rows.count; i++)
        show_row(c, &s->rows.items[i]);
    page_block(&c->out, share_html, "list_end", NULL);
    if (!s->next)
        return;
    share_url(&more, c, "?path=", s->below);
    buf_str(&more, "&after=");
    url_path(&more, below_of(c, s->next));
    page_block(&c->out, share_html, "more", PAGE_WITH({"href", more.bytes}));
}

/* ---- all of it ---- */

static void show_upload(struct call *c, const struct share_page_args *in)
{
    scoped(buf_done) struct buf action = BUF_INIT(1024), text = BUF_INIT(256);
    if (!(c->share->share.rights & SHARE_UPLOAD))
        return;
    share_url(&action, c, "/upload", "");
    buf_fmt(&text, "%" PRId64 " file%s uploaded. Thank you.", in->uploaded,
            in->uploaded == 1 ? " was" : "s were");
    if (in->uploaded)
        page_block(&c->out, share_html, "uploaded", PAGE_WITH({"text", text.bytes}));
    page_block(&c->out, share_html, "upload", PAGE_WITH({"action", action.bytes}));
}

static int show_page(struct call *c, const struct share_page_args *in, const struct sight *s,
                     struct err *e)
{
    c->type = "text/html; charset=utf-8";
    show_top(c, s);
    if (c->share->share.rights & SHARE_VIEW) {
        show_crumbs(c, s);
        if (s->is_folder)
            show_folder(c, s);
        else
            show_button(c, "/files/", *s->below ? s->below : s->name, "Download");
        if (!s->is_folder && share_preview(c, s->name, s->below, &s->file.content, e))
            return -1;
    }
    if (!*s->below)
        show_upload(c, in);
    page_block(&c->out, share_html, "foot", NULL);
    return 0;
}

/* Who may only bring something learns nothing but the folder's name. */
static int look_or_not(struct call *c, const struct share_page_args *in, struct sight *s,
                       struct err *e)
{
    if (c->share->share.rights & SHARE_VIEW)
        return look(c, in, s, e);
    if (*in->path && share_may(c, SHARE_VIEW, e))
        return -1;
    s->below = "";
    s->is_folder = true;
    s->name = shares_name(c->share);
    return 0;
}

int share_show(struct call *c, struct err *e)
{
    const struct share_page_args *in = c->query;
    scoped(sight_done) struct sight s = {0};
    struct err ignored = {0}; /* a view that was not counted is no reason to show nothing */
    if (look_or_not(c, in, &s, e))
        return -1;
    if (!*in->path && !*in->after && !str_is(c->request->method, "HEAD"))
        (void)meta_share_seen(files_meta(c->api->o.files), c->share->share.id, clock_wall_us(),
                              &ignored);
    if (share_wants_json(c))
        show_json(c, &s);
    else if (show_page(c, in, &s, e))
        return -1;
    share_page_headers(c);
    return 0;
}
