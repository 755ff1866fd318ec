/* The table of keys: found by the hash of their secret. */
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "store/meta.h"
#include "workspace/people_int.h"

enum { NOTE_EVERY_US = 60 * 1000000, SECRET_LEN_MAX = 256 };

int secret_hash(struct str secret, uint8_t ret[HASH_LEN], struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    return hash_init(&h, e) || hash_add(&h, secret.ptr, secret.len, e) || hash_end(&h, ret, e) ? -1
                                                                                               : 0;
}

/* The secrets are random, so their hashes spread by themselves. */
static struct known_key **bucket_of(struct people *p, const uint8_t sha256[HASH_LEN])
{
    size_t at = ((size_t)sha256[0] << 8 | sha256[1]) % KEY_BUCKETS;
    return &p->buckets[at];
}

/* With the lock held. Which bucket it is in is no secret; what it holds is compared in full. */
static struct known_key *find(struct people *p, const uint8_t sha256[HASH_LEN])
{
    struct known_key *found = NULL;
    for (struct known_key *k = *bucket_of(p, sha256); k; k = k->next)
        if (CRYPTO_memcmp(k->sha256, sha256, HASH_LEN) == 0)
            found = k;
    return found;
}

static bool is_expired(const struct known_key *k, int64_t now_us)
{
    return k->expires_us != 0 && now_us >= k->expires_us;
}

int known_add(struct people *p, const struct key_row *row, const char *workspace, struct err *e)
{
    struct known_key *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "keep a key");
    memcpy(k->sha256, row->sha256, HASH_LEN);
    k->expires_us = row->expires_us;
    k->is_fixed = row->scopes & KEY_IS_FIXED;
    atomic_init(&k->noted_us, row->used_us);
    k->who.scopes = row->scopes & SCOPE_ALL;
    k->who.is_admin = row->scopes & SCOPE_ADMIN;
    k->who.limits = row->limits;
    k->who.key_expires_us = row->expires_us;
    memcpy(k->who.key, row->id, ID_SIZE);
    memcpy(k->who.principal, row->principal, ID_SIZE);
    (void)snprintf(k->who.workspace, ID_SIZE, "%s", workspace);
    pthread_rwlock_wrlock(&p->lock);
    struct known_key **bucket = bucket_of(p, k->sha256);
    k->next = *bucket;
    *bucket = k;
    pthread_rwlock_unlock(&p->lock);
    return 0;
}

/* With the lock held for writing. */
static void remove_if(struct people *p,
                      bool (*is_it)(const struct known_key *, const char *, int64_t),
                      const char *id, int64_t now_us)
{
    for (size_t i = 0; i < KEY_BUCKETS; i++)
        for (struct known_key **at = &p->buckets[i], *k; (k = *at);) {
            if (!is_it(k, id, now_us)) {
                at = &k->next;
                continue;
            }
            *at = k->next;
            free(k);
            p->key_count--;
        }
}

static bool has_id(const struct known_key *k, const char *id, int64_t now_us)
{
    (void)now_us;
    return strcmp(k->who.key, id) == 0;
}

static bool has_expired(const struct known_key *k, const char *id, int64_t now_us)
{
    (void)id;
    return is_expired(k, now_us);
}

void known_remove(struct people *p, const char *id)
{
    pthread_rwlock_wrlock(&p->lock);
    remove_if(p, has_id, id, 0);
    pthread_rwlock_unlock(&p->lock);
    atomic_fetch_add_explicit(&p->losses, 1, memory_order_release);
}

uint64_t people_losses(struct people *p)
{
    return atomic_load_explicit(&p->losses, memory_order_acquire);
}

bool people_still_knows(struct people *p, const struct who *who, int64_t now_us)
{
    bool is_known = !*who->key;
    pthread_rwlock_rdlock(&p->lock);
    if (disabled_has(p, who)) {
        pthread_rwlock_unlock(&p->lock);
        return false;
    }
    for (size_t i = 0; i < KEY_BUCKETS && !is_known; i++)
        for (const struct known_key *k = p->buckets[i]; k; k = k->next)
            is_known = is_known || (strcmp(k->who.key, who->key) == 0 && !is_expired(k, now_us));
    pthread_rwlock_unlock(&p->lock);
    return is_known;
}

int known_reserve(struct people *p, int64_t now_us, struct err *e)
{
    pthread_rwlock_wrlock(&p->lock);
    if (p->key_count >= PEOPLE_KEYS_MAX)
        remove_if(p, has_expired, NULL, now_us);
    bool has_room = p->key_count < PEOPLE_KEYS_MAX;
    p->key_count += has_room;
    pthread_rwlock_unlock(&p->lock);
    return has_room
               ? 0
               : err_set(e, ERR_LIMIT, "there are %d keys already; revoke some", PEOPLE_KEYS_MAX);
}

void known_unreserve(struct people *p)
{
    pthread_rwlock_wrlock(&p->lock);
    p->key_count--;
    pthread_rwlock_unlock(&p->lock);
}

bool known_is_fixed(struct people *p, const char *id)
{
    bool is_fixed = false;
    pthread_rwlock_rdlock(&p->lock);
    for (size_t i = 0; i < KEY_BUCKETS; i++)
        for (const struct known_key *k = p->buckets[i]; k; k = k->next)
            if (strcmp(k->who.key, id) == 0)
                is_fixed = k->is_fixed;
    pthread_rwlock_unlock(&p->lock);
    return is_fixed;
}

uint64_t people_key_count(struct people *p, int64_t now_us)
{
    uint64_t count = 0;
    pthread_rwlock_rdlock(&p->lock);
    for (size_t i = 0; i < KEY_BUCKETS; i++)
        for (const struct known_key *k = p->buckets[i]; k; k = k->next)
            count += !is_expired(k, now_us);
    pthread_rwlock_unlock(&p->lock);
    return count;
}

/* With the lock held. True when it is time to write down that the key was used, for one thread. */
static bool is_noteworthy(struct known_key *k, int64_t now_us)
{
    int64_t noted_us = atomic_load_explicit(&k->noted_us, memory_order_relaxed);
    return now_us - noted_us >= NOTE_EVERY_US &&
           atomic_compare_exchange_strong_explicit(&k->noted_us, &noted_us, now_us,
                                                   memory_order_relaxed, memory_order_relaxed);
}

int people_who(struct people *p, struct str secret, int64_t now_us, struct who *ret, struct err *e)
{
    uint8_t sha256[HASH_LEN];
    bool is_known = false, is_noted = false;
    if (secret.len > 0 && secret.len <= SECRET_LEN_MAX) {
        if (secret_hash(secret, sha256, e))
            return -1;
        pthread_rwlock_rdlock(&p->lock);
        struct known_key *k = find(p, sha256);
        is_known = k && !is_expired(k, now_us) && !disabled_has(p, &k->who);
        if (is_known) {
            *ret = k->who;
            is_noted = is_noteworthy(k, now_us);
        }
        pthread_rwlock_unlock(&p->lock);
    }
    if (!is_known)
        return err_set(e, ERR_UNAUTHORIZED, "the key is unknown, expired or revoked");
    struct err ignored = {0}; /* when it was used last is good to know and no more */
    if (is_noted)
        (void)meta_key_used(p->meta, ret->key, now_us, &ignored);
    return 0;
}
