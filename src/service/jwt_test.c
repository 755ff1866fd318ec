#include "service/jwt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "service/jwt_fixture.h"

enum { NOW = 1800000000 };
#define GOOD \
    "{\"iss\":\"https://a.org\",\"aud\":\"us\",\"sub\":\"alice\",\"exp\":1800000600,\"scope\":\"run\"}"

static EVP_PKEY *keys[JWT_ALG_COUNT], *other_rsa, *other_ec;
static const char *const audiences[] = {"us", "https://us.org/mcp"};
static const struct jwt_rules rules = {
    .issuer = "https://a.org", .audiences = audiences, .audience_count = 2, .now_s = NOW};

static int make_keys(void **state)
{
    (void)state;
    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    keys[JWT_RS256] = keys[JWT_RS384] = keys[JWT_RS512] = keys[JWT_PS256] = rsa;
    keys[JWT_ES256] = EVP_EC_gen("P-256");
    keys[JWT_ES384] = EVP_EC_gen("P-384");
    keys[JWT_EDDSA] = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    other_rsa = EVP_RSA_gen(2048);
    other_ec = EVP_EC_gen("P-256");
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    EVP_PKEY *const all[] = {keys[JWT_RS256], keys[JWT_ES256], keys[JWT_ES384],
                             keys[JWT_EDDSA], other_rsa,       other_ec};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        EVP_PKEY_free(all[i]);
    return 0;
}

static struct str view(const struct buf *b)
{
    return (struct str){b->bytes, b->len};
}

/* The way of a token: read, claims, the key out of what the issuer publishes, signature. */
static int believe(struct str token, const struct jwt_rules *r, EVP_PKEY *published, struct err *e)
{
    scoped(jwt_done) struct jwt t = {0};
    scoped(jwks_freep) struct jwks *set = NULL;
    scoped(buf_done) struct buf document = document_of(published, ",\"kid\":\"k\"");
    assert_int_equal(jwks_read(view(&document), &set, e), 0);
    if (jwt_read(token, &t, e) || jwt_check_claims(&t, r, e))
        return -1;
    EVP_PKEY *key = jwks_find(set, t.alg, t.kid);
    if (!key)
        return err_set(e, ERR_UNAUTHORIZED, "no key");
    int failed = jwt_check_signature(&t, key, e);
    EVP_PKEY_free(key);
    return failed;
}

static int believe_claims(const char *claims, int64_t now_s, struct err *e)
{
    struct jwt_rules r = rules;
    r.now_s = now_s;
    scoped(buf_done) struct buf token = token_of(JWT_EDDSA, keys[JWT_EDDSA], claims);
    return believe(view(&token), &r, keys[JWT_EDDSA], e);
}

static void every_algorithm_is_checked_with_a_key_of_its_kind(void **state)
{
    (void)state;
    for (unsigned alg = 0; alg < JWT_ALG_COUNT; alg++) {
        scoped(buf_done) struct buf token = token_of((enum jwt_alg)alg, keys[alg], GOOD);
        OK(believe(view(&token), &rules, keys[alg], e));
    }
}

static void a_signature_of_another_key_or_algorithm_is_none(void **state)
{
    (void)state;
    scoped(buf_done) struct buf rsa = token_of(JWT_RS256, other_rsa, GOOD);
    FAILS(ERR_UNAUTHORIZED, believe(view(&rsa), &rules, keys[JWT_RS256], e));
    scoped(buf_done) struct buf ec = token_of(JWT_ES256, other_ec, GOOD);
    FAILS(ERR_UNAUTHORIZED, believe(view(&ec), &rules, keys[JWT_ES256], e));
    /* The header says one, the signature is another's; or the key is of another kind. */
    for (unsigned said = 0; said < JWT_ALG_COUNT; said++)
        for (unsigned used = 0; used < JWT_ALG_COUNT; used++) {
            char header[64];
            (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k\"}",
                           jwt_alg_names[said]);
            scoped(buf_done) struct buf token = unsigned_token(header, GOOD);
            add_signature(&token, (enum jwt_alg)used, keys[used]);
            if (said == used)
                OK(believe(view(&token), &rules, keys[used], e));
            else
                FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[used], e));
        }
}

static void no_character_of_a_token_can_be_changed(void **state)
{
    (void)state;
    scoped(buf_done) struct buf token = token_of(JWT_ES256, keys[JWT_ES256], GOOD);
    for (size_t i = 0; i < token.len; i++) {
        char was = token.bytes[i];
        for (const char *to = "Aw-._="; *to; to++) {
            if (*to == was)
                continue;
            token.bytes[i] = *to;
            FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_ES256], e));
        }
        token.bytes[i] = was;
    }
    OK(believe(view(&token), &rules, keys[JWT_ES256], e));
}

static void a_token_that_was_cut_is_none(void **state)
{
    (void)state;
    scoped(buf_done) struct buf token = token_of(JWT_ES256, keys[JWT_ES256], GOOD);
    for (size_t len = 0; len < token.len; len++)
        FAILS(ERR_UNAUTHORIZED,
              believe((struct str){token.bytes, len}, &rules, keys[JWT_ES256], e));
    buf_str(&token, ".");
    FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_ES256], e));
}

static void none_and_shared_secrets_are_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {"{\"alg\":\"none\",\"kid\":\"k\"}",
                                          "{\"alg\":\"None\"}",
                                          "{\"alg\":\"NONE\"}",
                                          "{\"alg\":\"\"}",
                                          "{\"alg\":null}",
                                          "{\"alg\":[\"RS256\"]}",
                                          "{\"typ\":\"JWT\"}",
                                          "{\"alg\":\"rs256\"}",
                                          "{\"alg\":\"RS256 \"}",
                                          "{\"alg\":\"RS256\\u0000\"}",
                                          "{\"alg\":\"ES256K\"}",
                                          "{\"alg\":\"RSA-OAEP\"}"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        scoped(buf_done) struct buf token = unsigned_token(headers[i], GOOD);
        buf_str(&token, ".");
        FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_RS256], e));
        buf_str(&token, "AAAA");
        FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_RS256], e));
    }
}

/* The public key is no secret: whoever takes it for one believes everybody. */
static void the_public_key_is_no_shared_secret(void **state)
{
    (void)state;
    char *pem = NULL;
    uint8_t mac[32];
    unsigned len = 0;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PUBKEY(bio, keys[JWT_RS256]), 1);
    long pem_len = BIO_get_mem_data(bio, &pem);
    scoped(buf_done) struct buf token = unsigned_token("{\"alg\":\"HS256\",\"kid\":\"k\"}", GOOD);
    assert_non_null(
        HMAC(EVP_sha256(), pem, (int)pem_len, (const uint8_t *)token.bytes, token.len, mac, &len));
    buf_str(&token, ".");
    add_base64url(&token, mac, len);
    BIO_free(bio);
    FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_RS256], e));
}

#define CLAIMS(more) "{\"iss\":\"https://a.org\",\"aud\":\"us\",\"sub\":\"alice\"" more "}"

static void times_count_with_a_minute_of_leeway(void **state)
{
    (void)state;
    const char *plain = CLAIMS(",\"exp\":1800000000");
    OK(believe_claims(plain, NOW + 59, e));
    FAILS(ERR_UNAUTHORIZED, believe_claims(plain, NOW + 60, e));
    const char *later = CLAIMS(",\"exp\":1900000000,\"nbf\":1800000000");
    OK(believe_claims(later, NOW - 60, e));
    FAILS(ERR_UNAUTHORIZED, believe_claims(later, NOW - 61, e));
    const char *made = CLAIMS(",\"exp\":1900000000,\"iat\":1800000000.5");
    OK(believe_claims(made, NOW - 60, e));
    FAILS(ERR_UNAUTHORIZED, believe_claims(made, NOW - 61, e));
    static const char *const wrong[] = {
        CLAIMS(""),
        CLAIMS(",\"exp\":\"1900000000\""),
        CLAIMS(",\"exp\":null"),
        CLAIMS(",\"exp\":-1"),
        CLAIMS(",\"exp\":1e300"),
        CLAIMS(",\"exp\":9223372036854775807"),
        CLAIMS(",\"exp\":1900000000,\"nbf\":\"x\""),
        CLAIMS(",\"exp\":1900000000,\"iat\":{}"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ERR_UNAUTHORIZED, believe_claims(wrong[i], NOW, e));
}

static void issuer_and_audience_have_to_be_ours(void **state)
{
    (void)state;
#define WHOM(iss, aud) "{\"sub\":\"a\",\"exp\":1900000000,\"iss\":" iss ",\"aud\":" aud "}"
    OK(believe_claims(WHOM("\"https://a.org\"", "[\"x\",\"https://us.org/mcp\"]"), NOW, e));
    static const char *const wrong[] = {
        WHOM("\"https://a.org/\"", "\"us\""),
        WHOM("\"https://A.org\"", "\"us\""),
        WHOM("\"\"", "\"us\""),
        WHOM("[\"https://a.org\"]", "\"us\""),
        WHOM("\"https://a.org\\u0000\"", "\"us\""),
        WHOM("\"https://a.org\"", "\"them\""),
        WHOM("\"https://a.org\"", "[]"),
        WHOM("\"https://a.org\"", "[\"them\"]"),
        WHOM("\"https://a.org\"", "{\"us\":1}"),
        WHOM("\"https://a.org\"", "\"us,them\""),
        WHOM("\"https://a.org\"", "null"),
        WHOM("\"https://a.org\"", "[[\"us\"]]"),
        "{\"sub\":\"a\",\"exp\":1900000000,\"iss\":\"https://a.org\"}",
        "{\"sub\":\"a\",\"exp\":1900000000,\"aud\":\"us\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ERR_UNAUTHORIZED, believe_claims(wrong[i], NOW, e));
}

static int believe_subject(size_t len, const char *more, struct err *e)
{
    scoped(buf_done) struct buf claims = BUF_INIT(4096);
    buf_str(&claims, "{\"iss\":\"https://a.org\",\"aud\":\"us\",\"exp\":1900000000,\"sub\":\"");
    for (size_t i = 0; i < len; i++)
        buf_str(&claims, "s");
    buf_fmt(&claims, "%s\"}", more);
    return believe_claims(claims.bytes, NOW, e);
}

static void a_subject_has_1_to_256_bytes(void **state)
{
    (void)state;
    FAILS(ERR_UNAUTHORIZED, believe_subject(0, "", e));
    OK(believe_subject(1, "", e));
    OK(believe_subject(256, "", e));
    FAILS(ERR_UNAUTHORIZED, believe_subject(257, "", e));
    FAILS(ERR_UNAUTHORIZED, believe_subject(3, "\\u0000x", e));
    FAILS(ERR_UNAUTHORIZED, believe_claims("{\"iss\":\"https://a.org\",\"aud\":\"us\","
                                           "\"exp\":1900000000,\"sub\":7}",
                                           NOW, e));
}

static void what_is_said_twice_is_not_believed_once(void **state)
{
    (void)state;
    FAILS(ERR_UNAUTHORIZED, believe_claims(CLAIMS(",\"exp\":1900000000,\"sub\":\"bob\""), NOW, e));
    FAILS(ERR_UNAUTHORIZED, believe_claims(CLAIMS(",\"exp\":1,\"\\u0065xp\":1900000000"), NOW, e));
    scoped(buf_done) struct buf token =
        unsigned_token("{\"alg\":\"none\",\"alg\":\"ES256\",\"kid\":\"k\"}", GOOD);
    add_signature(&token, JWT_ES256, keys[JWT_ES256]);
    FAILS(ERR_UNAUTHORIZED, believe(view(&token), &rules, keys[JWT_ES256], e));
}

static int believe_header(const char *header, struct err *e)
{
    scoped(buf_done) struct buf token = unsigned_token(header, GOOD);
    add_signature(&token, JWT_ES256, keys[JWT_ES256]);
    return believe(view(&token), &rules, keys[JWT_ES256], e);
}

static void a_header_may_not_want_more_than_we_know(void **state)
{
    (void)state;
#define HEADER(more) "{\"alg\":\"ES256\",\"kid\":\"k\"" more "}"
    OK(believe_header(HEADER(",\"typ\":\"at+JWT\""), e));
    OK(believe_header(HEADER(",\"typ\":\"application/at+jwt\""), e));
    OK(believe_header(HEADER(",\"jku\":\"https://evil.org/keys\""), e)); /* nobody looks there */
    static const char *const wrong[] = {
        HEADER(",\"crit\":[\"b64\"],\"b64\":false"),
        HEADER(",\"crit\":[]"),
        HEADER(",\"typ\":\"logout+jwt\""),
        HEADER(",\"typ\":\"dpop+jwt\""),
        HEADER(",\"typ\":7"),
        "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"ES256\",\"kid\":\"other\"}",
        "[]",
        "\"ES256\"",
        "{}",
        "{\"alg\":\"ES256\",\"kid\":\"k\"} x",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ERR_UNAUTHORIZED, believe_header(wrong[i], e));
}

/* A token of exactly that many bytes. */
static struct buf long_token(size_t len)
{
    scoped(buf_done) struct buf claims = BUF_INIT(64 << 10);
    struct buf token = BUF_INIT(64 << 10);
    for (size_t fill = len / 4 * 3 - 400; token.len != len; fill++) {
        assert_true(fill < len);
        buf_done(&claims);
        buf_done(&token);
        buf_str(&claims, "{\"iss\":\"https://a.org\",\"aud\":\"us\",\"exp\":1900000000,"
                         "\"sub\":\"a\",\"x\":\"");
        for (size_t i = 0; i < fill; i++)
            buf_str(&claims, "x");
        buf_str(&claims, "\"}");
        token = token_of(JWT_EDDSA, keys[JWT_EDDSA], claims.bytes);
    }
    return token;
}

static void the_longest_token_is_read_and_one_more_byte_is_not(void **state)
{
    (void)state;
    scoped(buf_done) struct buf token = long_token(JWT_BYTES_MAX);
    OK(believe(view(&token), &rules, keys[JWT_EDDSA], e));
    scoped(buf_done) struct buf longer = long_token(JWT_BYTES_MAX + 1);
    FAILS(ERR_UNAUTHORIZED, believe(view(&longer), &rules, keys[JWT_EDDSA], e));
}

static void add_word(void *arg, struct str name)
{
    buf_fmt(arg, "%.*s;", (int)name.len, name.ptr);
}

static void scopes_come_as_words_or_as_a_list(void **state)
{
    (void)state;
    static const struct {
        const char *claims, *words;
    } cases[] = {
        {"{\"scope\":\"run files:read\"}", "run;files:read;"},
        {"{\"scope\":\"  run   share \"}", "run;share;"},
        {"{\"scp\":[\"run\",\"audit\",7,\"\\u0000\"]}", "run;audit;"},
        {"{\"scp\":\"run audit\",\"scope\":\"share\"}", "share;run;audit;"},
        {"{\"scope\":7,\"scp\":{\"run\":1}}", ""},
        {"{}", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(buf_done) struct buf token = token_of(JWT_EDDSA, keys[JWT_EDDSA], cases[i].claims);
        scoped(buf_done) struct buf words = BUF_INIT(100);
        scoped(jwt_done) struct jwt t = {0};
        OK(jwt_read(view(&token), &t, e));
        jwt_scopes(&t, add_word, &words);
        assert_string_equal(words.bytes ? words.bytes : "", cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_is_checked_with_a_key_of_its_kind),
        cmocka_unit_test(a_signature_of_another_key_or_algorithm_is_none),
        cmocka_unit_test(no_character_of_a_token_can_be_changed),
        cmocka_unit_test(a_token_that_was_cut_is_none),
        cmocka_unit_test(none_and_shared_secrets_are_refused),
        cmocka_unit_test(the_public_key_is_no_shared_secret),
        cmocka_unit_test(times_count_with_a_minute_of_leeway),
        cmocka_unit_test(issuer_and_audience_have_to_be_ours),
        cmocka_unit_test(a_subject_has_1_to_256_bytes),
        cmocka_unit_test(what_is_said_twice_is_not_believed_once),
        cmocka_unit_test(a_header_may_not_want_more_than_we_know),
        cmocka_unit_test(the_longest_token_is_read_and_one_more_byte_is_not),
        cmocka_unit_test(scopes_come_as_words_or_as_a_list),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
