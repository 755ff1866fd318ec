/* hub_ear.c -- an ear: what it wants, and what it is to be told. See hub_int.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/clock.h"
#include "base/scope.h"
#include "mcp/hub_int.h"
#include "mcp/resources.h"
#include "mcp/uri.h"

/* ---- its life ---- */

struct hub_ear *ear_new(struct mcp_call *m, struct err *e)
{
    struct hub_ear *ear = calloc(1, sizeof *ear);
    if (!ear) {
        (void)err_set(e, ERR_NO_MEMORY, "listen to changes");
        return NULL;
    }
    ear->hub = m->mcp->hub;
    ear->who = m->c->who;
    ear->api = m->c->api;
    ear->peer = *m->c->request->peer;
    ear->list_us = INT64_MIN;
    ear->list_due_us = CLOCK_NEVER;
    ear->last = &ear->first;
    return ear;
}

static void free_wish(struct hub_wish *wish)
{
    free(wish->uri);
    free(wish->path);
}

static void free_messages(struct hub_ear *ear)
{
    for (struct hub_message *message; (message = ear->first);) {
        ear->first = message->next;
        free(message);
    }
    ear->last = &ear->first;
    ear->message_count = ear->message_bytes = 0;
}

void ear_free(struct hub_ear *ear)
{
    if (!ear)
        return;
    for (size_t i = 0; i < ear->wish_count; i++)
        free_wish(&ear->wishes[i]);
    free(ear->wishes);
    free(ear->rooms);
    free_messages(ear);
    free(ear->id);
    free(ear);
}

/* With the lock held. */
static size_t count_of(const struct mcp_hub *h, const char *principal)
{
    size_t count = 0;
    for (const struct hub_ear *ear = h->ears; ear; ear = ear->next)
        count += strcmp(ear->who.principal, principal) == 0;
    return count;
}

static bool has_session(const struct mcp_hub *h, const char *session)
{
    for (const struct hub_ear *ear = h->ears; ear; ear = ear->next)
        if (!ear->is_dead && strcmp(ear->session, session) == 0)
            return true;
    return false;
}

int ear_enlist(struct hub_ear *ear, struct err *e)
{
    struct mcp_hub *h = ear->hub;
    pthread_mutex_lock(&h->lock);
    bool is_full = h->ear_count >= HUB_EARS_MAX || count_of(h, ear->who.principal) >= HUB_EARS_EACH;
    bool is_let_in = !is_full && !h->is_stopping;
    bool is_twin = *ear->session && has_session(h, ear->session);
    if (is_twin) {
        is_let_in = false;
    } else if (is_let_in) {
        ear->next = h->ears;
        if (ear->next)
            ear->next->prev = ear;
        h->ears = ear;
        h->ear_count++;
        ear->pins = 1;
        ear->is_changed = true;
        ear_make_due(ear, DESK_HERALD);
        if (ear->tasks)
            ear_make_due(ear, DESK_CLERK);
    }
    pthread_mutex_unlock(&h->lock);
    if (is_let_in || is_twin)
        return is_twin;
    return is_full ? err_set(e, ERR_OVERLOADED, "too many listen already; end some of them first")
                   : err_set(e, ERR_OVERLOADED, "the server is stopping");
}

void ear_freep(struct hub_ear **ear)
{
    if (*ear)
        ear_drop_tasks(*ear);
    ear_free(*ear);
}

/* ---- wishes ---- */

int ear_may_follow(struct mcp_call *m, struct mcp_uri *u, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, u->id);
    if (native_call(m, &n, e))
        return -1;
    const char *id = json_string_value(json_object_get(n.json, "id"));
    (void)snprintf(u->id, sizeof u->id, "%s", id ? id : "");
    return 0;
}

int ear_add_rooms(struct mcp_call *m, struct hub_ear *ear, uint64_t since, struct err *e)
{
    struct err ignored = {0};
    char(*ids)[ID_SIZE] = calloc(HUB_ROOMS_MAX, ID_SIZE);
    size_t count = 0;
    ear->rooms = calloc(HUB_ROOMS_MAX, sizeof *ear->rooms);
    if (!ids || !ear->rooms) {
        free(ids);
        return err_set(e, ERR_NO_MEMORY, "listen to changes");
    }
    if (resource_workspaces(m, ids, HUB_ROOMS_MAX, &count, &ignored))
        count = 0;
    for (; ear->room_count < count; ear->room_count++) {
        memcpy(ear->rooms[ear->room_count].workspace, ids[ear->room_count], ID_SIZE);
        ear->rooms[ear->room_count].since = since;
    }
    free(ids);
    return 0;
}

static struct hub_wish *find_wish(struct hub_ear *ear, const char *uri)
{
    for (size_t i = 0; i < ear->wish_count; i++)
        if (strcmp(ear->wishes[i].uri, uri) == 0)
            return &ear->wishes[i];
    return NULL;
}

int ear_wish(struct hub_ear *ear, const char *uri, const struct mcp_uri *u, uint64_t since,
             struct err *e)
{
    if (find_wish(ear, uri))
        return 0;
    if (ear->wish_count >= HUB_WISHES_MAX)
        return err_set(e, ERR_LIMIT, "at most %d resources can be followed at once",
                       HUB_WISHES_MAX);
    struct hub_wish *more = realloc(ear->wishes, (ear->wish_count + 1) * sizeof *more);
    if (!more)
        return err_set(e, ERR_NO_MEMORY, "follow a resource");
    ear->wishes = more;
    struct hub_wish wish = {.uri = strdup(uri), .path = strdup(u->path), .since = since};
    if (!wish.uri || !wish.path) {
        free_wish(&wish);
        return err_set(e, ERR_NO_MEMORY, "follow a resource");
    }
    memcpy(wish.workspace, u->id, sizeof wish.workspace);
    ear->wishes[ear->wish_count++] = wish;
    ear->is_changed = true;
    return 0;
}

void ear_unwish(struct hub_ear *ear, const char *uri)
{
    struct hub_wish *wish = find_wish(ear, uri);
    if (!wish)
        return;
    free_wish(wish);
    *wish = ear->wishes[--ear->wish_count];
    ear->is_changed = true;
}

/* ---- with the lock held ---- */

void ear_make_due(struct hub_ear *ear, enum hub_desk desk)
{
    struct hub_line *line = &ear->hub->lines[desk];
    if (ear->is_due[desk])
        return;
    ear->is_due[desk] = true;
    ear->next_due[desk] = NULL;
    *line->last_due = ear;
    line->last_due = &ear->next_due[desk];
    pthread_cond_signal(&line->wake);
}

void ear_unpin(struct hub_ear *ear)
{
    ear->pins--;
    if (ear->is_dead)
        ear_make_due(ear, DESK_HERALD);
}

void ear_wake(struct hub_ear *ear)
{
    if (ear->streams)
        http_stream_wake(ear->streams->http);
}

void ear_end(struct hub_ear *ear)
{
    ear->is_over = true;
    for (struct hub_stream *s = ear->streams; s; s = s->next)
        http_stream_wake(s->http);
}

void ear_say(struct hub_ear *ear, struct str message)
{
    struct hub_message *made = malloc(sizeof *made + message.len);
    bool is_full =
        ear->message_count >= HUB_QUEUE_MAX || ear->message_bytes + message.len > HUB_QUEUE_BYTES;
    if (!made || is_full) { /* it would miss something, and not know */
        free(made);
        free_messages(ear);
        ear_end(ear);
        return;
    }
    made->next = NULL;
    made->len = message.len;
    memcpy(made->text, message.ptr, message.len);
    *ear->last = made;
    ear->last = &made->next;
    ear->message_count++;
    ear->message_bytes += message.len;
    ear_wake(ear);
}
