/* weights.h -- what the encoder has learned: one file of numbers, mapped and checked.
 *
 *     weights_open(path, &w, e)        maps, checks the sum and every length
 *     ... w->pieces, w->dense, w->layers: read only, by any number of threads
 *     weights_close(w)
 *
 * The file is made by tools/make-encoder. Its format stands at the head of weights.c. After a
 * successful open every index that can be reached from the tables lies within the file, whatever
 * the file says: nothing that uses them has to check again.
 *
 * Cells of a matrix are bytes in the mapped file. Everything that is a float is copied out of it
 * once, some 80 KB.
 */
#ifndef MEANING_WEIGHTS_H
#define MEANING_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;

enum {
    WEIGHTS_NAME_SIZE = 32,   /* of the model's name, with its NUL */
    WEIGHTS_WIDTH_MAX = 2048, /* of a row: its sum of products then fits in 32 bits (product.h) */
    WEIGHTS_TOKENS_MAX = 512,
    WEIGHTS_PIECES_MAX = 65535,
    WEIGHTS_LAYERS = 2,
    WEIGHTS_FILE_MAX = 1 << 30,
};

/* A piece of a word: `number` is its row of embeddings. */
struct piece {
    struct str text;
    float score; /* logarithm of how likely it is */
    uint32_t number;
};

/* y[o] = bias[o] + scale[o] * sum over i of x[i] * cells[o * in + i]. Both widths are multiples
 * of 4. */
struct matrix {
    uint32_t in, out;
    const int8_t *cells;
    const float *scale, *bias;
};

struct norm {
    uint32_t width;
    const float *scale, *bias;
};

struct layer {
    uint32_t width; /* of what it is given; what it gives is weights.width wide */
    struct norm before, between;
    struct matrix qkv, out; /* attention: to queries, keys and values; from their mix */
    struct matrix grow, shrink;
};

struct weights {
    char name[WEIGHTS_NAME_SIZE];
    uint32_t tokens_max, heads;
    uint32_t first_width, width, inner_width; /* of embeddings, of what follows, inside a layer */
    uint32_t piece_count, row_count;
    struct piece *pieces; /* in the order of their bytes; none twice, none empty */
    uint32_t piece_len_max;
    const int8_t *rows; /* embeddings, row_count * first_width */
    const float *row_scale;
    const float *timing; /* first_width / 2 */
    struct matrix dense;
    struct layer layers[WEIGHTS_LAYERS];
    struct matrix last;

    float *floats; /* owned: all of them, one after the other */
    size_t float_count;
    const uint8_t *mapped; /* NULL: the bytes are somebody else's */
    size_t mapped_len;
};

/* Maps the file. Fails with ERR_NOT_FOUND, with ERR_DAMAGED when its sum or a length is wrong, with
 * what opening failed with. Blocks on disk. */
int weights_open(const char *path, struct weights **ret, struct err *e);

/* The same from bytes that outlive it, without the sum: for tests and the fuzzer. */
int weights_read(const uint8_t *bytes, size_t len, struct weights **ret, struct err *e);

void weights_close(struct weights *w); /* NULL is fine */

#endif
