/* told.c -- items as a model gets them: it knows no ids of files, only places, texts and images.
 *
 * A few bytes of a request can name a large file a thousand times. So what is read is remembered by its id for as long as one
 * conversation is told, and all that is shown of Files has at most TOLD_MAX bytes, the newest first; for the rest there are words.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/model.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/filetype.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "openai/items.h"
#include "openai/shape.h"
#include "openai/turn.h"

enum { IMAGE_MAX = 24 << 20, TEXT_MAX = 256 << 10 };
enum {
    TOLD_MAX = 64 << 20,
    READ_COSTS = 16 << 10
}; /* so that not too many small ones are read either */

struct telling {
    struct oa_turn *t;
    size_t bytes;  /* of Files, as they are told */
    json_t *known; /* owned: what became of a part, by its type and the id of its File */
};

static json_t *words(const struct buf *text)
{
    return json_pack("{s:s, s:s%}", "type", "input_text", "text", text->bytes ? text->bytes : "",
                     text->len);
}

static const char *name_of(const json_t *part, const char *name)
{
    return *name ? name : *shape_text(part, "filename") ? shape_text(part, "filename") : "file";
}

/* Where it is, for code. */
static json_t *place_words(const json_t *part)
{
    scoped(buf_done) struct buf text = BUF_INIT(2048);
    buf_fmt(&text, "[%s: %.1100s]",
            shape_is(part, "type", "input_image") ? "the image as a file" : "attached file",
            shape_text(part, "x_path"));
    return words(&text);
}

/* Bytes of a part: of its File, or those it brought; false: they are not there any more, or too many. */
static bool bytes_of(struct oa_turn *t, const json_t *part, const char *key, size_t max,
                     struct buf *ret, char ret_name[256])
{
    struct err ignored = {0};
    const json_t *data = json_object_get(part, key);
    char type[64];
    ret_name[0] = 0;
    *ret = BUF_INIT(max);
    if (*shape_text(part, "file_id"))
        return oa_file_read(t->oa, t->caller, shape_text(part, "file_id"), max, ret, ret_name,
                            &ignored) == 0;
    return json_is_string(data) &&
           oa_data_url((struct str){json_string_value(data), json_string_length(data)}, type, ret,
                       &ignored) == 0;
}

/* A file that no code can read: what it says, if it is a text. */
static json_t *file_words(struct oa_turn *t, const json_t *part, size_t room)
{
    scoped(buf_done) struct buf bytes = {0};
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX + 1024);
    char name[256];
    bool is_there = bytes_of(t, part, "file_data", TEXT_MAX < room ? TEXT_MAX : room, &bytes, name);
    if (is_there && utf8_is_valid(bytes.bytes ? bytes.bytes : "", bytes.len)) {
        buf_fmt(&text, "[attached file %.255s:]\n", name_of(part, name));
        buf_add(&text, bytes.bytes ? bytes.bytes : "", bytes.len);
    } else {
        buf_fmt(&text,
                "[attached file %.255s: it is no text, too long to be shown here, or not "
                "there any more]",
                name_of(part, name));
    }
    return words(&text);
}

static json_t *plain_words(const char *text)
{
    return json_pack("{s:s, s:s}", "type", "input_text", "text", text);
}

/* An image by its id becomes one by its content. */
static json_t *image_told(struct oa_turn *t, const json_t *part, size_t room)
{
    scoped(buf_done) struct buf bytes = {0};
    scoped(buf_done) struct buf url = BUF_INIT(2 * (size_t)IMAGE_MAX);
    char name[256];
    const char *detail = shape_text(part, "detail");
    const size_t max = room / 4 * 3 < IMAGE_MAX ? room / 4 * 3 : IMAGE_MAX; /* base64 is longer */
    if (!*shape_text(part, "file_id"))
        return json_pack("{s:s, s:O, s:s}", "type", "input_image", "image_url",
                         json_object_get(part, "image_url"), "detail", *detail ? detail : "auto");
    if (!model_has_images(t->oa->o.model))
        return plain_words("[an image, which this model cannot be shown]");
    if (!bytes_of(t, part, "image_url", max, &bytes, name))
        return plain_words("[an image that is too large to be shown, or not there any more]");
    const char *type = filetype_of(name);
    buf_fmt(&url, "data:%s;base64,", strncmp(type, "image/", 6) == 0 ? type : "image/png");
    base64_add(&url, bytes.bytes, bytes.len);
    return json_pack("{s:s, s:s%, s:s}", "type", "input_image", "image_url", url.bytes, url.len,
                     "detail", *detail ? detail : "auto");
}

/* The same, as far as there is room, and no File is read twice. What a part brought itself is bounded by the size of requests. */
static json_t *file_told(struct telling *all, const json_t *part, bool is_image)
{
    char key[320]; /* ids have at most 64 characters */
    const char *id = shape_text(part, "file_id");
    const size_t room = TOLD_MAX - all->bytes;
    (void)snprintf(key, sizeof key, "%s:%s", is_image ? "image" : "file", id);
    if (!*id)
        return is_image ? image_told(all->t, part, room) : file_words(all->t, part, room);
    json_t *told = json_incref(json_object_get(all->known, key));
    if (!told && room > READ_COSTS) {
        all->bytes += READ_COSTS;
        told = is_image ? image_told(all->t, part, room) : file_words(all->t, part, room);
        if (json_object_set(all->known, key, told)) {
            json_decref(told);
            return NULL;
        }
    }
    if (told && shape_size(told) <= TOLD_MAX - all->bytes) {
        all->bytes += shape_size(told);
        return told;
    }
    json_decref(told);
    return plain_words(is_image ? "[an image that is left out: there are too many large ones]"
                                : "[a file that is left out: there are too many large ones]");
}

static int tell_part(struct telling *all, json_t *part, json_t *out)
{
    const struct oa_turn *t = all->t;
    const bool is_image = shape_is(part, "type", "input_image");
    const bool has_place = t->q.has_code && *shape_text(part, "x_path");
    if (!is_image && !shape_is(part, "type", "input_file"))
        return json_array_append(out, part);
    if (is_image && json_array_append_new(out, file_told(all, part, true)))
        return -1;
    if (has_place)
        return json_array_append_new(out, place_words(part));
    return is_image ? 0 : json_array_append_new(out, file_told(all, part, false));
}

static json_t *message_told(struct telling *all, const json_t *item)
{
    scoped(json_decrefp) json_t *told = json_copy((json_t *)item);
    scoped(json_decrefp) json_t *content = json_array();
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(item, "content"), i, part)
    {
        if (tell_part(all, part, content))
            return NULL;
    }
    return json_object_set(told, "content", content) ? NULL : take(told);
}

static bool has_parts(const json_t *item)
{
    return shape_is(item, "type", "message") && json_is_array(json_object_get(item, "content"));
}

static int tell_all(struct telling *all, const json_t *items, json_t *out)
{
    scoped(json_decrefp) json_t *newest_first = json_array();
    for (size_t i = json_array_size(items); i-- > 0;) {
        json_t *item = json_array_get(items, i);
        if (json_array_append_new(newest_first,
                                  has_parts(item) ? message_told(all, item) : json_incref(item)))
            return -1;
    }
    for (size_t i = json_array_size(newest_first); i-- > 0;)
        if (json_array_append(out, json_array_get(newest_first, i)))
            return -1;
    return 0;
}

int oa_told(struct oa_turn *t, const struct json_t *items, struct json_t *out, struct err *e)
{
    struct telling all = {.t = t, .known = json_object()};
    int failed = !all.known || tell_all(&all, items, out);
    json_decref(all.known);
    return failed ? err_set(e, ERR_NO_MEMORY, "read a conversation") : 0;
}
