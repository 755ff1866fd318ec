/* decode.c -- the body and the query of a request, by the tables of its operation. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/api_int.h"
#include "http/exchange.h"
#include "json/fields.h"
#include "json/read.h"

static bool is_json(struct str type)
{
    static const char json[] = "application/json";
    size_t len = sizeof json - 1;
    return type.ptr && type.len >= len && strncasecmp(type.ptr, json, len) == 0 &&
           (type.len == len || type.ptr[len] == ';' || type.ptr[len] == ' ');
}

static int read_body(struct call *c, struct buf *raw, struct err *e)
{
    const struct http_request *r = c->request;
    if (!r->has_body)
        return 0;
    struct str type = http_header_get(r, "Content-Type");
    if (!is_json(type) && !(r->has_length && r->length == 0))
        return err_set(e, ERR_UNSUPPORTED, "the body must be JSON");
    return http_read_all(c->x, c->api->o.body_max, raw, e);
}

int decode_body(struct call *c, struct buf *raw, struct err *e)
{
    if (!c->op->body)
        return 0;
    if (read_body(c, raw, e))
        return -1;
    c->body = (struct str){raw->bytes, raw->len};
    c->in = calloc(1, c->op->body_size);
    if (!c->in)
        return err_set(e, ERR_NO_MEMORY, "read the request");
    if (raw->len == 0 && c->op->body_is_optional) {
        fields_preset(c->op->body, c->in);
        return 0;
    }
    if (raw->len == 0)
        return err_set(e, ERR_INVALID, "a JSON object is needed as the body");
    if (json_read(raw->bytes, raw->len, &c->json, e)) {
        if (e->code == ERR_LIMIT)
            e->code = ERR_INVALID; /* too deep: no waiting makes that better */
        return err_wrap(e, "the body");
    }
    return fields_read(c->op->body, c->json, c->in, e);
}

enum { QUERY_MAX = 16 };

/* The parameters of the query, decoded into `text`, one NUL-terminated piece after the other. */
static int split_query(struct str query, struct buf *text, size_t at[2 * QUERY_MAX],
                       size_t *ret_count, struct err *e)
{
    size_t count = 0;
    while (query.len > 0) {
        const char *amp = memchr(query.ptr, '&', query.len);
        struct str pair = {query.ptr, amp ? (size_t)(amp - query.ptr) : query.len};
        query.ptr += pair.len + (amp != NULL);
        query.len -= pair.len + (amp != NULL);
        if (pair.len == 0)
            continue;
        const char *eq = memchr(pair.ptr, '=', pair.len);
        struct str name = {pair.ptr, eq ? (size_t)(eq - pair.ptr) : pair.len};
        struct str value = eq ? (struct str){eq + 1, pair.len - name.len - 1} : STR_NONE;
        if (count == QUERY_MAX)
            return err_set(e, ERR_INVALID, "too many parameters in the address");
        at[2 * count] = text->len;
        if (http_decode(name, /* is_form= */ true, text, e))
            return -1;
        buf_add(text, "", 1);
        at[2 * count + 1] = text->len;
        if (value.ptr && http_decode(value, /* is_form= */ true, text, e))
            return -1;
        buf_add(text, "", 1);
        count++;
    }
    *ret_count = count;
    return buf_check(text, e);
}

int decode_query(struct call *c, struct buf *text, struct err *e)
{
    static const struct json_field nothing[] = {{0}};
    size_t at[2 * QUERY_MAX], count = 0;
    struct json_pair pairs[QUERY_MAX];
    if (c->op->flags & OP_RAW_QUERY)
        return 0;
    if (split_query(c->request->query, text, at, &count, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct json_pair){text->bytes + at[2 * i], text->bytes + at[2 * i + 1]};
    size_t size = c->op->query ? c->op->query_size : 1;
    c->query = calloc(1, size);
    if (!c->query)
        return err_set(e, ERR_NO_MEMORY, "read the request");
    return fields_from_pairs(c->op->query ? c->op->query : nothing, pairs, count, c->query, e);
}
