/* files_common.c -- what the doors to workspaces and files share. */
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/file_object.h"
#include "json/write.h"

int named_workspace(struct call *c, const char *name, enum right right, struct workspace_row *ret,
                    struct err *e)
{
    if (name && strcmp(name, "default") == 0)
        name = NULL;
    return files_workspace(c->api->o.files, &c->who, name, right, ret, e);
}

const char *const lock_headers[] = {
    "Lock-Token",
    "of locks in the way, with commas between",
    NULL,
};

struct author call_author(struct call *c)
{
    struct author a = {.pass = &c->pass};
    (void)snprintf(a.principal, sizeof a.principal, "%s", c->who.principal);
    (void)snprintf(a.key, sizeof a.key, "%s", c->who.key);
    return a;
}

void end_list(struct json_writer *w, bool has_more, const char *next)
{
    jw_end_array(w);
    jw_key(w, "has_more");
    jw_bool(w, has_more);
    jw_key(w, "next_cursor");
    jw_text(w, has_more ? next : NULL);
    jw_end_object(w);
}

static void add_etag(struct call *c, const char *file, uint64_t version)
{
    char etag[ETAG_SIZE];
    file_etag(file, version, etag);
    http_add_header(c->x, "ETag", "%s", etag);
}

static void show_row(struct call *c, const struct file_row *row)
{
    struct json_writer w = JSON_WRITER(&c->out);
    if (*row->id)
        add_etag(c, row->id, row->version);
    object_file_row(&w, row);
}

int look_below(struct call *c, const struct workspace_row *ws, const char *path, bool *ret,
               struct err *e)
{
    char prefix[PATH_BYTES_MAX + 2];
    struct file_rows rows;
    scoped(freep) char *next = NULL;
    (void)snprintf(prefix, sizeof prefix, "%s/", path);
    const struct file_query query = {.prefix = prefix, .is_flat = true, .limit = 1};
    if (meta_file_list(files_meta(c->api->o.files), ws->id, &query, &rows, &next, e))
        return -1;
    *ret = rows.count > 0;
    file_rows_done(&rows);
    return 0;
}

int answer_path(struct call *c, const struct workspace_row *ws, const char *path, struct err *e)
{
    struct err why = {0};
    struct file_row row;
    bool is_dir = false;
    if (meta_file_get(files_meta(c->api->o.files), ws->id, path, &row, &why) == 0) {
        show_row(c, &row);
        file_row_done(&row);
        return 0;
    }
    if (why.code == ERR_NOT_FOUND && look_below(c, ws, path, &is_dir, e))
        return -1;
    if (!is_dir) {
        *e = why;
        return -1;
    }
    row = (struct file_row){.path = path, .kind = FILE_DIR};
    (void)snprintf(row.workspace, sizeof row.workspace, "%s", ws->id);
    show_row(c, &row);
    return 0;
}

static int show_version(struct call *c, const struct file_row *row, uint64_t version, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct version_row then;
    if (meta_version_get(files_meta(c->api->o.files), row->id, version, &then, e))
        return -1;
    add_etag(c, row->id, version);
    object_file_at(&w, row, &then);
    version_row_done(&then);
    return 0;
}

int answer_change(struct call *c, const struct workspace_row *ws, const struct file_change *change,
                  struct err *e)
{
    const char *path = change->ret_path ? change->ret_path : change->to ? change->to : change->path;
    struct file_row row;
    if (change->outcome == OUTCOME_DONE && change->made == CHANGE_CREATED)
        c->status = 201;
    if (!*change->ret_file) /* a directory that is there because of others */
        return answer_path(c, ws, path, e);
    if (meta_file_by_id(files_meta(c->api->o.files), change->ret_file, &row, e))
        return -1;
    int failed = 0;
    if (row.kind == FILE_DIR || row.version == change->ret_version)
        show_row(c, &row);
    else /* somebody has changed it since */
        failed = show_version(c, &row, change->ret_version, e);
    file_row_done(&row);
    return failed;
}
