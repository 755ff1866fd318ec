/* same.h -- whether two outputs of the same code are the same, as far as that can be expected.
 *
 * Word for word, but for numbers, which may differ in what floating point leaves open (a millionth of them), and for addresses in
 * memory (0x7f...), which are others every time. Blanks at the ends of lines and of the text do not count.
 *
 * Pure.
 */
#ifndef ASK_SAME_H
#define ASK_SAME_H

#include <stdbool.h>

#include "base/str.h"

enum { SAME_LINE_MAX = 200 };

/* Where they differ first. */
struct difference {
    unsigned line;      /* from 1 */
    struct str was, is; /* that line of both, cut to SAME_LINE_MAX bytes; borrowed */
};

/* *ret is written when they are not. */
bool texts_are_same(struct str was, struct str is, struct difference *ret);

#endif
