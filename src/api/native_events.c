/* native_events.c -- what happens in a workspace: pages, long polls and streams.
 *
 * Who waits does so without a thread: the exchange is parked with a watch (service/events.h) behind it, for
 * a stream and for a long poll alike. A poll is an answer of JSON that is begun before it is known; it is
 * written when the first events come or the time is over.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/sse.h"
#include "service/events.h"
#include "json/fields.h"

enum { SINCE_NOT_SAID = -1 };

struct events_args {
    int64_t since, wait_s, limit;
    const char *types;
};

static const struct json_field events_fields[] = {
    {JF_INT(struct events_args, since), .min = 0, .max = INT64_MAX, .preset = SINCE_NOT_SAID,
     .is_open = true,
     .doc = "what comes after this one; left out: from the beginning, for a stream from now on"},
    {JF_MILLI(struct events_args, wait_s, "wait_s"), .min = 0, .max = EVENTS_WAIT_MAX_S * 1000,
     .doc = "wait so long when there is none"},
    {JF_TEXT(struct events_args, types), .max = EVENT_TYPES_SIZE - 1, .preset_text = "",
     .doc =
         "only of these types, separated by commas; * and ? stand for any characters and any one"},
    {JF_INT(struct events_args, limit), .min = 1, .max = EVENTS_LIMIT_MAX, .preset = 100},
    {0},
};

/* ---- as JSON ---- */

static void add_event(struct buf *out, const struct event_note *n)
{
    buf_str(out, out->len == 0 ? "{\"data\":[" : ",");
    buf_add(out, n->text, n->len);
}

static void end_page(struct buf *out, uint64_t next, bool has_more)
{
    buf_fmt(out, "%s],\"next\":%llu,\"has_more\":%s}", out->len == 0 ? "{\"data\":[" : "",
            (unsigned long long)next, has_more ? "true" : "false");
}

static void show_page(struct call *c, const struct event_page *p)
{
    for (const struct event_note *n = p->first; n; n = n->next)
        add_event(&c->out, n);
    end_page(&c->out, p->next, p->has_more);
}

/* ---- parked ---- */

/* Made by the handler; the listener's from when that has returned. */
struct audience {
    struct event_watch *watch;  /* NULL: there was no room for one */
    struct http_stream *stream; /* held */
    bool is_stream;
    uint64_t since;
    struct buf text; /* of a poll */
    struct buf *out; /* during a pull of a stream */
};

static void wake(void *arg)
{
    struct audience *a = arg;
    http_stream_wake(a->stream);
}

static void gone(void *arg)
{
    struct audience *a = arg;
    if (a->watch)
        event_watch_free(a->watch);
    http_stream_unref(a->stream);
    buf_done(&a->text);
    free(a);
}

static bool put_event(void *arg, const struct event_note *n)
{
    struct audience *a = arg;
    if (a->out->len >= HTTP_PULL_MAX)
        return false;
    sse_event(a->out, n->seq, n->type, n->text, n->len);
    return true;
}

static enum http_pulled pull_stream(struct audience *a, struct buf *out)
{
    size_t before = out->len;
    a->out = out;
    enum event_taken what = a->watch ? event_watch_take(a->watch, put_event, a) : EVENTS_OVER;
    a->out = NULL;
    if (what == EVENTS_OVER)
        return HTTP_ENDED;
    return out->len > before ? HTTP_PULLED : HTTP_LATER;
}

static bool put_item(void *arg, const struct event_note *n)
{
    struct audience *a = arg;
    add_event(&a->text, n);
    return true;
}

static enum http_pulled pull_poll(struct audience *a, struct buf *out)
{
    uint64_t next = a->since;
    bool has_more = false;
    if (a->watch && event_watch_take(a->watch, put_item, a) != EVENTS_OVER)
        return HTTP_LATER;
    if (a->watch)
        event_watch_end(a->watch, &next, &has_more);
    end_page(&a->text, next, has_more);
    if (a->text.failed)
        out->failed = true; /* ends in a reset */
    buf_add(out, a->text.bytes, a->text.len);
    return HTTP_ENDED;
}

static enum http_pulled pull(void *arg, struct buf *out)
{
    struct audience *a = arg;
    return a->is_stream ? pull_stream(a, out) : pull_poll(a, out);
}

static int begin_poll(struct call *c, struct err *e)
{
    c->status = 200;
    c->is_answered = true;
    http_add_header(c->x, "Cache-Control", "no-store");
    return http_begin(c->x, 200, "application/json", -1, e);
}

static int park(struct call *c, const struct event_ask *ask, int64_t deadline_us, struct err *e)
{
    struct audience *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "follow events");
    a->is_stream = deadline_us == 0;
    a->since = ask->since;
    a->text = BUF_INIT(OP_ANSWER_MAX);
    const struct http_source source = {.pull = pull, .gone = gone, .arg = a};
    if ((a->is_stream ? begin_events(c, e) : begin_poll(c, e)) ||
        http_park(c->x, &source, a->is_stream, &a->stream, e)) {
        free(a);
        return -1;
    }
    c->is_parked = true;
    const struct event_call call = {.more = wake, .arg = a, .deadline_us = deadline_us};
    return event_watch_new(c->api->o.events, &c->who, ask, &call, &a->watch, e);
}

/* ---- what is asked for ---- */

static int stream(struct call *c, struct event_ask *ask, struct err *e)
{
    const struct events_args *in = c->query;
    uint64_t seen = UINT64_MAX;
    if (last_event_id(c, &seen, e))
        return -1;
    if (seen != UINT64_MAX)
        ask->since = seen;
    else if (in->since == SINCE_NOT_SAID && events_newest(c->api->o.events, &ask->since, e))
        return -1;
    return park(c, ask, /* deadline_us= */ 0, e);
}

static int events(struct call *c, struct err *e)
{
    const struct events_args *in = c->query;
    struct event_ask ask = {.workspace = c->ws.id,
                            .types = in->types,
                            .since = in->since > 0 ? (uint64_t)in->since : 0,
                            .limit = (uint32_t)in->limit};
    struct event_page page;
    if (event_types_check(in->types, e))
        return -1;
    if (wants_events(c))
        return stream(c, &ask, e);
    if (events_page(c->api->o.events, &c->who, &ask, &page, e))
        return -1;
    if (!page.first && !page.has_more && in->wait_s > 0) {
        ask.since = page.next;
        return park(c, &ask, clock_us() + in->wait_s * 1000, e);
    }
    show_page(c, &page);
    event_page_done(&page);
    return 0;
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/workspaces/{ws}/events",
     .name = "listEvents",
     .summary = "What happened in a workspace, in order; wait for more, or follow it as a stream.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .flags = OP_STREAMS,
     .query = events_fields,
     .query_size = sizeof(struct events_args),
     .status = 200,
     .answer = "EventPage",
     .run = events},
};

const struct op_table native_events = {ops, sizeof ops / sizeof *ops};
