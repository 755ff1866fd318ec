#include "service/jwks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/discovery.h"
#include "service/jwt_fixture.h"

static EVP_PKEY *rsa, *ec, *ed;

static int make_keys(void **state)
{
    (void)state;
    rsa = EVP_RSA_gen(2048);
    ec = EVP_EC_gen("P-256");
    ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(ed);
    return 0;
}

static bool finds(const struct jwks *k, enum jwt_alg alg, const char *kid, EVP_PKEY *which)
{
    EVP_PKEY *key = jwks_find(k, alg, kid);
    bool is_it = key && EVP_PKEY_eq(key, which) == 1;
    EVP_PKEY_free(key);
    return is_it;
}

static int read_text(const char *text, struct jwks **ret, struct err *e)
{
    return jwks_read(str_of(text), ret, e);
}

static int read_one(EVP_PKEY *key, const char *more, struct jwks **ret, struct err *e)
{
    scoped(buf_done) struct buf text = document_of(key, more);
    return read_text(text.bytes, ret, e);
}

static void a_key_is_found_by_its_name_and_for_what_it_is(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    scoped(jwks_freep) struct jwks *k = NULL;
    buf_str(&text, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\",\"kid\":\"s\"},{\"kid\":\"r\",");
    add_material(&text, rsa);
    buf_str(&text, ",\"x5c\":[\"x\"]},{\"kid\":\"e\",\"use\":\"sig\",\"alg\":\"ES256\",");
    add_material(&text, ec);
    buf_str(&text, "},{\"kid\":\"d\",\"key_ops\":[\"sign\",\"verify\"],");
    add_material(&text, ed);
    buf_str(&text, "},7,null,{},{\"kty\":\"EC\",\"crv\":\"secp256k1\"}],\"more\":1}");
    OK(read_text(text.bytes, &k, e));
    assert_int_equal(jwks_count(k), 3);
    assert_true(finds(k, JWT_RS256, "r", rsa));
    assert_true(finds(k, JWT_PS256, "r", rsa));
    assert_true(finds(k, JWT_ES256, "e", ec));
    assert_true(finds(k, JWT_EDDSA, "d", ed));
    assert_true(finds(k, JWT_EDDSA, "", ed)); /* the only one of that kind */
    assert_null(jwks_find(k, JWT_RS256, "e"));
    assert_null(jwks_find(k, JWT_ES384, "e"));
    assert_null(jwks_find(k, JWT_ES384, ""));
    assert_null(jwks_find(k, JWT_RS256, "R"));
    assert_null(jwks_find(k, JWT_RS256, "s"));
}

static void without_a_name_it_has_to_be_the_only_one(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    scoped(jwks_freep) struct jwks *k = NULL;
    EVP_PKEY *second = EVP_EC_gen("P-256");
    buf_str(&text, "{\"keys\":[{");
    add_material(&text, ec);
    buf_str(&text, "},{\"kid\":\"2\",");
    add_material(&text, second);
    buf_str(&text, "}]}");
    OK(read_text(text.bytes, &k, e));
    assert_null(jwks_find(k, JWT_ES256, ""));
    assert_true(finds(k, JWT_ES256, "2", second));
    EVP_PKEY_free(second);
}

static void what_is_for_something_else_is_left_out(void **state)
{
    (void)state;
    static const char *const others[] = {",\"use\":\"enc\"",
                                         ",\"use\":7",
                                         ",\"key_ops\":[\"sign\"]",
                                         ",\"key_ops\":\"verify\"",
                                         ",\"alg\":\"HS256\"",
                                         ",\"alg\":\"none\"",
                                         ",\"alg\":\"RSA-OAEP\"",
                                         ",\"alg\":\"ES384\"",
                                         ",\"alg\":7",
                                         ",\"kid\":7",
                                         ",\"kid\":\"a\\u0000b\""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct jwks *k = NULL;
        FAILS(ERR_INVALID, read_one(ec, others[i], &k, e));
        assert_null(k);
    }
    scoped(jwks_freep) struct jwks *narrow = NULL;
    OK(read_one(rsa, ",\"alg\":\"RS384\",\"kid\":\"k\"", &narrow, e));
    assert_true(finds(narrow, JWT_RS384, "k", rsa));
    assert_null(jwks_find(narrow, JWT_RS256, "k"));
}

static void weak_and_broken_keys_are_left_out(void **state)
{
    (void)state;
    EVP_PKEY *weak = EVP_RSA_gen(1024);
    struct jwks *k = NULL;
    FAILS(ERR_INVALID, read_one(weak, "", &k, e));
    EVP_PKEY_free(weak);
    scoped(buf_done) struct buf point = document_of(ec, "");
    char *x = strstr(point.bytes, "\"x\":\"");
    x[6] = x[6] == 'A' ? 'B' : 'A'; /* not on the curve, but for one in 2^256 */
    FAILS(ERR_INVALID, read_text(point.bytes, &k, e));
    static const char *const broken[] = {
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"\",\"e\":\"\"}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[]}",
        "{\"keys\":{}}",
        "{}",
        "[]",
        "",
        "{\"keys\":[],\"keys\":[]}",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        FAILS(ERR_INVALID, read_text(broken[i], &k, e));
}

static void an_exponent_that_would_keep_us_busy_is_left_out(void **state)
{
    (void)state;
    static const char *const exponents[] = {"AQ", "Ag", "AQAAAAAAAAAB"}; /* 1, 2, 2^64 + 1 */
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        struct jwks *k = NULL;
        scoped(buf_done) struct buf whole = document_of(rsa, ""), text = BUF_INIT(64 << 10);
        char *at = strstr(whole.bytes, "\"e\":\"");
        buf_fmt(&text, "%.*s\"e\":\"%s\"}]}", (int)(at - whole.bytes), whole.bytes, exponents[i]);
        FAILS(ERR_INVALID, read_text(text.bytes, &k, e));
    }
}

static void a_list_is_kept_up_to_its_limit(void **state)
{
    (void)state;
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    scoped(jwks_freep) struct jwks *k = NULL;
    buf_str(&text, "{\"keys\":[");
    for (int i = 0; i <= JWKS_KEYS_MAX; i++) {
        buf_fmt(&text, "%s{\"kid\":\"%d\",", i ? "," : "", i);
        add_material(&text, ed);
        buf_str(&text, "}");
    }
    buf_str(&text, "]}");
    OK(read_text(text.bytes, &k, e));
    assert_int_equal(jwks_count(k), JWKS_KEYS_MAX);
    assert_true(finds(k, JWT_EDDSA, "63", ed));
    assert_null(jwks_find(k, JWT_EDDSA, "64"));
    scoped(freep) char *large = malloc(JWKS_BYTES_MAX + 1);
    assert_non_null(large);
    memset(large, ' ', JWKS_BYTES_MAX + 1);
    struct jwks *none = NULL;
    FAILS(ERR_LIMIT, jwks_read((struct str){large, JWKS_BYTES_MAX + 1}, &none, e));
    FAILS(ERR_INVALID, jwks_read((struct str){large, JWKS_BYTES_MAX}, &none, e));
}

/* ---- where they are ---- */

static void an_issuer_is_asked_behind_its_path_and_before_it(void **state)
{
    (void)state;
    static const struct {
        const char *issuer, *first, *second;
    } cases[] = {
        {"https://a.org", "https://a.org/.well-known/openid-configuration",
         "https://a.org/.well-known/oauth-authorization-server"},
        {"https://a.org/", "https://a.org/.well-known/openid-configuration",
         "https://a.org/.well-known/oauth-authorization-server"},
        {"https://a.org:8443/realms/x",
         "https://a.org:8443/realms/x/.well-known/openid-configuration",
         "https://a.org:8443/.well-known/oauth-authorization-server/realms/x"},
    };
    char url[DISCOVERY_URL_SIZE], issuer[DISCOVERY_URL_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(discovery_url(cases[i].issuer, 0, url, e));
        assert_string_equal(url, cases[i].first);
        OK(discovery_url(cases[i].issuer, 1, url, e));
        assert_string_equal(url, cases[i].second);
    }
    memset(issuer, 'a', sizeof issuer - 1);
    issuer[sizeof issuer - 1] = '\0';
    FAILS(ERR_INVALID, discovery_url(issuer, 0, url, e));
}

static int described(const char *text, const char *issuer, char *url, struct err *e)
{
    return discovery_read(str_of(text), issuer, url, e);
}

static void only_the_issuers_own_description_counts(void **state)
{
    (void)state;
    char url[DISCOVERY_URL_SIZE] = "";
    OK(described("{\"issuer\":\"https://a.org\",\"jwks_uri\":\"https://b.org/k\"}", "https://a.org",
                 url, e));
    assert_string_equal(url, "https://b.org/k");
    OK(described("{\"issuer\":\"http://127.0.0.1\",\"jwks_uri\":\"http://127.0.0.1/k\"}",
                 "http://127.0.0.1", url, e));
    static const char *const wrong[] = {
        "{\"issuer\":\"https://a.org/\",\"jwks_uri\":\"https://b.org/k\"}",
        "{\"issuer\":\"https://evil.org\",\"jwks_uri\":\"https://b.org/k\"}",
        "{\"jwks_uri\":\"https://b.org/k\"}",
        "{\"issuer\":\"https://a.org\"}",
        "{\"issuer\":\"https://a.org\",\"jwks_uri\":\"http://b.org/k\"}",
        "{\"issuer\":\"https://a.org\",\"jwks_uri\":\"file:///etc/passwd\"}",
        "{\"issuer\":\"https://a.org\",\"jwks_uri\":\"https://b.org/\\u0000k\"}",
        "{\"issuer\":\"https://a.org\",\"jwks_uri\":7}",
        "[]",
        "",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(ERR_INVALID, described(wrong[i], "https://a.org", url, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_by_its_name_and_for_what_it_is),
        cmocka_unit_test(without_a_name_it_has_to_be_the_only_one),
        cmocka_unit_test(what_is_for_something_else_is_left_out),
        cmocka_unit_test(weak_and_broken_keys_are_left_out),
        cmocka_unit_test(an_exponent_that_would_keep_us_busy_is_left_out),
        cmocka_unit_test(a_list_is_kept_up_to_its_limit),
        cmocka_unit_test(an_issuer_is_asked_behind_its_path_and_before_it),
        cmocka_unit_test(only_the_issuers_own_description_counts),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
