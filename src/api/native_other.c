/* native_other.c -- health, figures, the description of the API. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native.h"
#include "base/err.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/files.h"
#include "json/read.h"
#include "json/write.h"

int native_embed(struct call *c, const char *json, struct err *e)
{
    if (json_compact(json, strlen(json), &c->out, e) || buf_check(&c->out, e)) {
        buf_done(&c->out);
        return err_set(e, ERR_UNAVAILABLE, "the session gave no answer that can be understood");
    }
    return 0;
}

static int health(struct call *c, struct err *e)
{
    (void)e;
    buf_str(&c->out, "{\"status\":\"ok\"}");
    return 0;
}

/* There is one reason so far: the disk. */
void native_put_reasons(struct json_writer *w)
{
    jw_key(w, "reasons");
    jw_array(w);
    jw_text(w, "disk");
    jw_end_array(w);
}

static int degraded(struct call *c)
{
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "status");
    jw_text(&w, "degraded");
    native_put_reasons(&w);
    jw_end_object(&w);
    return 0;
}

static int readiness(struct call *c, struct err *e)
{
    const char *why = NULL;
    if (!c->api->o.is_ready(c->api->o.arg, &why))
        return err_set(e, ERR_UNAVAILABLE, "not ready: %s", why ? why : "starting");
    return files_is_full(c->api->o.files) ? degraded(c) : health(c, e);
}

static int send_text(struct call *c, const char *type, const struct buf *text, struct err *e)
{
    c->is_answered = true;
    c->status = 200;
    return http_send(c->x, 200, type, text->bytes, text->len, e);
}

static int metrics(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(4 << 20);
    c->api->o.refresh(c->api->o.arg);
    metrics_write(c->api->o.metrics, &text);
    if (buf_check(&text, e))
        return -1;
    return send_text(c, "text/plain; version=0.0.4; charset=utf-8", &text, e);
}

static int openapi(struct call *c, struct err *e)
{
    return send_text(c, "application/json", &c->api->openapi, e);
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/healthz",
     .name = "getHealth",
     .summary = "Whether the server lives.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     .status = 200,
     .answer = "Health",
     .run = health},
    {.method = "GET",
     .path = "/readyz",
     .name = "getReadiness",
     .summary =
         "Whether it takes requests now; 503 while it starts or stops. `degraded`: the disk is down to "
         "its reserve, so uploads are refused; reading, deleting and runs that write little go on.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     .status = 200,
     .answer = "Readiness",
     .run = readiness},
    {.method = "GET",
     .path = "/metrics",
     .name = "getMetrics",
     .summary = "Figures for Prometheus.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_AUDIT,
     .status = 200,
     .answer = NULL,
     .run = metrics},
    {.method = "GET",
     .path = "/openapi.json",
     .name = "getOpenApi",
     .summary = "This description.",
     .needs = NEEDS_NOTHING,
     .flags = OP_PUBLIC,
     .status = 200,
     .answer = "Any",
     .run = openapi},
};

const struct op_table native_other = {ops, sizeof ops / sizeof *ops};
