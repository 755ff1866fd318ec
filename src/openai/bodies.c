/* bodies.c -- what requests bring and what answers are made of. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "http/exchange.h"
#include "http/params.h"
#include "http/syntax.h"
#include "openai/openai_int.h"
#include "json/read.h"

/* ---- who ---- */

int oa_caller(struct oa_call *o, struct caller **ret, struct err *e)
{
    if (!o->caller && caller_new(o->c, &o->caller, e))
        return -1;
    *ret = o->caller;
    return 0;
}

int oa_perform(struct oa_call *o, struct native *n, struct err *e)
{
    if (native_perform(n, o->c, /* k= */ NULL, OA_VIA, e) == 0)
        return 0;
    oa_hint(o, n);
    return -1;
}

/* ---- bodies ---- */

static int check_type(struct oa_call *o, struct err *e)
{
    struct str type = http_header_get(o->c->request, "Content-Type");
    if (!type.ptr || http_same(params_word(&type), "application/json"))
        return 0;
    return oa_fail(o, e, ERR_UNSUPPORTED, NULL, NULL,
                   "Unsupported content type. Send the header 'Content-Type: application/json'.");
}

static int read_json(struct oa_call *o, struct err *e)
{
    struct err why = {0};
    if (o->body.len > JSON_READ_SIZE_MAX)
        return oa_fail(o, e, ERR_TOO_LARGE, NULL, NULL,
                       "The body has %zu MB; at most %d are taken. Upload files instead.",
                       o->body.len >> 20, JSON_READ_SIZE_MAX >> 20);
    if (json_read(o->body.bytes, o->body.len, &o->json, &why))
        return oa_fail(o, e, ERR_INVALID, NULL, NULL,
                       "The body of the request could not be parsed as JSON: %.150s", why.text);
    if (!json_is_object(o->json))
        return oa_fail(o, e, ERR_INVALID, NULL, NULL, "The body has to be a JSON object.");
    return 0;
}

int oa_body(struct oa_call *o, struct err *e)
{
    if (o->json)
        return 0;
    if (http_read_all(o->c->x, OA_BODY_MAX, &o->body, e))
        return -1;
    if (o->body.len > 0)
        return check_type(o, e) || read_json(o, e) ? -1 : 0;
    o->json = json_object();
    return o->json ? 0 : err_set(e, ERR_NO_MEMORY, "read a body");
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

int oa_only(struct oa_call *o, const struct json_t *object, const char *prefix,
            const char *const *names, struct err *e)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) /* which does not change it */
    {
        char param[160];
        if (is_among(name, names))
            continue;
        (void)snprintf(param, sizeof param, "%s%.100s", prefix, name);
        return oa_unknown_parameter(o, e, param);
    }
    return 0;
}

/* ---- queries ---- */

int oa_query(struct oa_call *o, const char *name, char *to, size_t size, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(size - 1);
    char listed[64];
    struct err why = {0};
    (void)snprintf(listed, sizeof listed, "%s[]", name);
    int found = http_query_get(o->c->request, name, &text, &why);
    if (found == 0)
        found = http_query_get(o->c->request, listed, &text, &why);
    if (found < 0 || text.failed || (text.len > 0 && !utf8_is_valid(text.bytes, text.len)))
        return oa_fail(o, e, ERR_INVALID, name, "invalid_value",
                       "Invalid '%s': it is longer than %zu bytes, or no text.", name, size - 1);
    memcpy(to, text.bytes ? text.bytes : "", text.len);
    to[text.len] = '\0';
    return 0;
}

static int page_limit(struct oa_call *o, uint32_t max, uint32_t *ret, struct err *e)
{
    char text[24];
    uint64_t limit = 0;
    struct err why = {0};
    if (oa_query(o, "limit", text, sizeof text, e))
        return -1;
    if (!*text)
        return 0;
    if (parse_u64(text, 1, max, &limit, &why))
        return oa_fail(o, e, ERR_INVALID, "limit", "invalid_value",
                       "Invalid 'limit': expected an integer from 1 to %u.", max);
    *ret = (uint32_t)limit;
    return 0;
}

int oa_page(struct oa_call *o, uint32_t preset, uint32_t max, struct oa_page *ret, struct err *e)
{
    char order[8];
    *ret = (struct oa_page){.limit = preset};
    if (page_limit(o, max, &ret->limit, e) || oa_query(o, "order", order, sizeof order, e) ||
        oa_query(o, "after", ret->after, sizeof ret->after, e))
        return -1;
    ret->is_ascending = strcmp(order, "asc") == 0;
    if (*order && !ret->is_ascending && strcmp(order, "desc") != 0)
        return oa_fail(o, e, ERR_INVALID, "order", "invalid_value",
                       "Invalid 'order': it is 'asc' or 'desc'.");
    return 0;
}

/* ---- answers ---- */

static int add_text(const char *bytes, size_t len, void *out)
{
    buf_add(out, bytes, len);
    return 0;
}

int oa_answer(struct oa_call *o, const struct json_t *json, struct err *e)
{
    struct call *c = o->c;
    if (json_dump_callback(json, add_text, &c->out, JSON_COMPACT | JSON_ENCODE_ANY))
        return err_set(e, ERR_NO_MEMORY, "write an answer");
    c->status = 200;
    return 0;
}

int oa_answer_take(struct oa_call *o, struct json_t *json, struct err *e)
{
    int failed = json ? oa_answer(o, json, e) : err_set(e, ERR_NO_MEMORY, "write an answer");
    json_decref(json);
    return failed;
}

static json_t *id_at(const json_t *data, size_t index)
{
    json_t *id = json_object_get(json_array_get(data, index), "id");
    return id ? json_incref(id) : json_null();
}

int oa_answer_list(struct oa_call *o, struct json_t *data, bool has_more, struct err *e)
{
    size_t count = json_array_size(data);
    json_t *first = id_at(data, 0), *last = id_at(data, count ? count - 1 : 0);
    return oa_answer_take(o,
                          json_pack("{s:s, s:o, s:o, s:o, s:b}", "object", "list", "data", data,
                                    "first_id", first, "last_id", last, "has_more", has_more),
                          e);
}

int oa_answer_deleted(struct oa_call *o, const char *id, const char *object, struct err *e)
{
    return oa_answer_take(o, json_pack("{s:s, s:s, s:b}", "id", id, "object", object, "deleted", 1),
                          e);
}

int oa_forward(struct oa_call *o, struct native *n, struct err *e)
{
    bool is_head = str_is(o->c->request->method, "HEAD");
    if (buf_check(&n->target, e))
        return -1;
    return api_forward(o->c, is_head ? "HEAD" : "GET", (struct str){n->target.bytes, n->target.len},
                       STR_NONE, OA_VIA, e);
}
