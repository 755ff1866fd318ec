/* hash.h -- SHA-256, of bytes as they come or of an open file.
 *
 *     scoped(hash_done) struct hash h = {0};
 *     if (hash_init(&h, e) || hash_add(&h, bytes, len, e) || hash_end(&h, digest, e))
 *         return -1;
 *
 * The work is libcrypto's; failures are its own (no memory, no such algorithm in this build).
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct evp_md_ctx_st;

enum { HASH_LEN = 32, HASH_HEX_SIZE = 2 * HASH_LEN + 1 };

struct hash {
    struct evp_md_ctx_st *ctx; /* owned */
};

/* Also begins anew with a hash that was used before. */
int hash_init(struct hash *h, struct err *e);
void hash_done(struct hash *h);

int hash_add(struct hash *h, const void *bytes, size_t len, struct err *e);
int hash_end(struct hash *h, uint8_t ret[HASH_LEN], struct err *e);

/* The hash of what `fd` holds from its present position to its end, *ret_len bytes. Fails with
 * ERR_LIMIT when that is more than `len_max`. Blocks on disk. */
int hash_fd(int fd, uint64_t len_max, uint8_t ret[HASH_LEN], uint64_t *ret_len, struct err *e);

void hash_hex(const uint8_t digest[HASH_LEN],
              char ret[HASH_HEX_SIZE]); /* lower case, NUL at the end */

#endif
