#include "mcp/cancel.h"

#include <jansson.h>

#include "api/op.h"
#include "http/exchange.h"
#include "mcp/mcp_int.h"
#include "mcp/sessions.h"

static void cancel(void *arg)
{
    struct mcp_flight *f = arg;
    pthread_mutex_lock(&f->lock);
    f->is_cancelled = true;
    void (*fn)(void *) = f->fn;
    f->fn = NULL;
    if (fn)
        fn(f->arg);
    pthread_mutex_unlock(&f->lock);
}

void flight_begin(struct mcp_call *m, struct mcp_flight *f)
{
    *f = (struct mcp_flight){.of = m};
    (void)pthread_mutex_init(&f->lock, NULL);
    m->flight = f;
    if (m->is_modern) {
        http_on_hangup(m->c->x, cancel, f);
    } else if (m->session) {
        pthread_mutex_lock(&m->session->lock);
        f->next = m->session->flights;
        m->session->flights = f;
        pthread_mutex_unlock(&m->session->lock);
    }
}

void flight_end(struct mcp_call *m)
{
    struct mcp_flight *f = m->flight;
    if (m->is_modern) {
        http_on_hangup(m->c->x, NULL,
                       NULL); /* also of one that is parked: it is ours until we return */
    } else if (m->session) {
        pthread_mutex_lock(&m->session->lock);
        for (struct mcp_flight **at = &m->session->flights; *at; at = &(*at)->next)
            if (*at == f) {
                *at = f->next;
                break;
            }
        pthread_mutex_unlock(&m->session->lock);
    }
    (void)pthread_mutex_destroy(&f->lock);
    m->flight = NULL;
}

void flights_cancel(struct mcp_session *s, const struct json_t *id)
{
    pthread_mutex_lock(&s->lock);
    for (struct mcp_flight *f = s->flights; f; f = f->next)
        if (id && json_equal(id, f->of->rpc->id))
            cancel(f);
    pthread_cond_broadcast(&s->told); /* it may be waiting for an answer */
    pthread_mutex_unlock(&s->lock);
}

void mcp_on_cancel(struct mcp_call *m, void (*fn)(void *arg), void *arg)
{
    struct mcp_flight *f = m->flight;
    pthread_mutex_lock(&f->lock);
    f->fn = f->is_cancelled ? NULL : fn;
    f->arg = arg;
    if (f->is_cancelled && fn)
        fn(arg);
    pthread_mutex_unlock(&f->lock);
}

bool mcp_is_cancelled(const struct mcp_call *m)
{
    struct mcp_flight *f = m->flight;
    pthread_mutex_lock(&f->lock);
    bool is = f->is_cancelled;
    pthread_mutex_unlock(&f->lock);
    return is;
}
