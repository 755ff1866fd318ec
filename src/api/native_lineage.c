/* native_lineage.c -- where a file comes from; making it once more; a session as a document. */
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/lineage.h"
#include "service/notebook.h"
#include "service/reproduce.h"
#include "json/fields.h"

/* ---- what they take ---- */

struct lineage_args {
    const char *path;
    int64_t version, depth;
};

static const struct json_field lineage_fields[] = {
    {JF_TEXT(struct lineage_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_INT(struct lineage_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "the newest if left out"},
    {JF_INT(struct lineage_args, depth), .min = 1, .max = LINEAGE_DEPTH_MAX, .preset = 10,
     .doc = "how many runs to go back"},
    {0},
};

static const char *const input_names[] = {"recorded", "latest", NULL};

struct reproduce_args {
    const char *path;
    int64_t version;
    int inputs;
};

static const struct json_field reproduce_fields[] = {
    {JF_TEXT(struct reproduce_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_INT(struct reproduce_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "the newest if left out"},
    {JF_CHOICE(struct reproduce_args, inputs, input_names), .preset = 0,
     .doc =
         "the versions that were read then, or those of today, with the runs that lead from them "
         "to the file"},
    {0},
};

static const char *const format_names[] = {"ipynb", "py", NULL}; /* by enum notebook_format */

struct export_args {
    int format;
};

static const struct json_field export_fields[] = {
    {JF_CHOICE(struct export_args, format, format_names), .preset = NOTEBOOK_IPYNB,
     .doc = "a Jupyter notebook, or a script"},
    {0},
};

/* ---- what they do ---- */

static int find_version(struct call *c, const char *path, int64_t version, struct version_row *ret,
                        struct err *e)
{
    char clean[PATH_BYTES_MAX + 1];
    uint64_t wanted = version > 0 ? (uint64_t)version : 0;
    return path_clean(path, clean, e) || files_stat(c->api->o.files, &c->ws, clean, wanted, ret, e)
               ? -1
               : 0;
}

static int lineage(struct call *c, struct err *e)
{
    const struct lineage_args *in = c->query;
    struct version_row of;
    if (find_version(c, in->path, in->version, &of, e))
        return -1;
    int failed = lineage_write(c->api->o.service, &c->ws, &of, (uint32_t)in->depth, &c->out, e);
    version_row_done(&of);
    return failed;
}

static int make_again(struct call *c, struct err *e)
{
    const struct reproduce_args *in = c->in;
    struct version_row of;
    if (find_version(c, in->path, in->version, &of, e))
        return -1;
    const struct reproduction wishes = {
        .ws = &c->ws, .of = &of, .is_latest = in->inputs == 1, .request = c->id};
    int failed = reproduce(c->api->o.service, &c->who, &wishes, &c->out, e);
    version_row_done(&of);
    return failed;
}

/* What it reads is files, whatever the scope of running is good for. */
static void needs_files(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    (void)c;
    *ret_scope = SCOPE_FILES_READ;
    *ret_needs = NEEDS_READ;
}

static int export_session(struct call *c, struct err *e)
{
    const struct export_args *in = c->query;
    bool is_script = in->format == NOTEBOOK_SCRIPT;
    scoped(buf_done) struct buf text = BUF_INIT(OP_ANSWER_MAX);
    if (notebook_write(c->api->o.service, &c->who, c->param[0], (enum notebook_format)in->format,
                       &text, e) ||
        buf_check(&text, e))
        return -1;
    http_add_header(c->x, "Content-Disposition", "attachment; filename=\"session.%s\"",
                    format_names[in->format]);
    c->is_answered = true;
    return http_send(c->x, 200,
                     is_script ? "text/x-python; charset=utf-8" : "application/x-ipynb+json",
                     text.bytes, text.len, e);
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define WS "/api/v1/workspaces/{ws}"

static const struct op ops[] = {
    {.method = "GET",
     .path = WS "/lineage",
     .name = "getLineage",
     .summary = "Where a version comes from: the runs that led to it, and what they read.",
     .scope = SCOPE_FILES_READ,
     .needs = NEEDS_READ,
     QUERY(lineage_args, lineage_fields),
     .status = 200,
     .answer = "Lineage",
     .run = lineage},
    {.method = "POST",
     .path = WS "/reproduce",
     .name = "reproduceFile",
     .summary = "Repeat the run that made a version, elsewhere, and say whether it comes out the "
                "same.",
     .scope = SCOPE_RUN,
     .needs = NEEDS_READ,
     .flags = OP_RUNS,
     BODY(reproduce_args, reproduce_fields),
     .status = 200,
     .answer = "Reproduction",
     .demand = needs_files,
     .run = make_again},
    {.method = "GET",
     .path = "/api/v1/sessions/{id}/export",
     .name = "exportSession",
     .summary = "The code of a session and what came of it, as a notebook or a script.",
     .scope = SCOPE_RUN,
     .needs = NEEDS_OWNER,
     QUERY(export_args, export_fields),
     .status = 200,
     .gives = "*/*",
     .run = export_session},
};

const struct op_table native_lineage = {ops, sizeof ops / sizeof *ops};
