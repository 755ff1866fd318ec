/* native_sign.c -- addresses that work without a key: /api/v1/workspaces/{ws}/sign, and the check of
 * one that was signed.
 *
 * What is signed is an act on one file until a moment, in the name of whoever signed it (an admin of the server signs
 * for the workspace's owner): it works while they have the right themselves. `by` says who they are, unless they are the
 * owner: such an address ends when the workspace gets another. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/file_object.h"
#include "service/object.h"
#include "workspace/sign.h"
#include "json/fields.h"
#include "json/write.h"

static const char *const methods[] = {"GET", "PUT", NULL};

struct sign_args {
    const char *path;
    int method;
    int64_t expires_s, version;
    bool is_inline;
};

static const struct json_field sign_fields[] = {
    {JF_TEXT(struct sign_args, path), .required = true, .min = 1, .max = OP_REST_SIZE},
    {JF_CHOICE(struct sign_args, method, methods), .preset = 0, .doc = "what it is good for"},
    {JF_INT(struct sign_args, expires_s), .min = 1, .max = SIGN_EXPIRES_MAX_S, .preset = 3600,
     .doc = "seconds it works"},
    {JF_INT(struct sign_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "the newest at that time if left out"},
    {JF_KEY("inline", JF_KIND_BOOL, bool, struct sign_args, is_inline),
     .doc = "to be shown rather than kept"},
    {0},
};

static int64_t now_s(void)
{
    return clock_wall_us() / 1000000;
}

/* ---- making one ---- */

static void write_url(struct buf *url, const struct signed_address *a, const char *owner,
                      const char *signature)
{
    file_url(url, a->workspace, a->path, a->version);
    buf_fmt(url, "%s%s", a->version ? "&" : "?", a->flags & SIGN_INLINE ? "inline=true&" : "");
    if (strcmp(a->principal, owner) != 0)
        buf_fmt(url, "by=%s&", a->principal);
    buf_fmt(url, "expires=%" PRId64 "&signature=%s", a->expires_s, signature);
}

static void demand(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    const struct sign_args *in = c->in;
    if (in->method == 1) {
        *ret_scope = SCOPE_FILES_WRITE;
        *ret_needs = NEEDS_WRITE;
    }
}

static int sign(struct call *c, struct err *e)
{
    const struct sign_args *in = c->in;
    scoped(buf_done) struct buf url = BUF_INIT(16 << 10);
    char path[PATH_BYTES_MAX + 1], signature[SIGNATURE_SIZE];
    bool is_put = in->method == 1;
    if (is_put && (in->version || in->is_inline))
        return err_set(e, ERR_INVALID, "version and inline are for GET");
    if (path_clean(in->path, path, e))
        return -1;
    const struct signed_address a = {.method = methods[in->method],
                                     .workspace = c->ws.id,
                                     .path = path,
                                     .version = (uint64_t)in->version,
                                     .flags = in->is_inline ? SIGN_INLINE : 0,
                                     .expires_s = now_s() + in->expires_s,
                                     .principal = c->who.is_admin ? c->ws.owner : c->who.principal};
    if (sign_make(c->api->o.sign_key, &a, now_s(), signature, e))
        return -1;
    write_url(&url, &a, c->ws.owner, signature);
    if (buf_check(&url, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "url");
    jw_text(&w, url.bytes);
    object_time(&w, "expires_at", a.expires_s * 1000000);
    jw_end_object(&w);
    return 0;
}

/* ---- letting in who has one ---- */

static int refuse(struct call *c, struct err *e)
{
    c->hint = "Ask whoever gave you the address for a new one.";
    return err_set(e, ERR_DENIED, "this address has expired, or was changed after it was signed");
}

/* A parameter that is part of what was signed; *ret is 0 without it. */
static int get_number(struct call *c, const char *name, uint64_t *ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(32);
    *ret = 0;
    int found = http_query_get(c->request, name, &text, e);
    if (found <= 0 || text.failed)
        return found;
    return parse_u64(text.bytes ? text.bytes : "", 0, INT64_MAX, ret, e);
}

static int get_inline(struct call *c, uint32_t *ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(32);
    int found = http_query_get(c->request, "inline", &text, e);
    bool is_no = text.len > 0 && strcmp(text.bytes, "true") != 0 && strcmp(text.bytes, "1") != 0;
    *ret = found > 0 && !is_no ? SIGN_INLINE : 0;
    return found < 0 ? -1 : 0;
}

/* Who signed it. */
static int get_signer(struct call *c, const struct workspace_row *ws, char ret[ID_SIZE],
                      struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(ID_SIZE);
    int found = http_query_get(c->request, "by", &text, e);
    if (found < 0 || buf_check(&text, e))
        return -1;
    (void)snprintf(ret, ID_SIZE, "%s", found > 0 && text.bytes ? text.bytes : ws->owner);
    return 0;
}

/* Says in c->who whose it is. */
static int check(struct call *c, const struct workspace_row *ws, const char *path, struct err *e)
{
    scoped(buf_done) struct buf signature = BUF_INIT(SIGNATURE_SIZE);
    struct who signer = {.scopes = c->op->scope};
    uint64_t version, expires_s;
    uint32_t flags;
    if (get_number(c, "version", &version, e) || get_number(c, "expires", &expires_s, e) ||
        get_inline(c, &flags, e) || get_signer(c, ws, signer.principal, e) ||
        http_query_get(c->request, "signature", &signature, e) < 0 || buf_check(&signature, e))
        return -1;
    const struct signed_address a = {.method = c->op->method, /* that of a HEAD is GET */
                                     .workspace = ws->id,
                                     .path = path,
                                     .version = version,
                                     .flags = flags,
                                     .expires_s = (int64_t)expires_s,
                                     .principal = signer.principal};
    if (sign_check(c->api->o.sign_key, &a, now_s(), signature.bytes ? signature.bytes : "", e) ||
        rights_check(c->api->o.files, &signer, ws, (enum right)c->op->needs, e))
        return -1;
    c->who = signer;
    return 0;
}

int admit_signed(struct call *c, struct err *e)
{
    scoped(workspace_row_done) struct workspace_row ws = {0};
    struct err why = {0};
    char path[PATH_BYTES_MAX + 1];
    /* One answer to all of it: who has no right address learns nothing. */
    if (path_clean(c->rest, path, &why) ||
        files_workspace_known(c->api->o.files, c->param[0], &ws, &why) ||
        strcmp(ws.id, c->param[0]) != 0 || check(c, &ws, path, &why))
        return refuse(c, e);
    c->is_admitted = true;
    return 0;
}

static const struct op ops[] = {
    {.method = "POST",
     .path = "/api/v1/workspaces/{ws}/sign",
     .name = "signAddress",
     .summary = "Make an address that gets or puts one file without a key, for a while.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .body = sign_fields,
     .body_size = sizeof(struct sign_args),
     .status = 200,
     .answer = "SignedAddress",
     .demand = demand,
     .run = sign},
};

const struct op_table native_sign = {ops, sizeof ops / sizeof *ops};
