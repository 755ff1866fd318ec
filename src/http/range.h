/* range.h -- which part of a file a client wants, and whether it has it already (RFC 9110 13, 14).
 *
 * One range is understood. Several, an unknown unit or nonsense are answered with the whole, which a
 * client has to expect anyway.
 */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct http_range {
    uint64_t first, len;
};

enum http_ranged {
    HTTP_RANGE_WHOLE, /* 200; *ret is everything */
    HTTP_RANGE_ONE,   /* 206 */
    HTTP_RANGE_BAD,   /* 416: it begins after the end */
};

/* `value` is that of the Range header, or STR_NONE. *ret is set unless the answer is BAD. */
enum http_ranged http_range_parse(struct str value, uint64_t size, struct http_range *ret);

/* Whether `etag`, with its quotes and perhaps W/, is in the list of an If-Match or If-None-Match
 * header; "*" is every etag. Strong comparison is for If-Match and If-Range, weak for If-None-Match. */
bool http_etag_in(struct str list, const char *etag, bool is_strong);

#endif
