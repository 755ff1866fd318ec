#include "service/jwks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

enum {
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    EXPONENT_BYTES_MAX = 8, /* a longer one is only good for keeping us busy */
    ED25519_LEN = 32,
};

const char *const jwt_alg_names[JWT_ALG_COUNT] = {
    [JWT_RS256] = "RS256", [JWT_RS384] = "RS384", [JWT_RS512] = "RS512", [JWT_PS256] = "PS256",
    [JWT_ES256] = "ES256", [JWT_ES384] = "ES384", [JWT_EDDSA] = "EdDSA"};

struct key {
    EVP_PKEY *pkey;             /* owned */
    char kid[JWKS_KID_MAX + 1]; /* "": it has no name */
    unsigned algs;              /* bits: what it may be used for */
};

struct jwks {
    uint8_t sha256[HASH_LEN];
    size_t count;
    struct key keys[JWKS_KEYS_MAX];
};

static void param_bldp(OSSL_PARAM_BLD **b)
{
    OSSL_PARAM_BLD_free(*b);
}

static void paramsp(OSSL_PARAM **p)
{
    OSSL_PARAM_free(*p);
}

static void bnp(BIGNUM **n)
{
    BN_free(*n);
}

static void key_ctxp(EVP_PKEY_CTX **c)
{
    EVP_PKEY_CTX_free(*c);
}

/* ---- members of a key ---- */

static const char *text_of(const json_t *key, const char *name)
{
    const json_t *value = json_object_get(key, name);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* base64url of 1 to out->max bytes. */
static bool bytes_of(const json_t *key, const char *name, struct buf *out)
{
    struct err ignored = {0};
    const char *text = text_of(key, name);
    return text && base64url_decode(text, strlen(text), out, &ignored) == 0 &&
           buf_check(out, &ignored) == 0 && out->len > 0;
}

static EVP_PKEY *make_pkey(const char *type, OSSL_PARAM_BLD *build)
{
    scoped(paramsp) OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    scoped(key_ctxp) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *pkey = NULL;
    if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) <= 0 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) <= 0)
        return NULL;
    return pkey;
}

static EVP_PKEY *read_rsa(const json_t *key)
{
    scoped(buf_done) struct buf n = BUF_INIT(RSA_BITS_MAX / 8), x = BUF_INIT(EXPONENT_BYTES_MAX);
    if (!bytes_of(key, "n", &n) || !bytes_of(key, "e", &x))
        return NULL;
    scoped(bnp) BIGNUM *modulus = BN_bin2bn((const uint8_t *)n.bytes, (int)n.len, NULL);
    scoped(bnp) BIGNUM *exponent = BN_bin2bn((const uint8_t *)x.bytes, (int)x.len, NULL);
    scoped(param_bldp) OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (!modulus || !exponent || !build || BN_num_bits(modulus) < RSA_BITS_MIN ||
        !BN_is_odd(modulus) || !BN_is_odd(exponent) || BN_is_one(exponent) ||
        !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) ||
        !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent))
        return NULL;
    return make_pkey("RSA", build);
}

/* Whether the point is one of the curve. */
static bool is_sound(EVP_PKEY *pkey)
{
    scoped(key_ctxp) EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
    return ctx && EVP_PKEY_public_check(ctx) == 1;
}

static EVP_PKEY *read_ec(const json_t *key, const char *curve, size_t len)
{
    scoped(buf_done) struct buf x = BUF_INIT(len), y = BUF_INIT(len), point = BUF_INIT(2 * len + 1);
    scoped(param_bldp) OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    if (!build || !bytes_of(key, "x", &x) || !bytes_of(key, "y", &y) || x.len != len ||
        y.len != len)
        return NULL;
    buf_add(&point, "\x04", 1); /* both coordinates follow */
    buf_add(&point, x.bytes, len);
    buf_add(&point, y.bytes, len);
    if (point.failed ||
        !OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) ||
        !OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.bytes, point.len))
        return NULL;
    EVP_PKEY *pkey = make_pkey("EC", build);
    if (pkey && !is_sound(pkey)) {
        EVP_PKEY_free(pkey);
        return NULL;
    }
    return pkey;
}

static EVP_PKEY *read_ed25519(const json_t *key)
{
    scoped(buf_done) struct buf x = BUF_INIT(ED25519_LEN);
    if (!bytes_of(key, "x", &x) || x.len != ED25519_LEN)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const uint8_t *)x.bytes, x.len);
}

/* ---- a key ---- */

/* The key, and what one of its kind can be used for. NULL: none that we know. */
static EVP_PKEY *read_material(const json_t *key, unsigned *ret_algs)
{
    const char *kty = text_of(key, "kty"), *crv = text_of(key, "crv");
    if (!kty)
        return NULL;
    if (strcmp(kty, "RSA") == 0) {
        *ret_algs = 1u << JWT_RS256 | 1u << JWT_RS384 | 1u << JWT_RS512 | 1u << JWT_PS256;
        return read_rsa(key);
    }
    if (!crv)
        return NULL;
    if (strcmp(kty, "EC") == 0 && strcmp(crv, "P-256") == 0) {
        *ret_algs = 1u << JWT_ES256;
        return read_ec(key, "P-256", 32);
    }
    if (strcmp(kty, "EC") == 0 && strcmp(crv, "P-384") == 0) {
        *ret_algs = 1u << JWT_ES384;
        return read_ec(key, "P-384", 48);
    }
    if (strcmp(kty, "OKP") == 0 && strcmp(crv, "Ed25519") == 0) {
        *ret_algs = 1u << JWT_EDDSA;
        return read_ed25519(key);
    }
    return NULL;
}

/* What its alg leaves of that; all when it says nothing. */
static unsigned narrow(const json_t *key, unsigned algs)
{
    if (!json_object_get(key, "alg"))
        return algs;
    const char *alg = text_of(key, "alg");
    for (unsigned i = 0; alg && i < JWT_ALG_COUNT; i++)
        if (strcmp(alg, jwt_alg_names[i]) == 0)
            return algs & 1u << i;
    return 0;
}

static bool is_for_signatures(const json_t *key)
{
    const char *use = text_of(key, "use");
    const json_t *ops = json_object_get(key, "key_ops"), *op;
    size_t i;
    if (json_object_get(key, "use") && (!use || strcmp(use, "sig") != 0))
        return false;
    if (!ops)
        return true;
    json_array_foreach(ops, i, op)
    {
        const char *text = json_string_value(op);
        if (text && strcmp(text, "verify") == 0)
            return true;
    }
    return false;
}

/* Fills *ret. False: it is not one for us. */
static bool read_key(const json_t *key, struct key *ret)
{
    const char *kid = text_of(key, "kid");
    unsigned algs = 0;
    if (!json_is_object(key) || !is_for_signatures(key) || (json_object_get(key, "kid") && !kid) ||
        (kid && strlen(kid) > JWKS_KID_MAX))
        return false;
    EVP_PKEY *pkey = read_material(key, &algs);
    ERR_clear_error(); /* others on this thread look at what is left there */
    algs = narrow(key, algs);
    if (!pkey || algs == 0) {
        EVP_PKEY_free(pkey);
        return false;
    }
    *ret = (struct key){.pkey = pkey, .algs = algs};
    if (kid)
        memcpy(ret->kid, kid, strlen(kid));
    return true;
}

/* ---- all of them ---- */

static int note_text(struct jwks *k, struct str text, struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    return hash_init(&h, e) || hash_add(&h, text.ptr, text.len, e) || hash_end(&h, k->sha256, e)
               ? -1
               : 0;
}

int jwks_read(struct str text, struct jwks **ret, struct err *e)
{
    scoped(json_decrefp) json_t *document = NULL;
    if (text.len > JWKS_BYTES_MAX)
        return err_set(e, ERR_LIMIT, "the keys are more than %d KiB", JWKS_BYTES_MAX >> 10);
    if (json_read(text.ptr, text.len, &document, e))
        return -1;
    const json_t *list = json_object_get(document, "keys"), *key;
    if (!json_is_array(list))
        return err_set(e, ERR_INVALID, "there is no list of keys in it");
    scoped(jwks_freep) struct jwks *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "keep the keys of an issuer");
    size_t i;
    json_array_foreach(list, i, key)
    {
        if (k->count < JWKS_KEYS_MAX && read_key(key, &k->keys[k->count]))
            k->count++;
    }
    if (k->count == 0)
        return err_set(e, ERR_INVALID, "there is no key in it that can be used");
    if (note_text(k, text, e))
        return -1;
    *ret = take(k);
    return 0;
}

void jwks_free(struct jwks *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->count; i++)
        EVP_PKEY_free(k->keys[i].pkey);
    free(k);
}

size_t jwks_count(const struct jwks *k)
{
    return k->count;
}

const unsigned char *jwks_sha256(const struct jwks *k)
{
    return k->sha256;
}

struct evp_pkey_st *jwks_find(const struct jwks *k, enum jwt_alg alg, const char *kid)
{
    const struct key *found = NULL;
    for (size_t i = 0; i < k->count; i++) {
        const struct key *it = &k->keys[i];
        if (!(it->algs & 1u << alg) || (*kid && strcmp(it->kid, kid) != 0))
            continue;
        if (found && !*kid)
            return NULL; /* nobody says which */
        if (!found)
            found = it;
    }
    if (!found || !EVP_PKEY_up_ref(found->pkey))
        return NULL;
    return found->pkey;
}
