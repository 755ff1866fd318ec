/* read.h -- JSON from strangers.
 *
 * What arrives as JSON is parsed by jansson, but not before its size and depth are known to be
 * harmless: jansson recurses, and its own limit of 2048 levels is more than anybody needs.
 * JSON here is RFC 8259 and nothing more: UTF-8 only, no NaN, no number that does not fit a double
 * or 64 bits, no text after the value, no key twice in an object (two readers would disagree about
 * which one counts).
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <stddef.h>

struct buf;
struct err;
struct json_t;

enum {
    JSON_READ_DEPTH_MAX = 64,
    JSON_READ_SIZE_MAX = 32 << 20,
    JSON_READ_VALUES_MAX = 1 << 20, /* each costs some ten times what it takes as text */
};

/* Parses `len` bytes. The caller owns *ret (json_decref). Fails with ERR_INVALID and where, or with
 * ERR_LIMIT when the text is too large or too deep, or has too many values. */
int json_read(const char *text, size_t len, struct json_t **ret, struct err *e);

/* Checks like json_read and appends the same value on one line: no blanks between tokens, U+2028
 * and U+2029 escaped. Numbers keep the digits they came with. The result can be embedded anywhere
 * with jw_raw. Fails like json_read; `out` fails by itself (buf_check). */
int json_compact(const char *text, size_t len, struct buf *out, struct err *e);

#endif
