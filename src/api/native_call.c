#include "api/native_call.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/op.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

void native_done(struct native *n)
{
    buf_done(&n->target);
    json_decref(n->json);
    inner_answer_done(&n->answer);
}

/* ---- the address ---- */

void native_text(struct native *n, const char *text)
{
    buf_str(&n->target, text);
}

static void add_escaped(struct buf *to, const char *text, const char *kept)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                        (c >= 'A' && c <= 'Z') || strchr("-._~", c) || strchr(kept, c);
        if (is_plain)
            buf_add(to, text, 1);
        else
            buf_fmt(to, "%%%02X", c);
    }
}

void native_piece(struct native *n, const char *text)
{
    add_escaped(&n->target, text, "");
}

void native_path(struct native *n, const char *path)
{
    while (*path == '/')
        path++;
    add_escaped(&n->target, path, "/");
}

static const char ws_prefix[] = "/api/v1/workspaces/";

void native_workspace(struct native *n, const char *id)
{
    native_text(n, ws_prefix);
    n->names_default = !id || !*id;
    if (n->names_default)
        native_text(n, "default");
    else
        native_piece(n, id);
}

void native_query(struct native *n, const char *name, const char *value)
{
    if (!value)
        return;
    native_text(n, n->has_query ? "&" : "?");
    native_text(n, name);
    native_text(n, "=");
    native_piece(n, value);
    n->has_query = true;
}

void native_query_u64(struct native *n, const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    native_query(n, name, text);
}

void native_header(struct native *n, const char *name, const char *value)
{
    if (value && n->header_count < NATIVE_HEADERS_MAX - 2)
        n->headers[n->header_count++] = (struct http_header){str_of(name), str_of(value)};
}

/* ---- the call ---- */

static const struct http_request *request_of(struct call *c, struct caller *k)
{
    return c ? c->request : caller_http(k);
}

void native_default(struct native *n, const char *workspace)
{
    enum { PREFIX = sizeof ws_prefix - 1, DEFAULT = 7 };
    if (!n->names_default || !workspace || n->target.len < PREFIX + DEFAULT)
        return;
    struct buf target = BUF_INIT(NATIVE_TARGET_MAX);
    buf_str(&target, ws_prefix);
    add_escaped(&target, workspace, "");
    buf_add(&target, n->target.bytes + PREFIX + DEFAULT, n->target.len - PREFIX - DEFAULT);
    buf_done(&n->target);
    n->target = target;
    n->names_default = false;
}

static void add_headers(struct native *n, const struct http_request *outer)
{
    struct str agent = http_header_get(outer, "User-Agent");
    if (n->body.ptr || n->stream)
        n->headers[n->header_count++] = (struct http_header){
            str_of("Content-Type"), str_of(n->type ? n->type : "application/json")};
    if (agent.ptr)
        n->headers[n->header_count++] = (struct http_header){str_of("User-Agent"), agent};
}

static int send(struct native *n, struct call *c, struct caller *k, const struct inner *inner,
                struct err *e)
{
    if (n->stream)
        return api_inner_stream(c, inner, n->stream, &n->answer, e);
    return c ? api_inner(c, inner, &n->answer, e) : caller_inner(k, inner, &n->answer, e);
}

int native_perform(struct native *n, struct call *c, struct caller *k, const char *via,
                   struct err *e)
{
    struct str target = {n->target.bytes, n->target.len};
    if (buf_check(&n->target, e))
        return -1;
    add_headers(n, request_of(c, k));
    const char *mark = memchr(target.ptr, '?', target.len);
    size_t path_len = mark ? (size_t)(mark - target.ptr) : target.len;
    const struct inner inner = {.method = n->method,
                                .path = {target.ptr, path_len},
                                .query = mark ? (struct str){mark + 1, target.len - path_len - 1}
                                              : STR_NONE,
                                .headers = n->headers,
                                .header_count = n->header_count,
                                .body = n->body,
                                .via = via,
                                .on_run = n->on_run,
                                .on_run_arg = n->on_run_arg};
    n->answer.out = BUF_INIT(n->max);
    int failed = send(n, c, k, &inner, e);
    n->status = n->answer.status;
    struct err not_json = {0};
    const struct buf *out = &n->answer.out;
    if (!n->is_raw && out->len && (out->bytes[0] == '{' || out->bytes[0] == '['))
        (void)json_read(out->bytes, out->len, &n->json, &not_json);
    return failed;
}

struct str native_answer_header(const struct native *n, const char *name)
{
    size_t len = strlen(name);
    struct str all = {n->answer.head.bytes, n->answer.head.len};
    while (all.len) {
        const char *end = memmem(all.ptr, all.len, "\r\n", 2);
        size_t line = end ? (size_t)(end - all.ptr) : all.len;
        if (line > len + 1 && strncasecmp(all.ptr, name, len) == 0 && all.ptr[len] == ':')
            return (struct str){all.ptr + len + 2, line - len - 2};
        size_t used = end ? line + 2 : all.len;
        all = (struct str){all.ptr + used, all.len - used};
    }
    return STR_NONE;
}

const char *native_clean(const char *path)
{
    static const char mount[] = "/mnt/data";
    if (strncmp(path, "sandbox:", 8) == 0)
        path += 8;
    if (strncmp(path, mount, sizeof mount - 1) == 0 &&
        (path[sizeof mount - 1] == '/' || !path[sizeof mount - 1]))
        path += sizeof mount - 1;
    for (;;) {
        bool is_here = path[0] == '.' && (path[1] == '/' || !path[1]);
        if (path[0] != '/' && !is_here)
            return path;
        path++;
    }
}
