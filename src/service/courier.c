/* courier.c -- the thread that delivers events to webhooks: see webhooks.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/events_int.h"
#include "service/tail.h"
#include "service/webhooks_int.h"
#include "workspace/files.h"

enum {
    BODY_MAX = EVENT_BYTES_MAX + 1024,
    BEHIND_MAX = 1000, /* events nobody wants that are passed before that is written down */
    TROUBLE_MS = 5000, /* until the store is asked again that could not be read */
};

void courier_wake(struct webhooks *h, bool is_changed)
{
    pthread_mutex_lock(&h->lock);
    bool is_news = !h->is_rung || (is_changed && !h->is_changed);
    h->is_rung = true;
    h->is_changed = h->is_changed || is_changed;
    pthread_mutex_unlock(&h->lock);
    if (is_news && h->multi)
        (void)curl_multi_wakeup(h->multi);
}

int64_t webhook_delay_us(uint32_t retry_s, uint32_t failures, unsigned chance)
{
    int64_t delay_s = retry_s;
    for (uint32_t i = 1; i < failures && delay_s < WEBHOOK_RETRY_MAX_S; i++)
        delay_s *= 2;
    if (delay_s > WEBHOOK_RETRY_MAX_S)
        delay_s = WEBHOOK_RETRY_MAX_S;
    return delay_s * (800000 + (int64_t)(chance % 400001)); /* give or take a fifth */
}

static void complain(struct webhooks *h, const struct err *e)
{
    log_line(h->o.log, LOG_ERROR, "webhooks have to wait", LOG_STR("why", e->text));
}

/* ---- sending ---- */

static void write_down(struct webhooks *h, struct hook *k)
{
    struct err e = {0};
    if (meta_webhook_went(h->o.meta, &k->row, &e))
        complain(h, &e); /* then it comes twice */
}

static void pause_hook(struct webhooks *h, struct hook *k, int64_t now_us, const char *why)
{
    k->row.paused_us = now_us;
    (void)snprintf(k->error, sizeof k->error, "%s", why);
    k->row.last_error = k->error;
    log_line(h->o.log, LOG_WARNING, "a webhook is paused", LOG_STR("webhook", k->row.id),
             LOG_STR("why", why));
}

/* Whether who set it is still an admin of the workspace. 1, 0 or -1. */
static int may_send(struct webhooks *h, const struct hook *k, struct err *e)
{
    struct who maker = {.is_admin = k->row.is_by_server};
    memcpy(maker.principal, k->row.made_by, ID_SIZE);
    scoped(workspace_row_done) struct workspace_row ws = {0};
    enum role role = ROLE_NONE;
    if (files_workspace_known(h->o.files, k->row.workspace, &ws, e) ||
        rights_role(h->o.files, &maker, &ws, &role, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1;
    return role >= ROLE_ADMIN;
}

/* The next event for it; *ret stays NULL when there is none. */
static int next_event(struct webhooks *h, struct hook *k, struct event_note **ret, struct err *e)
{
    const struct event_reader reader = {.principal = k->row.made_by, .is_admin = true};
    const struct event_ask ask = {
        .workspace = k->row.workspace, .types = k->row.events, .since = k->row.seq, .limit = 1};
    struct event_page page;
    scoped(event_rows_done) struct event_rows rows = {0};
    if (events_collect(h->o.meta, &rows, &reader, &ask, SIZE_MAX, &page, e))
        return -1;
    *ret = page.first; /* one, by the limit */
    k->is_due = page.first || page.has_more;
    if (page.first)
        return 0;
    bool is_far = page.next - k->row.seq >= BEHIND_MAX;
    k->row.seq = page.next;
    if (is_far)
        write_down(h, k);
    return 0;
}

static int launch(struct webhooks *h, struct hook *k, const struct event_note *n, struct err *e)
{
    char delivery[ID_SIZE + 24];
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    (void)snprintf(delivery, sizeof delivery, "%s-%llu", k->row.id, (unsigned long long)n->seq);
    webhook_body(k->row.id, delivery, n->type, n->text, n->len, &body);
    if (buf_check(&body, e))
        return -1;
    const struct transfer_what what = {.url = k->row.url,
                                       .secret = k->row.secret,
                                       .delivery = delivery,
                                       .type = n->type,
                                       .body = body.bytes,
                                       .len = body.len,
                                       .now_s = clock_wall_us() / 1000000};
    if (transfer_new(&h->o.outside, &what, &k->transfer, e))
        return -1;
    if (curl_multi_add_handle(h->multi, transfer_handle(k->transfer))) {
        transfer_free(take(k->transfer));
        return err_set(e, ERR_NO_MEMORY, "deliver an event");
    }
    free(k->body);
    k->body = buf_take(&body, NULL); /* the same bytes, which the transfer points to */
    k->seq = n->seq;
    h->under_way++;
    return 0;
}

static void failed(struct webhooks *h, struct hook *k, const struct transfer_result *r,
                   int64_t now_us)
{
    struct webhook_row *row = &k->row;
    row->failures++;
    if (row->failing_us == 0)
        row->failing_us = now_us;
    h->chance = h->chance * 1103515245u + 12345u + (unsigned)now_us;
    row->next_us = now_us + webhook_delay_us(h->o.retry_s, row->failures, h->chance >> 8);
    (void)snprintf(k->error, sizeof k->error, "%s", r->error);
    row->last_error = k->error;
    if (r->status == 410)
        pause_hook(h, k, now_us, "it answered 410: nobody wants these any more");
    else if (now_us - row->failing_us >= (int64_t)WEBHOOK_PATIENCE_S * 1000000)
        pause_hook(h, k, now_us, "it failed for a day; change it to set it going again");
}

static void note_result(struct webhooks *h, struct hook *k, const struct transfer_result *r)
{
    struct webhook_row *row = &k->row;
    row->last_us = clock_wall_us();
    row->last_status = r->status;
    if (r->is_delivered) {
        row->seq = k->seq > row->seq ? k->seq : row->seq;
        row->failures = 0;
        row->failing_us = row->next_us = 0;
        row->last_error = NULL;
    } else {
        failed(h, k, r, row->last_us);
    }
    write_down(h, k);
}

/* Sends the next event, if there is one. */
static int begin(struct webhooks *h, struct hook *k, struct err *e)
{
    scoped(freep) struct event_note *n = NULL;
    if (next_event(h, k, &n, e))
        return -1;
    if (!n)
        return 0;
    int may = may_send(h, k, e);
    if (may < 0)
        return -1;
    if (!may) {
        pause_hook(h, k, clock_wall_us(),
                   "who set it is no admin of the workspace any more; another admin has to "
                   "change it");
        write_down(h, k);
        return 0;
    }
    struct err why = {0};
    if (launch(h, k, n,
               &why)) { /* such as an address that the configuration does not allow any more */
        struct transfer_result r = {0};
        (void)snprintf(r.error, sizeof r.error, "%.150s", why.text);
        note_result(h, k, &r);
    }
    return 0;
}

static size_t count_of(const struct webhooks *h, const char *workspace)
{
    size_t count = 0;
    for (const struct hook *k = h->hooks; k; k = k->next)
        count += k->transfer && strcmp(k->row.workspace, workspace) == 0;
    return count;
}

static bool is_ready(const struct webhooks *h, const struct hook *k, int64_t now_us)
{
    return k->is_due && !k->transfer && !k->is_gone && !k->row.paused_us &&
           k->row.next_us <= now_us && count_of(h, k->row.workspace) < WEBHOOKS_OF_ONE;
}

/* Who comes first now comes last the next time. */
static void rotate(struct webhooks *h)
{
    struct hook *first = h->hooks, **last = &h->hooks;
    if (!first || !first->next)
        return;
    h->hooks = first->next;
    while (*last)
        last = &(*last)->next;
    first->next = NULL;
    *last = first;
}

static int begin_all(struct webhooks *h, struct err *e)
{
    int64_t now_us = clock_wall_us();
    for (struct hook *k = h->hooks; k && h->under_way < WEBHOOKS_AT_ONCE; k = k->next)
        while (is_ready(h, k, now_us))
            if (begin(h, k, e))
                return -1;
    rotate(h);
    return 0;
}

/* ---- the ends ---- */

static struct hook *hook_of(struct webhooks *h, const CURL *easy)
{
    for (struct hook *k = h->hooks; k; k = k->next)
        if (k->transfer && transfer_handle(k->transfer) == easy)
            return k;
    return NULL;
}

static void end_transfer(struct webhooks *h, struct hook *k)
{
    (void)curl_multi_remove_handle(h->multi, transfer_handle(k->transfer));
    transfer_free(take(k->transfer));
    free(take(k->body));
    h->under_way--;
}

static void collect_ends(struct webhooks *h)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
        struct hook *k = m->msg == CURLMSG_DONE ? hook_of(h, m->easy_handle) : NULL;
        if (!k)
            continue;
        struct transfer_result r;
        transfer_ended(k->transfer, (int)m->data.result, &r);
        end_transfer(h, k);
        if (!k->is_gone)
            note_result(h, k, &r);
    }
}

/* ---- the thread ---- */

/* What others said since. False: it is time to end. */
static bool hear(struct webhooks *h, struct err *e)
{
    pthread_mutex_lock(&h->lock);
    bool is_closing = h->is_closing, is_rung = h->is_rung, is_changed = h->is_changed;
    h->is_rung = h->is_changed = false;
    pthread_mutex_unlock(&h->lock);
    if (is_closing)
        return false;
    if ((is_changed && hooks_reload(h, e)) ||
        (is_rung && h->hooks && tail_read(h->o.meta, &h->at, hooks_mark, h, e))) {
        pthread_mutex_lock(&h->lock);
        h->is_rung = true;
        h->is_changed = h->is_changed || is_changed;
        pthread_mutex_unlock(&h->lock);
    }
    return true;
}

static int next_wait_ms(const struct webhooks *h)
{
    int64_t now_us = clock_wall_us(), next_us = now_us + (int64_t)WEBHOOK_RETRY_MAX_S * 1000000;
    for (const struct hook *k = h->hooks; k; k = k->next)
        if (k->is_due && !k->transfer && !k->row.paused_us && k->row.next_us > now_us &&
            k->row.next_us < next_us)
            next_us = k->row.next_us;
    return (int)((next_us - now_us) / 1000 + 1);
}

static void close_all(struct webhooks *h)
{
    for (struct hook *k; (k = h->hooks);) {
        h->hooks = k->next;
        if (k->transfer)
            end_transfer(h, k);
        hook_free(k);
    }
}

void *courier_main(void *arg)
{
    struct webhooks *h = arg;
    struct err e = {0};
    while (e = (struct err){0}, hear(h, &e)) {
        int running;
        if (!*e.text)
            (void)begin_all(h, &e);
        if (*e.text)
            complain(h, &e);
        (void)curl_multi_perform(h->multi, &running);
        size_t before = h->under_way;
        collect_ends(h);
        hooks_drop_gone(h);
        if (h->under_way < before)
            continue; /* there is room for others */
        (void)curl_multi_poll(h->multi, NULL, 0, *e.text ? TROUBLE_MS : next_wait_ms(h), NULL);
    }
    close_all(h);
    return NULL;
}
