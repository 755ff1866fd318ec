/* base64.h -- bytes as text, the alphabet of RFC 4648 section 4 with padding.
 *
 * Only encoding: nothing here reads base64 from a stranger.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

struct buf;

/* Appends `len` bytes as base64. Fails as every append does (buf_check). */
void base64_add(struct buf *out, const void *bytes, size_t len);

#endif
