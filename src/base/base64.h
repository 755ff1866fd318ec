/* base64.h -- bytes as text, the alphabet of RFC 4648 section 4 with padding; and reading that of section 5
 * without it, as in URLs and tokens.
 *
 * Reading is strict: no blanks, no other alphabet, right padding, no bits left over, so that one text
 * stands for one row of bytes.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

struct buf;
struct err;

/* Appends `len` bytes as base64. Fails as every append does (buf_check). */
void base64_add(struct buf *out, const void *bytes, size_t len);

/* Appends what `text` stands for. Fails with ERR_INVALID; then some of it may have been appended. */
int base64_decode(const char *text, size_t len, struct buf *out, struct err *e);
int base64url_decode(const char *text, size_t len, struct buf *out, struct err *e);

#endif
