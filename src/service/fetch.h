/* fetch.h -- a small document from an address that the operator chose.
 *
 * Unlike webhooks (transfer.h), whose addresses anybody may choose, it may lead anywhere, also into a private
 * network. Only http and https, no redirects, no credentials; what it answers is bounded.
 */
#ifndef SERVICE_FETCH_H
#define SERVICE_FETCH_H

#include <stdatomic.h>

struct buf;
struct err;

enum { FETCH_CONNECT_MS = 3000, FETCH_MS = 5000 };

/* Appends what `url` answers 200 with to `ret`, whose limit is the most it may be. Fails with ERR_UNAVAILABLE,
 * ERR_LIMIT. Blocks for up to FETCH_MS, or until *is_over is true (within a second). */
int fetch_document(const char *url, const atomic_bool *is_over, struct buf *ret, struct err *e);

#endif
