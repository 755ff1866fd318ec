/* encoder.h -- the sentence encoder: pieces of a text in, a direction out.
 *
 *     encoder_new(weights, &enc, e)               memory for one text at a time
 *     encoder_text(enc, text, vector, e)          weights->width numbers, of length 1
 *     encoder_free(enc)
 *
 * Not for more than one thread; the weights are, and an encoder costs little beside what it does.
 *
 * What it computes is Google's Universal Sentence Encoder Lite, a small transformer. Every token is
 * the sum of its embedding and its position (sine and cosine). Two layers follow, each of attention
 * over all tokens and of a step for every token alone; both look at what a norm made of their input
 * and add what they find to it. In the first layer, which also makes tokens wider, the input is added
 * after a matrix of its own. The mean of all tokens goes through one more matrix and a tanh.
 */
#ifndef MEANING_ENCODER_H
#define MEANING_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct encoder;
struct err;
struct weights;

/* Borrows the weights. Fails for lack of memory. */
int encoder_new(const struct weights *w, struct encoder **ret, struct err *e);
void encoder_free(struct encoder *enc); /* NULL is fine */
void encoder_freep(struct encoder **enc);

enum { ENCODER_PARTS_MAX = 16 };

/* Cuts the text into pieces and encodes them. A text of more than tokens_max pieces is encoded in parts,
 * up to ENCODER_PARTS_MAX, and its vector is their mean; what follows does not count. All zeros when there
 * is nothing in the text. Fails for lack of memory. */
int encoder_text(struct encoder *enc, struct str text, float *ret, struct err *e);

/* The same from pieces, at most tokens_max; each is below row_count. */
void encoder_tokens(struct encoder *enc, const uint16_t *tokens, size_t count, float *ret);

#endif
