/* issuer.h -- whom the tokens of an external issuer (OAuth, OpenID Connect) let in.
 *
 *     issuer_open(&options, &issuer, e)
 *     issuer_who(issuer, token, now, &who, e)        ERR_UNAUTHORIZED
 *
 * The operator names the issuer; it is believed who somebody is, and which of our scopes they have: those in
 * the token's `scope` or `scp` that are called as ours are, and default_scopes. The scope admin comes from neither, only from
 * being listed in the configuration.
 *
 * Each `sub` is a principal of its own, made when it is first seen, with a workspace of its own: a sub-principal of the one
 * that stands for the issuer, so that entries in the audit name both (people_subject). They come without a key.
 *
 * A token that was checked is remembered by its hash until it expires or the issuer's keys change, so that only the first
 * request with it costs a signature. The table is bounded. Any number of threads.
 */
#ifndef SERVICE_ISSUER_H
#define SERVICE_ISSUER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct issuer;
struct log;
struct people;
struct who;

enum { ISSUER_TOKENS_MAX = 4096 }; /* that are remembered */

struct issuer_options {
    struct people *people; /* all borrowed */
    struct log *log;
    const char *url;      /* what `iss` has to be */
    const char *jwks_url; /* "": found out (discovery.h) */
    const char *const *audiences;
    size_t audience_count;
    uint32_t default_scopes; /* of everybody */
    const char *const *admins;
    size_t admin_count; /* who may everything: their `sub` */
};

/* Does not wait for the issuer. Blocks on disk. */
int issuer_open(const struct issuer_options *options, struct issuer **ret, struct err *e);
void issuer_close(struct issuer *i); /* NULL is fine */

const char *issuer_url(const struct issuer *i);
/* The scopes that a client has to ask it for: those that are not given to everybody. */
uint32_t issuer_scopes(const struct issuer *i);

/* Whether a bearer is a token, by its shape. */
bool issuer_takes(struct str bearer);

/* Who comes with this token. Fails with ERR_UNAUTHORIZED and what is wrong with it, ERR_DENIED for somebody who
 * was disabled, ERR_UNAVAILABLE when the issuer's keys cannot be fetched. Blocks on disk for somebody new, and as
 * keyring_find does. */
int issuer_who(struct issuer *i, struct str token, int64_t now_us, struct who *ret, struct err *e);

#endif
