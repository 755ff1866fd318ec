/* conversations.c -- /v1/conversations and their items. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/conversation.h"
#include "openai/items.h"
#include "openai/response_object.h"
#include "openai/responses_int.h"
#include "openai/shape.h"

enum { ITEMS_AT_ONCE = 20 };

/* clang-format off */
static const struct shape_field create_fields[] = {
    {"items", .type = SHAPE_ARRAY, .is_nullable = true, .max = ITEMS_AT_ONCE},
    {"metadata", .type = SHAPE_OBJECT, .is_nullable = true},
    {0},
};
static const struct shape_field update_fields[] = {
    {"metadata", .type = SHAPE_OBJECT, .is_nullable = true},
    {0},
};
static const struct shape_field add_fields[] = {
    {"items", .type = SHAPE_ARRAY, .max = ITEMS_AT_ONCE},
    {0},
};
/* clang-format on */

static int refused(struct oa_call *o, const struct refusal *r, struct err *e)
{
    return oa_fail(o, e, ERR_INVALID, r->param, r->code, "%s", r->message);
}

static int read_body(struct oa_call *o, const struct shape_field *fields, struct err *e)
{
    struct refusal r;
    if (oa_body(o, e))
        return -1;
    return shape_check(o->json, "", fields, &r) ||
                   shape_metadata(json_object_get(o->json, "metadata"), &r)
               ? refused(o, &r, e)
               : 0;
}

/* The items of the body, each with an id; *ret is the caller's, NULL after a failure. References to items of elsewhere cannot be kept. */
static int read_items(struct oa_call *o, json_t **ret, struct err *e)
{
    struct refusal r;
    const json_t *sent = json_object_get(o->json, "items");
    size_t i;
    json_t *item;
    if (oa_items_read(json_is_array(sent) ? sent : NULL, "items", ret, &r))
        return refused(o, &r, e);
    json_array_foreach(*ret, i, item)
    {
        char place[SHAPE_PARAM_SIZE];
        if (!shape_is(item, "type", "item_reference"))
            continue;
        shape_index(place, "items", i);
        json_decref(*ret);
        *ret = NULL;
        return oa_fail(o, e, ERR_INVALID, place, "invalid_value",
                       "Invalid '%s': send the item itself, not a reference.", place);
    }
    return 0;
}

static json_t *metadata_of(const struct oa_call *o)
{
    json_t *metadata = json_object_get(o->json, "metadata");
    return json_is_object(metadata) ? json_incref(metadata) : json_object();
}

/* ---- the conversation ---- */

static int show(struct oa_call *o, const struct oa_card *c, struct err *e)
{
    return oa_answer_take(o,
                          json_pack("{s:s, s:s, s:I, s:O}", "id", c->card.id, "object",
                                    "conversation", "created_at",
                                    (json_int_t)(c->card.created_us / 1000000), "metadata",
                                    json_object_get(c->body, "metadata")),
                          e);
}

static int create(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {.card = {.kind = CARD_CONVERSATION, .name = ""}};
    json_t *items = NULL;
    if (read_body(o, create_fields, e) || read_items(o, &items, e))
        return -1;
    c.body = json_pack("{s:o, s:o}", "metadata", metadata_of(o), "items", items);
    memcpy(c.card.principal, o->c->who.principal, sizeof c.card.principal);
    c.card.created_us = c.card.used_us = clock_wall_us();
    if (!c.body)
        return err_set(e, ERR_NO_MEMORY, "begin a conversation");
    return card_make_id("conv_", c.card.id, e) || oa_card_insert(o->oa, &c, CONVERSATIONS_MAX, e)
               ? -1
               : show(o, &c, e);
}

static int find(struct oa_call *o, int (*change)(void *, struct json_t *, struct err *),
                struct oa_card *ret, struct err *e)
{
    struct err why = {0};
    if (oa_conversation_change(o->oa, o->c->who.principal, o->piece[0], change, o, ret, &why) == 0)
        return 0;
    return oa_fail(o, e, why.code, NULL, NULL, "%s", why.text);
}

static int retrieve(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return find(o, NULL, &c, e) ? -1 : show(o, &c, e);
}

static int set_metadata(void *arg, struct json_t *body, struct err *e)
{
    return json_object_set_new(body, "metadata", metadata_of(arg))
               ? err_set(e, ERR_NO_MEMORY, "change a conversation")
               : 0;
}

static int update(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return read_body(o, update_fields, e) || find(o, set_metadata, &c, e) ? -1 : show(o, &c, e);
}

static int delete (struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    if (find(o, NULL, &c, e) ||
        card_delete(o->oa->o.cards, o->c->who.principal, CARD_CONVERSATION, c.card.id, e))
        return -1;
    return oa_answer_deleted(o, c.card.id, "conversation.deleted", e);
}

/* ---- its items ---- */

static int add_items(struct oa_call *o, struct err *e)
{
    scoped(json_decrefp) json_t *items = NULL;
    struct refusal r;
    bool has_outputs;
    if (read_body(o, add_fields, e) || responses_include(o, &has_outputs, e))
        return -1;
    if (shape_missing(o->json, "", "items", &r))
        return refused(o, &r, e);
    if (read_items(o, &items, e) ||
        oa_conversation_append(o->oa, o->c->who.principal, o->piece[0], items, NULL, e))
        return -1;
    json_t *shown = oa_items_shown(items, has_outputs);
    return shown ? oa_answer_list(o, shown, /* has_more= */ false, e)
                 : err_set(e, ERR_NO_MEMORY, "list items");
}

static int list_items(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    bool has_outputs;
    if (responses_include(o, &has_outputs, e) || find(o, NULL, &c, e))
        return -1;
    return responses_page(o, json_object_get(c.body, "items"), has_outputs, e);
}

static size_t index_of(const json_t *items, const char *id)
{
    size_t i, count = json_array_size(items);
    for (i = 0; i < count; i++)
        if (shape_is(json_array_get(items, i), "id", id))
            break;
    return i;
}

static int no_item(struct oa_call *o, struct err *e)
{
    return oa_not_found(o, e, "Item with id '%.64s' not found in conversation '%.64s'.",
                        o->piece[1], o->piece[0]);
}

static int retrieve_item(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    bool has_outputs;
    if (responses_include(o, &has_outputs, e) || find(o, NULL, &c, e))
        return -1;
    const json_t *items = json_object_get(c.body, "items");
    const json_t *item = json_array_get(items, index_of(items, o->piece[1]));
    return item ? oa_answer_take(o, oa_item_shown(item, has_outputs), e) : no_item(o, e);
}

static int remove_item(void *arg, struct json_t *body, struct err *e)
{
    const struct oa_call *o = arg;
    json_t *items = json_object_get(body, "items");
    return json_array_remove(items, index_of(items, o->piece[1]))
               ? err_set(e, ERR_NOT_FOUND,
                         "Item with id '%.64s' not found in conversation '%.64s'.", o->piece[1],
                         o->piece[0])
               : 0;
}

static int delete_item(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    return find(o, remove_item, &c, e) ? -1 : show(o, &c, e);
}

static const struct oa_op ops[] = {
    {"POST", "conversations", SCOPE_RUN, create},
    {"GET", "conversations/{id}", SCOPE_RUN, retrieve},
    {"POST", "conversations/{id}", SCOPE_RUN, update},
    {"DELETE", "conversations/{id}", SCOPE_RUN, delete},
    {"POST", "conversations/{id}/items", SCOPE_RUN, add_items},
    {"GET", "conversations/{id}/items", SCOPE_RUN, list_items},
    {"GET", "conversations/{id}/items/{item_id}", SCOPE_RUN, retrieve_item},
    {"DELETE", "conversations/{id}/items/{item_id}", SCOPE_RUN, delete_item},
};
const struct oa_table oa_conversations = {ops, sizeof ops / sizeof *ops};
