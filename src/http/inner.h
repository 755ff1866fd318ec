/* inner.h -- an exchange without a client: a request made up here, an answer kept in memory.
 *
 *     struct http_exchange *x = NULL;
 *     http_inner_new(&request, body, &out, &x, e)
 *     handler(x)
 *     http_status(x), out, http_inner_headers(x)
 *     http_inner_free(x)
 *
 * A handler cannot tell the difference, but that it cannot park it and that nobody hangs up.
 */
#ifndef HTTP_INNER_H
#define HTTP_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;
struct http_exchange;
struct http_request;

/* Borrows what `request` points to, the body and `out`, which bounds the answer: past its limit the
 * handler's writes fail with ERR_TOO_LARGE. */
int http_inner_new(const struct http_request *request, struct str body, struct buf *out,
                   struct http_exchange **ret, struct err *e);
/* Its body is read from there instead, as http_read gives one. */
void http_inner_body(struct http_exchange *x,
                     int (*read)(void *arg, void *to, size_t size, size_t *ret_len, struct err *e),
                     void *arg, bool has_length, uint64_t length);
void http_inner_free(struct http_exchange *x); /* NULL is fine */

/* The headers that the handler added, as lines that end in CR LF. */
struct str http_inner_headers(const struct http_exchange *x);

#endif
