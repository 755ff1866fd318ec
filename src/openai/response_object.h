/* response_object.h -- the response object, all its keys, from the beginning to the end of a response.
 *
 *     json_t *object = oa_response_make(&request, id, model, created_s, "in_progress")
 *     json_array_append(oa_response_output(object), item)
 *     oa_response_end(object, &end)
 *     json_t *shown = oa_response_shown(object, has_outputs)
 *
 * The object as it is made here is what is kept: the items in `output` have what the model was told of a run on them (x_text) and all
 * outputs. Clients get copies without x_text, and with outputs only if they are to have them. Pure.
 */
#ifndef OPENAI_RESPONSE_OBJECT_H
#define OPENAI_RESPONSE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct model_usage;
struct oa_request;

/* NULL: no memory. */
struct json_t *oa_response_make(const struct oa_request *q, const char *id, const char *model,
                                int64_t created_s, const char *status);

struct json_t *oa_response_output(struct json_t *object); /* borrowed */

/* How it ended. */
struct oa_end {
    const char *status;          /* "completed", "incomplete", "failed", "cancelled" */
    const char *reason;          /* of incomplete: "max_output_tokens", "content_filter"; or NULL */
    const char *error, *message; /* of failed: its code, and words; or NULL */
    int64_t ended_s;
    const struct model_usage *usage; /* NULL: not known */
};
/* -1: no memory. */
int oa_response_end(struct json_t *object, const struct oa_end *end);
int oa_response_status(struct json_t *object, const char *status);

/* What a client sees of an item, and of the whole; NULL: no memory. */
struct json_t *oa_item_shown(const struct json_t *item, bool has_outputs);
struct json_t *oa_response_shown(const struct json_t *object, bool has_outputs);
/* Of an array of items. */
struct json_t *oa_items_shown(const struct json_t *items, bool has_outputs);

#endif
