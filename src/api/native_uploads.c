/* native_uploads.c -- files that come in pieces and go on where they stopped:
 * /api/v1/workspaces/{ws}/uploads. */
#include "workspace/uploads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/condition.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/object.h"
#include "json/fields.h"
#include "json/write.h"

enum { ETAG_TEXT_MAX = 256 };

/* ---- what they take ---- */

struct create_args {
    const char *path, *if_match, *if_none_match;
    int64_t size;
};

static const struct json_field create_fields[] = {
    {JF_TEXT(struct create_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_INT(struct create_args, size), .min = 0, .max = INT64_MAX, .preset = -1, .is_open = true,
     .doc = "bytes it will have; then it cannot be completed with fewer"},
    {JF_TEXT(struct create_args, if_match), .min = 1, .max = ETAG_TEXT_MAX,
     .doc = "etag that the file has to have when it is completed"},
    {JF_TEXT(struct create_args, if_none_match), .min = 1, .max = ETAG_TEXT_MAX,
     .doc = "*: only if there is no file then"},
    {0},
};

struct piece_args {
    int64_t offset;
};

static const struct json_field piece_fields[] = {
    {JF_INT(struct piece_args, offset), .required = true, .min = 0, .max = INT64_MAX,
     .doc = "how much was received before"},
    {0},
};

struct complete_args {
    const char *sha256;
};

static const struct json_field complete_fields[] = {
    {JF_TEXT(struct complete_args, sha256), .min = 64, .max = 64,
     .doc = "what the whole has to have, in hex"},
    {0},
};

/* ---- as JSON ---- */

static void show(struct call *c, const struct workspace_row *ws, const struct upload *u)
{
    struct json_writer w = JSON_WRITER(&c->out);
    char url[256];
    (void)snprintf(url, sizeof url, "/api/v1/workspaces/%s/uploads/%s", ws->id, u->row.id);
    jw_object(&w);
    jw_key(&w, "id");
    jw_text(&w, u->row.id);
    jw_key(&w, "workspace_id");
    jw_text(&w, ws->id);
    jw_key(&w, "path");
    jw_text(&w, u->row.path);
    jw_key(&w, "size");
    if (u->row.size == UPLOAD_SIZE_NONE)
        jw_null(&w);
    else
        jw_u64(&w, u->row.size);
    jw_key(&w, "received");
    jw_u64(&w, u->received);
    object_time(&w, "created_at", u->row.created_us);
    object_time(&w, "expires_at", u->expires_us);
    jw_key(&w, "url");
    jw_text(&w, url);
    jw_end_object(&w);
}

static int show_now(struct call *c, const struct workspace_row *ws, const char *id, struct err *e)
{
    scoped(upload_done) struct upload u = {0};
    if (upload_get(c->api->o.files, ws, id, &u, e))
        return -1;
    show(c, ws, &u);
    return 0;
}

/* ---- conditions, as they are kept: "=" and an If-Match, or "!" and an If-None-Match ---- */

static int keep_condition(const struct create_args *in, struct buf *ret, struct err *e)
{
    if (in->if_match && in->if_none_match)
        return err_set(e, ERR_INVALID, "if_match and if_none_match: give one of them");
    if (in->if_match)
        buf_fmt(ret, "=%s", in->if_match);
    if (in->if_none_match)
        buf_fmt(ret, "!%s", in->if_none_match);
    return buf_check(ret, e);
}

static struct condition kept_condition(const char *kept, struct buf *text)
{
    return condition_from(kept && *kept == '=' ? kept + 1 : NULL,
                          kept && *kept == '!' ? kept + 1 : NULL, text);
}

/* ---- what they do ---- */

static int create(struct call *c, struct err *e)
{
    const struct create_args *in = c->in;
    scoped(buf_done) struct buf kept = BUF_INIT(512), text = BUF_INIT(512);
    scoped(upload_done) struct upload u = {0};
    char path[PATH_BYTES_MAX + 1];
    const struct author author = call_author(c);
    if (path_clean(in->path, path, e) || keep_condition(in, &kept, e))
        return -1;
    struct condition now = condition_from(in->if_match, in->if_none_match, &text);
    const struct upload_wishes wishes = {.path = path,
                                         .size =
                                             in->size < 0 ? UPLOAD_SIZE_NONE : (uint64_t)in->size,
                                         .condition = kept.bytes};
    if (condition_check(&now, c->api->o.files, &c->ws, path, e) ||
        upload_create(c->api->o.files, &c->ws, &author, &wishes, &u, e))
        return -1;
    show(c, &c->ws, &u);
    return 0;
}

static int get(struct call *c, struct err *e)
{
    return show_now(c, &c->ws, c->param[1], e);
}

static int delete (struct call *c, struct err *e)
{
    return upload_abort(c->api->o.files, &c->ws, c->param[1], e);
}

/* Whatever came stays, also when the client leaves or nothing more fits. */
static int append_body(struct call *c, struct append *a, struct err *e)
{
    scoped(freep) char *piece = malloc(TRANSFER_SIZE);
    struct err later = {0};
    uint64_t received;
    size_t len = 1;
    int failed = piece ? 0 : err_set(e, ERR_NO_MEMORY, "take a piece");
    while (!failed && len)
        failed = http_read(c->x, piece, TRANSFER_SIZE, &len, e) ||
                 (len && append_write(a, piece, len, e));
    if (append_end(a, &received, failed ? &later : e))
        failed = 1;
    return failed ? -1 : 0;
}

static int put_piece(struct call *c, struct err *e)
{
    const struct piece_args *in = c->query;
    struct append *a = NULL;
    uint64_t received = 0;
    if (append_begin(c->api->o.files, &c->ws, c->param[1], (uint64_t)in->offset, &a, &received,
                     e)) {
        if (e->code == ERR_CONFLICT) {
            http_add_header(c->x, "Upload-Offset", "%" PRIu64, received);
            (void)snprintf(c->hint_text, sizeof c->hint_text, "Go on with ?offset=%" PRIu64 ".",
                           received);
            c->hint = c->hint_text;
        }
        return -1;
    }
    return append_body(c, a, e) || show_now(c, &c->ws, c->param[1], e) ? -1 : 0;
}

static int read_digit(char c)
{
    const char *digits = "0123456789abcdef",
               *at = strchr(digits, c >= 'A' && c <= 'F' ? c | 32 : c);
    return c && at ? (int)(at - digits) : -1;
}

static int read_hex(const char *hex, uint8_t ret[HASH_LEN], struct err *e)
{
    for (size_t i = 0; i < HASH_LEN; i++) {
        int high = read_digit(hex[2 * i]), low = read_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return err_set(e, ERR_INVALID, "sha256: not 64 digits in hex");
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}

static int complete(struct call *c, struct err *e)
{
    const struct complete_args *in = c->in;
    scoped(upload_done) struct upload u = {0};
    scoped(commit_freep) struct commit *commit = NULL;
    scoped(buf_done) struct buf text = BUF_INIT(512);
    uint8_t sha256[HASH_LEN];
    const struct author author = call_author(c);
    if ((in->sha256 && read_hex(in->sha256, sha256, e)) ||
        upload_get(c->api->o.files, &c->ws, c->param[1], &u, e))
        return -1;
    struct condition condition = kept_condition(u.row.condition, &text);
    if (condition_check(&condition, c->api->o.files, &c->ws, u.row.path, e) ||
        upload_complete(c->api->o.files, &c->ws, u.row.id, &author, &condition.how,
                        in->sha256 ? sha256 : NULL, &commit, e))
        return -1;
    return answer_change(c, &c->ws, commit_change(commit, 0), e);
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define UPLOADS "/api/v1/workspaces/{ws}/uploads"

static const struct op ops[] = {
    {.method = "POST",
     .path = UPLOADS,
     .name = "createUpload",
     .summary = "Begin a file that comes in pieces.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(create_args, create_fields),
     .status = 201,
     .answer = "Upload",
     .run = create},
    {.method = "GET",
     .path = UPLOADS "/{id}",
     .name = "getUpload",
     .summary = "How much of it was received: go on from there.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     .status = 200,
     .answer = "Upload",
     .run = get},
    {.method = "PUT",
     .path = UPLOADS "/{id}",
     .name = "putPiece",
     .summary = "The next bytes. What came stays when the connection breaks.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     .flags = OP_RAW_BODY,
     QUERY(piece_args, piece_fields),
     .status = 200,
     .answer = "Upload",
     .run = put_piece},
    {.method = "DELETE",
     .path = UPLOADS "/{id}",
     .name = "deleteUpload",
     .summary = "Give it up.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     .status = 204,
     .run = delete},
    {.method = "POST",
     .path = UPLOADS "/{id}/complete",
     .name = "completeUpload",
     .summary = "Make a file, or a new version of one, of all that came.",
     .needs = NEEDS_WRITE,
     .scope = SCOPE_FILES_WRITE,
     BODY(complete_args, complete_fields),
     .body_is_optional = true,
     .headers = lock_headers,
     .status = 200,
     .also = {201},
     .answer = "File",
     .run = complete},
};

const struct op_table native_uploads = {ops, sizeof ops / sizeof *ops};
