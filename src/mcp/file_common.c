#include "mcp/file_common.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/uri.h"
#include "json/write.h"

enum { URI_MAX = 16 << 10 };

const char *file_text(const struct json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t file_number(const struct json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));
    return number > 0 ? (uint64_t)number : 0;
}

void file_facts(const struct json_t *file, struct file_facts *ret)
{
    *ret = (struct file_facts){.id = file_text(file, "id"),
                               .workspace = file_text(file, "workspace_id"),
                               .path = file_text(file, "path"),
                               .mime = file_text(file, "mime"),
                               .modified = file_text(file, "modified_at"),
                               .sha256 = file_text(file, "sha256"),
                               .etag = file_text(file, "etag"),
                               .version = file_number(file, "version"),
                               .size = file_number(file, "size"),
                               .is_dir = strcmp(file_text(file, "kind"), "directory") == 0};
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- failures ---- */

static const char *hint_of(enum err_code code)
{
    switch (code) {
    case ERR_NOT_FOUND:
        return "list_files shows what is there; search_files with mode \"name\" finds a file by a part "
               "of its name; list_files with deleted=true shows the trash.";
    case ERR_LOCKED:
        return "Wait until then, or pass lock_token if the lock is yours (lock_file gave it when it was "
               "acquired). Do not write to another name to get around it.";
    case ERR_PRECONDITION:
        return "Call read_file again, redo the change on what it says now, and pass that version as "
               "if_version. If you passed a lock_token, its lock may have ended: acquire it again.";
    case ERR_TOO_LARGE:
        return "Use run_code for it: the file is /mnt/data/PATH there; or transfer_url to move it whole.";
    case ERR_BUSY: return "Try again.";
    default: return NULL;
    }
}

int file_failed(struct mcp_call *m, const struct err *e)
{
    const char *hint = hint_of(e->code);
    if (hint)
        (void)snprintf(m->hint, sizeof m->hint, "%s", hint);
    return -1;
}

int file_workspace_failed(struct mcp_call *m, const struct err *e)
{
    if (e->code != ERR_NOT_FOUND)
        return file_failed(m, e);
    (void)snprintf(m->hint, sizeof m->hint,
                   "The tool workspace lists yours; without workspace_id it is your default one.");
    return -1;
}

/* ---- asking ---- */

static int no_file(struct mcp_call *m, struct err *e)
{
    (void)snprintf(m->hint, sizeof m->hint, "Name a file in it, such as notes.txt.");
    return err_set(e, ERR_INVALID, "path: that is the workspace itself");
}

static void address(struct native *n, const char *workspace, const char *path)
{
    native_workspace(n, workspace);
    native_text(n, "/files/");
    native_path(n, path);
}

static int stat_at(struct mcp_call *m, const char *workspace, const char *path, uint64_t version,
                   struct native *n, struct file_facts *ret, struct err *e)
{
    const char *clean = native_clean(path);
    if (!*clean)
        return no_file(m, e);
    address(n, workspace, clean);
    native_query(n, "stat", "true");
    if (version)
        native_query_u64(n, "version", version);
    if (native_call(m, n, e))
        return file_failed(m, e);
    file_facts(n->json, ret);
    if (version) /* it may have had another name then, but was asked for by this one */
        ret->path = clean;
    return 0;
}

int file_stat(struct mcp_call *m, const char *workspace, const char *path, uint64_t version,
              struct native *n, struct file_facts *ret, struct err *e)
{
    if (stat_at(m, workspace, path, version, n, ret, e) == 0)
        return 0;
    bool is_missing = e->code == ERR_NOT_FOUND && !version;
    return is_missing ? file_missing(m, workspace, native_clean(path), e) : -1;
}

int file_range(struct mcp_call *m, const struct file_facts *f, uint64_t first, size_t len,
               struct native *n, struct err *e)
{
    char range[64];
    (void)snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, first, first + len - 1);
    address(n, f->workspace, f->path);
    native_query_u64(n, "version", f->version);
    native_header(n, "Range", range);
    n->max = len;
    n->is_raw = true;
    return native_call(m, n, e) ? file_failed(m, e) : 0;
}

int file_whole(struct mcp_call *m, const char *workspace, const char *path, size_t max,
               struct native *n, char ret_etag[FILE_ETAG_SIZE], uint64_t *ret_version,
               struct err *e)
{
    char version[24];
    if (!*native_clean(path))
        return no_file(m, e);
    address(n, workspace, native_clean(path));
    n->max = max;
    n->is_raw = true;
    if (native_call(m, n, e))
        return file_failed(m, e);
    struct str etag = native_answer_header(n, "ETag");
    struct str number = native_answer_header(n, "X-File-Version");
    (void)snprintf(ret_etag, FILE_ETAG_SIZE, "%.*s", (int)etag.len, etag.len ? etag.ptr : "");
    (void)snprintf(version, sizeof version, "%.*s", (int)number.len, number.len ? number.ptr : "");
    return parse_u64(version, 1, INT64_MAX, ret_version, e);
}

int file_put(struct mcp_call *m, const struct file_put *put, struct native *n, struct err *e)
{
    if (!*native_clean(put->path))
        return no_file(m, e);
    address(n, put->workspace, native_clean(put->path));
    native_header(n, "If-Match", put->if_match);
    native_header(n, "If-None-Match", put->if_none_match);
    native_header(n, "Lock-Token", put->lock_token);
    n->body = (struct str){put->bytes.ptr ? put->bytes.ptr : "", put->bytes.len};
    n->type = "application/octet-stream";
    return native_call(m, n, e) ? file_workspace_failed(m, e) : 0;
}

int file_etag_of(struct mcp_call *m, const char *workspace, const char *path, uint64_t version,
                 char ret[FILE_ETAG_SIZE], struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts f = {.id =
                               "none"}; /* of what is not there: no file has it, so the put fails */
    if (stat_at(m, workspace, path, 0, &n, &f, e) && e->code != ERR_NOT_FOUND)
        return -1;
    m->hint[0] = '\0';
    (void)snprintf(ret, FILE_ETAG_SIZE, "\"%.80s:%" PRIu64 "\"", f.id, version);
    return 0;
}

/* ---- telling ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    if (!*text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

void file_write(struct json_writer *w, const struct file_facts *f, bool is_pinned)
{
    scoped(buf_done) struct buf uri = BUF_INIT(URI_MAX);
    uri_write_file(&uri, f->workspace, f->path, is_pinned ? f->version : 0);
    put_text(w, "workspace_id", f->workspace);
    put_text(w, "path", f->path);
    jw_key(w, "version");
    jw_u64(w, f->version);
    jw_key(w, "size");
    jw_u64(w, f->size);
    put_text(w, "mime_type", f->mime);
    put_text(w, "sha256", f->sha256);
    put_text(w, "modified_at", f->modified);
    put_text(w, "uri", uri.bytes ? uri.bytes : "");
}

void file_link(struct mcp_call *m, const struct file_facts *f, bool is_pinned)
{
    scoped(buf_done) struct buf uri = BUF_INIT(URI_MAX);
    uri_write_file(&uri, f->workspace, f->path, is_pinned ? f->version : 0);
    const struct reply_link link = {.uri = uri.bytes ? uri.bytes : "",
                                    .name = file_name(f->path),
                                    .title = f->path,
                                    .mime = f->mime,
                                    .size = (int64_t)f->size};
    if (!uri.failed)
        reply_link(&m->reply, &link);
}
