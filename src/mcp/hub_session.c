/* hub_session.c -- a session of the era that has them: what it subscribes to, and its streams. */
#include <stdlib.h>
#include <string.h>

#include "api/op.h"
#include "base/scope.h"
#include "mcp/hub.h"
#include "mcp/hub_int.h"
#include "mcp/resources.h"
#include "mcp/sessions.h"
#include "mcp/uri.h"
#include "service/events.h"

/* ---- its ear ---- */

/* With the lock held. */
static struct hub_ear *find_session(struct mcp_hub *h, const char *session)
{
    for (struct hub_ear *ear = h->ears; ear; ear = ear->next)
        if (!ear->is_dead && strcmp(ear->session, session) == 0)
            return ear;
    return NULL;
}

static struct hub_ear *pin_session(struct mcp_call *m)
{
    struct mcp_hub *h = m->mcp->hub;
    pthread_mutex_lock(&h->lock);
    struct hub_ear *ear = find_session(h, m->session->id);
    if (ear)
        ear->pins++;
    pthread_mutex_unlock(&h->lock);
    return ear;
}

static void unpin(struct hub_ear *ear)
{
    struct mcp_hub *h = ear->hub;
    pthread_mutex_lock(&h->lock);
    ear_unpin(ear);
    pthread_mutex_unlock(&h->lock);
}

/* A session that ended while its ear was made was forgotten before there was one. */
static void forget_if_ended(struct mcp_call *m)
{
    pthread_mutex_lock(&m->session->lock);
    bool is_ended = m->session->is_ended;
    pthread_mutex_unlock(&m->session->lock);
    if (is_ended)
        hub_forget_session(m->mcp->hub, m->session->id);
}

/* The session's ear, made if there is none; pinned. */
static struct hub_ear *session_ear(struct mcp_call *m, struct err *e)
{
    uint64_t since = 0;
    struct hub_ear *known = pin_session(m);
    if (known)
        return known;
    scoped(ear_freep) struct hub_ear *ear = ear_new(m, e);
    if (!ear || events_newest(m->mcp->o.events, &since, e))
        return NULL;
    memcpy(ear->session, m->session->id, sizeof ear->session);
    ear->wants[HUB_TOOLS] = ear->wants[HUB_PROMPTS] = ear->wants[HUB_RESOURCES] = true;
    if (!m->mcp->o.has_fixtures && ear_add_rooms(m, ear, since, e))
        return NULL;
    int there = ear_enlist(ear, e);
    forget_if_ended(m);
    if (there > 0) /* another request was faster */
        return pin_session(m);
    return there == 0 ? take(ear) : NULL;
}

/* ---- resources/subscribe, resources/unsubscribe ---- */

static int wish(struct mcp_call *m, const char *uri, const struct mcp_uri *u, struct err *e)
{
    uint64_t since = 0;
    if (events_newest(m->mcp->o.events, &since, e))
        return -1;
    struct hub_ear *ear = session_ear(m, e);
    if (!ear)
        return -1;
    pthread_mutex_lock(&ear->hub->lock);
    int failed = ear_wish(ear, uri, u, since, e);
    ear_make_due(ear, DESK_HERALD);
    pthread_mutex_unlock(&ear->hub->lock);
    unpin(ear);
    return failed;
}

int hub_subscribe(struct mcp_call *m, struct err *e)
{
    const char *uri = mcp_param(m, "uri");
    struct mcp_uri u = {0};
    if (!uri)
        return mcp_fail(m, RPC_PARAMS, e, "uri: it is needed, as resources/list gives it");
    bool is_fixture = m->mcp->o.has_fixtures;
    if (!is_fixture && !uri_read(uri, &u))
        return resource_unknown(m, uri, e);
    if (!is_fixture && uri_is_fixed(&u))
        return 0; /* it never changes: there is nothing to do */
    if (!is_fixture && ear_may_follow(m, &u, e))
        return e->code == ERR_NOT_FOUND ? resource_unknown(m, uri, e) : -1;
    if (wish(m, uri, &u, e) == 0)
        return 0;
    return e->code == ERR_LIMIT ? mcp_fail(m, RPC_PARAMS, e,
                                           "at most %d resources can be followed; "
                                           "unsubscribe from some first",
                                           HUB_WISHES_MAX)
                                : -1;
}

int hub_unsubscribe(struct mcp_call *m, struct err *e)
{
    const char *uri = mcp_param(m, "uri");
    if (!uri)
        return mcp_fail(m, RPC_PARAMS, e,
                        "uri: it is needed, as it was given to resources/subscribe");
    struct hub_ear *ear = pin_session(m);
    if (!ear)
        return 0;
    pthread_mutex_lock(&ear->hub->lock);
    ear_unwish(ear, uri);
    ear_make_due(ear, DESK_HERALD);
    pthread_mutex_unlock(&ear->hub->lock);
    unpin(ear);
    return 0;
}

/* ---- GET /mcp ---- */

int hub_legacy_stream(struct mcp_call *m, struct err *e)
{
    struct hub_ear *ear = session_ear(m, e);
    if (!ear)
        return -1;
    size_t count = 0;
    pthread_mutex_lock(&ear->hub->lock);
    for (const struct hub_stream *s = ear->streams; s; s = s->next)
        count++;
    pthread_mutex_unlock(&ear->hub->lock);
    int failed = count >= HUB_STREAMS_MAX
                     ? err_set(e, ERR_LIMIT, "the session has %d streams already; read those",
                               HUB_STREAMS_MAX)
                     : ear_park(m, ear, e);
    unpin(ear);
    return failed;
}
