/* attach.c -- files and images that come with the input: into the container, so that code can read them. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"
#include "openai/container.h"
#include "openai/file.h"
#include "openai/items.h"
#include "openai/shape.h"
#include "openai/turn.h"

enum { FILE_BYTES_MAX = 48 << 20, FILES_AT_ONCE = 500 }; /* each is a commit of its own */

struct attaching {
    struct oa_turn *t;
    struct oa_call *o;
    const char *item_id;
    size_t part, count;           /* which part of the item; files up to now */
    char place[SHAPE_PARAM_SIZE]; /* of the part */
};

static int fail(struct attaching *a, const char *key, const struct err *why, struct err *e)
{
    char place[SHAPE_PARAM_SIZE];
    shape_under(place, a->place, key);
    return oa_fail(a->o, e, why->code, place, why->code == ERR_INVALID ? "invalid_value" : NULL,
                   "%s", why->text);
}

static int say_path(json_t *part, const char *path, struct err *e)
{
    json_t *whole = json_sprintf("/mnt/data/%s", path);
    return json_object_set_new(part, "x_path", whole) ? err_set(e, ERR_NO_MEMORY, "read the input")
                                                      : 0;
}

static int link_file(struct attaching *a, json_t *part, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    const char *id = shape_text(part, "file_id");
    struct err why = {0};
    if (!a->t->q.has_code) { /* it only has to be there */
        struct oa_card c = {0};
        if (file_card(a->t->oa, a->o->c->who.principal, id, &c, &why))
            return fail(a, "file_id", &why, e);
        oa_card_done(&c);
        return 0;
    }
    if (oa_turn_open(a->t, e))
        return -1;
    if (container_link(a->t->oa, a->t->caller, &a->t->container, id, a->t->names, &file, &why))
        return fail(a, "file_id", &why, e);
    return say_path(part, shape_text(file, "path"), e);
}

/* What an image is called that came without a name. */
static void name_image(const struct attaching *a, const char *type, char ret[64])
{
    const char *ending = strncmp(type, "image/", 6) == 0 ? type + 6 : "bin";
    const size_t len = strlen(a->item_id);
    const size_t index = strspn(ending, "abcdefghijklmnopqrstuvwxyz0123456789");
    (void)snprintf(ret, 64, "image_%.8s_%zu.%.*s", a->item_id + (len > 8 ? len - 8 : 0), a->part,
                   (int)(index < 8 ? index : 8), ending);
}

/* Bytes that are in the part itself, under `key`. */
static int put_bytes(struct attaching *a, json_t *part, const char *key, struct err *e)
{
    scoped(buf_done) struct buf bytes = BUF_INIT(FILE_BYTES_MAX);
    const json_t *text = json_object_get(part, key);
    char type[64], name[64], path[PATH_BYTES_MAX + 1];
    const char *given = shape_text(part, "filename");
    struct err why = {0};
    if (oa_data_url((struct str){json_string_value(text), json_string_length(text)}, type, &bytes,
                    &why))
        return fail(a, key, &why, e);
    if (!a->t->q.has_code)
        return 0;
    name_image(a, type, name);
    if (oa_turn_open(a->t, e) ||
        oa_container_put(a->t->oa, a->t->caller, &a->t->container, *given ? given : name,
                         (struct str){bytes.bytes, bytes.len}, a->t->names, path, e))
        return -1;
    return say_path(part, path, e);
}

static int attach_part(struct attaching *a, json_t *part, struct err *e)
{
    const bool is_image = shape_is(part, "type", "input_image");
    if (!is_image && !shape_is(part, "type", "input_file"))
        return 0;
    if (++a->count > FILES_AT_ONCE)
        return oa_fail(a->o, e, ERR_INVALID, a->place, "invalid_value",
                       "A request may bring at most %d files and images. Put them into an archive, "
                       "or into a container before.",
                       FILES_AT_ONCE);
    if (*shape_text(part, "file_id"))
        return link_file(a, part, e);
    if (!is_image)
        return put_bytes(a, part, "file_data", e);
    /* What is elsewhere the model's endpoint may fetch; this server does not. */
    return strncmp(shape_text(part, "image_url"), "data:", 5) == 0
               ? put_bytes(a, part, "image_url", e)
               : 0;
}

static int attach_parts(struct attaching *a, json_t *parts, const char *at, struct err *e)
{
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        shape_index(a->place, at, i);
        a->part = i;
        if (attach_part(a, part, e))
            return -1;
    }
    return 0;
}

int oa_attach(struct oa_turn *t, struct oa_call *o, struct json_t *input, struct err *e)
{
    struct attaching a = {.t = t, .o = o};
    size_t i;
    json_t *item;
    json_array_foreach(input, i, item)
    {
        a.item_id = shape_text(item, "id");
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, "input", i);
        if (!shape_is(item, "type", "message"))
            continue;
        shape_under(place, place, "content");
        if (attach_parts(&a, json_object_get(item, "content"), place, e))
            return -1;
    }
    return 0;
}
