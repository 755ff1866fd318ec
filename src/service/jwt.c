#include "service/jwt.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

enum { SIGNATURE_MAX = 1024 }; /* bytes: of RSA with 8192 bits */

static int wrong(struct err *e, const char *why)
{
    return err_set(e, ERR_UNAUTHORIZED, "the token %s", why);
}

/* ---- reading ---- */

struct pieces {
    struct str header, claims, signature;
};

static bool split(struct str token, struct pieces *ret)
{
    const char *first = token.len ? memchr(token.ptr, '.', token.len) : NULL;
    const char *end = token.ptr + token.len;
    const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (!second || memchr(second + 1, '.', (size_t)(end - second - 1)))
        return false;
    *ret = (struct pieces){.header = {token.ptr, (size_t)(first - token.ptr)},
                           .claims = {first + 1, (size_t)(second - first - 1)},
                           .signature = {second + 1, (size_t)(end - second - 1)}};
    return ret->header.len > 0 && ret->claims.len > 0;
}

bool jwt_is_like(struct str token)
{
    struct pieces p;
    return split(token, &p);
}

static int read_object(struct str piece, struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(JWT_BYTES_MAX);
    if (base64url_decode(piece.ptr, piece.len, &text, e) || buf_check(&text, e) ||
        json_read(text.bytes, text.len, ret, e))
        return wrong(e, "is broken: it does not hold JSON in base64url");
    return json_is_object(*ret) ? 0 : wrong(e, "is broken: it does not hold JSON objects");
}

static const char *whole_text(const json_t *value, size_t max)
{
    const char *text = json_string_value(value);
    size_t len = text ? strlen(text) : 0;
    return text && len == json_string_length(value) && len <= max ? text : NULL;
}

static int read_alg(struct jwt *t, struct err *e)
{
    const char *alg = whole_text(json_object_get(t->header, "alg"), 16);
    for (unsigned i = 0; alg && i < JWT_ALG_COUNT; i++)
        if (strcmp(alg, jwt_alg_names[i]) == 0) {
            t->alg = (enum jwt_alg)i;
            return 0;
        }
    return wrong(e, "is not signed in a way that is accepted here");
}

/* A token for something else (a logout, a proof of possession) is none for us. */
static bool is_access_token(const json_t *header)
{
    static const char *const types[] = {"JWT", "at+jwt", "application/at+jwt", "application/jwt"};
    const json_t *value = json_object_get(header, "typ");
    const char *typ = whole_text(value, 64);
    for (size_t i = 0; typ && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(typ, types[i]) == 0)
            return true;
    return !value;
}

static int read_header(struct jwt *t, struct err *e)
{
    const json_t *kid = json_object_get(t->header, "kid");
    t->kid = kid ? whole_text(kid, JWKS_KID_MAX) : "";
    if (!t->kid)
        return wrong(e, "is broken: its kid is none");
    if (json_object_get(t->header, "crit"))
        return wrong(e, "wants something to be understood that is not");
    if (!is_access_token(t->header))
        return wrong(e, "is not one for access: its typ is another");
    return read_alg(t, e);
}

int jwt_read(struct str token, struct jwt *ret, struct err *e)
{
    struct pieces p;
    *ret = (struct jwt){.signature = BUF_INIT(SIGNATURE_MAX)};
    if (token.len > JWT_BYTES_MAX)
        return wrong(e, "is too long");
    if (!split(token, &p))
        return wrong(e, "is broken: it does not have three pieces");
    ret->signed_part = (struct str){token.ptr, p.header.len + 1 + p.claims.len};
    if (read_object(p.header, &ret->header, e) || read_header(ret, e) ||
        read_object(p.claims, &ret->claims, e))
        return -1;
    if (base64url_decode(p.signature.ptr, p.signature.len, &ret->signature, e) ||
        buf_check(&ret->signature, e) || ret->signature.len == 0)
        return wrong(e, "is broken: its signature is none");
    return 0;
}

void jwt_done(struct jwt *t)
{
    json_decref(t->header);
    json_decref(t->claims);
    buf_done(&t->signature);
    t->header = t->claims = NULL;
}

/* ---- claims ---- */

const char *jwt_text(const struct jwt *t, const char *name, size_t max)
{
    return whole_text(json_object_get(t->claims, name), max);
}

/* 1: *ret is the time; 0: it is not there; -1: it is no time. */
static int time_of(const struct jwt *t, const char *name, int64_t *ret)
{
    const json_t *value = json_object_get(t->claims, name);
    if (!value)
        return 0;
    double seconds = json_is_number(value) ? json_number_value(value) : NAN;
    if (!(seconds >= 0 && seconds <= 1e11)) /* the year 5138 */
        return -1;
    *ret = (int64_t)seconds;
    return 1;
}

static int check_times(struct jwt *t, int64_t now_s, struct err *e)
{
    int64_t expires_s = 0, begins_s = 0, issued_s = 0;
    if (time_of(t, "exp", &expires_s) != 1)
        return wrong(e, "does not say when it expires");
    if (time_of(t, "nbf", &begins_s) < 0 || time_of(t, "iat", &issued_s) < 0)
        return wrong(e, "is broken: nbf and iat are times in seconds");
    if (now_s >= expires_s + JWT_LEEWAY_S)
        return wrong(e, "has expired");
    if (begins_s > now_s + JWT_LEEWAY_S || issued_s > now_s + JWT_LEEWAY_S)
        return wrong(e, "is from the future: it is not valid yet");
    t->expires_s = expires_s + JWT_LEEWAY_S;
    return 0;
}

static bool is_ours(const json_t *audience, const struct jwt_rules *rules)
{
    const char *text = whole_text(audience, JWT_BYTES_MAX);
    for (size_t i = 0; text && i < rules->audience_count; i++)
        if (strcmp(text, rules->audiences[i]) == 0)
            return true;
    return false;
}

static bool is_for_us(const struct jwt *t, const struct jwt_rules *rules)
{
    const json_t *value = json_object_get(t->claims, "aud"), *item;
    size_t i;
    if (!json_is_array(value))
        return is_ours(value, rules);
    if (json_array_size(value) > JWT_AUDIENCES_MAX)
        return false;
    json_array_foreach(value, i, item)
    {
        if (is_ours(item, rules))
            return true;
    }
    return false;
}

int jwt_check_claims(struct jwt *t, const struct jwt_rules *rules, struct err *e)
{
    const char *issuer = jwt_text(t, "iss", JWT_BYTES_MAX);
    t->subject = jwt_text(t, "sub", JWT_SUBJECT_MAX);
    if (!issuer || strcmp(issuer, rules->issuer) != 0)
        return wrong(e, "is of another issuer");
    if (!is_for_us(t, rules))
        return wrong(e, "is for somebody else: its audience is not this server");
    if (!t->subject || !*t->subject)
        return wrong(e, "does not say whose it is");
    return check_times(t, rules->now_s, e);
}

static void put_words(const char *text, void (*put)(void *arg, struct str name), void *arg)
{
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        put(arg, (struct str){at, len});
        at += len;
    }
}

void jwt_scopes(const struct jwt *t, void (*put)(void *arg, struct str name), void *arg)
{
    static const char *const names[] = {"scope", "scp"};
    for (size_t n = 0; n < 2; n++) {
        const json_t *value = json_object_get(t->claims, names[n]), *item;
        const char *text = whole_text(value, JWT_BYTES_MAX);
        size_t i;
        if (text)
            put_words(text, put, arg);
        json_array_foreach(value, i, item)
        {
            const char *one = whole_text(item, JWT_BYTES_MAX);
            if (one)
                put(arg, str_of(one));
        }
    }
}

/* ---- the signature ---- */

static void md_ctxp(EVP_MD_CTX **c)
{
    EVP_MD_CTX_free(*c);
}

static void ecdsa_sigp(ECDSA_SIG **s)
{
    ECDSA_SIG_free(*s);
}

static const EVP_MD *digest_of(enum jwt_alg alg)
{
    switch (alg) {
    case JWT_RS384:
    case JWT_ES384: return EVP_sha384();
    case JWT_RS512: return EVP_sha512();
    case JWT_EDDSA: return NULL; /* it has its own */
    default: return EVP_sha256();
    }
}

/* Two numbers of half the length each, as DER, which is what libcrypto reads. */
static bool to_der(const struct buf *raw, size_t half, struct buf *out)
{
    const uint8_t *bytes = (const uint8_t *)raw->bytes;
    uint8_t *der = NULL;
    if (raw->len != 2 * half)
        return false;
    scoped(ecdsa_sigp) ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, (int)half, NULL), *s = BN_bin2bn(bytes + half, (int)half, NULL);
    if (!sig || !r || !s || !ECDSA_SIG_set0(sig, r, s)) {
        BN_free(r);
        BN_free(s);
        return false;
    }
    int len = i2d_ECDSA_SIG(sig, &der);
    if (len > 0)
        buf_add(out, der, (size_t)len);
    OPENSSL_free(der);
    return len > 0 && !out->failed;
}

static bool prepare(EVP_MD_CTX *ctx, enum jwt_alg alg, EVP_PKEY *key)
{
    EVP_PKEY_CTX *how = NULL; /* belongs to ctx */
    if (EVP_DigestVerifyInit(ctx, &how, digest_of(alg), NULL, key) != 1)
        return false;
    if (alg != JWT_PS256)
        return true;
    return EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(how, EVP_sha256()) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static bool is_signed(const struct jwt *t, EVP_PKEY *key)
{
    scoped(md_ctxp) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    scoped(buf_done) struct buf der = BUF_INIT(256);
    const struct buf *signature = &t->signature;
    bool is_curve = t->alg == JWT_ES256 || t->alg == JWT_ES384;
    if (is_curve && !to_der(signature, t->alg == JWT_ES256 ? 32 : 48, &der))
        return false;
    if (is_curve)
        signature = &der;
    return ctx && prepare(ctx, t->alg, key) &&
           EVP_DigestVerify(ctx, (const uint8_t *)signature->bytes, signature->len,
                            (const uint8_t *)t->signed_part.ptr, t->signed_part.len) == 1;
}

int jwt_check_signature(const struct jwt *t, struct evp_pkey_st *key, struct err *e)
{
    bool is_good = is_signed(t, key);
    ERR_clear_error(); /* others on this thread look at what is left there */
    return is_good ? 0 : wrong(e, "is not signed by its issuer");
}
