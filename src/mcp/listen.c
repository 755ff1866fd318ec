/* listen.c -- subscriptions/listen of the stateless era: what is asked for, and what is agreed on. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/scope.h"
#include "mcp/hub_int.h"
#include "mcp/uri.h"
#include "service/events.h"
#include "json/write.h"

static const char *const list_names[HUB_KINDS] = {[HUB_TOOLS] = "toolsListChanged",
                                                  [HUB_PROMPTS] = "promptsListChanged",
                                                  [HUB_RESOURCES] = "resourcesListChanged"};

static int read_lists(struct mcp_call *m, const json_t *asked, struct hub_ear *ear, struct err *e)
{
    for (int kind = 0; kind < HUB_KINDS; kind++) {
        const json_t *value = json_object_get(asked, list_names[kind]);
        if (value && !json_is_boolean(value))
            return mcp_fail(m, RPC_PARAMS, e, "notifications.%s: true or false", list_names[kind]);
        ear->wants[kind] = json_is_true(value);
    }
    return 0;
}

/* An array of at most `max` strings; NULL and 0: there is none. */
static int read_texts(struct mcp_call *m, const json_t *asked, const char *name, size_t max,
                      const json_t **ret, struct err *e)
{
    const json_t *list = json_object_get(asked, name);
    *ret = list;
    if (!list)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > max)
        return mcp_fail(m, RPC_PARAMS, e, "notifications.%s: an array of at most %zu strings", name,
                        max);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return mcp_fail(m, RPC_PARAMS, e, "notifications.%s: an array of strings", name);
    return 0;
}

/* A resource that there is not, or that does not change, is left out of what is agreed on. */
static int add_wish(struct mcp_call *m, struct hub_ear *ear, const char *uri, uint64_t since,
                    struct err *e)
{
    struct mcp_uri u = {0};
    struct err ignored = {0};
    bool is_had = m->mcp->o.has_fixtures ||
                  (uri_read(uri, &u) && !uri_is_fixed(&u) && ear_may_follow(m, &u, &ignored) == 0);
    if (!is_had)
        return 0;
    return ear_wish(ear, uri, &u, since, e);
}

static int read_wishes(struct mcp_call *m, const json_t *asked, struct hub_ear *ear, uint64_t since,
                       struct err *e)
{
    const json_t *list;
    if (read_texts(m, asked, "resourceSubscriptions", HUB_WISHES_MAX, &list, e))
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (add_wish(m, ear, json_string_value(json_array_get(list, i)), since, e))
            return -1;
    return 0;
}

static int read_tasks(struct mcp_call *m, const json_t *asked, struct hub_ear *ear, struct err *e)
{
    const json_t *list;
    if (read_texts(m, asked, "taskIds", HUB_TASKS_MAX, &list, e))
        return -1;
    if (list && mcp_need_tasks(m, e))
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (ear_add_task(m, ear, json_string_value(json_array_get(list, i)), e)) {
            if (e->code != ERR_NOT_FOUND && e->code != ERR_DENIED)
                return -1;
            *e = (struct err){0}; /* left out of what is agreed on */
        }
    return 0;
}

static void write_wishes(struct json_writer *w, const struct hub_ear *ear)
{
    jw_key(w, "resourceSubscriptions");
    jw_array(w);
    for (size_t i = 0; i < ear->wish_count; i++)
        jw_text(w, ear->wishes[i].uri);
    jw_end_array(w);
}

static void write_tasks(struct json_writer *w, const struct hub_ear *ear)
{
    jw_key(w, "taskIds");
    jw_array(w);
    for (const struct hub_task *task = ear->tasks; task; task = task->next)
        jw_text(w, task->id);
    jw_end_array(w);
}

/* The first message: what they will hear of. */
static int acknowledge(struct hub_ear *ear, const json_t *asked, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(HUB_QUEUE_BYTES);
    struct json_writer w = JSON_WRITER(&text);
    ear_begin_note(ear, "notifications/subscriptions/acknowledged", &w);
    jw_key(&w, "notifications");
    jw_object(&w);
    for (int kind = 0; kind < HUB_KINDS; kind++)
        if (ear->wants[kind]) {
            jw_key(&w, list_names[kind]);
            jw_bool(&w, true);
        }
    if (json_object_get(asked, "resourceSubscriptions"))
        write_wishes(&w, ear);
    if (json_object_get(asked, "taskIds"))
        write_tasks(&w, ear);
    jw_end_object(&w);
    ear_end_note(&w);
    if (buf_check(&text, e))
        return -1;
    ear_say(ear, (struct str){text.bytes, text.len}); /* nobody else knows of it yet */
    return 0;
}

static int set_id(struct mcp_call *m, struct hub_ear *ear, struct err *e)
{
    struct buf text = BUF_INIT(NATIVE_TARGET_MAX);
    rpc_write_id(&text, m->rpc->id);
    if (buf_check(&text, e)) {
        buf_done(&text);
        return -1;
    }
    ear->id = buf_take(&text, NULL);
    return 0;
}

static int read_asked(struct mcp_call *m, const json_t *asked, struct hub_ear *ear, struct err *e)
{
    uint64_t since = 0;
    if (events_newest(m->mcp->o.events, &since, e) || set_id(m, ear, e) ||
        read_lists(m, asked, ear, e) || read_tasks(m, asked, ear, e) ||
        read_wishes(m, asked, ear, since, e))
        return -1;
    bool has_rooms = ear->wants[HUB_RESOURCES] && !m->mcp->o.has_fixtures;
    return has_rooms ? ear_add_rooms(m, ear, since, e) : 0;
}

/* Enlisted first: what happens from then on is not missed, and is told after the first message. */
static int listen(struct mcp_call *m, struct err *e)
{
    const json_t *asked = m->params ? json_object_get(m->params, "notifications") : NULL;
    if (!json_is_object(asked))
        return mcp_fail(m, RPC_PARAMS, e,
                        "notifications: an object is needed that says what to hear of");
    scoped(ear_freep) struct hub_ear *ear = ear_new(m, e);
    if (!ear || read_asked(m, asked, ear, e) || acknowledge(ear, asked, e) || ear_enlist(ear, e))
        return -1;
    struct hub_ear *known = take(ear);
    int failed = ear_park(m, known, e);
    pthread_mutex_lock(&known->hub->lock);
    known->is_dead = known->is_dead || failed;
    ear_unpin(known);
    pthread_mutex_unlock(&known->hub->lock);
    return failed;
}

static const struct mcp_method items[] = {
    {"subscriptions/listen", METHOD_MODERN, NULL, listen},
};
const struct mcp_methods methods_listen = {items, sizeof items / sizeof *items};
