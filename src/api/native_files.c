/* native_files.c -- /api/v1/workspaces/{ws}/files: list, get, put, delete. */
#include "api/native_files.h"

#include <inttypes.h>
#include <string.h>

#include "api/api_int.h"
#include "api/condition.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/file_object.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

struct list_args {
    const char *prefix, *glob, *cursor, *id;
    bool recursive;
    int64_t limit;
};

static const struct json_field list_fields[] = {
    {JF_TEXT(struct list_args, prefix), .max = PATH_BYTES_MAX + 1, .preset_text = "",
     .doc = "what the path begins with; `plots/` is what is in that directory"},
    {JF_TEXT(struct list_args, glob), .min = 1, .max = PATH_BYTES_MAX,
     .doc = "of the whole path: * and ? within a name, ** across; looks into all directories"},
    {JF_BOOL(struct list_args, recursive),
     .doc = "also what is in directories; otherwise those stand for it"},
    {JF_TEXT(struct list_args, cursor), .min = 1, .max = 2 * PATH_BYTES_MAX,
     .doc = "next_cursor of the page before"},
    {JF_INT(struct list_args, limit), .min = 1, .max = PAGE_MAX, .preset = 100},
    {JF_TEXT(struct list_args, id), .min = 1, .max = ID_SIZE - 1,
     .doc =
         "only the file with this id, wherever it is; also in the trash: it has `deleted_at` then"},
    {0},
};

#define SIGNED_FIELDS(s)                                                \
    {JF_INT(s, expires), .min = 0, .max = INT64_MAX, .is_open = true,   \
     .doc = "of a signed address"},                                     \
        {JF_TEXT(s, by), .max = 64, .doc = "of a signed address"},      \
    {                                                                   \
        JF_TEXT(s, signature), .max = 256, .doc = "of a signed address" \
    }

struct get_args {
    int64_t version, diff, to, limit, expires;
    const char *cursor, *signature, *by;
    bool stat, versions, is_inline;
};

static const struct json_field get_fields[] = {
    {JF_INT(struct get_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "the newest if left out"},
    {JF_BOOL(struct get_args, stat), .doc = "the file as an object, not its bytes"},
    {JF_BOOL(struct get_args, versions), .doc = "its versions, newest first"},
    {JF_TEXT(struct get_args, cursor), .max = 128, .doc = "of the list of versions"},
    {JF_INT(struct get_args, limit), .min = 1, .max = PAGE_MAX, .preset = 100},
    {JF_INT(struct get_args, diff), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "what changed since that version, as a unified diff"},
    {JF_INT(struct get_args, to), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "up to which version; the newest if left out"},
    {JF_KEY("inline", JF_KIND_BOOL, bool, struct get_args, is_inline),
     .doc = "to be shown rather than kept"},
    SIGNED_FIELDS(struct get_args),
    {0},
};

struct put_args {
    int64_t expires;
    const char *signature, *by;
};

static const struct json_field put_fields[] = {
    SIGNED_FIELDS(struct put_args),
    {0},
};

struct delete_args {
    bool recursive;
};

static const struct json_field delete_fields[] = {
    {JF_BOOL(struct delete_args, recursive), .doc = "a directory with everything in it"},
    {0},
};

/* ---- list ---- */

/* One file or none. That of another workspace is none. */
static int list_by_id(struct call *c, const char *id, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct file_row row = {0};
    bool is_known = meta_file_by_id(files_meta(c->api->o.files), id, &row, e) == 0;
    if (!is_known && e->code != ERR_NOT_FOUND)
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    bool is_here = is_known && strcmp(row.workspace, c->ws.id) == 0;
    if (is_here)
        object_file_row(&w, &row);
    end_list(&w, /* has_more= */ false, /* next= */ NULL);
    if (is_known)
        file_row_done(&row);
    return 0;
}

static int list(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    if (in->id)
        return list_by_id(c, in->id, e);
    scoped(freep) char *next = NULL;
    struct file_rows rows;
    const struct file_query query = {.prefix = in->prefix + (*in->prefix == '/'),
                                     .glob = in->glob,
                                     .is_flat = !in->recursive && !in->glob,
                                     .after = in->cursor,
                                     .limit = (uint32_t)in->limit};
    if (meta_file_list(files_meta(c->api->o.files), c->ws.id, &query, &rows, &next, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++) {
        memcpy(rows.items[i].workspace, c->ws.id, sizeof c->ws.id); /* also of what has no row */
        object_file_row(&w, &rows.items[i]);
    }
    end_list(&w, next != NULL, next);
    file_rows_done(&rows);
    return 0;
}

/* ---- get ---- */

static int get_stat(struct call *c, const struct workspace_row *ws, const char *path,
                    uint64_t version, struct err *e)
{
    struct version_row then;
    struct file_row row;
    struct json_writer w = JSON_WRITER(&c->out);
    if (version == 0)
        return answer_path(c, ws, path, e);
    if (files_stat(c->api->o.files, ws, path, version, &then, e))
        return -1;
    int failed = meta_file_by_id(files_meta(c->api->o.files), then.file, &row, e);
    if (!failed) {
        object_file_at(&w, &row, &then);
        file_row_done(&row);
    }
    version_row_done(&then);
    return failed;
}

/* The id of the file that is at the path, or was. */
static int find_file(struct call *c, const struct workspace_row *ws, const char *path,
                     char ret[ID_SIZE], struct err *e)
{
    struct version_row row;
    struct err why = {0};
    if (files_stat(c->api->o.files, ws, path, /* version= */ 0, &row, &why) &&
        (why.code != ERR_NOT_FOUND ||
         files_stat(c->api->o.files, ws, path, /* version= */ 1, &row, e))) {
        *e = why;
        return -1;
    }
    memcpy(ret, row.file, ID_SIZE);
    version_row_done(&row);
    return 0;
}

static int get_versions(struct call *c, const struct workspace_row *ws, const char *path,
                        struct err *e)
{
    const struct get_args *in = c->query;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    struct json_writer w = JSON_WRITER(&c->out);
    struct version_rows rows;
    char file[ID_SIZE];
    if (find_file(c, ws, path, file, e) ||
        meta_version_list(files_meta(c->api->o.files), file, &page, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        object_version(&w, ws->id, path, &rows.items[i]);
    end_list(&w, rows.has_more, rows.next);
    version_rows_done(&rows);
    return 0;
}

static int diff_rows(struct call *c, const struct workspace_row *ws, const struct version_row *from,
                     const struct version_row *to, struct err *e)
{
    enum diff_outcome outcome;
    scoped(buf_done) struct buf text = BUF_INIT(8 * (size_t)DIFF_BYTES_MAX);
    if (files_diff(c->api->o.files, ws, from, to, &text, &outcome, e) || buf_check(&text, e))
        return -1;
    if (outcome == DIFF_BINARY)
        return err_set(e, ERR_UNSUPPORTED, "the versions differ, but they are not text");
    if (outcome == DIFF_TOO_LARGE)
        return err_set(e, ERR_TOO_LARGE, "the versions are too large to be compared");
    c->is_answered = true;
    c->status = 200;
    http_add_header(c->x, "Cache-Control", "private, no-cache");
    return http_send(c->x, 200, "text/x-diff; charset=utf-8", text.bytes ? text.bytes : "",
                     text.len, e);
}

static int get_diff(struct call *c, const struct workspace_row *ws, const char *path, struct err *e)
{
    const struct get_args *in = c->query;
    struct version_row from, to;
    c->hint = "Get the versions as they are with ?version=N, and compare them yourself.";
    if (files_stat(c->api->o.files, ws, path, (uint64_t)in->diff, &from, e))
        return -1;
    if (files_stat(c->api->o.files, ws, path, (uint64_t)in->to, &to, e)) {
        version_row_done(&from);
        return -1;
    }
    int failed = diff_rows(c, ws, &from, &to, e);
    version_row_done(&from);
    version_row_done(&to);
    return failed;
}

static int get(struct call *c, struct err *e)
{
    const struct get_args *in = c->query;
    char path[PATH_BYTES_MAX + 1];
    if (path_clean(c->rest, path, e))
        return -1;
    if (c->is_admitted && (in->stat || in->versions || in->diff))
        return err_set(e, ERR_DENIED, "a signed address is good for the bytes of the file only");
    if (in->stat)
        return get_stat(c, &c->ws, path, (uint64_t)in->version, e);
    if (in->versions)
        return get_versions(c, &c->ws, path, e);
    if (in->diff)
        return get_diff(c, &c->ws, path, e);
    const struct download d = {
        .path = path, .version = (uint64_t)in->version, .is_inline = in->is_inline};
    return send_download(c, &c->ws, &d, e);
}

/* ---- put, delete ---- */

static int put(struct call *c, struct err *e)
{
    const struct http_request *r = c->request;
    char path[PATH_BYTES_MAX + 1];
    struct condition condition = condition_of(r);
    if (path_clean(c->rest, path, e) ||
        condition_check(&condition, c->api->o.files, &c->ws, path, e))
        return -1;
    if (http_header_get(r, "Content-Range").ptr)
        return err_set(e, ERR_INVALID, "a file is put whole; uploads take pieces");
    const struct receiving receiving = {.path = path,
                                        .how = condition.how,
                                        .size = r->has_length ? r->length : 0,
                                        .sha256 = http_header_get(r, "X-Content-SHA256"),
                                        .read = read_request,
                                        .arg = c->x};
    return receive_file(c, &c->ws, &receiving, e);
}

static int delete (struct call *c, struct err *e)
{
    const struct delete_args *in = c->query;
    scoped(commit_freep) struct commit *commit = NULL;
    char path[PATH_BYTES_MAX + 1];
    bool is_full = false;
    const struct author author = call_author(c);
    struct condition condition = condition_of(c->request);
    if (path_clean(c->rest, path, e) ||
        condition_check(&condition, c->api->o.files, &c->ws, path, e) ||
        (!in->recursive && look_below(c, &c->ws, path, &is_full, e)))
        return -1;
    c->hint = is_full ? "Add ?recursive to delete it with everything in it." : NULL;
    if (is_full)
        return err_set(e, ERR_CONFLICT, "'%.80s' is a directory that is not empty", path);
    if (commit_new(c->api->o.files, &c->ws, &author, COMMIT_EDIT, &commit, e) ||
        commit_delete(commit, path, &condition.how, e))
        return -1;
    return commit_finish(commit, e);
}

static const char *const get_headers[] = {
    "Range",
    "bytes=FIRST-LAST: 206, or 416 when it begins after the end",
    "If-Range",
    "an etag: the range only if the file still has it, otherwise the whole",
    "If-None-Match",
    "etags: 304 when the file has one of them",
    NULL,
};
static const char *const put_headers[] = {
    "If-Match",
    "etags, or *: 412 unless the file has one of them",
    "If-None-Match",
    "*: 412 when there is a file already",
    "X-Content-SHA256",
    "of the body, in hex: 400 when something else came",
    "Lock-Token",
    "of a lock on it, or several with commas between",
    NULL,
};
static const char *const delete_headers[] = {
    "If-Match",   "etags, or *: 412 unless the file has one of them",
    "Lock-Token", "of a lock on it, or several with commas between",
    NULL,
};

#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define FILES "/api/v1/workspaces/{ws}/files"

static const struct op ops[] = {
    {.method = "GET",
     .path = FILES,
     .name = "listFiles",
     .summary = "List files, sorted by path.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(list_args, list_fields),
     .status = 200,
     .answer = "FileList",
     .run = list},
    {.method = "GET",
     .path = FILES "/{path...}",
     .name = "getFile",
     .summary = "The bytes of a file, or what is known of it.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(get_args, get_fields),
     .headers = get_headers,
     .status = 200,
     .also = {206, 304},
     .answer = "FileAnswer",
     .gives = "*/*",
     .admit = admit_signed,
     .run = get},
    {.method = "PUT",
     .path = FILES "/{path...}",
     .name = "putFile",
     .summary = "Make a file, or a new version of one, of the body.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     .flags = OP_RAW_BODY,
     QUERY(put_args, put_fields),
     .headers = put_headers,
     .status = 200,
     .also = {201},
     .answer = "File",
     .admit = admit_signed,
     .run = put},
    {.method = "DELETE",
     .path = FILES "/{path...}",
     .name = "deleteFile",
     .summary = "Move a file to the trash.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     QUERY(delete_args, delete_fields),
     .headers = delete_headers,
     .status = 204,
     .run = delete},
};

const struct op_table native_files = {ops, sizeof ops / sizeof *ops};
