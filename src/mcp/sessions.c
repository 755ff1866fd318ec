#include "mcp/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/stream.h"

struct mcp_sessions {
    pthread_mutex_t lock; /* protects `first` and the `next` of each */
    struct mcp_session *first;
};

int mcp_sessions_open(struct mcp_sessions **ret, struct err *e)
{
    *ret = calloc(1, sizeof **ret);
    if (!*ret)
        return err_set(e, ERR_NO_MEMORY, "keep sessions");
    (void)pthread_mutex_init(&(*ret)->lock, NULL);
    return 0;
}

static void session_free(struct mcp_session *s)
{
    json_decref(s->client);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->told);
    free(s);
}

void mcp_session_unref(struct mcp_session *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    bool is_last = --s->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (is_last)
        session_free(s);
}

static struct mcp_session *hold(struct mcp_session *s)
{
    pthread_mutex_lock(&s->lock);
    s->refs++;
    s->used_us = clock_us();
    pthread_mutex_unlock(&s->lock);
    return s;
}

/* ---- the table ---- */

/* Out of the table; true if it was in it. The reference of the table is the caller's then. */
static bool unlink_session(struct mcp_sessions *all, struct mcp_session *s)
{
    bool was_there = false;
    pthread_mutex_lock(&all->lock);
    for (struct mcp_session **at = &all->first; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            was_there = true;
            break;
        }
    pthread_mutex_unlock(&all->lock);
    return was_there;
}

void mcp_session_end(struct mcp *mcp, struct mcp_session *s)
{
    if (!unlink_session(mcp->sessions, s))
        return;
    pthread_mutex_lock(&s->lock);
    s->is_ended = true;
    struct mcp_stream *streams = s->streams;
    s->streams = NULL;
    pthread_cond_broadcast(&s->told);
    pthread_mutex_unlock(&s->lock);
    mcp_streams_drop(streams);
    hub_forget_session(mcp->hub, s->id);
    mcp_session_unref(s);
}

/* The one that has to make room for another of that principal, or NULL. Held. */
static struct mcp_session *find_surplus(struct mcp_sessions *all, const char *principal)
{
    struct mcp_session *oldest = NULL, *oldest_own = NULL;
    size_t count = 0, own = 0;
    int64_t now_us = clock_us();
    pthread_mutex_lock(&all->lock);
    for (struct mcp_session *s = all->first; s; s = s->next) {
        bool is_own = strcmp(s->principal, principal) == 0;
        count++;
        own += is_own;
        if (!oldest || s->used_us < oldest->used_us)
            oldest = s;
        if (is_own && (!oldest_own || s->used_us < oldest_own->used_us))
            oldest_own = s;
    }
    bool is_stale = oldest && now_us - oldest->used_us > (int64_t)SESSION_IDLE_S * 1000000;
    struct mcp_session *found = own >= SESSIONS_EACH                ? oldest_own
                                : count >= SESSIONS_MAX || is_stale ? oldest
                                                                    : NULL;
    if (found) {
        pthread_mutex_lock(&found->lock);
        found->refs++;
        pthread_mutex_unlock(&found->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return found;
}

static void make_room(struct mcp *mcp, const char *principal)
{
    struct mcp_session *surplus = find_surplus(mcp->sessions, principal);
    if (!surplus)
        return;
    mcp_session_end(mcp, surplus);
    mcp_session_unref(surplus);
}

/* What we ever want to know of a client's capabilities: it is kept for long, so it may not be large. */
static json_t *copy_capabilities(const json_t *client)
{
    static const char *const known[] = {"elicitation", "sampling", "roots"};
    json_t *kept = json_object();
    for (size_t i = 0; i < sizeof known / sizeof *known && kept; i++)
        if (json_is_object(json_object_get(client, known[i])) &&
            json_object_set_new(kept, known[i], json_object()))
            json_decref(take(kept));
    return kept;
}

int mcp_session_new(struct mcp *mcp, const char *principal, const char *version,
                    struct json_t *client, struct mcp_session **ret, struct err *e)
{
    struct mcp_sessions *all = mcp->sessions;
    pthread_condattr_t a;
    make_room(mcp, principal);
    struct mcp_session *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "begin a session");
    s->client = copy_capabilities(client);
    if (!s->client)
        err_set(e, ERR_NO_MEMORY, "begin a session");
    if (!s->client || id_make_long("mcp_", 32, s->id, e)) {
        json_decref(s->client);
        free(s);
        return -1;
    }
    (void)snprintf(s->principal, sizeof s->principal, "%s", principal);
    (void)snprintf(s->version, sizeof s->version, "%s", version);
    s->log_level = MCP_LEVEL_DEFAULT;
    s->refs = 2; /* the table's and the caller's */
    s->used_us = clock_us();
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_condattr_init(&a);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->told, &a);
    (void)pthread_condattr_destroy(&a);
    pthread_mutex_lock(&all->lock);
    s->next = all->first;
    all->first = s;
    pthread_mutex_unlock(&all->lock);
    *ret = s;
    if (atomic_load(&mcp->is_stopping))
        mcp_session_end(mcp, s); /* the others have been ended already */
    return 0;
}

struct mcp_session *mcp_session_find(struct mcp_sessions *all, const char *principal, struct str id)
{
    struct mcp_session *found = NULL;
    pthread_mutex_lock(&all->lock);
    for (struct mcp_session *s = all->first; s && !found; s = s->next)
        if (str_is(id, s->id) && strcmp(s->principal, principal) == 0)
            found = hold(s);
    pthread_mutex_unlock(&all->lock);
    return found;
}

void mcp_sessions_stop(struct mcp *mcp, struct mcp_sessions *all)
{
    for (;;) {
        pthread_mutex_lock(&all->lock);
        struct mcp_session *s = all->first ? hold(all->first) : NULL;
        pthread_mutex_unlock(&all->lock);
        if (!s)
            return;
        mcp_session_end(mcp, s);
        mcp_session_unref(s);
    }
}

void mcp_sessions_close(struct mcp_sessions *all)
{
    if (!all)
        return;
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}
