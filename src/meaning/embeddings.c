#include "meaning/embeddings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "meaning/meaning.h"
#include "meaning/vector.h"
#include "json/read.h"
#include "json/write.h"

void embeddings_request(const char *model, const struct str *texts, size_t count, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "model"), jw_text(&w, model);
    jw_key(&w, "input"), jw_array(&w);
    for (size_t i = 0; i < count; i++)
        jw_str(&w, texts[i].ptr, texts[i].len);
    jw_end_array(&w);
    jw_end_object(&w);
    jw_finish(&w);
}

static int strange(struct err *e, const char *why)
{
    return err_set(e, ERR_PROTOCOL, "the embeddings endpoint answers strangely: %s", why);
}

/* The list of vectors; *ret_root owns it. */
static int parse(struct str answer, json_t **ret_root, json_t **ret_data, struct err *e)
{
    struct err why = {0};
    scoped(json_decrefp) json_t *root = NULL;
    if (json_read(answer.ptr ? answer.ptr : "", answer.len, &root, &why))
        return strange(e, why.text);
    json_t *list = json_object_get(root, "data");
    if (!json_is_array(list) || json_array_size(list) == 0)
        return strange(e, "it has no list `data`");
    *ret_data = list;
    *ret_root = take(root);
    return 0;
}

int embeddings_dim(struct str answer, uint32_t *ret, struct err *e)
{
    scoped(json_decrefp) json_t *root = NULL;
    json_t *list;
    if (parse(answer, &root, &list, e))
        return -1;
    size_t dim = json_array_size(json_object_get(json_array_get(list, 0), "embedding"));
    if (dim == 0 || dim > MEANING_DIM_MAX)
        return err_set(
            e, ERR_PROTOCOL,
            "the embeddings endpoint answers with vectors of %zu numbers; 1 to %d can be "
            "used: choose another model",
            dim, MEANING_DIM_MAX);
    *ret = (uint32_t)dim;
    return 0;
}

/* One entry of the list; `space` has room for dim numbers. */
static int read_vector(const json_t *entry, uint32_t dim, float *space, int8_t *ret, struct err *e)
{
    const json_t *numbers = json_object_get(entry, "embedding");
    if (json_array_size(numbers) != dim)
        return err_set(
            e, ERR_PROTOCOL,
            "the embeddings endpoint answers with vectors of %zu numbers, not of %u; set "
            "search.dimensions to what the model has",
            json_array_size(numbers), dim);
    for (uint32_t i = 0; i < dim; i++) {
        const json_t *number = json_array_get(numbers, i);
        space[i] = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(space[i]))
            return strange(e, "a vector has something in it that is no number");
    }
    vector_narrow(space, dim, ret);
    return 0;
}

/* Which text an entry is about: what it says, otherwise its place in the list. */
static size_t index_of(const json_t *entry, size_t place)
{
    const json_t *index = json_object_get(entry, "index");
    if (!json_is_integer(index))
        return place;
    json_int_t value = json_integer_value(index);
    return value < 0 ? SIZE_MAX : (size_t)value;
}

int embeddings_read(struct str answer, size_t count, uint32_t dim, int8_t *ret, struct err *e)
{
    scoped(json_decrefp) json_t *root = NULL;
    json_t *list;
    bool has[EMBEDDINGS_COUNT_MAX] = {false};
    if (parse(answer, &root, &list, e))
        return -1;
    if (json_array_size(list) != count)
        return strange(e, "it has not as many vectors as it was given texts");
    scoped(freep) float *space = malloc(dim * sizeof *space);
    if (!space)
        return err_set(e, ERR_NO_MEMORY, "read embeddings");
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        size_t index = index_of(entry, i);
        if (index >= count || has[index])
            return strange(e, "its vectors are not numbered as its texts are");
        has[index] = true;
        if (read_vector(entry, dim, space, ret + index * dim, e))
            return -1;
    }
    return 0;
}

void embeddings_message(struct str answer, char ret[EMBEDDINGS_MESSAGE_SIZE])
{
    struct err ignored = {0};
    scoped(json_decrefp) json_t *root = NULL;
    ret[0] = '\0';
    if (json_read(answer.ptr ? answer.ptr : "", answer.len, &root, &ignored))
        return;
    const json_t *error = json_object_get(root, "error");
    const json_t *message = json_is_string(error) ? error : json_object_get(error, "message");
    if (!json_is_string(message))
        return;
    const char *text = json_string_value(message);
    size_t len = strlen(text);
    if (len >= EMBEDDINGS_MESSAGE_SIZE)
        len = utf8_cut(text, EMBEDDINGS_MESSAGE_SIZE - 1);
    for (size_t i = 0; i < len; i++)
        ret[i] = iscntrl((unsigned char)text[i]) ? ' ' : text[i];
    ret[len] = '\0';
}
