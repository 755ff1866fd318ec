/* keyring.h -- the keys of an issuer, fetched by a thread of its own and kept.
 *
 *     keyring_open(&options, &ring, e)
 *     keyring_find(ring, JWT_ES256, "kid-1", &key, &generation, e)       EVP_PKEY_free(key)
 *
 * Where they are is said in the configuration, or found out: the issuer's /.well-known/openid-configuration (OpenID
 * Connect), or oauth-authorization-server (RFC 8414), whose `issuer` has to be ours.
 *
 * They are fetched at the start; when somebody needs one and they are older than KEYRING_FRESH_S, in the background; and
 * when somebody needs one that is not there, who waits for it. Tokens are written by strangers, so that may be
 * made to happen only so often: KEYRING_ASK_BURST times, and then once in KEYRING_ASK_EVERY_S. When they cannot be
 * fetched, those that were stay good for KEYRING_KEEP_S.
 *
 * The generation is another whenever the keys are: what was believed because of the earlier ones has to be
 * checked again. Any number of threads.
 */
#ifndef SERVICE_KEYRING_H
#define SERVICE_KEYRING_H

#include <stdint.h>

#include "service/jwks.h"

struct err;
struct evp_pkey_st;
struct keyring;
struct log;

enum {
    KEYRING_FRESH_S = 300,
    KEYRING_KEEP_S = 86400,
    KEYRING_ASK_BURST = 5,
    KEYRING_ASK_EVERY_S = 10,
    KEYRING_WAIT_MS = 6000, /* the most that somebody waits */
    KEYRING_WAITERS_MAX = 32,
};

struct keyring_options {
    const char *issuer;   /* all borrowed */
    const char *jwks_url; /* "": found out */
    struct log *log;
};

/* Does not wait for the keys. */
int keyring_open(const struct keyring_options *options, struct keyring **ret, struct err *e);
void keyring_close(struct keyring *k);

/* The key for a token. Fails with ERR_UNAUTHORIZED when the issuer has no such key, ERR_UNAVAILABLE when nobody
 * knows because its keys cannot be fetched. Blocks for up to KEYRING_WAIT_MS, and only when it is not there. */
int keyring_find(struct keyring *k, enum jwt_alg alg, const char *kid, struct evp_pkey_st **ret,
                 uint64_t *ret_generation, struct err *e);

/* Does not block. Also asks for fresh keys when it is time. 0: there are none that are good. */
uint64_t keyring_generation(struct keyring *k);

#endif
