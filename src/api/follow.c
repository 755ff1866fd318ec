/* follow.c -- a run's events to a client, without a thread.
 *
 * A follower is a cursor into the run's journal. The listener pulls when the socket takes more, the
 * job wakes it when there is more; whichever comes first ends at the other's door. It is freed when
 * the stream has gone and the handler has finished setting it up.
 */
#include <pthread.h>
#include <stdlib.h>

#include "api/api_int.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "http/exchange.h"
#include "http/sse.h"
#include "service/job.h"

struct follower {
    struct job *job;            /* held */
    struct http_stream *stream; /* held; NULL until parked */
    struct job_watch watch;
    uint64_t seen;        /* only the listener's, once it is parked */
    struct buf *out;      /* during a pull */
    pthread_mutex_t lock; /* protects what is below */
    bool is_watching, is_gone, is_set_up;
};

bool wants_events(const struct call *c)
{
    struct str accept = http_header_get(c->request, "Accept");
    return accept.ptr && memmem(accept.ptr, accept.len, "text/event-stream", 17) != NULL;
}

int last_event_id(const struct call *c, uint64_t *ret, struct err *e)
{
    struct str id = http_header_get(c->request, "Last-Event-ID");
    char text[24];
    if (!id.ptr || id.len == 0)
        return 0;
    if (id.len >= sizeof text)
        return err_set(e, ERR_INVALID, "Last-Event-ID: a number is needed");
    memcpy(text, id.ptr, id.len);
    text[id.len] = '\0';
    return parse_u64(text, 0, INT64_MAX, ret, e) ? err_wrap(e, "Last-Event-ID") : 0;
}

static bool pull_note(void *arg, const struct note *n)
{
    struct follower *f = arg;
    if (f->out->len >= HTTP_PULL_MAX)
        return false;
    sse_event(f->out, n->id, note_name(n->kind), n->text, n->len);
    f->seen = n->id;
    return true;
}

static enum http_pulled pull(void *arg, struct buf *out)
{
    struct follower *f = arg;
    size_t before = out->len;
    f->out = out;
    bool is_all = job_read(f->job, f->seen, pull_note, f);
    f->out = NULL;
    if (is_all)
        return HTTP_ENDED;
    return out->len > before ? HTTP_PULLED : HTTP_LATER;
}

static void wake(void *arg)
{
    struct follower *f = arg;
    http_stream_wake(f->stream);
}

static void free_follower(struct follower *f)
{
    job_unref(f->job);
    if (f->stream)
        http_stream_unref(f->stream);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}

static void gone(void *arg)
{
    struct follower *f = arg;
    pthread_mutex_lock(&f->lock);
    f->is_gone = true;
    bool is_watching = f->is_watching, is_last = f->is_set_up;
    pthread_mutex_unlock(&f->lock);
    if (is_watching)
        job_unwatch(f->job, &f->watch);
    if (is_last)
        free_follower(f);
}

/* After the park: from now on the job wakes it. What came in between is fetched by one more wake. */
static void set_up(struct follower *f)
{
    pthread_mutex_lock(&f->lock);
    bool is_gone = f->is_gone;
    if (!is_gone) {
        f->is_watching = true;
        f->watch = (struct job_watch){.more = wake, .arg = f};
        job_watch(f->job, &f->watch);
        http_stream_wake(f->stream);
    }
    f->is_set_up = true;
    pthread_mutex_unlock(&f->lock);
    if (is_gone)
        free_follower(f);
}

int begin_events(struct call *c, struct err *e)
{
    c->status = 200;
    c->is_answered = true;
    http_add_header(c->x, "Cache-Control", "no-store");
    http_add_header(c->x, "X-Accel-Buffering", "no"); /* nginx would hold events back */
    return http_begin(c->x, 200, "text/event-stream", -1, e);
}

int follow_job(struct call *c, struct job *job, uint64_t seen, struct err *e)
{
    struct follower *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NO_MEMORY, "follow a run");
    f->seen = seen;
    (void)pthread_mutex_init(&f->lock, NULL);
    f->job = job_ref(job);
    const struct http_source source = {.pull = pull, .gone = gone, .arg = f};
    if (begin_events(c, e) || http_park(c->x, &source, /* is_events= */ true, &f->stream, e)) {
        f->stream = NULL;
        free_follower(f);
        return -1;
    }
    c->is_parked = true;
    set_up(f);
    return 0;
}

int follow_record(struct call *c, const struct buf *object, struct err *e)
{
    struct buf text = BUF_INIT(2 * object->len + 4096);
    sse_event(&text, 1, note_name(NOTE_DONE), object->bytes ? object->bytes : "{}", object->len);
    int failed =
        begin_events(c, e) || http_write(c->x, text.bytes, text.len, e) || http_end(c->x, e);
    buf_done(&text);
    return failed ? -1 : 0;
}
