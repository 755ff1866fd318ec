/* parse.h -- numbers out of text, all or nothing.
 *
 * The whole string has to be the number: no leading blanks, no sign unless negative makes sense, no
 * trailing words, no overflow. Fails with ERR_INVALID and a message that quotes what was there.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdint.h>

struct err;

/* A decimal number in [min, max]. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct err *e);

/* A size: a number with an optional suffix k, m, g or t (also KiB, MB, ...; all are powers of
 * 1024), counted in `unit` bytes when there is no suffix. The result is in bytes. */
int parse_size(const char *text, uint64_t unit, uint64_t *ret, struct err *e);

/* A decimal fraction such as 1.5, in thousandths. */
int parse_milli(const char *text, uint64_t *ret, struct err *e);

#endif
