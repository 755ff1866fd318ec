/* jwks.h -- the public keys with which an issuer signs its tokens, from the document it publishes (RFC 7517).
 *
 *     scoped(jwks_freep) struct jwks *keys = NULL;
 *     if (jwks_read(text, &keys, e))
 *         return -1;
 *     struct evp_pkey_st *key = jwks_find(keys, JWT_RS256, "kid-1");     EVP_PKEY_free
 *
 * Only what can verify a signature is taken: RSA of 2048 to 8192 bits, the curves P-256 and P-384, and Ed25519.
 * What is for something else, unknown or broken is left out, so that an issuer may publish keys that we do not
 * know. Symmetric ones are never taken. No I/O.
 */
#ifndef SERVICE_JWKS_H
#define SERVICE_JWKS_H

#include <stddef.h>

#include "base/hash.h"
#include "base/str.h"

struct err;
struct evp_pkey_st;
struct jwks;

enum {
    JWKS_BYTES_MAX = 256 << 10, /* of the document */
    JWKS_KEYS_MAX = 64,         /* that are kept */
    JWKS_KID_MAX = 256,         /* bytes of a key's name */
};

/* How a token may be signed. There is no "none" and nothing with a shared secret. */
enum jwt_alg {
    JWT_RS256,
    JWT_RS384,
    JWT_RS512,
    JWT_PS256,
    JWT_ES256,
    JWT_ES384,
    JWT_EDDSA,
    JWT_ALG_COUNT,
};
extern const char *const jwt_alg_names[JWT_ALG_COUNT];

/* Fails with ERR_INVALID when it is no such document or holds no key that can be used, ERR_LIMIT when it is too
 * large. */
int jwks_read(struct str text, struct jwks **ret, struct err *e);
void jwks_free(struct jwks *k);
static inline void jwks_freep(struct jwks **k)
{
    jwks_free(*k);
}

size_t jwks_count(const struct jwks *k);
/* Of the text: says whether two are the same. */
const unsigned char *jwks_sha256(const struct jwks *k);

/* The key of that name that fits; without a name ("") the only one that fits. NULL: there is none. The caller
 * has a reference. Any number of threads. */
struct evp_pkey_st *jwks_find(const struct jwks *k, enum jwt_alg alg, const char *kid);

#endif
