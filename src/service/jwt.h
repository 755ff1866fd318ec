/* jwt.h -- a token that somebody else has signed (RFC 7519): what it says, and whether to believe it.
 *
 *     scoped(jwt_done) struct jwt t = {0};
 *     if (jwt_read(token, &t, e) || jwt_check_claims(&t, &rules, e) ||
 *         jwt_check_signature(&t, key, e))
 *         return -1;
 *
 * Nothing of it may be believed before the signature was checked, with a key that belongs to rules.issuer.
 * The algorithms are those of jwks.h, and none of them is chosen by the token alone: the key has to be one
 * for it. Every failure is ERR_UNAUTHORIZED with what is wrong, except for lack of memory. No I/O; the fuzz
 * target is tests/fuzz/jwt.c.
 */
#ifndef SERVICE_JWT_H
#define SERVICE_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "service/jwks.h"

struct err;
struct evp_pkey_st;
struct json_t;

enum {
    JWT_BYTES_MAX = 16 << 10,
    JWT_SUBJECT_MAX = 256, /* bytes */
    JWT_LEEWAY_S = 60,     /* by which clocks may differ */
    JWT_AUDIENCES_MAX = 64,
};

struct jwt {
    struct json_t *header, *claims; /* owned, objects */
    enum jwt_alg alg;
    const char *kid;        /* in the header; "": it names none */
    struct str signed_part; /* of the token that was read */
    struct buf signature;
    const char *subject; /* in the claims; set by jwt_check_claims, as the next */
    int64_t expires_s;   /* since 1970, leeway included */
};

/* Whether a text has the shape of one: three pieces with dots between. Costs nothing. */
bool jwt_is_like(struct str token);

/* `token` has to outlive *ret. jwt_done is due in any case. */
int jwt_read(struct str token, struct jwt *ret, struct err *e);
void jwt_done(struct jwt *t);

struct jwt_rules {
    const char *issuer; /* exactly */
    const char *const *audiences;
    size_t audience_count; /* one of these it has to be for */
    int64_t now_s;
};

/* iss, aud, sub, exp, nbf, iat. */
int jwt_check_claims(struct jwt *t, const struct jwt_rules *rules, struct err *e);
int jwt_check_signature(const struct jwt *t, struct evp_pkey_st *key, struct err *e);

/* A claim that is a text of `max` bytes at most, or NULL. */
const char *jwt_text(const struct jwt *t, const char *name, size_t max);

/* Calls put(arg, name) for each of its scopes: `scope` (separated by blanks), and `scp`, which may also be a
 * list. */
void jwt_scopes(const struct jwt *t, void (*put)(void *arg, struct str name), void *arg);

#endif
