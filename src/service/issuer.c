#include "service/issuer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "service/jwt.h"
#include "service/keyring.h"
#include "workspace/lru.h"
#include "workspace/people.h"

#define SECOND_US INT64_C(1000000)

struct issuer {
    struct issuer_options o;
    char principal[ID_SIZE]; /* that stands for it */
    struct keyring *ring;

    pthread_mutex_t lock; /* protects the table */
    struct lru tokens;    /* by the hash of a token */
};

struct token {
    struct lru_entry entry;
    struct who who;
    int64_t expires_us;
    uint64_t generation; /* of the keys it was checked with; never 0 */
};

static void pkeyp(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

/* ---- what was checked before ---- */

static int name_of(struct str token, char ret[ID_SIZE], struct err *e)
{
    uint8_t sha256[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    _Static_assert((int)ID_SIZE >= (int)HASH_HEX_SIZE, "a hash is a name in the table");
    if (hash_init(&h, e) || hash_add(&h, token.ptr, token.len, e) || hash_end(&h, sha256, e))
        return -1;
    hash_hex(sha256, ret);
    return 0;
}

static bool recall(struct issuer *i, const char *name, int64_t now_us, struct who *ret)
{
    uint64_t generation = keyring_generation(i->ring);
    pthread_mutex_lock(&i->lock);
    const struct token *t = (struct token *)lru_get(&i->tokens, name);
    bool is_good = t && t->generation == generation && now_us < t->expires_us;
    if (is_good)
        *ret = t->who;
    else if (t)
        lru_drop(&i->tokens, name);
    pthread_mutex_unlock(&i->lock);
    return is_good;
}

static void remember(struct issuer *i, const char *name, const struct who *who, uint64_t generation)
{
    struct err ignored = {0}; /* then it is checked again */
    struct lru_entry *it;
    pthread_mutex_lock(&i->lock);
    if (lru_make(&i->tokens, name, &it, &ignored) == 0) {
        struct token *t = (struct token *)it;
        t->who = *who;
        t->expires_us = who->key_expires_us;
        t->generation = generation;
    }
    pthread_mutex_unlock(&i->lock);
}

/* ---- what a token gives ---- */

static void add_scope(void *arg, struct str name)
{
    uint32_t *scopes = arg;
    for (unsigned bit = 0; scope_names[bit]; bit++)
        if (str_is(name, scope_names[bit]))
            *scopes |= 1u << bit;
}

static bool is_admin(const struct issuer *i, const char *subject)
{
    for (size_t n = 0; n < i->o.admin_count; n++)
        if (strcmp(i->o.admins[n], subject) == 0)
            return true;
    return false;
}

static void give_scopes(const struct issuer *i, const struct jwt *t, struct who *who)
{
    uint32_t scopes = i->o.default_scopes;
    jwt_scopes(t, add_scope, &scopes);
    who->scopes = scopes & SCOPE_ALL & ~(uint32_t)SCOPE_ADMIN;
    who->is_admin = is_admin(i, t->subject);
    if (who->is_admin)
        who->scopes = SCOPE_ALL;
}

/* What to call them. */
static const char *name_in(const struct jwt *t)
{
    static const char *const claims[] = {"preferred_username", "email", "name"};
    for (size_t n = 0; n < sizeof claims / sizeof *claims; n++) {
        const char *text = jwt_text(t, claims[n], PEOPLE_NAME_MAX);
        if (text && *text)
            return text;
    }
    return NULL;
}

/* What it claims is looked at first: nobody asks the issuer for a key because of a token for somebody else. */
static int check(struct issuer *i, struct str token, int64_t now_us, struct jwt *t,
                 uint64_t *ret_generation, struct err *e)
{
    const struct jwt_rules rules = {.issuer = i->o.url,
                                    .audiences = i->o.audiences,
                                    .audience_count = i->o.audience_count,
                                    .now_s = now_us / SECOND_US};
    scoped(pkeyp) EVP_PKEY *key = NULL;
    if (jwt_read(token, t, e) || jwt_check_claims(t, &rules, e) ||
        keyring_find(i->ring, t->alg, t->kid, &key, ret_generation, e))
        return -1;
    return jwt_check_signature(t, key, e);
}

static int learn(struct issuer *i, struct str token, int64_t now_us, struct who *ret,
                 uint64_t *ret_generation, struct err *e)
{
    scoped(jwt_done) struct jwt t = {0};
    struct who who;
    if (check(i, token, now_us, &t, ret_generation, e))
        return -1;
    if (people_subject(i->o.people, i->principal, t.subject, name_in(&t), now_us, &who, e))
        return e->code == ERR_INVALID ? err_set(e, ERR_UNAUTHORIZED,
                                                "the token says whose it is in a way that is "
                                                "not accepted here")
                                      : -1;
    give_scopes(i, &t, &who);
    who.key_expires_us = t.expires_s * SECOND_US;
    *ret = who;
    return 0;
}

int issuer_who(struct issuer *i, struct str token, int64_t now_us, struct who *ret, struct err *e)
{
    char name[ID_SIZE];
    uint64_t generation = 0;
    struct who who;
    if (token.len > JWT_BYTES_MAX)
        return err_set(e, ERR_UNAUTHORIZED, "the token is too long");
    if (name_of(token, name, e))
        return -1;
    if (!recall(i, name, now_us, &who)) {
        if (learn(i, token, now_us, &who, &generation, e))
            return -1;
        remember(i, name, &who, generation);
    }
    if (people_is_disabled(i->o.people, &who))
        return err_set(e, ERR_DENIED, "this account was disabled by an admin of this server");
    *ret = who;
    return 0;
}

/* ---- its life ---- */

int issuer_open(const struct issuer_options *options, struct issuer **ret, struct err *e)
{
    const struct keyring_options ring = {
        .issuer = options->url, .jwks_url = options->jwks_url, .log = options->log};
    struct issuer *i = calloc(1, sizeof *i);
    if (!i)
        return err_set(e, ERR_NO_MEMORY, "open the issuer");
    i->o = *options;
    (void)pthread_mutex_init(&i->lock, NULL); /* cannot fail in glibc */
    if (lru_init(&i->tokens, sizeof(struct token), ISSUER_TOKENS_MAX, e) ||
        people_issuer(options->people, options->url, clock_wall_us(), i->principal, e) ||
        keyring_open(&ring, &i->ring, e)) {
        issuer_close(i);
        return -1;
    }
    *ret = i;
    return 0;
}

void issuer_close(struct issuer *i)
{
    if (!i)
        return;
    keyring_close(i->ring);
    lru_done(&i->tokens);
    (void)pthread_mutex_destroy(&i->lock);
    free(i);
}

const char *issuer_url(const struct issuer *i)
{
    return i->o.url;
}

uint32_t issuer_scopes(const struct issuer *i)
{
    return SCOPE_ALL & ~(uint32_t)SCOPE_ADMIN & ~i->o.default_scopes;
}

bool issuer_takes(struct str bearer)
{
    return jwt_is_like(bearer);
}
