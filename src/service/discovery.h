/* discovery.h -- where an issuer publishes its keys, from what it says about itself. */
#ifndef SERVICE_DISCOVERY_H
#define SERVICE_DISCOVERY_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/str.h"

struct err;

enum { DISCOVERY_URL_SIZE = 2049, DISCOVERY_BYTES_MAX = 256 << 10 };

/* The addresses under which an issuer describes itself, in the order in which they are tried: of OpenID Connect
 * (behind its path), and of RFC 8414 (before it). */
enum { DISCOVERY_WAYS = 2 };
int discovery_url(const char *issuer, unsigned way, char ret[DISCOVERY_URL_SIZE], struct err *e);

/* `jwks_uri` of such a description, which has to be that of the very issuer. It is https, unless the issuer is
 * not. ERR_INVALID. */
int discovery_read(struct str text, const char *issuer, char ret[DISCOVERY_URL_SIZE],
                   struct err *e);

/* Asks it. Fails as fetch_document does, and blocks so for each of the ways. */
int discover_keys(const char *issuer, const atomic_bool *is_over, char ret[DISCOVERY_URL_SIZE],
                  struct err *e);

#endif
