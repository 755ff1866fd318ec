/* endpoint.h -- an embeddings endpoint on the network.
 *
 * One request carries up to EMBEDDINGS_COUNT_MAX texts. Connections are kept for the next one. It is
 * given 10 seconds to be reached and a minute to answer; its answer is bounded; it is not followed
 * anywhere else, so the key goes nowhere but to it.
 *
 * What fails says what to look at in the configuration, and shows neither key nor address.
 */
#ifndef MEANING_ENDPOINT_H
#define MEANING_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct meaning_options;
struct endpoint;

/* Fails with ERR_INVALID when the options are no http(s) address or name no model. Does not use
 * the network. */
int endpoint_new(const struct meaning_options *options, struct endpoint **ret, struct err *e);
void endpoint_free(struct endpoint *p); /* NULL is fine */

/* The dimension of its vectors, found out with one short text. Fails like endpoint_encode. Blocks for
 * up to 10 seconds. */
int endpoint_dim(struct endpoint *p, uint32_t *ret, struct err *e);

/* Texts without anything in them are not sent: their vectors are zeros. Fails with ERR_UNAVAILABLE,
 * ERR_PROTOCOL. Blocks. Any thread. */
int endpoint_encode(struct endpoint *p, const struct str *texts, size_t count, uint32_t dim,
                    int8_t *ret, struct err *e);

#endif
