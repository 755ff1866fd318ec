/* hash_set.h -- which of very many hashes were seen, in sixteen bytes each.
 *
 * Only the first eight bytes count. So "has" may be wrong, once in a great while, and then in one
 * direction only: it says yes to a hash that begins like one that was added.
 */
#ifndef STORE_HASH_SET_H
#define STORE_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct err;

struct hash_set {    /* begins as zeroes */
    uint64_t *slots; /* 0: free */
    size_t slot_count, count;
};

void hash_set_done(struct hash_set *s);

/* The same hash with another `kind` is another. Fails with ERR_NO_MEMORY. */
int hash_set_add(struct hash_set *s, const uint8_t sha256[HASH_LEN], int kind, struct err *e);
bool hash_set_has(const struct hash_set *s, const uint8_t sha256[HASH_LEN], int kind);

#endif
