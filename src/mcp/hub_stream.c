/* hub_stream.c -- the streams of an ear: parked exchanges that pull what is to be told. See hub_int.h. */
#include <stdlib.h>
#include <string.h>

#include "api/op.h"
#include "base/scope.h"
#include "http/sse.h"
#include "mcp/hub_int.h"
#include "json/write.h"

enum { NOTE_MAX = 64 << 10 }; /* bytes of a notification that names one resource at most */

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

/* ---- messages ---- */

static void put_subscription(const struct hub_ear *ear, struct json_writer *w)
{
    jw_key(w, "_meta");
    jw_object(w);
    jw_key(w, MCP_META "subscriptionId");
    jw_raw(w, ear->id, strlen(ear->id));
    jw_end_object(w);
}

void ear_begin_note(const struct hub_ear *ear, const char *method, struct json_writer *w)
{
    jw_object(w);
    put(w, "jsonrpc", "2.0");
    put(w, "method", method);
    jw_key(w, "params");
    jw_object(w);
    if (ear->id)
        put_subscription(ear, w);
}

void ear_end_note(struct json_writer *w)
{
    jw_end_object(w);
    jw_end_object(w);
}

static void add_message(struct buf *out, const char *text, size_t len)
{
    sse_event(out, /* id= */ 0, "message", text, len);
}

static void add_note(struct hub_ear *ear, const char *method, const char *uri, struct buf *out)
{
    scoped(buf_done) struct buf text = BUF_INIT(NOTE_MAX);
    struct json_writer w = JSON_WRITER(&text);
    ear_begin_note(ear, method, &w);
    if (uri)
        put(&w, "uri", uri);
    ear_end_note(&w);
    if (text.failed)
        out->failed = true; /* ends in a reset */
    else
        add_message(out, text.bytes, text.len);
}

/* The response to the request that listened. */
static void add_result(const struct hub_ear *ear, struct buf *out)
{
    scoped(buf_done) struct buf text = BUF_INIT(NOTE_MAX);
    struct json_writer w = JSON_WRITER(&text);
    jw_object(&w);
    put(&w, "jsonrpc", "2.0");
    jw_key(&w, "id");
    jw_raw(&w, ear->id, strlen(ear->id));
    jw_key(&w, "result");
    jw_object(&w);
    put(&w, "resultType", "complete");
    put_subscription(ear, &w);
    ear_end_note(&w);
    add_message(out, text.bytes, text.len);
}

/* ---- pulling: with the lock held ---- */

static void take_messages(struct hub_ear *ear, struct buf *out)
{
    for (struct hub_message *message; (message = ear->first) && out->len < HTTP_PULL_MAX;) {
        add_message(out, message->text, message->len);
        ear->first = message->next;
        if (!ear->first)
            ear->last = &ear->first;
        ear->message_count--;
        ear->message_bytes -= message->len;
        free(message);
    }
}

static void take_marks(struct hub_ear *ear, struct buf *out)
{
    static const char *const methods[HUB_KINDS] = {
        [HUB_TOOLS] = "notifications/tools/list_changed",
        [HUB_PROMPTS] = "notifications/prompts/list_changed",
        [HUB_RESOURCES] = "notifications/resources/list_changed"};
    for (int kind = 0; kind < HUB_KINDS && out->len < HTTP_PULL_MAX; kind++)
        if (ear->is_pending[kind]) {
            add_note(ear, methods[kind], NULL, out);
            ear->is_pending[kind] = false;
        }
    for (size_t i = 0; i < ear->wish_count && out->len < HTTP_PULL_MAX; i++)
        if (ear->wishes[i].is_pending) {
            add_note(ear, "notifications/resources/updated", ear->wishes[i].uri, out);
            ear->wishes[i].is_pending = false;
        }
}

static void say_last(struct hub_stream *s, struct buf *out)
{
    if (s->ear->id && !s->has_ended)
        add_result(s->ear, out);
    s->has_ended = true;
}

static enum http_pulled pull(void *arg, struct buf *out)
{
    struct hub_stream *s = arg;
    struct hub_ear *ear = s->ear;
    size_t before = out->len;
    pthread_mutex_lock(&ear->hub->lock);
    bool is_over = ear->is_over;
    take_messages(ear, out);
    if (!is_over)
        take_marks(ear, out);
    is_over = is_over && !ear->first;
    if (is_over)
        say_last(s, out);
    pthread_mutex_unlock(&ear->hub->lock);
    if (is_over)
        return HTTP_ENDED;
    return out->len > before ? HTTP_PULLED : HTTP_LATER;
}

/* The server stops. */
static void last(void *arg, struct buf *out)
{
    struct hub_stream *s = arg;
    pthread_mutex_lock(&s->ear->hub->lock);
    say_last(s, out);
    pthread_mutex_unlock(&s->ear->hub->lock);
}

static void gone(void *arg)
{
    struct hub_stream *s = arg;
    struct hub_ear *ear = s->ear;
    struct mcp_hub *h = ear->hub;
    pthread_mutex_lock(&h->lock);
    for (struct hub_stream **at = &ear->streams; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    ear->is_dead = ear->is_dead || ear->id;
    if (ear->is_dead)
        ear_make_due(ear, DESK_HERALD);
    pthread_mutex_unlock(&h->lock);
    http_stream_unref(s->http);
    free(s);
}

/* ---- parking ---- */

static int begin(struct mcp_call *m, struct err *e)
{
    m->c->status = 200;
    m->c->is_answered = true;
    http_add_header(m->c->x, "Cache-Control", "no-cache");
    http_add_header(m->c->x, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    return http_begin(m->c->x, 200, "text/event-stream", -1, e);
}

/* The exchange is the listener's when the handler has returned, so nothing is pulled before that. */
int ear_park(struct mcp_call *m, struct hub_ear *ear, struct err *e)
{
    struct hub_stream *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "listen to changes");
    s->ear = ear;
    const struct http_source source = {.pull = pull, .last = last, .gone = gone, .arg = s};
    if (begin(m, e) || http_park(m->c->x, &source, /* is_events= */ true, &s->http, e)) {
        free(s);
        return -1;
    }
    m->c->is_parked = true;
    m->is_parked = true;
    pthread_mutex_lock(&ear->hub->lock);
    s->next = ear->streams;
    ear->streams = s;
    ear->is_changed = true; /* a watch that was lost is tried again */
    ear_make_due(ear, DESK_HERALD);
    pthread_mutex_unlock(&ear->hub->lock);
    return 0;
}
