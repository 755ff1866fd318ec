/* What a row of the audit says: canonical JSON. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "store/audit_int.h"
#include "json/write.h"

const char *const audit_results[] = {"ok", "denied", "error"};

void audit_time(int64_t wall_us, char ret[AUDIT_TIME_SIZE])
{
    char day[32];
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret, AUDIT_TIME_SIZE, "%s.%06dZ", day, (int)(wall_us % 1000000));
}

static void put(struct json_writer *w, const char *key, const char *text, size_t max)
{
    if (!text || !*text)
        return;
    size_t len = strnlen(text, max + 1);
    jw_key(w, key);
    jw_str(w, text, len > max ? utf8_cut(text, max) : len);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    if (v == 0)
        return;
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_detail(struct json_writer *w, const char *detail)
{
    if (!detail || !*detail)
        return;
    jw_key(w, "detail");
    size_t len = strnlen(detail, AUDIT_DETAIL_MAX + 1);
    if (len <= AUDIT_DETAIL_MAX) {
        jw_raw(w, detail, len);
        return;
    }
    jw_object(w);
    jw_key(w, "is_left_out");
    jw_bool(w, true);
    jw_end_object(w);
}

void audit_record(const struct audit_entry *a, struct buf *out)
{
    char time[AUDIT_TIME_SIZE];
    audit_time(a->at_us, time);
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "time");
    jw_text(&w, time);
    put(&w, "event", a->event, AUDIT_TEXT_MAX);
    jw_key(&w, "result");
    jw_text(&w, audit_results[a->result]);
    if (a->is_read) {
        jw_key(&w, "is_read");
        jw_bool(&w, true);
    }
    put(&w, "reason", a->reason, AUDIT_TEXT_MAX);
    put(&w, "principal", a->principal, AUDIT_TEXT_MAX);
    put(&w, "behalf", a->behalf, AUDIT_TEXT_MAX);
    put(&w, "key", a->key, AUDIT_TEXT_MAX);
    put(&w, "via", a->via, AUDIT_TEXT_MAX);
    put(&w, "peer", a->peer, AUDIT_TEXT_MAX);
    put(&w, "agent", a->agent, AUDIT_TEXT_MAX);
    put(&w, "request", a->request, AUDIT_TEXT_MAX);
    put(&w, "workspace", a->workspace, AUDIT_TEXT_MAX);
    put(&w, "session", a->session, AUDIT_TEXT_MAX);
    put(&w, "run", a->run, AUDIT_TEXT_MAX);
    put(&w, "object", a->object, AUDIT_TEXT_MAX);
    put(&w, "path", a->path, AUDIT_PATH_MAX);
    put_number(&w, "version", a->version);
    put_number(&w, "rev", a->rev);
    put_detail(&w, a->detail);
    jw_end_object(&w);
    jw_finish(&w);
}
