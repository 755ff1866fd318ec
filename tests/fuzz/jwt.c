/* Fuzzes what a stranger's token and an issuer's documents go through: the token, the keys and the issuer's description of
 * itself, with NULs between them. A token that begins with '{' is its header; then its claims follow, and both are
 * encoded here.
 */
#include <assert.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "service/discovery.h"
#include "service/jwt.h"

#include "fuzz.h"

enum { INPUT_MAX = 64 << 10, NOW_S = 1800000000 };

static const char *const audiences[] = {"us"};
static const struct jwt_rules rules = {
    .issuer = "https://a.org", .audiences = audiences, .audience_count = 1, .now_s = NOW_S};

/* The text up to the next NUL; *at is what follows. */
static struct str next(struct str *at)
{
    const char *nul = at->len ? memchr(at->ptr, '\0', at->len) : NULL;
    struct str piece = {at->ptr, nul ? (size_t)(nul - at->ptr) : at->len};
    size_t used = piece.len + (nul != NULL);
    *at = (struct str){at->ptr + used, at->len - used};
    return piece;
}

static void count(void *arg, struct str name)
{
    size_t *words = arg;
    assert(name.len <= JWT_BYTES_MAX);
    (*words)++;
}

static void a_token_that_is_read_is_whole(struct jwt *t, struct str token)
{
    struct err e = {0};
    size_t words = 0;
    assert(token.len <= JWT_BYTES_MAX && jwt_is_like(token));
    assert(t->alg < JWT_ALG_COUNT && strlen(t->kid) <= JWKS_KID_MAX);
    assert(t->signed_part.ptr == token.ptr && t->signed_part.len < token.len);
    assert(t->signature.len > 0);
    jwt_scopes(t, count, &words);
    if (jwt_check_claims(t, &rules, &e)) {
        assert(e.code == ERR_UNAUTHORIZED);
        return;
    }
    assert(*t->subject && strlen(t->subject) <= JWT_SUBJECT_MAX);
    assert(t->expires_s > NOW_S);
}

/* No signature is good that nobody made: with keys of the fuzzer's own making it may be, if it makes one. */
static void a_key_that_is_found_can_be_used(struct jwt *t, const struct jwks *keys)
{
    struct err e = {0};
    assert(jwks_count(keys) >= 1 && jwks_count(keys) <= JWKS_KEYS_MAX);
    EVP_PKEY *key = jwks_find(keys, t->alg, t->kid);
    if (key && jwt_check_signature(t, key, &e))
        assert(e.code == ERR_UNAUTHORIZED);
    EVP_PKEY_free(key);
}

static void a_description_leads_to_the_web(struct str text)
{
    struct err e = {0};
    char url[DISCOVERY_URL_SIZE];
    if (discovery_read(text, rules.issuer, url, &e) == 0)
        assert(strncmp(url, "https://", 8) == 0);
}

static void add_piece(struct buf *out, struct str text)
{
    size_t from = out->len;
    base64_add(out, text.ptr, text.len);
    while (out->len > from && out->bytes[out->len - 1] == '=')
        out->bytes[--out->len] = '\0';
    for (size_t i = from; i < out->len; i++)
        out->bytes[i] = out->bytes[i] == '+' ? '-' : out->bytes[i] == '/' ? '_' : out->bytes[i];
}

static void add_token(struct buf *out, struct str *at)
{
    struct str text = next(at);
    if (text.len == 0 || *text.ptr != '{') {
        buf_add(out, text.ptr, text.len);
        return;
    }
    add_piece(out, text);
    buf_str(out, ".");
    add_piece(out, next(at));
    buf_str(out, ".AAAA");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct err e = {0};
    struct jwks *keys = NULL;
    struct jwt t;
    if (len > INPUT_MAX)
        return 0;
    struct str at = {(const char *)bytes, len};
    struct buf text = BUF_INIT(2 * INPUT_MAX);
    add_token(&text, &at);
    struct str token = {text.bytes ? text.bytes : "", text.len};
    struct str document = next(&at), description = next(&at);
    int failed = jwt_read(token, &t, &e);
    if (!failed)
        a_token_that_is_read_is_whole(&t, token);
    else
        assert(e.code == ERR_UNAUTHORIZED);
    if (jwks_read(document, &keys, &e) == 0 && !failed)
        a_key_that_is_found_can_be_used(&t, keys);
    a_description_leads_to_the_web(description);
    jwks_free(keys);
    jwt_done(&t);
    buf_done(&text);
    return 0;
}
