/* model_write.h -- a question as an endpoint wants it: the body of the request.
 *
 * chat_request for Chat Completions, responses_request for the Responses API. No I/O.
 */
#ifndef AGENT_MODEL_WRITE_H
#define AGENT_MODEL_WRITE_H

#include <stdbool.h>

#include "agent/model.h"

struct err;
struct json_t;

/* What an endpoint has been found not to take, as bits. */
enum model_without {
    WITHOUT_STREAM_OPTIONS = 1,
    WITHOUT_PARALLEL = 2,   /* parallel_tool_calls */
    WITHOUT_MAX_TOKENS = 4, /* it wants max_completion_tokens */
    WITHOUT_STORE = 8,
};

struct model_manner {
    const char *name; /* of the model */
    bool has_images;
    unsigned without;
};

enum { MODEL_REQUEST_MAX = 256 << 20 };

/* Appends one JSON object. Fails with ERR_TOO_LARGE, ERR_NO_MEMORY. */
int chat_request(const struct model_question *q, const struct model_manner *m, struct buf *out,
                 struct err *e);
int responses_request(const struct model_question *q, const struct model_manner *m, struct buf *out,
                      struct err *e);

/* ---- for the two of them ---- */

bool item_is(const struct json_t *item, const char *type); /* without a type it is a message */
const char *item_text(const struct json_t *item, const char *name); /* "" if there is none */

/* A part of a message in words: its text, or a note that there was something else. */
void part_words(const struct json_t *part, struct buf *out);
/* All of a content or an output: a text, or parts. The caller's. */
struct json_t *content_words(const struct json_t *content);
/* The address of a part's image, or NULL. */
const char *part_image(const struct json_t *part);

/* {"code":...} as text, and what the model was told of it. The caller's. */
struct json_t *python_arguments(const struct json_t *item);
struct json_t *python_output(const struct json_t *item);
const char *python_call_id(const struct json_t *item);

/* Sets it in `to` if it is there and not null. */
void copy_param(const struct json_t *from, const char *name, struct json_t *to, const char *as);

int write_body(struct json_t *body, struct buf *out, struct err *e);

#endif
