/* notify.c -- what a request tells its client before it is answered; and small things of a request. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"
#include "mcp/stream.h"
#include "service/object.h"

const char *const mcp_levels[] = {"debug",    "info",  "notice",    "warning", "error",
                                  "critical", "alert", "emergency", NULL};

int mcp_level(const char *name)
{
    for (int i = 0; name && mcp_levels[i]; i++)
        if (strcmp(name, mcp_levels[i]) == 0)
            return i;
    return -1;
}

static void begin(struct json_writer *w, const char *method)
{
    jw_object(w);
    jw_key(w, "jsonrpc");
    jw_text(w, "2.0");
    jw_key(w, "method");
    jw_text(w, method);
    jw_key(w, "params");
    jw_object(w);
}

static void finish(struct mcp_call *m, struct json_writer *w)
{
    jw_end_object(w);
    jw_end_object(w);
    if (!w->out->failed)
        mcp_stream_send(m, (struct str){w->out->bytes, w->out->len});
}

static void put_number(struct json_writer *w, const char *key, double value)
{
    jw_key(w, key);
    jw_decimal(w, (uint64_t)(value * 1000 + 0.5), 3);
}

static const json_t *progress_token(const struct mcp_call *m)
{
    const json_t *token = json_object_get(m->rpc->meta, "progressToken");
    return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

bool mcp_hears_progress(const struct mcp_call *m)
{
    return progress_token(m) != NULL;
}

void mcp_progress(struct mcp_call *m, double progress, double total, const char *message)
{
    const json_t *token = progress_token(m);
    scoped(buf_done) struct buf text = BUF_INIT(256 << 10);
    struct json_writer w = JSON_WRITER(&text);
    if (!token || progress < 0 || (m->has_progress && progress <= m->progress))
        return;
    m->has_progress = true;
    m->progress = progress;
    begin(&w, "notifications/progress");
    jw_key(&w, "progressToken");
    if (json_is_string(token))
        jw_str(&w, json_string_value(token), json_string_length(token));
    else
        jw_i64(&w, json_integer_value(token));
    put_number(&w, "progress", progress);
    if (total > 0)
        put_number(&w, "total", total);
    if (message && strcmp(m->version, "2025-03-26") >= 0) {
        jw_key(&w, "message");
        jw_text(&w, message);
    }
    finish(m, &w);
}

/* The least level that the client wants to hear of; -1: of none. */
static int threshold(const struct mcp_call *m)
{
    if (m->is_modern)
        return mcp_level(json_string_value(json_object_get(m->rpc->meta, MCP_META "logLevel")));
    if (!m->session)
        return -1;
    pthread_mutex_lock(&m->session->lock);
    int level = m->session->log_level;
    pthread_mutex_unlock(&m->session->lock);
    return level;
}

void mcp_log(struct mcp_call *m, const char *level, const char *message)
{
    scoped(buf_done) struct buf text = BUF_INIT(256 << 10);
    struct json_writer w = JSON_WRITER(&text);
    int least = threshold(m);
    if (least < 0 || mcp_level(level) < least)
        return;
    begin(&w, "notifications/message");
    jw_key(&w, "level");
    jw_text(&w, level);
    jw_key(&w, "logger");
    jw_text(&w, "cicada");
    jw_key(&w, "data");
    jw_text(&w, message);
    finish(m, &w);
}

void mcp_keep_alive(struct mcp_call *m)
{
    mcp_stream_comment(m);
}

/* ---- tasks ---- */

bool mcp_takes_tasks(const struct mcp_call *m)
{
    json_t *extensions = json_object_get(m->client, "extensions");
    return m->is_modern && json_is_object(json_object_get(extensions, MCP_TASKS));
}

void mcp_write_task(struct json_writer *w, const struct mcp_task *task)
{
    jw_key(w, "taskId");
    jw_text(w, task->id);
    jw_key(w, "status");
    jw_text(w, task->status);
    if (task->message) {
        jw_key(w, "statusMessage");
        jw_text(w, task->message);
    }
    object_time(w, "createdAt", task->created_us);
    object_time(w, "lastUpdatedAt", task->updated_us);
    jw_key(w, "ttlMs");
    if (task->ttl_ms)
        jw_i64(w, task->ttl_ms);
    else
        jw_null(w);
    if (task->poll_ms) {
        jw_key(w, "pollIntervalMs");
        jw_u64(w, task->poll_ms);
    }
}

void mcp_answer_task(struct mcp_call *m, const struct mcp_task *task)
{
    m->result_type = "task";
    mcp_write_task(&m->w, task);
}

/* ---- the interpreter's session of a client ---- */

const char *mcp_default_session(struct mcp_call *m)
{
    if (!m->session)
        return "";
    pthread_mutex_lock(&m->session->lock);
    memcpy(m->seat, m->session->seat, sizeof m->seat);
    pthread_mutex_unlock(&m->session->lock);
    return m->seat;
}

void mcp_set_default_session(struct mcp_call *m, const char *id)
{
    if (!m->session)
        return;
    pthread_mutex_lock(&m->session->lock);
    (void)snprintf(m->session->seat, sizeof m->session->seat, "%s", id);
    pthread_mutex_unlock(&m->session->lock);
}

/* ---- pages ---- */

int mcp_cursor_read(struct mcp_call *m, uint64_t *ret_from, struct err *e)
{
    json_t *cursor = json_object_get(m->params, "cursor");
    struct err ignored = {0};
    const char *text = json_string_value(cursor);
    if (!cursor || (text && !*text))
        return 0;
    if (!text || text[0] != 'p' || parse_u64(text + 1, 0, INT64_MAX, ret_from, &ignored))
        return mcp_fail(m, RPC_PARAMS, e,
                        "This cursor is not one of this list: begin without one.");
    return 0;
}

void mcp_cursor_write(struct mcp_call *m, uint64_t next)
{
    char text[32];
    (void)snprintf(text, sizeof text, "p%" PRIu64, next);
    jw_key(&m->w, "nextCursor");
    jw_text(&m->w, text);
}
