#include "openai/conversation.h"

#include <jansson.h>

#include "base/scope.h"
#include "openai/shape.h"
#include "openai/slim.h"

static int read_card(struct openai *oa, const char *principal, const char *id, struct oa_card *ret,
                     struct err *e)
{
    struct err why = {0};
    if (strlen(id) < ID_SIZE && oa_card_get(oa, principal, CARD_CONVERSATION, id, ret, &why) == 0)
        return 0;
    if (why.code != ERR_NONE && why.code != ERR_NOT_FOUND) {
        *e = why;
        return -1;
    }
    return err_set(e, ERR_NOT_FOUND, "Conversation with id '%.64s' not found.", id);
}

int oa_conversation_items(struct openai *oa, const char *principal, const char *id,
                          struct json_t *items, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (read_card(oa, principal, id, &c, e))
        return -1;
    return json_array_extend(items, json_object_get(c.body, "items"))
               ? err_set(e, ERR_NO_MEMORY, "read a conversation")
               : 0;
}

/* ---- changing one ---- */

/* Which lock a conversation has; others may have the same. */
static pthread_mutex_t *lock_of(struct openai *oa, const char *id)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 16777619u;
    return &oa->conversations[hash % OA_CONVERSATION_LOCKS];
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "go on with a conversation");
}

static int know(json_t *ids, const json_t *items)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)items, i, item)
    {
        if (json_object_set_new(ids, shape_text(item, "id"), json_true()))
            return -1;
    }
    return 0;
}

static int add(json_t *items, json_t *ids, const json_t *more, struct err *e)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)more, i, item)
    {
        const char *id = shape_text(item, "id");
        if (json_object_get(ids, id))
            continue;
        if (json_array_size(items) >= CONVERSATION_ITEMS_MAX)
            return err_set(e, ERR_QUOTA, "A conversation has at most %d items. Begin another one.",
                           CONVERSATION_ITEMS_MAX);
        if (json_array_append(items, item) || json_object_set_new(ids, id, json_true()))
            return no_memory(e);
    }
    return 0;
}

struct adding {
    const json_t *input, *output;
};

/* With room for them: when there would be too much, what was there before goes on without the bytes of its images and files. */
static int make_room(const struct adding *a, json_t *body, struct err *e)
{
    const json_t *items = json_object_get(body, "items");
    if (shape_size(items) + shape_size(a->input) + shape_size(a->output) <= CONVERSATION_BYTES_MAX)
        return 0;
    return json_object_set_new(body, "items", oa_slim(items)) ? no_memory(e) : 0;
}

static int add_both(void *arg, struct json_t *body, struct err *e)
{
    const struct adding *a = arg;
    scoped(json_decrefp) json_t *ids = json_object();
    if (make_room(a, body, e))
        return -1;
    json_t *items = json_object_get(body, "items");
    if (!ids || know(ids, items))
        return no_memory(e);
    return add(items, ids, a->input, e) || add(items, ids, a->output, e) ? -1 : 0;
}

int oa_conversation_append(struct openai *oa, const char *principal, const char *id,
                           const struct json_t *input, const struct json_t *output, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    struct adding a = {.input = input, .output = output};
    return oa_conversation_change(oa, principal, id, add_both, &a, &c, e);
}

int oa_conversation_change(struct openai *oa, const char *principal, const char *id,
                           int (*change)(void *arg, struct json_t *body, struct err *e), void *arg,
                           struct oa_card *ret, struct err *e)
{
    struct oa_card c = {0};
    if (!change)
        return read_card(oa, principal, id, ret, e);
    pthread_mutex_t *lock = lock_of(oa, id);
    pthread_mutex_lock(lock);
    int failed =
        read_card(oa, principal, id, &c, e) || change(arg, c.body, e) || oa_card_save(oa, &c, e);
    pthread_mutex_unlock(lock);
    if (failed)
        oa_card_done(&c);
    else
        *ret = c;
    return failed ? -1 : 0;
}
