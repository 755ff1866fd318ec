/* normal.h -- text as the encoder has learned to read it.
 *
 * Unicode's compatibility form NFKC ("ﬁ" becomes "fi", full-width letters become ordinary ones); what
 * is invisible goes; white space of any kind and length becomes one NORMAL_BLANK, none at the end and
 * exactly one in front of the first word. Letters keep their case, which the pieces know, unless the whole
 * text shouts: of several words without one small letter all become small.
 */
#ifndef MEANING_NORMAL_H
#define MEANING_NORMAL_H

#include "base/str.h"

struct buf;
struct err;

#define NORMAL_BLANK "\xe2\x96\x81" /* U+2581, which is how pieces write the beginning of a word */

/* A character can become 18 others, and a blank is three bytes. What a text of MEANING_TEXT_MAX
 * bytes becomes always fits. */
enum { NORMAL_LEN_MAX = 1 << 20 };

/* Appends the first MEANING_TEXT_MAX bytes of the text in that form; nothing when there is nothing
 * in it. Fails for lack of memory. */
int normal_text(struct str text, struct buf *out, struct err *e);

#endif
