#include "store/hash_set.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/err.h"

enum { FIRST_SLOTS = 1 << 12 };

void hash_set_done(struct hash_set *s)
{
    free(s->slots);
    *s = (struct hash_set){0};
}

static uint64_t key_of(const uint8_t sha256[HASH_LEN], int kind)
{
    uint64_t key = get_u64(sha256) ^ (uint64_t)kind;
    return key ? key : 1;
}

/* Where the key is, or would be. */
static size_t place(const struct hash_set *s, uint64_t key)
{
    size_t at = key & (s->slot_count - 1);
    while (s->slots[at] && s->slots[at] != key)
        at = (at + 1) & (s->slot_count - 1);
    return at;
}

static int grow(struct hash_set *s, struct err *e)
{
    struct hash_set larger = {.slot_count = s->slot_count ? 2 * s->slot_count : FIRST_SLOTS,
                              .count = s->count};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return err_set(e, ERR_NO_MEMORY, "remember hashes");
    for (size_t i = 0; i < s->slot_count; i++)
        if (s->slots[i])
            larger.slots[place(&larger, s->slots[i])] = s->slots[i];
    free(s->slots);
    *s = larger;
    return 0;
}

int hash_set_add(struct hash_set *s, const uint8_t sha256[HASH_LEN], int kind, struct err *e)
{
    uint64_t key = key_of(sha256, kind);
    if (2 * (s->count + 1) > s->slot_count && grow(s, e))
        return -1;
    size_t at = place(s, key);
    s->count += s->slots[at] == 0;
    s->slots[at] = key;
    return 0;
}

bool hash_set_has(const struct hash_set *s, const uint8_t sha256[HASH_LEN], int kind)
{
    return s->count > 0 && s->slots[place(s, key_of(sha256, kind))] != 0;
}
