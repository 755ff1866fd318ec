/* id.h -- names for things that nobody can guess: "run_" and 24 characters, 120 random bits.
 *
 * The characters are digits and lower case letters without i, l, o and u, so that an id survives
 * being read aloud, typed, put into a URL, and stored where upper and lower case are the same.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stddef.h>

struct err;

enum { ID_RANDOM_LEN = 24, ID_SIZE = 65 }; /* at most 64 characters and the NUL */

/* Writes `prefix` (such as "run_", at most 40 characters) and 24 random characters. Fails when the
 * system has no randomness to give. */
int id_make(const char *prefix, char ret[ID_SIZE], struct err *e);

/* The same with `count` random characters of 5 bits each, for what has to be a secret. */
int id_make_long(const char *prefix, size_t count, char ret[ID_SIZE], struct err *e);

#endif
