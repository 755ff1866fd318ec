/* contents_fixture.h -- for tests of contents.h and packs.h: chunk rows in memory instead of a database,
 * bytes that look like something, and packs in a directory of their own.
 *
 * The functions of meta_files.h that contents calls are defined here, so a program that includes this
 * does not get those of meta.
 */
#ifndef STORE_CONTENTS_FIXTURE_H
#define STORE_CONTENTS_FIXTURE_H

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/contents.h"
#include "store/meta_files.h"
#include "store/packs.h"

/* ---- rows ---- */

struct fake_row {
    char vault[ID_SIZE];
    struct chunk_row row;
};

static struct {
    pthread_mutex_t lock;
    struct fake_row *rows;
    size_t count, size;
    void (*before_find)(void); /* once, if set */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void fake_forget_all(void)
{
    free(fake.rows);
    fake.rows = NULL;
    fake.count = fake.size = 0;
}

static inline struct chunk_row *fake_row(const char *vault, const struct chunk_key *key)
{
    for (size_t i = 0; i < fake.count; i++)
        if (fake.rows[i].row.kind == key->kind && strcmp(fake.rows[i].vault, vault) == 0 &&
            memcmp(fake.rows[i].row.sha256, key->sha256, HASH_LEN) == 0)
            return &fake.rows[i].row;
    return NULL;
}

int meta_chunk_find(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e)
{
    (void)m, (void)e;
    pthread_mutex_lock(&fake.lock);
    const struct chunk_row *row = fake_row(vault, key);
    if (row)
        *ret = *row;
    void (*hook)(void) = fake.before_find;
    fake.before_find = NULL;
    pthread_mutex_unlock(&fake.lock);
    if (hook)
        hook();
    return row != NULL;
}

int meta_chunk_read(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e)
{
    return meta_chunk_find(m, vault, key, ret, e);
}

int meta_chunk_list(struct meta *m, const char *vault, uint64_t pack, uint64_t offset, size_t limit,
                    struct chunk_row *ret, size_t *ret_count, struct err *e)
{
    (void)m, (void)e;
    size_t count = 0;
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < fake.count && count < limit; i++)
        if (strcmp(fake.rows[i].vault, vault) == 0 && fake.rows[i].row.pack == pack &&
            fake.rows[i].row.offset >= offset)
            ret[count++] = fake.rows[i].row;
    pthread_mutex_unlock(&fake.lock);
    *ret_count = count;
    return 0;
}

/* What meta_commit does with the chunks of a batch. */
static inline void fake_commit(const struct batch *b)
{
    struct chunk_set set;
    batch_chunks(b, &set);
    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; i < set.reused_count; i++)
        assert(fake_row(set.vault, &set.reused[i]));
    for (size_t i = 0; i < set.fresh_count; i++) {
        if (fake.count == fake.size) {
            fake.size = fake.size ? 2 * fake.size : 64;
            fake.rows = realloc(fake.rows, fake.size * sizeof *fake.rows);
            assert(fake.rows);
        }
        struct fake_row *row = &fake.rows[fake.count++];
        (void)snprintf(row->vault, sizeof row->vault, "%s", set.vault);
        row->row = set.fresh[i];
    }
    pthread_mutex_unlock(&fake.lock);
}

/* ---- bytes ---- */

/* The same for the same seed: noise, or text that shrinks. */
static inline void fill_noise(uint8_t *to, size_t len, uint64_t seed)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < len; i += sizeof x) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(to + i, &x, len - i < sizeof x ? len - i : sizeof x);
    }
}

static inline void fill_text(uint8_t *to, size_t len, uint64_t seed)
{
    static const char words[] = "the quick brown fox, 12.5, jumps; over the lazy dog\n";
    fill_noise(to, len, seed);
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)words[to[i] % (sizeof words - 1)];
}

static inline uint8_t *noise(size_t len, uint64_t seed)
{
    uint8_t *bytes = malloc(len ? len : 1);
    assert(bytes);
    fill_noise(bytes, len, seed);
    return bytes;
}

#endif
