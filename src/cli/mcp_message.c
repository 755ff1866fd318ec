#include "cli/mcp_message.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/pick.h"
#include "json/read.h"
#include "json/write.h"

static const char meta_version[] = "io.modelcontextprotocol/protocolVersion";

static bool is_legacy(const char *version)
{
    static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(version, versions[i]) == 0)
            return true;
    return false;
}

/* The version that the message claims, unless it is of the era with sessions. */
static const char *claimed(const json_t *params)
{
    const json_t *meta = json_object_get(params, "_meta");
    const char *version = json_string_value(json_object_get(meta, meta_version));
    return version && !is_legacy(version) ? version : NULL;
}

static const char *repeated_name(const char *method, const json_t *params)
{
    static const struct {
        const char *method, *member;
    } table[] = {
        {"tools/call", "name"},  {"prompts/get", "name"},    {"resources/read", "uri"},
        {"tasks/get", "taskId"}, {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(method, table[i].method) == 0)
            return json_string_value(json_object_get(params, table[i].member));
    return NULL;
}

int mcp_message_read(const char *text, size_t len, struct mcp_message *ret, int *ret_code,
                     struct err *e)
{
    *ret = (struct mcp_message){0};
    *ret_code = MCP_NOT_JSON;
    if (json_read(text, len, &ret->json, e)) {
        if (e->code == ERR_LIMIT)
            *ret_code = MCP_NO_MESSAGE;
        return -1;
    }
    *ret_code = MCP_NO_MESSAGE;
    if (!json_is_object(ret->json))
        return err_set(e, ERR_INVALID, "a message is one JSON object%s",
                       json_is_array(ret->json) ? "; send those of a batch one by one" : "");
    json_t *method = json_object_get(ret->json, "method"), *id = json_object_get(ret->json, "id");
    const json_t *params = json_object_get(ret->json, "params");
    bool is_answer = json_object_get(ret->json, "result") || json_object_get(ret->json, "error");
    ret->id = json_is_string(id) || json_is_integer(id) ? id : NULL;
    ret->method = json_string_value(method);
    if (!ret->method && !is_answer)
        return err_set(e, ERR_INVALID, "a message has a method, a result or an error");
    if (ret->method && id && !ret->id)
        return err_set(e, ERR_INVALID, "the id of a request is a string or a whole number");
    ret->kind = !ret->method ? MCP_RESPONSE : ret->id ? MCP_REQUEST : MCP_NOTIFICATION;
    ret->version = claimed(params);
    ret->name = ret->method ? repeated_name(ret->method, params) : NULL;
    return 0;
}

void mcp_message_done(struct mcp_message *m)
{
    json_decref(m->json);
    *m = (struct mcp_message){0};
}

struct json_t *mcp_message_cancels(const struct mcp_message *m)
{
    if (m->kind != MCP_NOTIFICATION || strcmp(m->method, "notifications/cancelled") != 0)
        return NULL;
    return json_object_get(json_object_get(m->json, "params"), "requestId");
}

static bool is_plain(const char *value, size_t len)
{
    static const char begin[] = "=?base64?";
    if (len == 0 || value[0] == ' ' || value[len - 1] == ' ' ||
        strncmp(value, begin, sizeof begin - 1) == 0)
        return false;
    for (size_t i = 0; i < len; i++)
        if (value[i] < ' ' || value[i] > '~')
            return false;
    return true;
}

void mcp_header(struct buf *out, const char *name, const char *value)
{
    size_t len = strlen(value);
    buf_fmt(out, "%s: ", name);
    if (is_plain(value, len)) {
        buf_add(out, value, len);
        return;
    }
    buf_str(out, "=?base64?");
    base64_add(out, value, len);
    buf_str(out, "?=");
}

void mcp_error(struct buf *out, const struct json_t *id, int code, const char *text)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "jsonrpc");
    jw_text(&w, "2.0");
    jw_key(&w, "id");
    if (json_is_string(id))
        jw_str(&w, json_string_value(id), json_string_length(id));
    else if (json_is_integer(id))
        jw_i64(&w, json_integer_value(id));
    else
        jw_null(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key(&w, "code");
    jw_i64(&w, code);
    jw_key(&w, "message");
    jw_text(&w, text);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_finish(&w);
}
