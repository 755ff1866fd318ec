/* jwt_fixture.h -- an issuer for tests: keys of every kind, what it publishes, and tokens as wished. */
#ifndef SERVICE_JWT_FIXTURE_H
#define SERVICE_JWT_FIXTURE_H

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "service/jwt.h"

static inline void add_base64url(struct buf *out, const void *bytes, size_t len)
{
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    base64_add(&text, bytes, len);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i] == '+' ? '-' : text.bytes[i] == '/' ? '_' : text.bytes[i];
        if (c != '=')
            buf_add(out, &c, 1);
    }
}

static inline void add_number(struct buf *out, EVP_PKEY *key, const char *name)
{
    uint8_t bytes[1024];
    BIGNUM *n = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &n), 1);
    int len = BN_bn2bin(n, bytes);
    add_base64url(out, bytes, (size_t)len);
    BN_free(n);
}

/* Members of a JWK with the key itself, without braces. */
static inline void add_material(struct buf *out, EVP_PKEY *key)
{
    uint8_t point[200];
    size_t len = sizeof point;
    if (EVP_PKEY_is_a(key, "RSA")) {
        buf_str(out, "\"kty\":\"RSA\",\"n\":\"");
        add_number(out, key, OSSL_PKEY_PARAM_RSA_N);
        buf_str(out, "\",\"e\":\"");
        add_number(out, key, OSSL_PKEY_PARAM_RSA_E);
    } else if (EVP_PKEY_is_a(key, "EC")) {
        assert_int_equal(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point,
                                                         sizeof point, &len),
                         1);
        size_t half = (len - 1) / 2;
        buf_fmt(out, "\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"", half == 32 ? 256 : 384);
        add_base64url(out, point + 1, half);
        buf_str(out, "\",\"y\":\"");
        add_base64url(out, point + 1 + half, half);
    } else {
        assert_int_equal(EVP_PKEY_get_raw_public_key(key, point, &len), 1);
        buf_str(out, "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
        add_base64url(out, point, len);
    }
    buf_str(out, "\"");
}

/* One key as a document. `more`: further members, with a comma in front. */
static inline struct buf document_of(EVP_PKEY *key, const char *more)
{
    struct buf out = BUF_INIT(64 << 10);
    buf_str(&out, "{\"keys\":[{");
    add_material(&out, key);
    buf_fmt(&out, "%s}]}", more);
    return out;
}

static inline void add_raw_signature(struct buf *out, const uint8_t *der, size_t len, int half)
{
    uint8_t raw[96];
    const uint8_t *at = der;
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)len);
    assert_non_null(sig);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, half), half);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + half, half), half);
    add_base64url(out, raw, 2 * (size_t)half);
    ECDSA_SIG_free(sig);
}

static inline void add_signature(struct buf *out, enum jwt_alg alg, EVP_PKEY *key)
{
    static const char *const digests[JWT_ALG_COUNT] = {"SHA256", "SHA384", "SHA512", "SHA256",
                                                       "SHA256", "SHA384", NULL};
    uint8_t signature[1024];
    size_t len = sizeof signature, text_len = out->len;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *how = NULL;
    assert_int_equal(EVP_DigestSignInit_ex(ctx, &how, digests[alg], NULL, NULL, key, NULL), 1);
    if (alg == JWT_PS256) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST), 1);
    }
    assert_int_equal(EVP_DigestSign(ctx, signature, &len, (const uint8_t *)out->bytes, text_len),
                     1);
    EVP_MD_CTX_free(ctx);
    buf_str(out, ".");
    if (alg == JWT_ES256 || alg == JWT_ES384)
        add_raw_signature(out, signature, len, alg == JWT_ES256 ? 32 : 48);
    else
        add_base64url(out, signature, len);
}

/* Header and claims as they are given. */
static inline struct buf unsigned_token(const char *header, const char *claims)
{
    struct buf out = BUF_INIT(64 << 10);
    add_base64url(&out, header, strlen(header));
    buf_str(&out, ".");
    add_base64url(&out, claims, strlen(claims));
    return out;
}

static inline struct buf token_of(enum jwt_alg alg, EVP_PKEY *key, const char *claims)
{
    char header[100];
    (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k\",\"typ\":\"JWT\"}",
                   jwt_alg_names[alg]);
    struct buf out = unsigned_token(header, claims);
    add_signature(&out, alg, key);
    return out;
}

#endif
