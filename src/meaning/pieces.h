/* pieces.h -- cutting a text into the pieces an encoder knows, as likely as possible.
 *
 * Of all ways to write a text as a row of pieces, the one whose scores add up to the most (a unigram
 * model, as SentencePiece has it). Where no piece ends, a character is unknown; unknown ones in a row
 * are one token, PIECE_UNKNOWN. The work grows with the length of the text times that of the longest
 * piece.
 */
#ifndef MEANING_PIECES_H
#define MEANING_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct weights;

enum { PIECE_UNKNOWN = 0 };

/* Writes the first `max` tokens of a text in the form of normal.h. Fails for lack of memory. */
int pieces_cut(const struct weights *w, struct str text, uint16_t *ret, size_t max,
               size_t *ret_count, struct err *e);

#endif
