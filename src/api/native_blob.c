/* native_blob.c -- POST /blob: one form with a file in it makes a durable file.
 *
 * Where the fields `path` and `workspace` come before `file`, it is stored as it comes. Where the file
 * comes first, nobody knows yet whether they follow: it is put aside until the form has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "api/spool.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/multipart.h"

enum { FIELD_MAX = 4096 };

struct form {
    struct multipart *m;
    struct buf path, workspace;
    char name[PATH_BYTES_MAX + 1]; /* of the file, where no path says another; "": none */
    bool has_file;
};

static int read_part(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    return multipart_read(arg, to, size, ret_len, e);
}

static int read_spool(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    return spool_read(arg, to, size, ret_len, e);
}

static int read_field(struct form *f, const char *name, struct buf *ret, struct err *e)
{
    char piece[512];
    size_t len = 1;
    if (ret->len > 0)
        return err_set(e, ERR_INVALID, "%s: given twice", name);
    while (len) {
        if (multipart_read(f->m, piece, sizeof piece, &len, e))
            return -1;
        buf_add(ret, piece, len);
    }
    if (ret->failed)
        return err_set(e, ERR_INVALID, "%s: longer than %d bytes", name, FIELD_MAX);
    if (ret->len > 0 && strlen(ret->bytes) != ret->len)
        return err_set(e, ERR_INVALID, "%s: it holds a NUL", name);
    return 0;
}

/* Browsers and other systems send whole paths; what counts is the last name of it. */
static void keep_name(struct form *f, const char *filename)
{
    const char *name = filename ? filename : "";
    for (const char *at = name; *at; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
}

/* Fields up to the file, or up to the end; *ret_file is whether there is one. */
static int read_fields(struct form *f, bool *ret_file, struct err *e)
{
    const struct multipart_part *part;
    *ret_file = false;
    for (;;) {
        if (multipart_next(f->m, &part, e))
            return -1;
        if (!part)
            return 0;
        if (strcmp(part->name, "path") == 0 && read_field(f, "path", &f->path, e))
            return -1;
        if (strcmp(part->name, "workspace") == 0 && read_field(f, "workspace", &f->workspace, e))
            return -1;
        if (strcmp(part->name, "file") != 0)
            continue;
        if (f->has_file)
            return err_set(e, ERR_INVALID, "file: one at a time");
        keep_name(f, part->filename);
        f->has_file = *ret_file = true;
        return 0;
    }
}

/* After a file that is stored already nothing may come that says where to. */
static int check_rest(void *arg, struct err *e)
{
    struct form *f = arg;
    size_t before = f->path.len + f->workspace.len;
    bool has_another;
    if (read_fields(f, &has_another, e))
        return -1;
    if (f->path.len + f->workspace.len != before)
        return err_set(e, ERR_INVALID,
                       "send path and workspace both before the file, or both after");
    return 0;
}

static int put_aside(struct call *c, struct form *f, struct spool *s, struct err *e)
{
    scoped(freep) char *piece = malloc(TRANSFER_SIZE);
    size_t len = 1;
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "take a file");
    while (len)
        if (files_check_space(c->api->o.files, e) ||
            multipart_read(f->m, piece, TRANSFER_SIZE, &len, e) || spool_add(s, piece, len, e))
            return -1;
    return 0;
}

static int store(struct call *c, struct form *f, struct spool *aside, struct err *e)
{
    scoped(workspace_row_done) struct workspace_row ws = {0};
    char path[PATH_BYTES_MAX + 1];
    const char *wanted = f->path.len > 0 ? f->path.bytes : f->name;
    if (!*wanted)
        return err_set(e, ERR_INVALID, "path: give one, or give the file a name");
    if (path_clean(wanted, path, e) ||
        named_workspace(c, f->workspace.len > 0 ? f->workspace.bytes : NULL, RIGHT_WRITE, &ws, e))
        return -1;
    struct receiving r = {.path = path, .read = read_part, .arg = f->m};
    if (aside) {
        r.read = read_spool;
        r.arg = aside;
        r.size = aside->len;
    } else {
        r.check = check_rest;
        r.check_arg = f;
    }
    if (receive_file(c, &ws, &r, e))
        return -1;
    c->status = 201; /* whether it was there before does not matter to who only wants to keep it */
    return 0;
}

static int take_form(struct call *c, struct form *f, struct err *e)
{
    bool has_file, has_another;
    scoped(spool_done) struct spool aside = SPOOL_INIT(c->api->o.spool_fd);
    if (read_fields(f, &has_file, e))
        return -1;
    if (!has_file)
        return err_set(e, ERR_INVALID, "file: the form has none");
    if (f->path.len > 0 || f->workspace.len > 0)
        return store(c, f, /* aside= */ NULL, e);
    if (put_aside(c, f, &aside, e) || read_fields(f, &has_another, e))
        return -1;
    return store(c, f, &aside, e);
}

static int post_blob(struct call *c, struct err *e)
{
    scoped(multipart_freep) struct multipart *m = NULL;
    struct form f = {.path = BUF_INIT(FIELD_MAX), .workspace = BUF_INIT(FIELD_MAX)};
    c->hint = "Send a form: curl -H 'Authorization: Bearer cik_...' -F file=@report.csv .../blob";
    if (files_check_space(c->api->o.files, e) ||
        multipart_new(http_header_get(c->request, "Content-Type"), read_request, c->x, &m, e))
        return -1;
    f.m = m;
    int failed = take_form(c, &f, e);
    if (failed && e->code != ERR_INVALID)
        c->hint = NULL;
    buf_done(&f.path);
    buf_done(&f.workspace);
    return failed;
}

static const struct op ops[] = {
    {.method = "POST",
     .path = "/blob",
     .name = "postBlob",
     .summary = "Keep a file: a form with `file`, and perhaps `path` and `workspace`.",
     .needs = NEEDS_NAMED,
     .scope = SCOPE_FILES_WRITE,
     .flags = OP_RAW_BODY,
     .takes = "multipart/form-data",
     .form = "BlobForm",
     .headers = lock_headers,
     .status = 201,
     .answer = "File",
     .run = post_blob},
};

const struct op_table native_blob = {ops, sizeof ops / sizeof *ops};
