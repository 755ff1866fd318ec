#include "base/hash.h"

#include <errno.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/err.h"
#include "base/scope.h"

enum { HASH_CHUNK = 64 << 10 };

int hash_init(struct hash *h, struct err *e)
{
    if (!h->ctx && !(h->ctx = EVP_MD_CTX_new()))
        return err_set(e, ERR_NO_MEMORY, "begin a hash");
    if (EVP_DigestInit_ex(h->ctx, EVP_sha256(), /* engine= */ NULL) != 1)
        return err_set(e, ERR_INTERNAL, "libcrypto offers no SHA-256");
    return 0;
}

void hash_done(struct hash *h)
{
    EVP_MD_CTX_free(h->ctx);
    h->ctx = NULL;
}

int hash_add(struct hash *h, const void *bytes, size_t len, struct err *e)
{
    if (EVP_DigestUpdate(h->ctx, bytes, len) != 1)
        return err_set(e, ERR_INTERNAL, "go on with a hash");
    return 0;
}

int hash_end(struct hash *h, uint8_t ret[HASH_LEN], struct err *e)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_DigestFinal_ex(h->ctx, digest, &len) != 1 || len != HASH_LEN)
        return err_set(e, ERR_INTERNAL, "end a hash");
    for (size_t i = 0; i < HASH_LEN; i++)
        ret[i] = digest[i];
    return 0;
}

int hash_fd(int fd, uint64_t len_max, uint8_t ret[HASH_LEN], uint64_t *ret_len, struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    scoped(freep) char *chunk = malloc(HASH_CHUNK);
    if (!chunk)
        return err_set(e, ERR_NO_MEMORY, "hash a file");
    if (hash_init(&h, e))
        return -1;

    uint64_t total = 0;
    for (;;) {
        ssize_t n = read(fd, chunk, HASH_CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read");
        if (n == 0)
            break;
        total += (uint64_t)n;
        if (total > len_max)
            return err_set(e, ERR_LIMIT, "longer than %llu bytes", (unsigned long long)len_max);
        if (hash_add(&h, chunk, (size_t)n, e))
            return -1;
    }
    if (hash_end(&h, ret, e))
        return -1;
    *ret_len = total;
    return 0;
}

void hash_hex(const uint8_t digest[HASH_LEN], char ret[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_LEN; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[HASH_HEX_SIZE - 1] = '\0';
}
