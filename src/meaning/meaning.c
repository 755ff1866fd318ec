#include "meaning/meaning.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "meaning/encoder.h"
#include "meaning/endpoint.h"
#include "meaning/vector.h"
#include "meaning/weights.h"

enum { ASK_AGAIN_US = 30 * 1000000 };

/* Either weights or endpoint is set, or neither, and then `why` says why not. */
struct meaning {
    char model[MEANING_MODEL_SIZE];
    struct weights *weights;
    struct endpoint *endpoint;
    atomic_uint dim; /* 0: not known yet; set once */

    pthread_mutex_t lock; /* protects the rest */
    struct err why;       /* it does not work */
    int64_t ask_us;       /* when the endpoint may be asked again */
    bool is_asking;
};

/* ---- opening ---- */

/* Damage and absence are the same to whoever searches; the words differ. */
static void open_weights(struct meaning *m, const char *file)
{
    struct err e = {0};
    (void)snprintf(m->model, sizeof m->model, "use-lite-q8");
    if (file && weights_open(file, &m->weights, &e) == 0) {
        (void)snprintf(m->model, sizeof m->model, "%s", m->weights->name);
        atomic_store_explicit(&m->dim, m->weights->width, memory_order_release);
    } else if (!file || e.code == ERR_NOT_FOUND) {
        (void)err_set(
            &m->why, ERR_UNAVAILABLE,
            "the weights of the sentence encoder are not installed; `./dev encoder` makes "
            "them where cicada is built, or set search.encoder to an endpoint");
    } else {
        (void)err_set(
            &m->why, ERR_UNAVAILABLE,
            "the weights of the sentence encoder cannot be used: %s; make them again with "
            "`./dev encoder`",
            e.text);
    }
}

static int open_remote(struct meaning *m, const struct meaning_options *o, struct err *e)
{
    if (o->dim > MEANING_DIM_MAX)
        return err_set(e, ERR_INVALID, "a vector has at most %d numbers", MEANING_DIM_MAX);
    if (endpoint_new(o, &m->endpoint, e))
        return -1;
    (void)snprintf(m->model, sizeof m->model, "%s", o->model);
    atomic_store_explicit(&m->dim, o->dim, memory_order_release);
    return 0;
}

int meaning_open(const struct meaning_options *options, struct meaning **ret, struct err *e)
{
    struct meaning *m = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, ERR_NO_MEMORY, "open the encoder");
    (void)pthread_mutex_init(&m->lock, NULL); /* cannot fail in glibc */
    if (options->is_off) {
        (void)err_set(&m->why, ERR_UNAVAILABLE,
                      "search by meaning is switched off; set search.encoder to local");
    } else if (!options->url) {
        open_weights(m, options->file);
    } else if (open_remote(m, options, e)) {
        meaning_close(m);
        return -1;
    }
    *ret = m;
    return 0;
}

void meaning_close(struct meaning *m)
{
    if (!m)
        return;
    weights_close(m->weights);
    endpoint_free(m->endpoint);
    (void)pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- whether it works ---- */

const char *meaning_model(const struct meaning *m)
{
    return m->model;
}

uint32_t meaning_dim(const struct meaning *m)
{
    return atomic_load_explicit(&m->dim, memory_order_acquire);
}

/* One asks at a time, and not too often; the others are told what came of it the last time. */
static bool begin_asking(struct meaning *m, struct err *e)
{
    (void)pthread_mutex_lock(&m->lock);
    bool may_ask = !m->is_asking && clock_us() >= m->ask_us;
    if (may_ask)
        m->is_asking = true;
    else if (m->why.code != ERR_NONE)
        *e = m->why;
    else
        (void)err_set(
            e, ERR_UNAVAILABLE,
            "the embeddings endpoint is being asked for its dimension; try again shortly");
    (void)pthread_mutex_unlock(&m->lock);
    return may_ask;
}

static void end_asking(struct meaning *m, const struct err *why)
{
    (void)pthread_mutex_lock(&m->lock);
    m->is_asking = false;
    m->ask_us = clock_us() + ASK_AGAIN_US;
    m->why = *why;
    m->why.code = ERR_UNAVAILABLE;
    (void)pthread_mutex_unlock(&m->lock);
}

static int ask_dim(struct meaning *m, struct err *e)
{
    struct err why = {0};
    uint32_t dim = 0;
    if (!begin_asking(m, e))
        return -1;
    if (endpoint_dim(m->endpoint, &dim, &why) == 0) {
        atomic_store_explicit(&m->dim, dim, memory_order_release);
        return 0; /* nobody asks again */
    }
    end_asking(m, &why);
    return err_set(e, ERR_UNAVAILABLE, "%s", why.text);
}

int meaning_ready(struct meaning *m, struct err *e)
{
    if (meaning_dim(m))
        return 0;
    if (m->endpoint)
        return ask_dim(m, e);
    *e = m->why; /* of weights, and then it does not change */
    return -1;
}

/* ---- encoding ---- */

static int encode_here(const struct meaning *m, const struct str *texts, size_t count, int8_t *ret,
                       struct err *e)
{
    scoped(encoder_freep) struct encoder *enc = NULL;
    uint32_t dim = meaning_dim(m);
    scoped(freep) float *vector = malloc(dim * sizeof *vector);
    if (!vector)
        return err_set(e, ERR_NO_MEMORY, "encode texts");
    if (encoder_new(m->weights, &enc, e))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (encoder_text(enc, texts[i], vector, e))
            return -1;
        vector_narrow(vector, dim, ret + i * dim);
    }
    return 0;
}

int meaning_encode(struct meaning *m, const struct str *texts, size_t count, int8_t *ret,
                   struct err *e)
{
    uint32_t dim = meaning_dim(m);
    if (count > MEANING_COUNT_MAX)
        return err_set(e, ERR_LIMIT, "at most %d texts are encoded at once", MEANING_COUNT_MAX);
    if (!dim) /* the caller has room for nothing yet */
        return err_set(e, ERR_UNAVAILABLE, "the encoder is not ready");
    if (m->endpoint)
        return endpoint_encode(m->endpoint, texts, count, dim, ret, e);
    return encode_here(m, texts, count, ret, e);
}
