/* sign.h -- addresses that work without a key until they expire.
 *
 * Whoever may read or write a file may sign an address for it: HMAC-SHA256 under a key of the server
 * over everything that the address allows. What is not in it cannot be changed in it: another path,
 * version, method, a later end or another flag is another signature. It names the principal on whose
 * behalf it was signed; whoever answers has to ask again whether that one still may (files_workspace).
 *
 *     struct signed_address a = {.method = "GET", .workspace = ws.id, .path = path, ...};
 *     sign_make(key, &a, now_s, signature, e)
 *     sign_check(key, &a, now_s, signature_from_the_query, e)
 *
 * Nothing is kept: an address cannot be taken back but by another key. Pure; does not block.
 */
#ifndef WORKSPACE_SIGN_H
#define WORKSPACE_SIGN_H

#include <stdint.h>

#include "base/hash.h"

struct err;

enum {
    SIGN_KEY_LEN = 32,
    SIGN_EXPIRES_MAX_S = 7 * 86400,
    SIGNATURE_SIZE = HASH_HEX_SIZE,
};

enum { SIGN_INLINE = 1 }; /* flags */

struct signed_address {
    const char *method;    /* "GET" (HEAD is checked as GET), "PUT" */
    const char *workspace; /* id */
    const char *path;      /* clean: paths.h */
    uint64_t version;      /* 0: the newest */
    uint32_t flags;
    int64_t expires_s; /* since 1970 */
    const char *principal;
};

/* Fails with ERR_INVALID when it has expired already or would last longer than SIGN_EXPIRES_MAX_S. */
int sign_make(const uint8_t key[SIGN_KEY_LEN], const struct signed_address *a, int64_t now_s,
              char ret[SIGNATURE_SIZE], struct err *e);

/* Fails with ERR_DENIED: expired, or not what was signed. Takes as long for every wrong signature. */
int sign_check(const uint8_t key[SIGN_KEY_LEN], const struct signed_address *a, int64_t now_s,
               const char *signature, struct err *e);

#endif
