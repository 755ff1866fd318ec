#include "meaning/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "meaning/normal.h"
#include "meaning/pieces.h"
#include "meaning/product.h"
#include "meaning/weights.h"

#define NORM_EPSILON 1e-6F

/* Rows are tokens; there is room for tokens_max of them, in fours (product.h). */
struct encoder {
    const struct weights *w;
    size_t room;
    float *state, *calm, *added; /* what goes through the layers, normed, and what they find */
    float *wide;                 /* queries, keys and values; the inside of a layer */
    float *keys;                 /* of one head, turned: a row for each number of a key */
    float *scores;               /* of one token for all others */
    float *scale;
    int16_t *rounded;
    float *part; /* the vector of one part of a long text */
    uint16_t *tokens;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

int encoder_new(const struct weights *w, struct encoder **ret, struct err *e)
{
    struct encoder *enc = calloc(1, sizeof *enc);
    if (!enc)
        return err_set(e, ERR_NO_MEMORY, "make an encoder");
    size_t room = PRODUCT_ROOM(w->tokens_max), width = larger(w->width, w->first_width);
    size_t wide = larger(3 * width, w->inner_width);
    *enc = (struct encoder){
        .w = w,
        .room = room,
        .state = calloc(room * width, sizeof(float)),
        .calm = calloc(room * width, sizeof(float)),
        .added = calloc(room * width, sizeof(float)),
        .wide = calloc(room * wide, sizeof(float)),
        .keys = calloc(room * (width / w->heads), sizeof(float)),
        .scores = calloc(room, sizeof(float)),
        .scale = calloc(room, sizeof(float)),
        .part = calloc(w->width, sizeof(float)),
        .rounded = calloc(room * wide, sizeof(int16_t)),
        .tokens = calloc(ENCODER_PARTS_MAX * w->tokens_max, sizeof(uint16_t)),
    };
    if (!enc->state || !enc->calm || !enc->added || !enc->wide || !enc->keys || !enc->scores ||
        !enc->scale || !enc->part || !enc->rounded || !enc->tokens) {
        encoder_free(enc);
        return err_set(e, ERR_NO_MEMORY, "make an encoder");
    }
    *ret = enc;
    return 0;
}

void encoder_free(struct encoder *enc)
{
    if (!enc)
        return;
    free(enc->state);
    free(enc->calm);
    free(enc->added);
    free(enc->wide);
    free(enc->keys);
    free(enc->scores);
    free(enc->scale);
    free(enc->part);
    free(enc->rounded);
    free(enc->tokens);
    free(enc);
}

void encoder_freep(struct encoder **enc)
{
    encoder_free(*enc);
}

/* ---- the steps ---- */

static void apply(struct encoder *enc, const struct matrix *m, const float *rows, size_t count,
                  float *ret)
{
    product_round(rows, count, m->in, enc->rounded, enc->scale);
    product(m, enc->rounded, enc->scale, count, ret);
}

static void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Each row to mean 0 and deviation 1, then as the norm has learned. */
static void calm_down(const struct norm *n, const float *rows, size_t count, float *ret)
{
    size_t width = n->width;
    for (size_t i = 0; i < count; i++, rows += width, ret += width) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < width; j++) {
            sum += (double)rows[j];
            squares += (double)rows[j] * (double)rows[j];
        }
        double mean = sum / (double)width, spread = squares / (double)width - mean * mean;
        float centre = (float)mean;
        float factor = 1 / sqrtf((float)(spread > 0 ? spread : 0) + NORM_EPSILON);
        for (size_t j = 0; j < width; j++)
            ret[j] = (rows[j] - centre) * factor * n->scale[j] + n->bias[j];
    }
}

/* Scores to shares that add up to 1. */
static void share_out(float *scores, size_t count)
{
    float most = scores[0], sum = 0;
    for (size_t j = 1; j < count; j++)
        most = scores[j] > most ? scores[j] : most;
    for (size_t j = 0; j < count; j++)
        sum += scores[j] = expf(scores[j] - most);
    for (size_t j = 0; j < count; j++)
        scores[j] /= sum;
}

static void turn_keys(struct encoder *enc, const float *keys, size_t stride, size_t size,
                      size_t count)
{
    for (size_t j = 0; j < count; j++)
        for (size_t c = 0; c < size; c++)
            enc->keys[c * enc->room + j] = keys[j * stride + c];
}

/* What one token gets from all others: their values, in shares by how well its query fits their
 * keys. */
static void look_around(struct encoder *enc, const float *query, const float *values, size_t stride,
                        size_t size, size_t count, float *ret)
{
    float *scores = enc->scores, factor = 1 / sqrtf((float)size);
    memset(scores, 0, count * sizeof *scores);
    memset(ret, 0, size * sizeof *ret);
    for (size_t c = 0; c < size; c++) {
        const float q = query[c] * factor, *keys = enc->keys + c * enc->room;
        for (size_t j = 0; j < count; j++)
            scores[j] += q * keys[j];
    }
    share_out(scores, count);
    for (size_t j = 0; j < count; j++)
        for (size_t c = 0; c < size; c++)
            ret[c] += scores[j] * values[j * stride + c];
}

/* Attention: wide holds queries, keys and values of every token; the mix goes to `ret`. */
static void attend(struct encoder *enc, size_t width, size_t count, float *ret)
{
    size_t heads = enc->w->heads, size = width / heads, stride = 3 * width;
    for (size_t h = 0; h < heads; h++) {
        const float *queries = enc->wide + h * size;
        const float *values = queries + 2 * width;
        turn_keys(enc, queries + width, stride, size, count);
        for (size_t i = 0; i < count; i++)
            look_around(enc, queries + i * stride, values, stride, size, count,
                        ret + i * width + h * size);
    }
}

static void keep_positive(float *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i] = rows[i] > 0 ? rows[i] : 0;
}

/* One layer over `count` tokens. `raise`, in the first: what makes the input as wide as the output. */
static void pass(struct encoder *enc, const struct layer *l, const struct matrix *raise,
                 size_t count)
{
    size_t width = enc->w->width;
    calm_down(&l->before, enc->state, count, enc->calm);
    apply(enc, &l->qkv, enc->calm, count, enc->wide);
    attend(enc, l->width, count, enc->calm);
    apply(enc, &l->out, enc->calm, count, enc->added);
    if (raise) {
        apply(enc, raise, enc->state, count, enc->calm);
        memcpy(enc->state, enc->calm, count * width * sizeof(float));
    }
    add(enc->state, enc->added, count * width);

    calm_down(&l->between, enc->state, count, enc->calm);
    apply(enc, &l->grow, enc->calm, count, enc->wide);
    keep_positive(enc->wide, count * enc->w->inner_width);
    apply(enc, &l->shrink, enc->wide, count, enc->added);
    add(enc->state, enc->added, count * width);
}

/* ---- from end to end ---- */

static void place_tokens(struct encoder *enc, const uint16_t *tokens, size_t count)
{
    const struct weights *w = enc->w;
    size_t width = w->first_width, half = width / 2;
    for (size_t i = 0; i < count; i++) {
        const int8_t *row = w->rows + tokens[i] * width;
        float *to = enc->state + i * width, scale = 2 * w->row_scale[tokens[i]];
        for (size_t j = 0; j < width; j++)
            to[j] = scale * (float)row[j];
        for (size_t j = 0; j < half; j++) {
            float angle = (float)i * w->timing[j];
            to[j] += sinf(angle);
            to[half + j] += cosf(angle);
        }
    }
}

static void to_unit(float *numbers, size_t width)
{
    double squares = 0;
    for (size_t j = 0; j < width; j++)
        squares += (double)numbers[j] * (double)numbers[j];
    float factor = squares > 1e-30 ? (float)(1 / sqrt(squares)) : 0;
    for (size_t j = 0; j < width; j++)
        numbers[j] *= factor;
}

/* Room for four rows is in state: the mean takes the first. */
static void finish(struct encoder *enc, size_t count, float *ret)
{
    size_t width = enc->w->width;
    for (size_t i = 1; i < count; i++)
        add(enc->state, enc->state + i * width, width);
    for (size_t j = 0; j < width; j++)
        enc->state[j] /= (float)count;
    apply(enc, &enc->w->last, enc->state, 1, enc->added);
    for (size_t j = 0; j < width; j++)
        ret[j] = tanhf(enc->added[j]);
    to_unit(ret, width);
}

void encoder_tokens(struct encoder *enc, const uint16_t *tokens, size_t count, float *ret)
{
    if (count == 0) {
        memset(ret, 0, enc->w->width * sizeof *ret);
        return;
    }
    place_tokens(enc, tokens, count);
    pass(enc, &enc->w->layers[0], &enc->w->dense, count);
    pass(enc, &enc->w->layers[1], /* raise= */ NULL, count);
    finish(enc, count, ret);
}

/* The mean of the vectors of all parts; they are as long as can be, but for the last. */
static void encode_parts(struct encoder *enc, size_t count, float *ret)
{
    size_t width = enc->w->width, most = enc->w->tokens_max;
    memset(ret, 0, width * sizeof *ret);
    for (size_t at = 0; at < count; at += most) {
        encoder_tokens(enc, enc->tokens + at, count - at < most ? count - at : most, enc->part);
        add(ret, enc->part, width);
    }
    to_unit(ret, width);
}

int encoder_text(struct encoder *enc, struct str text, float *ret, struct err *e)
{
    scoped(buf_done) struct buf plain = BUF_INIT(NORMAL_LEN_MAX);
    size_t count, most = enc->w->tokens_max;
    if (normal_text(text, &plain, e) ||
        pieces_cut(enc->w, (struct str){plain.bytes, plain.len}, enc->tokens,
                   ENCODER_PARTS_MAX * most, &count, e))
        return -1;
    if (count <= most)
        encoder_tokens(enc, enc->tokens, count, ret);
    else
        encode_parts(enc, count, ret);
    return 0;
}
