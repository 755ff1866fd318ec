/* model_read.h -- an answer, put together from what an endpoint sends.
 *
 *     struct model_reader r;  model_reader_init(&r, key, sink, &answer)
 *     chat_event(&r, text, e)         one event of a stream of Chat Completions, or
 *     chat_whole(&r, text, e)         an answer that was not streamed; responses_* are the same for the Responses API
 *     model_reader_end(&r, e)
 *
 * What an endpoint sends is checked no more than needed: many are almost alike. Fails with ERR_PROTOCOL when it cannot
 * be understood, ERR_UNAVAILABLE when it says that it failed (`trouble`), ERR_GONE when the sink has enough.
 */
#ifndef AGENT_MODEL_READ_H
#define AGENT_MODEL_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/model.h"
#include "agent/model_trouble.h"

struct json_t;

enum { MODEL_NAME_MAX = 256, MODEL_ID_MAX = 64 << 10 }; /* of a function; of a call */

struct model_reader {
    const char *key, *secret; /* the same, or "" (model_secret) */
    const struct model_sink *sink;
    struct model_answer *a;
    int64_t keys[MODEL_CALLS_MAX]; /* how the endpoint numbers the calls */
    bool is_told[MODEL_CALLS_MAX]; /* the sink knows of it */
    bool has_passed;               /* something went to the sink: it cannot be taken back */
    bool has_end;                  /* the endpoint said that the answer is complete */
    bool has_failed;               /* it said that it failed */
    struct model_trouble trouble;
    int channel; /* what came last: READER_TEXT ..., or READER_CALL and the index of a call */
    char held[MODEL_KEY_MAX]; /* of that, the end, which may be the beginning of the key */
    size_t held_len;
};

enum { READER_TEXT, READER_THOUGHT, READER_REFUSAL, READER_CALL };

void model_reader_init(struct model_reader *r, const char *key, const struct model_sink *sink,
                       struct model_answer *a);

int chat_event(struct model_reader *r, struct str text, struct err *e);
int chat_whole(struct model_reader *r, struct str text, struct err *e);
int responses_event(struct model_reader *r, struct str text, struct err *e);
int responses_whole(struct model_reader *r, struct str text, struct err *e);

/* After the last: calls without a name, and why it ended. */
int model_reader_end(struct model_reader *r, struct err *e);

/* ---- for the two of them ---- */

int reader_json(struct str text, struct json_t **ret, struct err *e);
/* ERR_UNAVAILABLE with what it says, if this is an error. */
int reader_trouble(struct model_reader *r, const struct json_t *root, struct err *e);
/* Each takes a string, or anything else, which is nothing. */
int reader_text(struct model_reader *r, const struct json_t *delta, struct err *e);
int reader_reasoning(struct model_reader *r, const struct json_t *delta, struct err *e);
int reader_refusal(struct model_reader *r, const struct json_t *delta, struct err *e);
/* Nothing more comes of what came last. */
int reader_flush(struct model_reader *r, struct err *e);
void reader_name(struct model_reader *r, const struct json_t *name);
/* The call that the endpoint numbers so, or -1. */
int reader_find(const struct model_reader *r, int64_t key);
/* A new one. ERR_PROTOCOL when there are too many. */
int reader_begin(struct model_reader *r, int64_t key, size_t *ret, struct err *e);
/* What is known of it by now; each may be anything. Arguments that are no text are written as JSON. */
int reader_call(struct model_reader *r, size_t index, const struct json_t *id,
                const struct json_t *name, const struct json_t *arguments, struct err *e);

#endif
