#include "mcp/stream.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/op.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/sse.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"

enum {
    STREAM_BITS = 24,
    EVENTS_MAX = 1 << 20
}; /* of an event's id: its number within the stream */

struct event {
    struct event *next;
    uint64_t id;
    size_t len;
    char text[];
};

/* Somebody who came back, parked. */
struct visitor {
    struct visitor *next;
    struct mcp_stream *of; /* held */
    struct http_stream *http;
    uint64_t seen; /* of the listener */
};

struct mcp_stream {
    pthread_mutex_t lock; /* protects everything below but next */
    unsigned refs;
    uint64_t number; /* in its session; 0: there is none, and nothing is kept */
    char *request;   /* the id of the request, as JSON; owned */
    struct event *first, **last;
    uint64_t count;
    size_t bytes;
    bool is_over, is_lost;
    bool is_open; /* the exchange of the request still takes messages; of its thread only */
    struct visitor *visitors;
    struct mcp_stream *next; /* of the session: protected by its lock */
};

/* ---- keeping ---- */

static atomic_size_t kept_bytes; /* of all streams */

static void free_events(struct mcp_stream *s)
{
    for (struct event *e = s->first, *next; e; e = next) {
        next = e->next;
        atomic_fetch_sub(&kept_bytes, e->len);
        free(e);
    }
    s->first = NULL;
    s->last = &s->first;
}

void mcp_stream_unref(struct mcp_stream *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    bool is_last = --s->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (!is_last)
        return;
    free_events(s);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->request);
    free(s);
}

static void hold(struct mcp_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->refs++;
    pthread_mutex_unlock(&s->lock);
}

static uint64_t event_id(const struct mcp_stream *s, uint64_t number)
{
    return s->number << STREAM_BITS | number;
}

/* Keeps a message for whoever comes back, and wakes them. Returns its id. */
static uint64_t keep(struct mcp_stream *s, struct str message, bool is_last)
{
    struct event *made = malloc(sizeof *made + message.len);
    pthread_mutex_lock(&s->lock);
    uint64_t id = event_id(s, ++s->count);
    s->bytes += message.len;
    s->is_over = s->is_over || is_last;
    s->is_lost = s->is_lost || !made || s->bytes > STREAM_KEEP_BYTES || s->count >= EVENTS_MAX ||
                 atomic_load(&kept_bytes) + message.len > STREAMS_KEEP_BYTES;
    if (s->is_lost) {
        free_events(s);
        free(made);
    } else {
        *made = (struct event){.id = id, .len = message.len};
        memcpy(made->text, message.ptr, message.len);
        atomic_fetch_add(&kept_bytes, message.len);
        *s->last = made;
        s->last = &made->next;
    }
    for (struct visitor *v = s->visitors; v; v = v->next)
        http_stream_wake(v->http);
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* Nothing comes any more. */
static void end_now(struct mcp_stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->is_over = true;
    for (struct visitor *v = s->visitors; v; v = v->next)
        http_stream_wake(v->http);
    pthread_mutex_unlock(&s->lock);
}

void mcp_streams_drop(struct mcp_stream *first)
{
    for (struct mcp_stream *s = first, *next; s; s = next) {
        next = s->next;
        end_now(s);
        mcp_stream_unref(s);
    }
}

/* Puts a new one to its session's, and lets go of the oldest. */
static void enlist(struct mcp_session *session, struct mcp_stream *s)
{
    struct mcp_stream *surplus = NULL;
    size_t count = 0;
    pthread_mutex_lock(&session->lock);
    s->number = ++session->stream_count;
    if (!session->is_ended) {
        hold(s);
        s->next = session->streams;
        session->streams = s;
    }
    for (struct mcp_stream **at = &session->streams; *at; at = &(*at)->next)
        if (++count == SESSION_STREAMS_MAX) {
            surplus = (*at)->next;
            (*at)->next = NULL;
            break;
        }
    pthread_mutex_unlock(&session->lock);
    for (struct mcp_stream *next; surplus; surplus = next) {
        next = surplus->next;
        mcp_stream_unref(surplus); /* one that still goes on is held by who answers it */
    }
}

static struct mcp_stream *new_stream(struct mcp_call *m)
{
    struct mcp_stream *s = calloc(1, sizeof *s);
    struct buf id = BUF_INIT(64 << 10);
    if (!s)
        return NULL;
    rpc_write_id(&id, m->rpc->id);
    s->request = buf_take(&id, NULL);
    if (!s->request) {
        free(s);
        return NULL;
    }
    (void)pthread_mutex_init(&s->lock, NULL);
    s->refs = 1;
    s->last = &s->first;
    if (m->session)
        enlist(m->session, s);
    return s;
}

/* ---- sending ---- */

static void write_now(struct mcp_call *m, const struct buf *text)
{
    struct err gone = {0};
    if (m->stream->is_open && http_write(m->c->x, text->bytes, text->len, &gone))
        m->stream->is_open = false;
}

/* An event without content, by which the client knows where it was if nothing else comes. */
static void prime(struct mcp_call *m)
{
    scoped(buf_done) struct buf text = BUF_INIT(256);
    uint64_t id = keep(m->stream, str_of(""), /* is_last= */ false);
    buf_fmt(&text, "id: %" PRIu64 "\nretry: %d\ndata: \n\n", id, STREAM_RETRY_MS);
    write_now(m, &text);
}

static bool takes_streams(const struct mcp_call *m)
{
    struct str accept = http_header_get(m->c->request, "Accept");
    return !accept.ptr || memmem(accept.ptr, accept.len, "text/event-stream", 17) ||
           memmem(accept.ptr, accept.len, "*/*", 3);
}

bool mcp_stream_begin(struct mcp_call *m)
{
    struct call *c = m->c;
    struct err gone = {0};
    if (m->stream)
        return true;
    if (m->rpc->kind != RPC_REQUEST || !takes_streams(m) || !(m->stream = new_stream(m)))
        return false;
    c->status = 200;
    c->is_answered = true;
    http_add_header(c->x, "Cache-Control", "no-cache, no-transform");
    http_add_header(c->x, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    m->stream->is_open = http_begin(c->x, 200, "text/event-stream", -1, &gone) == 0;
    if (m->session)
        prime(m);
    return true;
}

static void put(struct mcp_call *m, struct str message, bool is_last)
{
    scoped(buf_done) struct buf text = BUF_INIT(2 * (size_t)MCP_RESULT_MAX);
    uint64_t id = m->stream->number ? keep(m->stream, message, is_last) : 0;
    sse_event(&text, id, /* event= */ NULL, message.ptr, message.len);
    if (!text.failed)
        write_now(m, &text);
}

void mcp_stream_send(struct mcp_call *m, struct str message)
{
    if (mcp_stream_begin(m))
        put(m, message, /* is_last= */ false);
}

void mcp_stream_comment(struct mcp_call *m)
{
    scoped(buf_done) struct buf text = BUF_INIT(64);
    if (!mcp_stream_begin(m))
        return;
    sse_comment(&text, "");
    write_now(m, &text);
}

static void end_exchange(struct mcp_call *m)
{
    struct err gone = {0};
    if (m->stream->is_open)
        (void)http_end(m->c->x, &gone);
    m->stream->is_open = false;
}

void mcp_stream_end(struct mcp_call *m, struct str response)
{
    put(m, response, /* is_last= */ true);
    end_exchange(m);
}

void mcp_stream_cut(struct mcp_call *m)
{
    end_now(m->stream);
    end_exchange(m);
}

struct mcp_stream *mcp_stream_leave(struct mcp_call *m)
{
    if (!m->session || !mcp_stream_begin(m))
        return NULL;
    end_exchange(m);
    hold(m->stream);
    return m->stream;
}

void mcp_stream_answer(struct mcp_stream *s, struct str result)
{
    scoped(buf_done) struct buf text = BUF_INIT(MCP_RESULT_MAX);
    buf_fmt(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", s->request);
    buf_add(&text, result.ptr, result.len);
    buf_str(&text, "}");
    if (!text.failed)
        (void)keep(s, (struct str){text.bytes, text.len}, /* is_last= */ true);
    mcp_stream_unref(s);
}

/* ---- coming back ---- */

static enum http_pulled pull(void *arg, struct buf *out)
{
    struct visitor *v = arg;
    struct mcp_stream *s = v->of;
    size_t before = out->len;
    pthread_mutex_lock(&s->lock);
    const struct event *at = s->first;
    while (at && at->id <= v->seen)
        at = at->next;
    for (; at && out->len < HTTP_PULL_MAX; at = at->next) {
        if (at->len)
            sse_event(out, at->id, /* event= */ NULL, at->text, at->len);
        v->seen = at->id;
    }
    bool is_all = !at && (s->is_over || s->is_lost);
    pthread_mutex_unlock(&s->lock);
    return is_all ? HTTP_ENDED : out->len > before ? HTTP_PULLED : HTTP_LATER;
}

static void gone(void *arg)
{
    struct visitor *v = arg;
    struct mcp_stream *s = v->of;
    pthread_mutex_lock(&s->lock);
    for (struct visitor **at = &s->visitors; *at; at = &(*at)->next)
        if (*at == v) {
            *at = v->next;
            break;
        }
    pthread_mutex_unlock(&s->lock);
    http_stream_unref(v->http);
    mcp_stream_unref(s);
    free(v);
}

static struct mcp_stream *find(struct mcp_session *session, uint64_t number)
{
    struct mcp_stream *found = NULL;
    pthread_mutex_lock(&session->lock);
    for (struct mcp_stream *s = session->streams; s && !found; s = s->next)
        if (s->number == number) {
            hold(s);
            found = s;
        }
    pthread_mutex_unlock(&session->lock);
    return found;
}

/* Parks the exchange; the visitor is the listener's from when the handler has returned. */
static int receive(struct mcp_call *m, struct visitor *v, struct err *e)
{
    struct call *c = m->c;
    const struct http_source source = {.pull = pull, .gone = gone, .arg = v};
    c->status = 200;
    c->is_answered = true;
    http_add_header(c->x, "Cache-Control", "no-cache, no-transform");
    http_add_header(c->x, "X-Accel-Buffering", "no");
    if (http_begin(c->x, 200, "text/event-stream", -1, e) ||
        http_park(c->x, &source, /* is_events= */ true, &v->http, e))
        return -1;
    c->is_parked = m->is_parked = true;
    pthread_mutex_lock(&v->of->lock);
    v->next = v->of->visitors;
    v->of->visitors = v;
    pthread_mutex_unlock(&v->of->lock);
    http_stream_wake(v->http); /* for what came in between */
    return 0;
}

int mcp_stream_resume(struct mcp_call *m, struct str last_event_id, struct err *e)
{
    char text[24] = "";
    uint64_t id = 0;
    if (last_event_id.len < sizeof text)
        memcpy(text, last_event_id.ptr, last_event_id.len);
    if (parse_u64(text, 1, INT64_MAX, &id, e))
        return err_wrap(e, "Last-Event-ID");
    struct mcp_stream *s = find(m->session, id >> STREAM_BITS);
    if (!s)
        return err_set(e, ERR_NOT_FOUND, "what came after this event is not kept any more");
    struct visitor *v = calloc(1, sizeof *v);
    if (!v) {
        mcp_stream_unref(s);
        return err_set(e, ERR_NO_MEMORY, "resume a stream");
    }
    v->of = s;
    v->seen = id;
    if (receive(m, v, e)) {
        mcp_stream_unref(s);
        free(v);
        return -1;
    }
    return 0;
}
