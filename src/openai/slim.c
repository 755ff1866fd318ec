#include "openai/slim.h"

#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/shape.h"

/* One of `outputs` of code, or of `content`. The caller's. */
typedef json_t *slimmer(json_t *part);

static json_t *slim_output(json_t *output)
{
    const size_t len = json_string_length(json_object_get(output, "url"));
    if (!shape_is(output, "type", "image") || len == 0)
        return json_incref(output);
    return json_pack("{s:s, s:o}", "type", "logs", "logs",
                     json_sprintf("[an image of %zu bytes, which is not kept: the response is too "
                                  "large]\n",
                                  len / 4 * 3));
}

static bool has_bytes(const json_t *part)
{
    return (shape_is(part, "type", "input_image") &&
            strncmp(shape_text(part, "image_url"), "data:", 5) == 0) ||
           (shape_is(part, "type", "input_file") && *shape_text(part, "file_data"));
}

static json_t *slim_part(json_t *part)
{
    if (!has_bytes(part))
        return json_incref(part);
    const char *path = shape_text(part, "x_path"), *name = shape_text(part, "filename");
    const char *what = shape_is(part, "type", "input_image") ? "image" : "file";
    return json_pack("{s:s, s:o}", "type", "input_text", "text",
                     json_sprintf("[attached %s %.255s%s%.1100s: what was in it is not kept here, "
                                  "the response is too large]",
                                  what, name, *path ? " at " : "", path));
}

static json_t *slim_all(const json_t *parts, slimmer *slim)
{
    scoped(json_decrefp) json_t *all = json_array();
    size_t i;
    json_t *part;
    json_array_foreach((json_t *)parts, i, part)
    {
        if (json_array_append_new(all, slim(part)))
            return NULL;
    }
    return take(all);
}

/* The same item with another array under `key`. */
static json_t *slim_item(json_t *item)
{
    static const struct {
        const char *key;
        slimmer *slim;
    } places[] = {{"outputs", slim_output}, {"content", slim_part}, {"output", slim_part}};
    scoped(json_decrefp) json_t *copy = json_copy(item);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const json_t *parts = json_object_get(item, places[i].key);
        if (json_is_array(parts) &&
            json_object_set_new(copy, places[i].key, slim_all(parts, places[i].slim)))
            return NULL;
    }
    return take(copy);
}

struct json_t *oa_slim(const struct json_t *items)
{
    return slim_all(items, slim_item);
}
