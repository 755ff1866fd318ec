/* native_webhooks.c -- where the events of a workspace are sent. */
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/event.h"
#include "service/webhooks.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

struct hook_args {
    const char *url, *secret;
    struct json_texts events;
    bool has_events, has_paused, paused;
};

#define HOOK_EVENTS                                                             \
    JF_TEXTS(struct hook_args, events),                                         \
        .has_at = JF_HAS(struct hook_args, has_events), .max = EVENT_TYPES_MAX, \
        .item_max = EVENT_TYPE_LEN_MAX,                                         \
        .doc = "types of events, such as putFile or *File*; none: all"
#define HOOK_SECRET                                           \
    JF_TEXT(struct hook_args, secret),                        \
        .min = WEBHOOK_SECRET_MIN, .max = WEBHOOK_SECRET_MAX, \
        .doc = "signs what is sent; made up if left out, and shown this once"

static const struct json_field create_fields[] = {
    {JF_TEXT(struct hook_args, url), .required = true, .min = 1, .max = TRANSFER_URL_MAX,
     .doc = "http or https, on the public internet unless the operator allows others"},
    {HOOK_EVENTS},
    {HOOK_SECRET},
    {0},
};

static const struct json_field change_fields[] = {
    {JF_TEXT(struct hook_args, url), .min = 1, .max = TRANSFER_URL_MAX},
    {HOOK_EVENTS},
    {HOOK_SECRET},
    {JF_BOOL(struct hook_args, paused), .has_at = JF_HAS(struct hook_args, has_paused),
     .doc = "nothing is sent meanwhile; any other change sets it going again"},
    {0},
};

/* ---- what they do ---- */

/* "a,b" out of ["a", "b"]. */
static int join(const struct json_texts *texts, struct buf *out, struct err *e)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (!*texts->items[i] || strchr(texts->items[i], ','))
            return err_set(e, ERR_INVALID, "events: the name of one type each, such as putFile");
        buf_fmt(out, "%s%s", i ? "," : "", texts->items[i]);
    }
    return buf_check(out, e) ? err_set(e, ERR_INVALID, "events: too many") : 0;
}

static int read_wishes(const struct hook_args *in, struct buf *events, struct webhook_wishes *ret,
                       struct err *e)
{
    if (join(&in->events, events, e))
        return -1;
    *ret = (struct webhook_wishes){.url = in->url,
                                   .secret = in->secret,
                                   .has_paused = in->has_paused,
                                   .is_paused = in->paused};
    if (in->has_events)
        ret->events = events->bytes ? events->bytes : "";
    return 0;
}

static void show(struct call *c, const struct webhook_row *row, bool has_secret)
{
    struct json_writer w = JSON_WRITER(&c->out);
    webhook_object(&w, row, has_secret);
}

static int create(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf events = BUF_INIT(EVENT_TYPES_SIZE);
    scoped(webhook_row_done) struct webhook_row row = {0};
    struct webhook_wishes wishes;
    if (c->once.state == ONCE_AGAIN) {
        if (webhook_get(c->api->o.webhooks, c->ws.id, c->once.subject, &row, e))
            return -1;
        show(c, &row, /* has_secret= */ false);
        return 0;
    }
    if (read_wishes(c->in, &events, &wishes, e) ||
        webhook_create(c->api->o.webhooks, &c->who, c->ws.id, &wishes, &row, e))
        return -1;
    once_made(&c->once, row.id);
    show(c, &row, /* has_secret= */ true);
    return 0;
}

static int list(struct call *c, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    struct webhook_rows rows;
    if (webhook_list(c->api->o.webhooks, c->ws.id, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        webhook_object(&w, &rows.items[i], /* has_secret= */ false);
    end_list(&w, /* has_more= */ false, NULL);
    webhook_rows_done(&rows);
    return 0;
}

static int get(struct call *c, struct err *e)
{
    scoped(webhook_row_done) struct webhook_row row = {0};
    if (webhook_get(c->api->o.webhooks, c->ws.id, c->param[1], &row, e))
        return -1;
    show(c, &row, /* has_secret= */ false);
    return 0;
}

static int change(struct call *c, struct err *e)
{
    const struct hook_args *in = c->in;
    scoped(buf_done) struct buf events = BUF_INIT(EVENT_TYPES_SIZE);
    scoped(webhook_row_done) struct webhook_row row = {0};
    struct webhook_wishes wishes;
    if (read_wishes(in, &events, &wishes, e) ||
        webhook_change(c->api->o.webhooks, &c->who, c->ws.id, c->param[1], &wishes, &row, e))
        return -1;
    show(c, &row, /* has_secret= */ in->secret != NULL);
    return 0;
}

static int delete (struct call *c, struct err *e)
{
    return webhook_remove(c->api->o.webhooks, c->ws.id, c->param[1], e);
}

static int test(struct call *c, struct err *e)
{
    scoped(webhook_row_done) struct webhook_row row = {0};
    struct transfer_result r;
    if (webhook_get(c->api->o.webhooks, c->ws.id, c->param[1], &row, e) ||
        webhook_test(c->api->o.webhooks, &row, &r, e))
        return -1;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "delivered");
    jw_bool(&w, r.is_delivered);
    jw_key(&w, "status");
    if (r.status > 0)
        jw_i64(&w, r.status);
    else
        jw_null(&w);
    jw_key(&w, "error");
    jw_text(&w, *r.error ? r.error : NULL);
    jw_end_object(&w);
    return 0;
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define HOOKS "/api/v1/workspaces/{ws}/webhooks"

static const struct op ops[] = {
    {.method = "POST",
     .path = HOOKS,
     .name = "createWebhook",
     .summary = "Send the events of a workspace to an address, from now on.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .flags = OP_CREATES,
     BODY(hook_args, create_fields),
     .status = 201,
     .answer = "Webhook",
     .run = create},
    {.method = "GET",
     .path = HOOKS,
     .name = "listWebhooks",
     .summary = "List the webhooks of a workspace and how they go.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .status = 200,
     .answer = "WebhookList",
     .run = list},
    {.method = "GET",
     .path = HOOKS "/{id}",
     .name = "getWebhook",
     .summary = "Show a webhook and how it goes.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .status = 200,
     .answer = "Webhook",
     .run = get},
    {.method = "PATCH",
     .path = HOOKS "/{id}",
     .name = "changeWebhook",
     .summary = "Change or pause a webhook; otherwise it is set going again.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     BODY(hook_args, change_fields),
     .status = 200,
     .answer = "Webhook",
     .run = change},
    {.method = "DELETE",
     .path = HOOKS "/{id}",
     .name = "deleteWebhook",
     .summary = "Send nothing to it any more.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .status = 204,
     .run = delete},
    {.method = "POST",
     .path = HOOKS "/{id}/test",
     .name = "testWebhook",
     .summary = "Send it an event of the type webhook.test now, and say how that went.",
     .needs = NEEDS_ADMIN,
     .scope = SCOPE_SHARE,
     .status = 200,
     .answer = "WebhookTest",
     .run = test},
};

const struct op_table native_webhooks = {ops, sizeof ops / sizeof *ops};
