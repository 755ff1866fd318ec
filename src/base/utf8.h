/* utf8.h -- telling UTF-8 from other bytes, and cutting it only between characters.
 *
 * Well-formed is what the Unicode standard says (table 3-7): no overlong forms, no surrogates,
 * nothing above U+10FFFF. Output of a program may be anything; what is shown to a client is made
 * well-formed by utf8_clean, and what has to be cut is cut by utf8_cut and utf8_skip.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

bool utf8_is_valid(const char *bytes, size_t len);

/* Appends the bytes to `out`, with U+FFFD in place of what is not UTF-8: one for each longest
 * beginning of a character that does not go on as it should, as browsers and Python do it. */
void utf8_clean(const char *bytes, size_t len, struct buf *out);

/* The largest length not above `len` that does not end inside a character: `len` itself, or up to 3
 * less. Bytes that are no UTF-8 anyway may be cut anywhere. */
size_t utf8_cut(const char *bytes, size_t len);

/* How many bytes at the front belong to a character that began before them: 0 to 3. */
size_t utf8_skip(const char *bytes, size_t len);

#endif
