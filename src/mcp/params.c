#include "mcp/params.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "api/op.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "mcp/mcp_int.h"
#include "json/read.h"

enum { DEPTH_MAX = 16 };

/* Integers are compared as numbers: "7" and "007" are the same. */
static bool is_number(const char *text, json_int_t wanted)
{
    struct err ignored = {0};
    bool is_negative = *text == '-';
    uint64_t value = 0;
    if (parse_u64(text + is_negative, 0, INT64_MAX, &value, &ignored))
        return false;
    return wanted == (is_negative ? -(json_int_t)value : (json_int_t)value);
}

static bool is_same(struct str header, const json_t *value)
{
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    if (!rpc_header_decode(header, &text))
        return false;
    const char *said = text.bytes ? text.bytes : "";
    if (json_is_string(value))
        return json_string_length(value) == text.len &&
               memcmp(json_string_value(value), said, text.len) == 0;
    if (json_is_boolean(value))
        return strcmp(said, json_is_true(value) ? "true" : "false") == 0;
    return json_is_integer(value) && is_number(said, json_integer_value(value));
}

static int check_one(struct mcp_call *m, const char *name, const json_t *value, struct err *e)
{
    char header[160];
    (void)snprintf(header, sizeof header, "Mcp-Param-%.128s", name);
    struct str said = http_header_get(m->c->request, header);
    if (said.ptr && is_same(said, value))
        return 0;
    m->http_status = 400;
    return mcp_fail(m, RPC_HEADER, e, "The header %s is missing or not what the message says.",
                    header);
}

static int walk(struct mcp_call *m, json_t *schema, json_t *value, unsigned depth, struct err *e)
{
    const char *name;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), name, property)
    {
        json_t *given = json_object_get(value, name);
        const char *header = json_string_value(json_object_get(property, "x-mcp-header"));
        if (!given || json_is_null(given))
            continue;
        if (header && check_one(m, header, given, e))
            return -1;
        if (depth < DEPTH_MAX && json_is_object(given) && walk(m, property, given, depth + 1, e))
            return -1;
    }
    return 0;
}

int params_check(struct mcp_call *m, const struct json_t *arguments, struct err *e)
{
    json_t *schema = NULL;
    if (!strstr(m->tool->schema, "x-mcp-header"))
        return 0;
    if (json_read(m->tool->schema, strlen(m->tool->schema), &schema, e))
        return -1;
    int failed = walk(m, schema, (json_t *)arguments, 0, e);
    json_decref(schema);
    return failed;
}
