/* native_trash.c -- what is kept of files and what is not: pins, the trash, forgetting for good. */
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/file_object.h"
#include "json/fields.h"
#include "json/write.h"

enum { PURGE_AT_ONCE = 1000 };

/* ---- what they take ---- */

struct pin_args {
    const char *path;
    int64_t version;
    bool pinned;
};

static const struct json_field pin_fields[] = {
    {JF_TEXT(struct pin_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_INT(struct pin_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "the newest if left out"},
    {JF_BOOL(struct pin_args, pinned), .preset = true},
    {0},
};

struct purge_args {
    const char *path, *file_id;
    int64_t version;
    bool trash;
};

static const struct json_field purge_fields[] = {
    {JF_TEXT(struct purge_args, file_id), .min = 1, .max = ID_SIZE - 1,
     .doc = "of a file in the trash: all of it, or with `version` that one"},
    {JF_TEXT(struct purge_args, path), .min = 1, .max = OP_REST_SIZE,
     .doc = "of a file of which `version` is to be forgotten"},
    {JF_INT(struct purge_args, version), .min = 1, .max = INT64_MAX, .is_open = true},
    {JF_BOOL(struct purge_args, trash), .doc = "everything that is in the trash"},
    {0},
};

struct page_args {
    const char *cursor;
    int64_t limit;
};

static const struct json_field page_fields[] = {
    {JF_TEXT(struct page_args, cursor), .min = 1, .max = 2 * PATH_BYTES_MAX,
     .doc = "next_cursor of the page before"},
    {JF_INT(struct page_args, limit), .min = 1, .max = PAGE_MAX, .preset = 100},
    {0},
};

/* ---- what they do ---- */

static struct files *files_of(const struct call *c)
{
    return c->api->o.files;
}

static int pin(struct call *c, struct err *e)
{
    const struct pin_args *in = c->in;
    scoped(version_row_done) struct version_row row = {0};
    struct json_writer w = JSON_WRITER(&c->out);
    char path[PATH_BYTES_MAX + 1];
    if (path_clean(in->path, path, e) ||
        files_stat(files_of(c), &c->ws, path, (uint64_t)in->version, &row, e) ||
        meta_version_pin(files_meta(files_of(c)), row.file, row.version, in->pinned, e))
        return -1;
    row.is_pinned = in->pinned;
    object_version(&w, c->ws.id, path, &row);
    return 0;
}

/* ---- forgetting ---- */

static int empty_trash(struct call *c, const struct workspace_row *ws, uint64_t *ret_count,
                       struct err *e)
{
    uint64_t some = 0;
    int64_t before_us = clock_wall_us() + 1;
    *ret_count = 0;
    do {
        if (meta_purge_trash(files_meta(files_of(c)), ws->id, before_us, PURGE_AT_ONCE, &some, e))
            return -1;
        *ret_count += some;
    } while (some == PURGE_AT_ONCE);
    return 0;
}

/* A file of another workspace is none. */
static int check_place(struct call *c, const struct workspace_row *ws, const char *file,
                       struct err *e)
{
    struct file_row row;
    if (meta_file_by_id(files_meta(files_of(c)), file, &row, e))
        return -1;
    bool is_here = strcmp(row.workspace, ws->id) == 0;
    file_row_done(&row);
    return is_here ? 0 : err_set(e, ERR_NOT_FOUND, "there is no file %.64s", file);
}

static int purge_file(struct call *c, const struct workspace_row *ws, struct err *e)
{
    const struct purge_args *in = c->in;
    scoped(version_row_done) struct version_row row = {0};
    const char *file = in->file_id;
    if (in->path && files_stat(files_of(c), ws, in->path, (uint64_t)in->version, &row, e))
        return -1;
    if (in->path)
        file = row.file;
    return check_place(c, ws, file, e) ||
                   meta_purge(files_meta(files_of(c)), file, (uint64_t)in->version, e)
               ? -1
               : 0;
}

static int purge(struct call *c, struct err *e)
{
    const struct purge_args *in = c->in;
    uint64_t count = 1;
    int ways = (in->file_id != NULL) + (in->path != NULL) + in->trash;
    if (ways != 1 || (in->path && !in->version))
        return err_set(e, ERR_INVALID, "give file_id, or path and version, or trash");
    if (in->trash ? empty_trash(c, &c->ws, &count, e) : purge_file(c, &c->ws, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "purged");
    jw_u64(&w, count);
    jw_end_object(&w);
    return 0;
}

static int list_trash(struct call *c, struct err *e)
{
    const struct page_args *in = c->query;
    scoped(freep) char *next = NULL;
    struct json_writer w = JSON_WRITER(&c->out);
    struct file_rows rows;
    const struct file_query query = {
        .prefix = "", .state = FILE_TRASHED, .after = in->cursor, .limit = (uint32_t)in->limit};
    if (meta_file_list(files_meta(files_of(c)), c->ws.id, &query, &rows, &next, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        object_file_row(&w, &rows.items[i]);
    end_list(&w, next != NULL, next);
    file_rows_done(&rows);
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define WS "/api/v1/workspaces/{ws}"

static const struct op ops[] = {
    {.method = "POST",
     .path = WS "/pin",
     .name = "pinVersion",
     .summary = "Keep a version whatever the server's rules for old ones are, or no longer.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(pin_args, pin_fields),
     .status = 200,
     .answer = "FileVersion",
     .run = pin},
    {.method = "POST",
     .path = WS "/purge",
     .name = "purgeFiles",
     .summary = "Forget for good: a file in the trash, a version, or the whole trash.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_FILES_WRITE,
     BODY(purge_args, purge_fields),
     .status = 200,
     .answer = "Purged",
     .run = purge},
    {.method = "GET",
     .path = WS "/trash",
     .name = "listTrash",
     .summary = "What was deleted and can be restored, newest first.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(page_args, page_fields),
     .status = 200,
     .answer = "FileList",
     .run = list_trash},
};

const struct op_table native_trash = {ops, sizeof ops / sizeof *ops};
