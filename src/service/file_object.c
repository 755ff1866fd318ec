#include "service/file_object.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/scope.h"
#include "service/object.h"
#include "store/rows.h"
#include "json/write.h"

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_id(struct json_writer *w, const char *key, const char *id)
{
    put_text(w, key, *id ? id : NULL);
}

static bool is_unreserved(unsigned char c)
{
    return isascii(c) && (isalnum(c) || strchr("-._~", c));
}

void url_path(struct buf *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (is_unreserved(c) || c == '/')
            buf_add(out, at, 1);
        else
            buf_fmt(out, "%%%02X", c);
    }
}

void file_url(struct buf *out, const char *workspace, const char *path, uint64_t version)
{
    buf_fmt(out, "/api/v1/workspaces/%s/files/", workspace);
    url_path(out, path);
    if (version)
        buf_fmt(out, "?version=%" PRIu64, version);
}

void file_etag(const char *file, uint64_t version, char ret[ETAG_SIZE])
{
    (void)snprintf(ret, ETAG_SIZE, "\"%s:%" PRIu64 "\"", file, version);
}

static void put_author(struct json_writer *w, const struct author *a)
{
    jw_key(w, "author");
    bool is_by_share = strncmp(a->key, "shr_", 4) == 0; /* whoever had the link */
    if (!*a->principal && !is_by_share) {
        jw_null(w);
        return;
    }
    jw_object(w);
    if (*a->principal)
        put_text(w, "principal_id", a->principal);
    if (*a->key)
        put_text(w, is_by_share ? "share_id" : "key_id", a->key);
    if (*a->session)
        put_text(w, "session_id", a->session);
    if (*a->run)
        put_text(w, "run_id", a->run);
    jw_end_object(w);
}

/* Of a deletion there is no content, and of a directory neither. */
static void put_content(struct json_writer *w, const struct content *content, bool is_there)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(content->sha256, hex);
    put_number(w, "size", is_there ? content->size : 0);
    put_text(w, "sha256", is_there ? hex : NULL);
}

static void put_change(struct json_writer *w, enum change change)
{
    put_text(w, "change", change ? change_names[change] : NULL);
}

static void put_place(struct json_writer *w, const char *workspace, const char *path,
                      const char *file, uint64_t version)
{
    char etag[ETAG_SIZE];
    scoped(buf_done) struct buf url = BUF_INIT(16 << 10);
    file_etag(file, version, etag);
    file_url(&url, workspace, path, version);
    put_text(w, "etag", *file ? etag : NULL);
    put_text(w, "url", *file ? url.bytes : NULL);
}

/* `place` is where it is found, which need not be the path it had. */
static void put_file(struct json_writer *w, const struct file_row *f, const char *place)
{
    bool is_dir = f->kind == FILE_DIR;
    jw_object(w);
    put_id(w, "id", f->id);
    put_text(w, "workspace_id", f->workspace);
    put_text(w, "path", f->path);
    put_text(w, "kind", is_dir ? "directory" : "file");
    put_number(w, "version", f->version);
    put_content(w, &f->content, !is_dir && f->change != CHANGE_DELETED);
    put_text(w, "mime", is_dir ? "inode/directory" : filetype_of(f->path));
    put_change(w, f->change);
    object_time(w, "created_at", f->created_us);
    object_time(w, "modified_at", f->changed_us);
    put_author(w, &f->author);
    put_place(w, f->workspace, place, f->id, f->version);
    if (f->state == FILE_TRASHED)
        object_time(w, "deleted_at", f->changed_us);
    jw_end_object(w);
}

void object_file_row(struct json_writer *w, const struct file_row *f)
{
    put_file(w, f, f->path);
}

void object_file_at(struct json_writer *w, const struct file_row *f, const struct version_row *v)
{
    struct file_row then = *f;
    then.path = v->path ? v->path : f->path;
    then.version = v->version;
    then.content = v->content;
    then.change = v->change;
    then.author = v->author;
    then.changed_us = v->created_us;
    if (v->version < f->version)
        then.state = v->change == CHANGE_DELETED ? FILE_TRASHED : FILE_LIVE;
    put_file(w, &then, f->path);
}

void object_version(struct json_writer *w, const char *workspace, const char *path,
                    const struct version_row *v)
{
    jw_object(w);
    put_number(w, "version", v->version);
    put_text(w, "path", v->path);
    put_content(w, &v->content, v->change != CHANGE_DELETED);
    put_change(w, v->change);
    object_time(w, "created_at", v->created_us);
    put_author(w, &v->author);
    jw_key(w, "pinned");
    jw_bool(w, v->is_pinned);
    put_place(w, workspace, path, v->file, v->version);
    jw_end_object(w);
}

void object_usage(struct json_writer *w, const struct workspace_row *ws)
{
    put_number(w, "files", ws->files);
    put_number(w, "bytes", ws->bytes);
    put_number(w, "kept_bytes", ws->kept_bytes);
    jw_key(w, "quota");
    jw_object(w);
    put_number(w, "files", ws->files_max);
    put_number(w, "bytes", ws->bytes_max);
    jw_end_object(w);
}

void object_workspace(struct json_writer *w, const struct workspace_row *ws, const char *role,
                      bool is_default)
{
    jw_object(w);
    put_text(w, "id", ws->id);
    put_text(w, "name", ws->name ? ws->name : "");
    put_text(w, "owner_id", ws->owner);
    put_text(w, "role", role);
    jw_key(w, "is_default");
    jw_bool(w, is_default);
    object_time(w, "created_at", ws->created_us);
    put_number(w, "rev", ws->rev);
    static const char *const kinds[] = {"plain", "container", "files"};
    jw_key(w, "kind");
    jw_text(w, kinds[ws->kind]);
    jw_key(w, "intelligence");
    jw_bool(w, ws->has_intelligence);
    object_usage(w, ws);
    jw_end_object(w);
}
