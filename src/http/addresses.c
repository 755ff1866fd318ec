#include "http/addresses.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

enum { ROWS = 4096 }; /* a power of two; with 10,000 addresses there are 3 in a row */

struct entry {
    struct entry *next;
    unsigned count;
    unsigned char address[ADDRESS_LEN];
};

struct addresses {
    uint64_t seed; /* so that nobody can choose addresses that share a row */
    struct entry *rows[ROWS];
};

int addresses_new(struct addresses **ret, struct err *e)
{
    struct addresses *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "count connections");
    if (getrandom(&a->seed, sizeof a->seed, GRND_NONBLOCK) != (ssize_t)sizeof a->seed)
        a->seed = (uintptr_t)a; /* before the kernel has randomness: the place of the heap */
    *ret = a;
    return 0;
}

void addresses_free(struct addresses *a)
{
    for (size_t i = 0; a && i < ROWS; i++) {
        while (a->rows[i]) {
            struct entry *it = a->rows[i];
            a->rows[i] = it->next;
            free(it);
        }
    }
    free(a);
}

/* Where the entry of that address hangs, or would. */
static struct entry **find(struct addresses *a, const unsigned char address[ADDRESS_LEN])
{
    uint64_t words[2], hash = a->seed;
    memcpy(words, address, sizeof words);
    for (size_t i = 0; i < 2; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    struct entry **at = &a->rows[hash % ROWS];
    while (*at && memcmp((*at)->address, address, ADDRESS_LEN) != 0)
        at = &(*at)->next;
    return at;
}

bool addresses_add(struct addresses *a, const unsigned char address[ADDRESS_LEN], unsigned max)
{
    struct entry **at = find(a, address);
    if (!*at) {
        struct entry *it = max ? calloc(1, sizeof *it) : NULL;
        if (!it)
            return false;
        memcpy(it->address, address, ADDRESS_LEN);
        *at = it;
    }
    if ((*at)->count >= max)
        return false;
    (*at)->count++;
    return true;
}

void addresses_remove(struct addresses *a, const unsigned char address[ADDRESS_LEN])
{
    struct entry **at = find(a, address);
    assert(*at && (*at)->count > 0);
    struct entry *it = *at;
    if (--it->count == 0) {
        *at = it->next;
        free(it);
    }
}
