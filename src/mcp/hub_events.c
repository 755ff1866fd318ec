/* hub_events.c -- what happens in workspaces, and which ears want to hear of it. See hub_int.h. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/scope.h"
#include "mcp/hub_int.h"
#include "service/events.h"
#include "json/read.h"

enum { TAKEN_MAX = EVENTS_QUEUE_MAX + EVENT_BYTES_MAX + EVENTS_BATCH_MAX }; /* bytes at once */

/* ---- watches ---- */

static void stirred(void *arg)
{
    struct hub_watch *watch = arg;
    struct mcp_hub *h = watch->ear->hub;
    pthread_mutex_lock(&h->lock);
    ear_make_due(watch->ear, DESK_HERALD);
    pthread_mutex_unlock(&h->lock);
}

static struct hub_watch *find_watch(struct hub_ear *ear, const char *workspace)
{
    for (struct hub_watch *watch = ear->watches; watch; watch = watch->next)
        if (strcmp(watch->workspace, workspace) == 0)
            return watch;
    return NULL;
}

/* One that cannot be had is as one that is over. */
static void add_watch(struct hub_ear *ear, const char *workspace, uint64_t since, bool is_guard)
{
    struct err ignored = {0};
    struct hub_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return;
    watch->ear = ear;
    watch->is_guard = is_guard;
    watch->is_needed = true;
    memcpy(watch->workspace, workspace, ID_SIZE);
    const struct event_ask ask = {
        .workspace = workspace, .types = is_guard ? "-" : "", .since = since, .limit = 1};
    const struct event_call call = {.more = stirred, .arg = watch};
    (void)event_watch_new(ear->hub->mcp->o.events, &ear->who, &ask, &call, &watch->watch, &ignored);
    watch->next = ear->watches;
    ear->watches = watch;
}

static void free_watch(struct hub_watch *watch)
{
    if (watch->watch)
        event_watch_free(watch->watch);
    free(watch);
}

void ear_drop_watches(struct hub_ear *ear)
{
    for (struct hub_watch *watch; (watch = ear->watches);) {
        ear->watches = watch->next;
        free_watch(watch);
    }
}

/* Workspaces that have to be watched, from when on: a copy, to be used without the lock. */
struct needs {
    struct hub_room *items;
    size_t count;
};

static void add_need(struct needs *all, const char *workspace, uint64_t since)
{
    if (!*workspace)
        return; /* one of the fixtures: in no workspace */
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].workspace, workspace) == 0) {
            if (since < all->items[i].since)
                all->items[i].since = since;
            return;
        }
    struct hub_room *to = &all->items[all->count++];
    memcpy(to->workspace, workspace, ID_SIZE);
    to->since = since;
}

static struct needs collect_needs(struct hub_ear *ear)
{
    struct needs all = {0};
    pthread_mutex_lock(&ear->hub->lock);
    all.items = calloc(ear->wish_count + ear->room_count + 1, sizeof *all.items);
    for (size_t i = 0; all.items && i < ear->wish_count; i++)
        add_need(&all, ear->wishes[i].workspace, ear->wishes[i].since);
    for (size_t i = 0; all.items && i < ear->room_count; i++)
        add_need(&all, ear->rooms[i].workspace, ear->rooms[i].since);
    pthread_mutex_unlock(&ear->hub->lock);
    return all;
}

/* Its own workspace is watched in any case, to see that the key works. */
static void add_guard(struct hub_ear *ear)
{
    struct err ignored = {0};
    uint64_t newest = 0;
    if (*ear->who.workspace && !find_watch(ear, ear->who.workspace) &&
        events_newest(ear->hub->mcp->o.events, &newest, &ignored) == 0)
        add_watch(ear, ear->who.workspace, newest, /* is_guard= */ true);
}

void ear_fit_watches(struct hub_ear *ear)
{
    struct needs all = collect_needs(ear);
    for (struct hub_watch *watch = ear->watches; watch; watch = watch->next)
        watch->is_needed = false;
    for (size_t i = 0; i < all.count; i++) {
        struct hub_watch *watch = find_watch(ear, all.items[i].workspace);
        if (watch && !watch->is_guard && watch->watch)
            watch->is_needed = true;
        else
            add_watch(ear, all.items[i].workspace, all.items[i].since, /* is_guard= */ false);
    }
    free(all.items);
    for (struct hub_watch **at = &ear->watches, *watch; (watch = *at);) {
        if (watch->is_needed) {
            at = &watch->next;
            continue;
        }
        *at = watch->next;
        free_watch(watch);
    }
    add_guard(ear);
}

/* ---- what an event changes ---- */

/* Whether one of the paths is the other, or above it: a directory changes with what is in it, and
 * what is in it with the directory. */
static bool is_touched(const char *path, const char *other)
{
    size_t len = strlen(path), other_len = strlen(other);
    size_t common = len < other_len ? len : other_len;
    if (strncmp(path, other, common) != 0)
        return false;
    const char *longer = len > other_len ? path : other;
    return common == 0 || longer[common] == '\0' || longer[common] == '/';
}

static void touch(struct hub_ear *ear, const char *workspace, const char *path)
{
    for (size_t i = 0; i < ear->wish_count; i++) {
        struct hub_wish *wish = &ear->wishes[i];
        if (strcmp(wish->workspace, workspace) == 0 && (!path || is_touched(wish->path, path)))
            wish->is_pending = true;
    }
}

static bool has_room(const struct hub_ear *ear, const char *workspace)
{
    for (size_t i = 0; i < ear->room_count; i++)
        if (strcmp(ear->rooms[i].workspace, workspace) == 0)
            return true;
    return false;
}

/* The list is other than it was: they are told now, or when a second has passed since the last time. */
static void change_list(struct hub_ear *ear, const char *workspace)
{
    struct mcp_hub *h = ear->hub;
    int64_t now_us = clock_us();
    if (!ear->wants[HUB_RESOURCES] || !has_room(ear, workspace) || ear->list_due_us != CLOCK_NEVER)
        return;
    if (ear->list_us == INT64_MIN || now_us - ear->list_us >= HUB_LIST_US) {
        ear->list_us = now_us;
        ear->is_pending[HUB_RESOURCES] = true;
        return;
    }
    ear->list_due_us = ear->list_us + HUB_LIST_US;
    if (ear->list_due_us < h->list_due_us)
        h->list_due_us = ear->list_due_us;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* {"changes":[{"path","from","change",...}],"more":N} of a commit. */
static void apply(struct hub_ear *ear, const char *workspace, const json_t *detail)
{
    const json_t *changes = json_object_get(detail, "changes");
    bool is_cut = json_object_get(detail, "more") != NULL;
    if (is_cut) { /* too many to be named: any may be among them */
        touch(ear, workspace, NULL);
        change_list(ear, workspace);
    }
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        const char *path = text_of(change, "path"), *from = text_of(change, "from");
        const char *how = text_of(change, "change");
        if (!path || !how)
            continue;
        touch(ear, workspace, path);
        if (from)
            touch(ear, workspace, from);
        if (strcmp(how, "modified") != 0)
            change_list(ear, workspace);
    }
}

/* ---- taking ---- */

static bool keep(void *arg, const struct event_note *n)
{
    struct buf *taken = arg;
    if (taken->len + n->len + 1 > taken->max)
        return false;
    buf_add(taken, n->text, n->len + 1); /* with its NUL */
    return true;
}

static void apply_all(struct hub_watch *watch, const struct buf *taken)
{
    struct hub_ear *ear = watch->ear;
    for (size_t at = 0, len; at < taken->len; at += len + 1) {
        struct err ignored = {0};
        json_t *event = NULL;
        len = strlen(taken->bytes + at);
        if (json_read(taken->bytes + at, len, &event, &ignored))
            continue; /* it was written here */
        pthread_mutex_lock(&ear->hub->lock);
        apply(ear, watch->workspace, json_object_get(event, "detail"));
        pthread_mutex_unlock(&ear->hub->lock);
        json_decref(event);
    }
}

/* False: it is over. */
static bool take_from(struct hub_watch *watch)
{
    for (;;) {
        scoped(buf_done) struct buf taken = BUF_INIT(TAKEN_MAX);
        enum event_taken what = event_watch_take(watch->watch, keep, &taken);
        apply_all(watch, &taken);
        if (what != EVENTS_MORE)
            return what != EVENTS_OVER;
    }
}

static bool is_anything_pending(const struct hub_ear *ear)
{
    for (int kind = 0; kind < HUB_KINDS; kind++)
        if (ear->is_pending[kind])
            return true;
    for (size_t i = 0; i < ear->wish_count; i++)
        if (ear->wishes[i].is_pending)
            return true;
    return false;
}

void ear_take_events(struct hub_ear *ear)
{
    bool is_lost = false;
    for (struct hub_watch *watch = ear->watches; watch; watch = watch->next) {
        if (watch->watch && !take_from(watch)) {
            event_watch_free(watch->watch);
            watch->watch = NULL;
        }
        is_lost = is_lost || !watch->watch;
    }
    pthread_mutex_lock(&ear->hub->lock);
    if (is_lost && ear->id)
        ear_end(ear);
    else if (is_anything_pending(ear))
        ear_wake(ear);
    pthread_mutex_unlock(&ear->hub->lock);
}
