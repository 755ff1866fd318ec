/* embeddings.h -- what is said to an endpoint like OpenAI's /v1/embeddings, and what it answers.
 *
 *     {"model": "m", "input": ["a", "b"]}
 *     {"data": [{"index": 0, "embedding": [0.1, ...]}, {"index": 1, "embedding": [...]}], ...}
 *
 * Text only: endpoint.h does the talking.
 */
#ifndef MEANING_EMBEDDINGS_H
#define MEANING_EMBEDDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;

enum {
    EMBEDDINGS_COUNT_MAX = 64,        /* texts of one request */
    EMBEDDINGS_ANSWER_MAX = 16 << 20, /* bytes: 64 of 4096 numbers with all their digits */
};

/* Appends the request. What is not UTF-8 becomes U+FFFD. `out` fails by itself. */
void embeddings_request(const char *model, const struct str *texts, size_t count, struct buf *out);

/* How many numbers the first vector of an answer has. Fails like embeddings_read. */
int embeddings_dim(struct str answer, uint32_t *ret, struct err *e);

/* Reads `count` vectors of `dim` numbers, in the order of the request, and narrows them
 * (vector.h). Fails with ERR_PROTOCOL when the answer is not one, lacks a vector or has one of
 * another dimension. */
int embeddings_read(struct str answer, size_t count, uint32_t dim, int8_t *ret, struct err *e);

/* The message of a refusal, {"error": {"message": ...}} or {"error": ...}, cut and in one line; ""
 * if there is none. */
enum { EMBEDDINGS_MESSAGE_SIZE = 120 };
void embeddings_message(struct str answer, char ret[EMBEDDINGS_MESSAGE_SIZE]);

#endif
