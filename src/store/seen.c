/* Which chunks a batch has met: two lists and a table over both, open addressing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "store/contents_int.h"

enum { SLOTS_MIN = 64 };

void seen_done(struct seen *s)
{
    free(s->fresh);
    free(s->reused);
    free(s->slots);
    *s = (struct seen){0};
}

static void key_at(const struct seen *s, uint32_t slot, struct chunk_key *ret)
{
    size_t index = (slot - 1) / 2;
    if (slot % 2) {
        ret->kind = s->fresh[index].kind;
        memcpy(ret->sha256, s->fresh[index].sha256, HASH_LEN);
    } else {
        *ret = s->reused[index];
    }
}

/* The slot where the key is, or where it would go. */
static size_t slot_of(const struct seen *s, const struct chunk_key *key)
{
    size_t hash;
    memcpy(&hash, key->sha256, sizeof hash);
    for (size_t i = hash & (s->slot_count - 1);; i = (i + 1) & (s->slot_count - 1)) {
        struct chunk_key other;
        if (s->slots[i] == 0)
            return i;
        key_at(s, s->slots[i], &other);
        if (other.kind == key->kind && memcmp(other.sha256, key->sha256, HASH_LEN) == 0)
            return i;
    }
}

bool seen_has(const struct seen *s, const struct chunk_key *key)
{
    return s->slot_count > 0 && s->slots[slot_of(s, key)] != 0;
}

static int grow_slots(struct seen *s, struct err *e)
{
    size_t count = s->fresh_count + s->reused_count;
    if (s->slot_count > 0 && count < s->slot_count / 2)
        return 0;
    struct seen bigger = *s;
    bigger.slot_count = s->slot_count ? 2 * s->slot_count : SLOTS_MIN;
    bigger.slots = calloc(bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.slots)
        return err_set(e, ERR_NO_MEMORY, "remember a chunk");
    for (size_t i = 0; i < s->slot_count; i++)
        if (s->slots[i]) {
            struct chunk_key key;
            key_at(s, s->slots[i], &key);
            bigger.slots[slot_of(&bigger, &key)] = s->slots[i];
        }
    free(s->slots);
    *s = bigger;
    return 0;
}

static int grow_list(void **items, size_t *size, size_t count, size_t item_size, struct err *e)
{
    if (count < *size)
        return 0;
    size_t wanted = *size ? 2 * *size : 16;
    void *more = realloc(*items, wanted * item_size);
    if (!more)
        return err_set(e, ERR_NO_MEMORY, "remember a chunk");
    *items = more;
    *size = wanted;
    return 0;
}

int seen_add_fresh(struct seen *s, const struct chunk_row *row, struct err *e)
{
    struct chunk_key key = {.kind = row->kind};
    memcpy(key.sha256, row->sha256, HASH_LEN);
    if (grow_slots(s, e) ||
        grow_list((void **)&s->fresh, &s->fresh_size, s->fresh_count, sizeof *s->fresh, e))
        return -1;
    size_t slot = slot_of(s, &key);
    assert(s->slots[slot] == 0);
    s->fresh[s->fresh_count] = *row;
    s->slots[slot] = (uint32_t)(2 * s->fresh_count++ + 1);
    return 0;
}

int seen_add_reused(struct seen *s, const struct chunk_key *key, struct err *e)
{
    if (grow_slots(s, e) ||
        grow_list((void **)&s->reused, &s->reused_size, s->reused_count, sizeof *s->reused, e))
        return -1;
    size_t slot = slot_of(s, key);
    assert(s->slots[slot] == 0);
    s->reused[s->reused_count] = *key;
    s->slots[slot] = (uint32_t)(2 * s->reused_count++ + 2);
    return 0;
}
