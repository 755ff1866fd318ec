#include "mcp/rpc.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "mcp/mcp_int.h"
#include "json/read.h"
#include "json/write.h"

const char *const rpc_legacy_versions[] = {MCP_VERSION_LEGACY, "2025-06-18", "2025-03-26",
                                           "2024-11-05", NULL};

bool rpc_is_legacy_version(const char *version)
{
    for (size_t i = 0; rpc_legacy_versions[i]; i++)
        if (strcmp(version, rpc_legacy_versions[i]) == 0)
            return true;
    return false;
}

static int fail(struct rpc_fault *f, int code, int status, const char *text)
{
    *f = (struct rpc_fault){.code = code, .status = status};
    (void)snprintf(f->text, sizeof f->text, "%s", text);
    return -1;
}

/* ---- what it is ---- */

static int read_id(struct rpc_message *m, struct rpc_fault *f)
{
    json_t *id = json_object_get(m->json, "id");
    if (!id)
        return 0;
    if (!json_is_string(id) && !json_is_integer(id))
        return fail(f, RPC_INVALID, 400, "The id must be a string or an integer.");
    m->id = id;
    return 0;
}

static int read_kind(struct rpc_message *m, struct rpc_fault *f)
{
    json_t *method = json_object_get(m->json, "method");
    bool has_outcome = json_object_get(m->json, "result") || json_object_get(m->json, "error");
    m->method = json_string_value(method);
    if (m->method && !has_outcome)
        m->kind = m->id ? RPC_REQUEST : RPC_NOTIFICATION;
    else if (!method && has_outcome && m->id)
        m->kind = RPC_RESPONSE;
    else
        return fail(f, RPC_INVALID, 400,
                    "A message is a request (method and id), a notification (method) or a "
                    "response (id and result or error).");
    return 0;
}

static int read_params(struct rpc_message *m, struct rpc_fault *f)
{
    json_t *params = json_object_get(m->json, "params");
    if (params && !json_is_object(params))
        return fail(f, RPC_INVALID, 400, "params must be an object.");
    m->params = params;
    json_t *meta = json_object_get(params, "_meta");
    if (meta && !json_is_object(meta))
        return fail(f, RPC_PARAMS, 400, "_meta must be an object.");
    m->meta = meta;
    return 0;
}

/* The body wins over the header: a proxy may have set that. */
static void read_era(struct rpc_message *m, struct str header)
{
    json_t *claim = json_object_get(m->meta, MCP_META "protocolVersion");
    char version[32] = "";
    m->claim = json_string_value(claim);
    if (claim) {
        m->is_modern = !m->claim || !rpc_is_legacy_version(m->claim);
        return;
    }
    if (!header.ptr || (m->method && strcmp(m->method, "initialize") == 0))
        return;
    if (header.len > 0 && header.len < sizeof version)
        memcpy(version, header.ptr, header.len);
    m->is_modern = !rpc_is_legacy_version(version);
}

int rpc_read(struct str text, struct str header_version, struct rpc_message *ret,
             struct rpc_fault *f)
{
    struct err e = {0};
    json_t *version;
    *ret = (struct rpc_message){0};
    if (json_read(text.ptr ? text.ptr : "", text.len, &ret->json, &e)) {
        (void)fail(f, RPC_PARSE, 400, "");
        (void)snprintf(f->text, sizeof f->text, "This is not JSON: %.150s", e.text);
        return -1;
    }
    if (json_is_array(ret->json))
        return fail(f, RPC_INVALID, 400, "Batches are not taken: send one message at a time.");
    if (!json_is_object(ret->json))
        return fail(f, RPC_INVALID, 400, "A message is a JSON object.");
    if (read_id(ret, f))
        return -1;
    version = json_object_get(ret->json, "jsonrpc");
    if (!version || !json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
        return fail(f, RPC_INVALID, 400, "jsonrpc must be \"2.0\".");
    if (read_kind(ret, f) || read_params(ret, f))
        return -1;
    read_era(ret, header_version);
    return 0;
}

void rpc_done(struct rpc_message *m)
{
    json_decref(m->json);
    *m = (struct rpc_message){0};
}

/* ---- the stateless era ---- */

int rpc_check_modern(const struct rpc_message *m, struct str header, struct rpc_fault *f)
{
    if (!header.ptr)
        return fail(f, RPC_HEADER, 400, "The header MCP-Protocol-Version is missing.");
    if (m->claim && !rpc_header_is(header, m->claim))
        return fail(f, RPC_HEADER, 400,
                    "The header MCP-Protocol-Version and _meta name different versions.");
    if (!m->claim)
        return fail(f, RPC_PARAMS, 400,
                    "_meta needs " MCP_META "protocolVersion, the version as a string.");
    if (strcmp(m->claim, MCP_VERSION_MODERN) != 0) {
        (void)fail(f, RPC_VERSION, 400, "This version of the protocol is not spoken here.");
        f->tells_versions = true;
        return -1;
    }
    if (!json_is_object(json_object_get(m->meta, MCP_META "clientCapabilities")))
        return fail(f, RPC_PARAMS, 400,
                    "_meta needs " MCP_META "clientCapabilities, an object; {} is fine.");
    return 0;
}

/* ---- headers that repeat what is in the body ---- */

static struct str trim(struct str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = (struct str){s.ptr + 1, s.len - 1};
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

bool rpc_header_decode(struct str header, struct buf *ret)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    enum { BEGIN = sizeof begin - 1, END = sizeof end - 1 };
    struct err ignored = {0};
    header = trim(header);
    bool is_coded = header.len >= BEGIN + END && memcmp(header.ptr, begin, BEGIN) == 0 &&
                    memcmp(header.ptr + header.len - END, end, END) == 0;
    if (!is_coded) {
        buf_add(ret, header.ptr, header.len);
        return !ret->failed;
    }
    return base64_decode(header.ptr + BEGIN, header.len - BEGIN - END, ret, &ignored) == 0 &&
           !ret->failed;
}

bool rpc_header_is(struct str header, const char *value)
{
    struct buf text = BUF_INIT(64 << 10);
    bool is_same = header.ptr && rpc_header_decode(header, &text) && text.len == strlen(value) &&
                   memcmp(text.bytes ? text.bytes : "", value, text.len) == 0;
    buf_done(&text);
    return is_same;
}

void rpc_write_id(struct buf *out, const struct json_t *id)
{
    struct json_writer w = JSON_WRITER(out);
    if (json_is_string(id))
        jw_str(&w, json_string_value(id), json_string_length(id));
    else if (json_is_integer(id))
        jw_i64(&w, json_integer_value(id));
    else
        jw_null(&w);
}
