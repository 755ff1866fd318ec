/* Webhooks as the API sees them; courier.c delivers. */
#include "service/webhooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "service/event.h"
#include "service/object.h"
#include "service/webhooks_int.h"
#include "store/audit.h"
#include "workspace/people.h"
#include "json/write.h"

enum { SECRET_LEN = 40, BODY_EXTRA = 1024 };

#define TEST_TYPE "webhook.test"

/* ---- checks ---- */

static int check_enabled(const struct webhooks *h, struct err *e)
{
    if (h->o.is_enabled)
        return 0;
    return err_set(e, ERR_UNAVAILABLE,
                   "webhooks are switched off on this server; follow the "
                   "events instead");
}

static int check_secret(const char *secret, struct err *e)
{
    size_t len = strlen(secret);
    if (len < WEBHOOK_SECRET_MIN || len > WEBHOOK_SECRET_MAX)
        return err_set(e, ERR_INVALID, "secret: %d to %d characters", WEBHOOK_SECRET_MIN,
                       WEBHOOK_SECRET_MAX);
    for (const char *p = secret; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127)
            return err_set(e, ERR_INVALID, "secret: ASCII without blanks");
    return 0;
}

static int check_wishes(const struct webhooks *h, const struct webhook_wishes *w, struct err *e)
{
    if ((w->url && transfer_check_url(&h->o.outside, w->url, e)) ||
        (w->secret && check_secret(w->secret, e)))
        return -1;
    if (w->events && event_types_check(w->events, e))
        return err_wrap(e, "events");
    return 0;
}

/* ---- keeping ---- */

static void set_maker(struct webhook_row *row, const struct who *who)
{
    memcpy(row->made_by, who->principal, ID_SIZE);
    row->is_by_server = who->is_admin;
}

int webhook_create(struct webhooks *h, const struct who *who, const char *workspace,
                   const struct webhook_wishes *wishes, struct webhook_row *ret, struct err *e)
{
    char secret[ID_SIZE];
    struct webhook_row row = {.url = wishes->url,
                              .events = wishes->events ? wishes->events : "",
                              .secret = wishes->secret ? wishes->secret : secret,
                              .created_us = clock_wall_us()};
    if (check_enabled(h, e) || check_wishes(h, wishes, e) || id_make("whk_", row.id, e) ||
        id_make_long("whsec_", SECRET_LEN, secret, e))
        return -1;
    (void)snprintf(row.workspace, sizeof row.workspace, "%s", workspace);
    set_maker(&row, who);
    if (meta_webhook_insert(h->o.meta, &row, WEBHOOKS_MAX, e) ||
        meta_webhook_get(h->o.meta, workspace, row.id, ret, e))
        return -1;
    courier_wake(h, /* is_changed= */ true);
    return 0;
}

int webhook_list(struct webhooks *h, const char *workspace, struct webhook_rows *ret, struct err *e)
{
    return meta_webhook_list(h->o.meta, workspace, ret, e);
}

int webhook_get(struct webhooks *h, const char *workspace, const char *id, struct webhook_row *ret,
                struct err *e)
{
    return meta_webhook_get(h->o.meta, workspace, id, ret, e);
}

int webhook_change(struct webhooks *h, const struct who *who, const char *workspace, const char *id,
                   const struct webhook_wishes *wishes, struct webhook_row *ret, struct err *e)
{
    scoped(webhook_row_done) struct webhook_row before = {0};
    if (check_enabled(h, e) || check_wishes(h, wishes, e) ||
        meta_webhook_get(h->o.meta, workspace, id, &before, e))
        return -1;
    struct webhook_row row = before;
    row.url = wishes->url ? wishes->url : row.url;
    row.events = wishes->events ? wishes->events : row.events;
    row.secret = wishes->secret ? wishes->secret : row.secret;
    set_maker(&row, who);
    row.failures = 0;
    row.failing_us = row.next_us = 0;
    row.paused_us = wishes->has_paused && wishes->is_paused ? clock_wall_us() : 0;
    if (meta_webhook_update(h->o.meta, &row, e) ||
        meta_webhook_get(h->o.meta, workspace, id, ret, e))
        return -1;
    courier_wake(h, /* is_changed= */ true);
    return 0;
}

int webhook_remove(struct webhooks *h, const char *workspace, const char *id, struct err *e)
{
    if (meta_webhook_remove(h->o.meta, workspace, id, e))
        return -1;
    courier_wake(h, /* is_changed= */ true);
    return 0;
}

/* ---- what is sent ---- */

void webhook_body(const char *hook, const char *delivery, const char *type, const char *event,
                  size_t len, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "id");
    jw_text(&w, delivery);
    jw_key(&w, "type");
    jw_text(&w, type);
    jw_key(&w, "webhook_id");
    jw_text(&w, hook);
    jw_key(&w, "event");
    jw_raw(&w, event, len);
    jw_end_object(&w);
    jw_finish(&w);
}

static int write_test(const struct webhook_row *row, struct buf *out, struct err *e)
{
    const struct event_reader reader = {.principal = row->made_by, .is_admin = true};
    const struct audit_row test = {.at_us = clock_wall_us(),
                                   .workspace = row->workspace,
                                   .event = TEST_TYPE,
                                   .record = "{\"via\":\"server\"}"};
    return event_write(&test, &reader, out, e);
}

static int send_test(struct webhooks *h, const struct webhook_row *row, struct transfer_result *ret,
                     struct err *e)
{
    char delivery[ID_SIZE];
    struct transfer *t;
    scoped(buf_done) struct buf event = BUF_INIT(EVENT_BYTES_MAX);
    scoped(buf_done) struct buf body = BUF_INIT(EVENT_BYTES_MAX + BODY_EXTRA);
    if (id_make("test_", delivery, e) || write_test(row, &event, e))
        return -1;
    webhook_body(row->id, delivery, TEST_TYPE, event.bytes, event.len, &body);
    const struct transfer_what what = {.url = row->url,
                                       .secret = row->secret,
                                       .delivery = delivery,
                                       .type = TEST_TYPE,
                                       .body = body.bytes,
                                       .len = body.len,
                                       .now_s = clock_wall_us() / 1000000};
    if (buf_check(&body, e) || transfer_new(&h->o.outside, &what, &t, e))
        return -1;
    transfer_now(t, ret);
    transfer_free(t);
    return 0;
}

int webhook_test(struct webhooks *h, const struct webhook_row *row, struct transfer_result *ret,
                 struct err *e)
{
    if (check_enabled(h, e))
        return -1;
    unsigned before = atomic_fetch_add_explicit(&h->tests, 1, memory_order_relaxed);
    int failed = before < WEBHOOK_TESTS_MAX
                     ? send_test(h, row, ret, e)
                     : err_set(e, ERR_OVERLOADED, "too many webhooks are being tested");
    atomic_fetch_sub_explicit(&h->tests, 1, memory_order_relaxed);
    return failed;
}

/* ---- as JSON ---- */

static void put_events(struct json_writer *w, const char *events)
{
    jw_key(w, "events");
    jw_array(w);
    for (const char *at = events; *at;) {
        size_t len = strcspn(at, ",");
        jw_str(w, at, len);
        at += len + (at[len] == ',');
    }
    jw_end_array(w);
}

static void put_state(struct json_writer *w, const struct webhook_row *row)
{
    jw_key(w, "failures");
    jw_u64(w, row->failures);
    object_time(w, "failing_since", row->failing_us);
    object_time(w, "last_attempt_at", row->last_us);
    jw_key(w, "last_status");
    if (row->last_status > 0)
        jw_i64(w, row->last_status);
    else
        jw_null(w);
    jw_key(w, "last_error");
    jw_text(w, row->last_error);
    object_time(w, "next_attempt_at", row->failures > 0 && !row->paused_us ? row->next_us : 0);
    jw_key(w, "delivered_seq");
    jw_u64(w, row->seq);
    object_time(w, "paused_at", row->paused_us);
}

void webhook_object(struct json_writer *w, const struct webhook_row *row, bool has_secret)
{
    jw_object(w);
    jw_key(w, "id");
    jw_text(w, row->id);
    jw_key(w, "workspace_id");
    jw_text(w, row->workspace);
    jw_key(w, "url");
    jw_text(w, row->url);
    put_events(w, row->events);
    jw_key(w, "made_by");
    jw_text(w, row->made_by);
    object_time(w, "created_at", row->created_us);
    put_state(w, row);
    if (has_secret) {
        jw_key(w, "secret");
        jw_text(w, row->secret);
    }
    jw_end_object(w);
}

/* ---- the whole ---- */

static void rung(void *arg)
{
    courier_wake(arg, /* is_changed= */ false);
}

static int start(struct webhooks *h, struct err *e)
{
    struct err why = {0};
    h->at = audit_head(h->o.meta, &why);
    if (*why.text) {
        *e = why;
        return -1;
    }
    h->multi = curl_multi_init();
    if (!h->multi)
        return err_set(e, ERR_NO_MEMORY, "start the courier");
    int failed = pthread_create(&h->courier, NULL, courier_main, h);
    if (failed)
        return err_sys(e, failed, "start the courier");
    h->has_courier = true;
    bell_add(h->o.bell, &h->bell_hook);
    return 0;
}

int webhooks_open(const struct webhooks_options *options, struct webhooks **ret, struct err *e)
{
    struct webhooks *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(e, ERR_NO_MEMORY, "start the courier");
    h->o = *options;
    h->bell_hook = (struct bell_hook){.rung = rung, .arg = h};
    h->is_changed = true;
    (void)pthread_mutex_init(&h->lock, NULL); /* cannot fail in glibc */
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
        free(h);
        return err_set(e, ERR_INTERNAL, "libcurl cannot be used");
    }
    if (h->o.is_enabled && start(h, e)) {
        webhooks_close(h);
        return -1;
    }
    *ret = h;
    return 0;
}

void webhooks_close(struct webhooks *h)
{
    if (!h)
        return;
    bell_remove(h->o.bell, &h->bell_hook);
    if (h->has_courier) {
        pthread_mutex_lock(&h->lock);
        h->is_closing = true;
        pthread_mutex_unlock(&h->lock);
        (void)curl_multi_wakeup(h->multi);
        (void)pthread_join(h->courier, NULL);
    }
    if (h->multi)
        (void)curl_multi_cleanup(h->multi);
    curl_global_cleanup();
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}
