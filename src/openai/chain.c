#include "openai/chain.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/items.h"
#include "openai/shape.h"
#include "openai/store.h"

enum { SEARCHED = 400, SEARCHED_BYTES = 256 << 20, REFERENCED_BYTES_MAX = 64 << 20 };

/* ---- earlier responses ---- */

static int not_found(struct oa_call *o, const char *id, struct err *e)
{
    return oa_fail(o, e, ERR_INVALID, "previous_response_id", "previous_response_not_found",
                   "Previous response with id '%.64s' not found.", id);
}

static int first_of_chain(struct oa_call *o, const char *id, struct oa_stored *ret, struct err *e)
{
    struct err why = {0};
    if (oa_stored_get(o->oa, o->c->who.principal, id, ret, &why)) {
        if (why.code != ERR_NOT_FOUND) {
            *e = why;
            return -1;
        }
        return not_found(o, id, e);
    }
    if (shape_is(ret->object, "status", "queued") ||
        shape_is(ret->object, "status", "in_progress")) {
        oa_stored_done(ret);
        return oa_fail(o, e, ERR_INVALID, "previous_response_id", "previous_response_not_completed",
                       "Previous response with id '%.64s' is still going on: wait until it is "
                       "completed.",
                       id);
    }
    return 0;
}

/* [output, input] of each, newest first. */
static int collect(struct oa_call *o, struct oa_stored *at, json_t *parts, struct err *e)
{
    size_t bytes = 0, items = 0;
    for (size_t i = 0; i < CHAIN_MAX && bytes < CHAIN_BYTES_MAX && items < CHAIN_ITEMS_MAX; i++) {
        struct err ignored = {0}; /* a link that is gone ends the chain */
        char next[ID_SIZE];
        json_t *output = json_object_get(at->object, "output");
        items += json_array_size(output) + json_array_size(at->input);
        bytes += shape_size(output) + shape_size(at->input);
        if (json_array_append(parts, output) || json_array_append(parts, at->input))
            return err_set(e, ERR_NO_MEMORY, "read a conversation");
        (void)snprintf(next, sizeof next, "%.64s", shape_text(at->object, "previous_response_id"));
        oa_stored_done(at);
        if (!*next || oa_stored_get(o->oa, o->c->who.principal, next, at, &ignored))
            break;
    }
    return 0;
}

int oa_chain_previous(struct oa_call *o, const char *response_id, struct json_t *items,
                      struct err *e)
{
    scoped(oa_stored_done) struct oa_stored at = {0};
    scoped(json_decrefp) json_t *parts = json_array();
    if (first_of_chain(o, response_id, &at, e) || collect(o, &at, parts, e))
        return -1;
    for (size_t i = json_array_size(parts); i-- > 0;)
        if (json_array_extend(items, json_array_get(parts, i)))
            return err_set(e, ERR_NO_MEMORY, "read a conversation");
    return 0;
}

/* ---- references ---- */

/* What references stand for. They are all looked for in one walk: over the conversation, then over the responses that are kept. */
struct finding {
    json_t *found; /* owned: id -> item; null where it is still looked for */
    size_t missing;
    size_t bytes; /* that were gone through */
};

static bool is_reference(const json_t *item)
{
    return shape_is(item, "type", "item_reference");
}

static int want_all(struct finding *f, const json_t *input)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)input, i, item)
    {
        if (is_reference(item) &&
            json_object_set_new(f->found, shape_text(item, "id"), json_null()))
            return -1;
    }
    f->missing = json_object_size(f->found);
    return 0;
}

static int find_in(struct finding *f, const json_t *items)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)items, i, item)
    {
        const char *id = shape_text(item, "id");
        if (is_reference(item) || !json_is_null(json_object_get(f->found, id)))
            continue;
        if (json_object_set(f->found, id, item))
            return -1;
        f->missing--;
    }
    return 0;
}

static int find_in_card(struct finding *f, const struct card *card)
{
    struct err ignored = {0}; /* one that cannot be read has nothing to be found */
    struct oa_card c = {0};
    f->bytes += card->body_len;
    if (oa_card_of(card, &c, &ignored))
        return 0;
    int failed = find_in(f, json_object_get(json_object_get(c.body, "response"), "output")) ||
                 find_in(f, json_object_get(c.body, "input"));
    json_decref(c.body);
    return failed;
}

/* Among the responses that are kept, the newest first, one at a time: each may be large. */
static int find_kept(struct oa_call *o, struct finding *f)
{
    char after[ID_SIZE] = "";
    for (size_t seen = 0; seen < SEARCHED && f->missing > 0 && f->bytes < SEARCHED_BYTES; seen++) {
        scoped(card_rows_done) struct card_rows rows = {0};
        struct err ignored = {0};
        const struct card_filter filter = {.principal = o->c->who.principal,
                                           .kind = CARD_RESPONSE,
                                           .after = *after ? after : NULL,
                                           .limit = 1};
        if (card_list(o->oa->o.cards, &filter, &rows, &ignored) || rows.count == 0)
            return 0;
        if (find_in_card(f, &rows.items[0]))
            return -1;
        if (!rows.has_more)
            return 0;
        (void)snprintf(after, sizeof after, "%s", rows.items[0].id);
    }
    return 0;
}

static int lacks_item(struct oa_call *o, const char *id, struct err *e)
{
    return oa_fail(
        o, e, ERR_NOT_FOUND, "input", NULL,
        "Item with id '%.64s' not found. Items are not persisted when `store` is set to "
        "false. Try again with `store` set to true, or remove this item from your input.",
        id);
}

/* The ids that the items of a request have themselves. */
static json_t *own_ids(const json_t *input)
{
    scoped(json_decrefp) json_t *ids = json_object();
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)input, i, item)
    {
        if (!is_reference(item) && json_object_set_new(ids, shape_text(item, "id"), json_true()))
            return NULL;
    }
    return take(ids);
}

/* The item, or the same with another id when its own is among `ids`, which gets it. The caller's. */
static json_t *once_more(json_t *ids, json_t *found)
{
    char id[ID_SIZE];
    struct err ignored = {0};
    scoped(json_decrefp) json_t *item = json_copy(found);
    if (json_object_get(ids, shape_text(found, "id")) &&
        (oa_item_id(shape_text(found, "type"), id, &ignored) ||
         json_object_set_new(item, "id", json_string(id))))
        return NULL;
    return json_object_set_new(ids, shape_text(item, "id"), json_true()) ? NULL : take(item);
}

/* An item may be referred to many times, and is kept as often. */
static int put_found(struct oa_call *o, const struct finding *f, json_t *input, struct err *e)
{
    scoped(json_decrefp) json_t *ids = own_ids(input);
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(input); i++) {
        const char *id = shape_text(json_array_get(input, i), "id");
        json_t *found = json_object_get(f->found, id);
        if (!is_reference(json_array_get(input, i)))
            continue;
        if (!found || json_is_null(found))
            return lacks_item(o, id, e);
        bytes += shape_size(found);
        if (bytes > REFERENCED_BYTES_MAX)
            return oa_fail(o, e, ERR_TOO_LARGE, "input", NULL,
                           "The items that are referred to have more than %d MiB. Refer to fewer.",
                           REFERENCED_BYTES_MAX >> 20);
        if (json_array_set_new(input, i, once_more(ids, found)))
            return err_set(e, ERR_NO_MEMORY, "read a conversation");
    }
    return 0;
}

int oa_chain_references(struct oa_call *o, struct json_t *input, const struct json_t *context,
                        struct err *e)
{
    struct finding f = {.found = json_object()};
    int failed = !f.found || want_all(&f, input);
    if (!failed && f.missing > 0)
        failed = find_in(&f, context) || find_kept(o, &f);
    if (failed)
        (void)err_set(e, ERR_NO_MEMORY, "read a conversation");
    else
        failed = put_found(o, &f, input, e);
    json_decref(f.found);
    return failed ? -1 : 0;
}
