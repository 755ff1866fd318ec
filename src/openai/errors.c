/* errors.c -- what somebody is told when it did not work, in the form that OpenAI's clients know. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/inner.h"
#include "base/log.h"
#include "http/exchange.h"
#include "openai/openai_int.h"
#include "json/write.h"

/* ---- from handlers ---- */

static void keep(char *to, size_t size, const char *text)
{
    (void)snprintf(to, size, "%.*s", (int)size - 1, text ? text : "");
}

static int fail_with(struct oa_call *o, struct err *e, enum err_code status, const char *param,
                     const char *code, const char *fmt, va_list ap)
{
    char text[sizeof e->text];
    struct call_told *told = &o->c->told;
    (void)vsnprintf(text, sizeof text, fmt, ap);
    keep(told->param, sizeof told->param, param);
    keep(told->code, sizeof told->code, code);
    told->is_whole = true;
    return err_set(e, status, "%s", text);
}

int oa_fail(struct oa_call *o, struct err *e, enum err_code status, const char *param,
            const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fail_with(o, e, status, param, code, fmt, ap);
    va_end(ap);
    return -1;
}

int oa_not_found(struct oa_call *o, struct err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fail_with(o, e, ERR_NOT_FOUND, /* param= */ NULL, /* code= */ NULL, fmt, ap);
    va_end(ap);
    return -1;
}

int oa_unknown_parameter(struct oa_call *o, struct err *e, const char *param)
{
    return oa_fail(o, e, ERR_INVALID, param, "unknown_parameter", "Unknown parameter: '%.120s'.",
                   param);
}

int oa_missing(struct oa_call *o, struct err *e, const char *param)
{
    return oa_fail(o, e, ERR_INVALID, param, "missing_required_parameter",
                   "Missing required parameter: '%.120s'.", param);
}

void oa_hint(struct oa_call *o, const struct native *n)
{
    struct call *c = o->c;
    keep(c->hint_text, sizeof c->hint_text, n->answer.hint);
    c->hint = *c->hint_text ? c->hint_text : NULL;
}

void oa_plain(struct openai *oa, const char *id, struct err *e)
{
    const char *told = err_for_client(e);
    if (told == e->text)
        return;
    log_line(oa->o.log, LOG_WARNING, "a response met a fault", LOG_STR("id", id),
             LOG_STR("why", e->text));
    (void)err_set(e, e->code == ERR_NONE ? ERR_INTERNAL : e->code, "%s", told);
}

/* ---- to clients ---- */

const char *oa_type(enum err_code code)
{
    switch (code) {
    case ERR_LIMIT: return "rate_limit_error";
    case ERR_QUOTA: return "insufficient_quota";
    default: return err_http(code) >= 500 ? "server_error" : "invalid_request_error";
    }
}

/* What clients branch on where the handler did not say it. */
static const char *code_for(enum err_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED: return "invalid_api_key";
    case ERR_DENIED: return "insufficient_permissions";
    case ERR_LIMIT: return "rate_limit_exceeded";
    case ERR_QUOTA: return "insufficient_quota";
    default: return NULL;
    }
}

/* What the official clients would repeat without being asked, and what would come of it is the same or worse. */
static bool is_final(enum err_code code)
{
    return err_http(code) == 409 || code == ERR_QUOTA || code == ERR_NO_SPACE;
}

static bool has_end(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && strchr(".!?", text[len - 1]);
}

/* Hints that lead to the description of the native API lead nowhere from here. */
static bool is_helpful(const struct call *c, const char *hint)
{
    return hint && *hint && !c->told.is_whole && !strstr(hint, "/openapi.json");
}

static void write_message(struct call *c, struct json_writer *w, const struct err *e,
                          const char *hint)
{
    struct buf text = BUF_INIT(1 << 10);
    if (e->code == ERR_UNAUTHORIZED && !c->told.is_whole)
        buf_str(&text, "Incorrect API key provided: ");
    buf_str(&text, e->text);
    if (is_helpful(c, hint))
        buf_fmt(&text, "%s %s", has_end(e->text) ? "" : ".", hint);
    jw_str(w, text.bytes ? text.bytes : "", text.len);
    buf_done(&text);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text && *text ? text : NULL);
}

static void add_headers(struct call *c, enum err_code code)
{
    if (c->told.begun_us == 0)
        http_add_header(c->x, "openai-version", OA_VERSION);
    if (is_final(code))
        http_add_header(c->x, "x-should-retry", "false");
    else if (c->retry_after_s)
        http_add_header(c->x, "retry-after-ms", "%" PRIu64, (uint64_t)c->retry_after_s * 1000);
}

void openai_tell(struct call *c, const struct err *e, const char *hint)
{
    struct json_writer w = JSON_WRITER(&c->out);
    const struct call_told *told = &c->told;
    if (e->code == ERR_QUOTA)
        c->status = 429;
    add_headers(c, e->code);
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key(&w, "message");
    write_message(c, &w, e, hint);
    put_text(&w, "type", *told->type ? told->type : oa_type(e->code));
    put_text(&w, "param", told->param);
    put_text(&w, "code", *told->code ? told->code : code_for(e->code));
    jw_end_object(&w);
    jw_end_object(&w);
}
