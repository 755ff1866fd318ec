/* cookie.h -- one value out of a Cookie header (RFC 6265, as servers have to read it). */
#ifndef HTTP_COOKIE_H
#define HTTP_COOKIE_H

#include "base/str.h"

/* The value of the first cookie of that name, without quotes around it, or STR_NONE. Names are compared
 * byte for byte. What is malformed is passed over. */
struct str cookie_get(struct str header, const char *name);

#endif
