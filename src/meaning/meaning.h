/* meaning.h -- texts as vectors, so that texts about the same thing lie near each other.
 *
 *     meaning_open(&(struct meaning_options){.file = path}, &m, e)
 *     if (meaning_ready(m, e) == 0) {
 *         int8_t *vectors = malloc(count * meaning_dim(m));
 *         meaning_encode(m, texts, count, vectors, e);
 *         float near = meaning_cosine(vectors, vectors + meaning_dim(m), meaning_dim(m));
 *     }
 *     meaning_close(m)
 *
 * There are two ways to get a vector: the encoder in this folder, whose weights are one file that
 * the build makes (weights.h), and any endpoint that answers like OpenAI's /v1/embeddings. Vectors
 * of different models do not compare: whoever keeps them keeps meaning_model and meaning_dim beside
 * them, and makes them anew when either has changed.
 *
 * A vector is a direction. It is kept as `dim` numbers of one byte, scaled so that the largest is
 * 127 or -127: its length says nothing, and what compares two of them is meaning_cosine. A text in
 * which there is nothing has the vector of zeros, which is near to nothing.
 *
 * The encoder here reads English, in parts of 128 pieces, which are some 90 words or 500 letters; the
 * vector of a longer text is the mean of its parts. Whoever wants to find single sentences cuts.
 *
 * An opened one exists even when it cannot work, because somebody has to say why: meaning_ready
 * does. All functions may be called by many threads at once.
 */
#ifndef MEANING_MEANING_H
#define MEANING_MEANING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct meaning;

enum {
    MEANING_DIM_MAX = 4096,
    MEANING_TEXT_MAX = 16 << 10, /* bytes of a text that are looked at */
    MEANING_COUNT_MAX = 4096,    /* texts of one call */
    MEANING_MODEL_SIZE = 128,    /* of the name of a model, with its NUL */
};

struct meaning_options {
    const char *url;   /* of the endpoint, "https://host/v1/embeddings"; NULL: the encoder here */
    const char *key;   /* sent to it as a bearer's; NULL: none */
    const char *model; /* its name there; with a URL only */
    const char *file;  /* of weights, for the encoder here; NULL: there is none */
    uint32_t dim;      /* the model's dimension; 0: asked for when it is first needed */
    bool is_off;       /* nothing works, and meaning_ready says that nobody wants it to */
};

/* Borrows nothing. Fails with ERR_INVALID for options that contradict each other, and for lack of
 * memory; not because the weights are missing or the endpoint does not answer. Reads the weights;
 * does not use the network. */
int meaning_open(const struct meaning_options *options, struct meaning **ret, struct err *e);
void meaning_close(struct meaning *m); /* NULL is fine */

/* Whether texts can be encoded now. Fails with ERR_UNAVAILABLE and why, in words for whoever runs
 * the server: no weights, damaged weights, an endpoint that does not answer. An endpoint whose
 * dimension nobody has told is asked for it, at most once in 30 seconds, and until it has answered
 * others are told at once that it has not. Then it blocks on the network for up to 10 seconds. */
int meaning_ready(struct meaning *m, struct err *e);

const char *meaning_model(const struct meaning *m); /* "use-lite-q8"; what to keep beside vectors */
uint32_t meaning_dim(const struct meaning *m);      /* 0 until meaning_ready has said yes */

/* Writes `count` vectors, one after the other; count * dim bytes. Texts are UTF-8; what is not
 * counts as U+FFFD. Fails with ERR_UNAVAILABLE like meaning_ready, and when the endpoint cannot be
 * reached or refuses; with ERR_PROTOCOL when its answer is not one; with ERR_LIMIT when there are
 * more than MEANING_COUNT_MAX texts. Then some of `ret` may be written. Blocks: here some
 * milliseconds of one core for each part of a text, otherwise on the network, for up to a minute for every 64
 * texts. */
int meaning_encode(struct meaning *m, const struct str *texts, size_t count, int8_t *ret,
                   struct err *e);

/* The sum of products; with up to MEANING_DIM_MAX numbers it fits. */
int32_t meaning_dot(const int8_t *a, const int8_t *b, uint32_t dim);

/* From -1 to 1: how near two directions are. 0 when one is of zeros. Who compares one vector with
 * many divides meaning_dot by the lengths, which are the roots of meaning_dot with itself. */
float meaning_cosine(const int8_t *a, const int8_t *b, uint32_t dim);

#endif
