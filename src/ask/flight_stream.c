/* flight_stream.c -- the events of a flight to a client, without a thread: a cursor that the listener pulls from. */
#include <stdlib.h>

#include "api/inner.h"
#include "api/op.h"
#include "ask/flight_int.h"
#include "base/err.h"
#include "http/exchange.h"

struct follower {
    struct flight *flight; /* held */
    struct http_stream *stream;
    bool is_owner;
    /* protected by the flight's lock: */
    struct follower *next;
    size_t at; /* the next event */
    bool is_gone, is_set_up;
};

void flight_wake(struct flight *f)
{
    for (struct follower *w = f->followers; w; w = w->next)
        http_stream_wake(w->stream);
}

static enum http_pulled pull(void *arg, struct buf *out)
{
    struct follower *w = arg;
    struct flight *f = w->flight;
    size_t before = out->len;
    pthread_mutex_lock(&f->lock);
    while (w->at < f->count && out->len - before < HTTP_PULL_MAX) {
        size_t from = w->at > 0 ? f->ends[w->at - 1] : 0;
        buf_add(out, f->log.bytes + from, f->ends[w->at] - from);
        w->at++;
    }
    bool is_all = f->is_over && w->at >= f->count;
    pthread_mutex_unlock(&f->lock);
    if (is_all)
        return HTTP_ENDED;
    return out->len > before ? HTTP_PULLED : HTTP_LATER;
}

static void say_last(void *arg, struct buf *out)
{
    const struct follower *w = arg;
    if (w->flight->last_words)
        buf_str(out, w->flight->last_words);
}

static void free_follower(struct follower *w)
{
    flight_unref(w->flight);
    if (w->stream)
        http_stream_unref(w->stream);
    free(w);
}

static void unlink_follower(struct flight *f, struct follower *w)
{
    struct follower **at = &f->followers;
    while (*at && *at != w)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = w->next;
    f->follower_count--;
}

static void gone(void *arg)
{
    struct follower *w = arg;
    struct flight *f = w->flight;
    pthread_mutex_lock(&f->lock);
    w->is_gone = true;
    unlink_follower(f, w);
    bool is_last = w->is_set_up, ends_it = w->is_owner && !f->is_background && !f->is_over;
    pthread_mutex_unlock(&f->lock);
    if (ends_it && !flights_are_stopping(f->all))
        halt_now(&f->halt);
    if (is_last)
        free_follower(w);
}

/* After the park: what came in between is fetched by one more wake. */
static void set_up(struct follower *w)
{
    struct flight *f = w->flight;
    pthread_mutex_lock(&f->lock);
    bool is_gone = w->is_gone;
    if (!is_gone) {
        w->next = f->followers;
        f->followers = w;
        f->follower_count++;
        http_stream_wake(w->stream);
    }
    w->is_set_up = true;
    pthread_mutex_unlock(&f->lock);
    if (is_gone)
        free_follower(w);
}

int flight_stream(struct flight *f, struct call *c, uint64_t from, bool is_owner, struct err *e)
{
    pthread_mutex_lock(&f->lock);
    bool is_crowded = f->follower_count >= FLIGHT_FOLLOWERS_MAX;
    pthread_mutex_unlock(&f->lock);
    if (is_crowded) /* two who come at once may be one more than that */
        return err_set(e, ERR_LIMIT, "%d clients follow this already", FLIGHT_FOLLOWERS_MAX);
    struct follower *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "follow an answer");
    w->flight = flight_ref(f);
    w->is_owner = is_owner;
    w->at = (size_t)from;
    const struct http_source source = {.pull = pull, .last = say_last, .gone = gone, .arg = w};
    if (begin_events(c, e) || http_park(c->x, &source, /* is_events= */ true, &w->stream, e)) {
        w->stream = NULL;
        if (is_owner && !f->is_background)
            halt_now(&f->halt); /* nobody will hear of it */
        free_follower(w);
        return -1;
    }
    c->is_parked = true;
    set_up(w);
    return 0;
}
