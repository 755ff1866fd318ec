#include "workspace/sign.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/scope.h"

static void add_u64(struct buf *b, uint64_t value)
{
    uint8_t bytes[8];
    put_u64(bytes, value);
    buf_add(b, bytes, sizeof bytes);
}

/* With its length in front, so that no text can lean over into the next. */
static void add_text(struct buf *b, const char *text)
{
    add_u64(b, strlen(text));
    buf_str(b, text);
}

static int mac(const uint8_t key[SIGN_KEY_LEN], const struct signed_address *a,
               char ret[SIGNATURE_SIZE], struct err *e)
{
    scoped(buf_done) struct buf b = BUF_INIT(8 << 10);
    add_text(&b, "cicada address 1");
    add_text(&b, a->method);
    add_text(&b, a->workspace);
    add_text(&b, a->path);
    add_u64(&b, a->version);
    add_u64(&b, a->flags);
    add_u64(&b, (uint64_t)a->expires_s);
    add_text(&b, a->principal);
    if (buf_check(&b, e))
        return err_wrap(e, "sign an address");
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!HMAC(EVP_sha256(), key, SIGN_KEY_LEN, (const uint8_t *)b.bytes, b.len, digest, &len) ||
        len != HASH_LEN)
        return err_set(e, ERR_INTERNAL, "libcrypto offers no HMAC-SHA256");
    hash_hex(digest, ret);
    return 0;
}

int sign_make(const uint8_t key[SIGN_KEY_LEN], const struct signed_address *a, int64_t now_s,
              char ret[SIGNATURE_SIZE], struct err *e)
{
    if (a->expires_s <= now_s || a->expires_s - now_s > SIGN_EXPIRES_MAX_S)
        return err_set(e, ERR_INVALID, "expires_s: 1 to %d", SIGN_EXPIRES_MAX_S);
    return mac(key, a, ret, e);
}

int sign_check(const uint8_t key[SIGN_KEY_LEN], const struct signed_address *a, int64_t now_s,
               const char *signature, struct err *e)
{
    char right[SIGNATURE_SIZE];
    if (mac(key, a, right, e))
        return e->code == ERR_LIMIT ? err_set(e, ERR_DENIED, "the signature does not fit") : -1;
    if (strlen(signature) != SIGNATURE_SIZE - 1 ||
        CRYPTO_memcmp(right, signature, SIGNATURE_SIZE - 1) != 0)
        return err_set(e, ERR_DENIED, "the signature does not fit this address; ask for a new one");
    if (now_s >= a->expires_s)
        return err_set(e, ERR_DENIED, "the address has expired; ask for a new one");
    return 0;
}
