#include "api/reply.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

#define IS(type) (1u << JSON_##type)
#define IS_BOOL (IS(TRUE) | IS(FALSE))

struct shape {
    const char *key; /* NULL ends a table */
    unsigned types;
    bool is_optional;
    unsigned items;             /* of an array: what its items are */
    const struct shape *inside; /* of items that are objects */
};

/* clang-format off */
static const struct shape completion[] = {
    {.key = "matches",      .types = IS(ARRAY), .items = IS(STRING)},
    {.key = "cursor_start", .types = IS(INTEGER)},
    {.key = "cursor_end",   .types = IS(INTEGER)},
    {.key = "gave_up",      .types = IS(STRING), .is_optional = true},
    {0},
};

static const struct shape inspection[] = {
    {.key = "found",     .types = IS_BOOL},
    {.key = "name",      .types = IS(STRING),            .is_optional = true},
    {.key = "type",      .types = IS(STRING),            .is_optional = true},
    {.key = "signature", .types = IS(STRING) | IS(NULL), .is_optional = true},
    {.key = "doc",       .types = IS(STRING),            .is_optional = true},
    {.key = "source",    .types = IS(STRING),            .is_optional = true},
    {.key = "repr",      .types = IS(STRING),            .is_optional = true},
    {.key = "gave_up",   .types = IS(STRING),            .is_optional = true},
    {0},
};

static const struct shape variable[] = {
    {.key = "name",  .types = IS(STRING)},
    {.key = "type",  .types = IS(STRING)},
    {.key = "shape", .types = IS(ARRAY) | IS(NULL),   .is_optional = true, .items = IS(INTEGER)},
    {.key = "len",   .types = IS(INTEGER) | IS(NULL), .is_optional = true},
    {.key = "size",  .types = IS(INTEGER) | IS(NULL), .is_optional = true},
    {.key = "repr",  .types = IS(STRING)},
    {.key = "gave_up", .types = IS(STRING),           .is_optional = true},
    {0},
};

static const struct shape variables[] = {
    {.key = "variables", .types = IS(ARRAY), .items = IS(OBJECT), .inside = variable},
    {.key = "count",     .types = IS(INTEGER)},
    {0},
};

static const struct {
    const char *topic;
    const struct shape *shape;
} topics[] = {
    {"complete", completion}, {"inspect", inspection}, {"variables", variables},
};
/* clang-format on */

static bool is_one_of(const json_t *value, unsigned types)
{
    return value && (types & (1u << json_typeof(value)));
}

/* Whether the key is as it should be, but for what is inside of its items. */
static bool has_key(const json_t *object, const struct shape *key)
{
    const json_t *value = json_object_get(object, key->key);
    if (!value)
        return key->is_optional;
    bool is_fine = is_one_of(value, key->types);
    for (size_t i = 0; is_fine && i < json_array_size(value); i++)
        is_fine = is_one_of(json_array_get(value, i), key->items);
    return is_fine;
}

static bool has_keys(const json_t *object, const struct shape *shape)
{
    bool is_fine = json_is_object(object);
    for (; is_fine && shape->key; shape++)
        is_fine = has_key(object, shape);
    return is_fine;
}

static bool fits(const json_t *reply, const struct shape *shape)
{
    bool is_fine = has_keys(reply, shape);
    for (; is_fine && shape->key; shape++) {
        const json_t *items = shape->inside ? json_object_get(reply, shape->key) : NULL;
        for (size_t i = 0; is_fine && i < json_array_size(items); i++)
            is_fine = has_keys(json_array_get(items, i), shape->inside);
    }
    return is_fine;
}

static void free_json(json_t **json)
{
    json_decref(*json);
}

int reply_check(const char *topic, const char *text, struct err *e)
{
    scoped(free_json) json_t *reply = NULL;
    const struct shape *shape = NULL;
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (strcmp(topics[i].topic, topic) == 0)
            shape = topics[i].shape;
    assert(shape);
    if (json_read(text, strlen(text), &reply, e) == 0 && fits(reply, shape))
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "the session could not answer: it was interrupted, or its code changed what "
                   "answers. Ask again, or restart it");
}
