/* native_shares.c -- /api/v1/workspaces/{ws}/shares: making, listing, changing and revoking links. */
#include <string.h>

#include "api/api_int.h"
#include "api/challenge.h"
#include "api/native_files.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/syntax.h"
#include "service/object.h"
#include "workspace/passwords.h"
#include "workspace/shares.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

struct create_args {
    const char *path, *note;
    struct str password;
    int64_t version, expires_s, max_downloads;
    unsigned rights;
};

static const struct json_field create_fields[] = {
    {JF_TEXT(struct create_args, path), .required = true, .max = OP_REST_SIZE,
     .doc = "a file or a folder; empty: all of the workspace"},
    {JF_INT(struct create_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "of a file: this one for ever; otherwise what is newest then"},
    {JF_FLAGS(struct create_args, rights, share_right_names), .preset = SHARE_VIEW | SHARE_DOWNLOAD,
     .doc = "upload is for folders; alone, a drop box"},
    {JF_INT(struct create_args, expires_s), .min = 1, .max = SHARE_EXPIRES_MAX_S, .is_open = true,
     .doc = "seconds it works; until it is revoked if left out"},
    {JF_STR(struct create_args, password), .min = 1, .max = PASSWORD_BYTES_MAX},
    {JF_INT(struct create_args, max_downloads), .min = 1, .max = SHARE_DOWNLOADS_MAX,
     .is_open = true, .doc = "then it ends; there are no previews with it"},
    {JF_TEXT(struct create_args, note), .max = SHARE_NOTE_MAX, .preset_text = "",
     .doc = "for yourself: who has the link does not see it"},
    {0},
};

struct change_args {
    const char *note;
    struct str password;
    int64_t expires_s, max_downloads;
    bool has_password, has_expires, has_max;
};

static const struct json_field change_fields[] = {
    {JF_INT(struct change_args, expires_s), .min = 1, .max = SHARE_EXPIRES_MAX_S, .is_open = true,
     .has_at = JF_HAS(struct change_args, has_expires), .doc = "from now on; null: never"},
    {JF_STR(struct change_args, password), .min = 1, .max = PASSWORD_BYTES_MAX,
     .has_at = JF_HAS(struct change_args, has_password), .doc = "null: none from now on"},
    {JF_INT(struct change_args, max_downloads), .min = 1, .max = SHARE_DOWNLOADS_MAX,
     .is_open = true, .has_at = JF_HAS(struct change_args, has_max),
     .doc = "of all that were and will be; null: any number"},
    {JF_TEXT(struct change_args, note), .max = SHARE_NOTE_MAX},
    {0},
};

struct list_args {
    const char *cursor;
    int64_t limit;
};

static const struct json_field list_fields[] = {
    {JF_TEXT(struct list_args, cursor), .max = 128},
    {JF_INT(struct list_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

/* ---- as JSON ---- */

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

static void put_or_null(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    if (v)
        jw_u64(w, v);
    else
        jw_null(w);
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

static const char *state_of(const struct share_row *r)
{
    if (r->revoked_us)
        return "revoked";
    if (r->expires_us && r->expires_us <= clock_wall_us())
        return "expired";
    return r->max_downloads && r->downloads >= r->max_downloads ? "used_up" : "works";
}

static void put_share(struct json_writer *w, const struct share_row *r, const char *url)
{
    jw_object(w);
    put_text(w, "id", r->id);
    put_text(w, "workspace_id", r->workspace);
    put_text(w, "path", r->path);
    put_text(w, "kind", r->is_folder ? "folder" : "file");
    put_or_null(w, "version", r->version);
    put_rights(w, r->rights);
    put_text(w, "state", state_of(r));
    jw_key(w, "has_password");
    jw_bool(w, r->password != NULL);
    put_or_null(w, "max_downloads", r->max_downloads);
    put_number(w, "views", r->views);
    put_number(w, "downloads", r->downloads);
    put_number(w, "uploads", r->uploads);
    put_text(w, "note", r->note);
    put_text(w, "made_by", r->made_by);
    object_time(w, "created_at", r->created_us);
    object_time(w, "expires_at", r->expires_us);
    object_time(w, "last_used_at", r->used_us);
    object_time(w, "revoked_at", r->revoked_us);
    if (url)
        put_text(w, "url", url);
    jw_end_object(w);
}

static void write_url(struct call *c, const char *token, struct buf *out)
{
    write_base_url(c, out);
    buf_fmt(out, "/s/%s", token);
}

/* ---- the operations ---- */

/* A link gives nothing that the key itself does not. */
static void create_demands(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    const struct create_args *in = c->in;
    unsigned reads = in->rights & (SHARE_VIEW | SHARE_DOWNLOAD) ? SCOPE_FILES_READ : 0;
    unsigned writes = in->rights & SHARE_UPLOAD ? SCOPE_FILES_WRITE : 0;
    (void)ret_needs;
    *ret_scope = (enum scope)(reads | writes);
}

static int create_share(struct call *c, struct err *e)
{
    const struct create_args *in = c->in;
    scoped(buf_done) struct buf url = BUF_INIT(2048);
    scoped(share_row_done) struct share_row row = {0};
    char token[ID_SIZE];
    const struct share_wishes wishes = {.path = in->path,
                                        .version = (uint64_t)in->version,
                                        .rights = in->rights,
                                        .expires_s = in->expires_s,
                                        .password = in->password,
                                        .max_downloads = (uint64_t)in->max_downloads,
                                        .note = in->note};
    if (shares_create(c->api->o.files, c->api->o.passwords, &c->who, &c->ws, &wishes,
                      clock_wall_us(), &row, token, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    write_url(c, token, &url);
    put_share(&w, &row, url.bytes);
    return buf_check(&url, e);
}

static int list_shares(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    struct share_rows rows;
    struct meta *meta = files_meta(c->api->o.files);
    if (meta_settle(meta, e) || meta_share_list(meta, c->ws.id, &page, &rows, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        put_share(&w, &rows.items[i], /* url= */ NULL);
    end_list(&w, rows.has_more, rows.next);
    share_rows_done(&rows);
    return 0;
}

static int show(struct call *c, struct err *e)
{
    scoped(share_row_done) struct share_row row = {0};
    struct json_writer w = JSON_WRITER(&c->out);
    struct meta *meta = files_meta(c->api->o.files);
    if (meta_settle(meta, e) || meta_share_get(meta, c->ws.id, c->param[1], &row, e))
        return -1;
    put_share(&w, &row, /* url= */ NULL);
    return 0;
}

static int change_share(struct call *c, struct err *e)
{
    const struct change_args *in = c->in;
    const struct share_wish wish = {
        .note = in->note,
        .password = in->password,
        .has_password = in->has_password,
        .expires_s = in->has_expires ? in->expires_s : -1,
        .max_downloads = in->has_max ? in->max_downloads : -1,
    };
    if (shares_change(c->api->o.files, c->api->o.passwords, &c->who, &c->ws, c->param[1], &wish,
                      clock_wall_us(), e))
        return -1;
    return show(c, e);
}

static int revoke_share(struct call *c, struct err *e)
{
    return shares_revoke(c->api->o.files, &c->who, &c->ws, c->param[1], clock_wall_us(), e);
}

#define SHARES "/api/v1/workspaces/{ws}/shares"

static const struct op ops[] = {
    {.method = "POST",
     .path = SHARES,
     .name = "createShare",
     .summary = "Make a link to a file, a folder or a version; its address is told only now.",
     .scope = SCOPE_SHARE,
     .needs = NEEDS_WRITE,
     .body = create_fields,
     .body_size = sizeof(struct create_args),
     .status = 201,
     .answer = "ShareMade",
     .demand = create_demands,
     .run = create_share},
    {.method = "GET",
     .path = SHARES,
     .name = "listShares",
     .summary = "The links of a workspace, also those that ended lately.",
     .scope = SCOPE_SHARE,
     .needs = NEEDS_WRITE,
     .query = list_fields,
     .query_size = sizeof(struct list_args),
     .status = 200,
     .answer = "ShareList",
     .run = list_shares},
    {.method = "GET",
     .path = SHARES "/{id}",
     .name = "getShare",
     .summary = "One link, with how often it was used.",
     .scope = SCOPE_SHARE,
     .needs = NEEDS_WRITE,
     .status = 200,
     .answer = "Share",
     .run = show},
    {.method = "PATCH",
     .path = SHARES "/{id}",
     .name = "updateShare",
     .summary = "Change when a link ends, its password, its downloads or its note.",
     .scope = SCOPE_SHARE,
     .needs = NEEDS_WRITE,
     .body = change_fields,
     .body_size = sizeof(struct change_args),
     .status = 200,
     .answer = "Share",
     .run = change_share},
    {.method = "DELETE",
     .path = SHARES "/{id}",
     .name = "revokeShare",
     .summary = "Take a link back: it does not work from the answer on.",
     .scope = SCOPE_SHARE,
     .needs = NEEDS_WRITE,
     .status = 204,
     .run = revoke_share},
};

const struct op_table native_shares = {ops, sizeof ops / sizeof *ops};
