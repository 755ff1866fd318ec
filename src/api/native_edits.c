/* native_edits.c -- what is done to files besides putting and deleting: mkdir, move, copy, restore. */
#include <string.h>

#include "api/api_int.h"
#include "api/condition.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/fields.h"

enum { ETAG_TEXT_MAX = 256, LOCK_TEXT_MAX = 1024 };

/* ---- what they take ---- */

struct mkdir_args {
    const char *path, *lock_token;
};

static const struct json_field mkdir_fields[] = {
    {JF_TEXT(struct mkdir_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_TEXT(struct mkdir_args, lock_token), .min = 1, .max = LOCK_TEXT_MAX,
     .doc = "of a lock in the way, like the header Lock-Token"},
    {0},
};

struct move_args {
    const char *from, *to, *if_match, *lock_token, *workspace;
    bool overwrite;
    int64_t version;
};

static const struct json_field move_fields[] = {
    {JF_TEXT(struct move_args, from), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_TEXT(struct move_args, to), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_BOOL(struct move_args, overwrite),
     .doc = "a file that is there goes to the trash; otherwise it is a conflict"},
    {JF_TEXT(struct move_args, if_match), .min = 1, .max = ETAG_TEXT_MAX,
     .doc = "etag that `from` has to have"},
    {JF_TEXT(struct move_args, lock_token), .min = 1, .max = LOCK_TEXT_MAX,
     .doc = "of a lock in the way, like the header Lock-Token"},
    {0},
};

static const struct json_field copy_fields[] = {
    {JF_TEXT(struct move_args, from), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_TEXT(struct move_args, to), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_INT(struct move_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "of `from`; the newest if left out"},
    {JF_TEXT(struct move_args, workspace), .min = 1, .max = 64,
     .doc = "that `from` is in, by id or name; this one if left out"},
    {JF_BOOL(struct move_args, overwrite),
     .doc = "makes a new version of a file that is there; otherwise it is a conflict"},
    {JF_TEXT(struct move_args, lock_token), .min = 1, .max = LOCK_TEXT_MAX,
     .doc = "of a lock in the way, like the header Lock-Token"},
    {0},
};

struct restore_args {
    const char *path, *file_id, *lock_token;
    int64_t version;
};

static const struct json_field restore_fields[] = {
    {JF_TEXT(struct restore_args, path), .min = 1, .max = OP_REST_SIZE,
     .doc = "whose version becomes its newest; with file_id: where it goes, if not where it was"},
    {JF_INT(struct restore_args, version), .min = 1, .max = INT64_MAX, .is_open = true},
    {JF_TEXT(struct restore_args, file_id), .min = 1, .max = ID_SIZE - 1,
     .doc = "of a file in the trash"},
    {JF_TEXT(struct restore_args, lock_token), .min = 1, .max = LOCK_TEXT_MAX,
     .doc = "of a lock in the way, like the header Lock-Token"},
    {0},
};

/* ---- what they do ---- */

static struct files *files_of(const struct call *c)
{
    return c->api->o.files;
}

/* A commit of one change: the workspace of the address, and who asks. */
static int begin(struct call *c, const char *lock_token, struct commit **ret, struct err *e)
{
    const struct author author = call_author(c);
    if (lock_token && lock_present(&c->pass, str_of(lock_token), e))
        return -1;
    return commit_new(files_of(c), &c->ws, &author, COMMIT_EDIT, ret, e);
}

static int finish(struct call *c, struct commit *commit, struct err *e)
{
    if (commit_finish(commit, e)) {
        if (e->code == ERR_LOCKED || e->code == ERR_PRECONDITION)
            c->hint = NULL; /* another name may be as good, but is not the matter */
        return -1;
    }
    return answer_change(c, &c->ws, commit_change(commit, 0), e);
}

static int make_dir(struct call *c, struct err *e)
{
    const struct mkdir_args *in = c->in;
    scoped(commit_freep) struct commit *commit = NULL;
    if (begin(c, in->lock_token, &commit, e) || commit_mkdir(commit, in->path, e))
        return -1;
    return finish(c, commit, e);
}

static int move(struct call *c, struct err *e)
{
    const struct move_args *in = c->in;
    scoped(commit_freep) struct commit *commit = NULL;
    scoped(buf_done) struct buf text = BUF_INIT(2 * ETAG_TEXT_MAX);
    char from[PATH_BYTES_MAX + 1];
    struct condition condition = condition_from(in->if_match, /* if_none_match= */ NULL, &text);
    if (path_clean(in->from, from, e) || begin(c, in->lock_token, &commit, e) ||
        condition_check(&condition, files_of(c), &c->ws, from, e))
        return -1;
    condition.how.is_overwriting = in->overwrite;
    if (!in->overwrite)
        c->hint = "Choose another name, or send \"overwrite\": true.";
    if (commit_move(commit, from, in->to, &condition.how, e) || finish(c, commit, e))
        return -1;
    c->status = 200;
    return 0;
}

static int read_content(void *arg, uint64_t offset, void *to, size_t size, size_t *ret_len,
                        struct err *e)
{
    return content_read(arg, offset, to, size, ret_len, e);
}

/* Of a workspace with the same vault nothing has to be read. */
static int put_from(struct call *c, struct commit *commit, const struct workspace_row *from,
                    const char *to, const struct how *how, const struct content *content,
                    struct content_reader **ret_reader, struct err *e)
{
    if (strcmp(from->vault, c->ws.vault) == 0)
        return commit_put_content(commit, to, how, content, e);
    if (files_open_content(files_of(c), from, content, ret_reader, e))
        return -1;
    const struct file_source source = {read_content, *ret_reader};
    return commit_put_source(commit, to, how, content->size, &source, e);
}

static int check_is_file(struct call *c, const char *file, struct err *e)
{
    struct file_row row;
    if (meta_file_by_id(files_meta(files_of(c)), file, &row, e))
        return -1;
    bool is_file = row.kind == FILE_REGULAR;
    file_row_done(&row);
    c->hint = is_file ? c->hint : "Copy the files that are in it one by one.";
    return is_file ? 0 : err_set(e, ERR_NOT_FOUND, "there is a directory, not a file");
}

/* An earlier version, and a file of another workspace, is a content like another. `ret_reader` is to be closed after the
 * commit. */
static int copy_version(struct call *c, struct commit *commit, const struct workspace_row *from,
                        const struct move_args *in, struct content_reader **ret_reader,
                        struct err *e)
{
    const struct how how = {.expect = in->overwrite ? EXPECT_ANY : EXPECT_ABSENT};
    const struct author author = call_author(c);
    struct version_row row;
    char to[PATH_BYTES_MAX + 1];
    /* Here: what the commit says of a token would be taken for a file that is there. */
    if (path_clean(in->to, to, e) || lock_check(files_of(c), &c->ws, to, &author, e))
        return -1;
    if (files_stat(files_of(c), from, in->from, (uint64_t)in->version, &row, e))
        return -1;
    struct content content = row.content;
    bool is_deleted = row.change == CHANGE_DELETED;
    int failed = check_is_file(c, row.file, e);
    version_row_done(&row);
    if (failed)
        return -1;
    if (is_deleted)
        return err_set(e, ERR_NOT_FOUND, "the file was deleted at that version");
    return put_from(c, commit, from, to, &how, &content, ret_reader, e);
}

/* The workspace that `from` is in, which they have to be allowed to read. */
static int copy_source(struct call *c, const struct move_args *in, struct workspace_row *ret,
                       struct err *e)
{
    return who_may(&c->who, SCOPE_FILES_READ, e) ||
                   named_workspace(c, in->workspace, RIGHT_READ, ret, e)
               ? -1
               : 0;
}

static int copy(struct call *c, struct err *e)
{
    const struct move_args *in = c->in;
    const struct how how = {.is_overwriting = in->overwrite};
    scoped(workspace_row_done) struct workspace_row other = {0};
    scoped(content_closep) struct content_reader *reader = NULL;
    scoped(commit_freep) struct commit *commit = NULL;
    const struct workspace_row *from = in->workspace ? &other : &c->ws;
    bool is_content = in->version || in->workspace;
    if (in->workspace && copy_source(c, in, &other, e))
        return -1;
    if (!in->overwrite)
        c->hint = "Choose another name, or send \"overwrite\": true.";
    if (begin(c, in->lock_token, &commit, e) ||
        (is_content ? copy_version(c, commit, from, in, &reader, e)
                    : commit_copy(commit, in->from, in->to, &how, e)))
        return -1;
    if (finish(c, commit, e)) {
        if (e->code != ERR_PRECONDITION || !is_content)
            return -1;
        c->hint = "Choose another name, or send \"overwrite\": true.";
        return err_set(e, ERR_CONFLICT, "there is a file '%.80s' already", in->to);
    }
    return 0;
}

static int restore(struct call *c, struct err *e)
{
    const struct restore_args *in = c->in;
    const struct how how = {0};
    scoped(commit_freep) struct commit *commit = NULL;
    if (in->file_id ? in->version != 0 : !in->path || !in->version)
        return err_set(e, ERR_INVALID, "give path and version, or file_id");
    if (begin(c, in->lock_token, &commit, e))
        return -1;
    if (in->file_id ? commit_untrash(commit, in->file_id, in->path, &how, e)
                    : commit_restore(commit, in->path, (uint64_t)in->version, &how, e))
        return -1;
    if (finish(c, commit, e))
        return -1;
    c->status = 200;
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define WS "/api/v1/workspaces/{ws}"

static const struct op ops[] = {
    {.method = "POST",
     .path = WS "/mkdir",
     .name = "makeDirectory",
     .summary = "Make a directory. Files make those they are in by themselves.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(mkdir_args, mkdir_fields),
     .status = 200,
     .also = {201},
     .answer = "File",
     .run = make_dir},
    {.method = "POST",
     .path = WS "/move",
     .name = "moveFile",
     .summary = "Move a file with its history, or a directory with everything in it.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(move_args, move_fields),
     .status = 200,
     .answer = "File",
     .run = move},
    {.method = "POST",
     .path = WS "/copy",
     .name = "copyFile",
     .summary = "Copy a file, one of its versions, or a directory.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(move_args, copy_fields),
     .status = 200,
     .also = {201},
     .answer = "File",
     .run = copy},
    {.method = "POST",
     .path = WS "/restore",
     .name = "restoreFile",
     .summary = "Make an earlier version the newest, or take a file out of the trash.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(restore_args, restore_fields),
     .status = 200,
     .answer = "File",
     .run = restore},
};

const struct op_table native_edits = {ops, sizeof ops / sizeof *ops};
