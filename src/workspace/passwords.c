#include "workspace/passwords.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/err.h"
#include "workspace/lru.h"

#define QUIET_US INT64_C(60000000)

enum { PASSES = 3, MEMORY_BYTES = 64 << 20, WAIT_FIRST_MS = 1000, DOUBLINGS_MAX = 6 };

/* What guesses are counted by, and how many of them nobody minds. */
enum kind { OF_BOTH, OF_ADDRESS, OF_THING, KINDS };
static const uint32_t free_guesses[KINDS] = {[OF_BOTH] = 5, [OF_ADDRESS] = 20, [OF_THING] = 50};

struct counted {
    struct lru_entry at;
    uint32_t guesses;
    int64_t last_us;  /* monotonic */
    int64_t until_us; /* refused until then */
};

struct passwords {
    struct rates_clock clock;
    pthread_mutex_t gate; /* guards busy and waiting */
    pthread_cond_t turn;
    unsigned busy, waiting;
    pthread_mutex_t lock;     /* guards tables */
    struct lru tables[KINDS]; /* of struct counted */
};

/* What is compared with when there is nothing: costs as much as another, and no password has it. */
static const char nobodys[] = "$argon2id$v=19$m=65536,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
                              "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

_Static_assert((int)PASSWORD_HASH_SIZE == (int)crypto_pwhash_STRBYTES, "as libsodium writes it");

int passwords_new(const struct rates_clock *clock, struct passwords **ret, struct err *e)
{
    struct passwords *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "make the passwords");
    p->clock = *clock;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&p->turn, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&p->gate, NULL);
    pthread_mutex_init(&p->lock, NULL);
    int failed = sodium_init() < 0 ? err_set(e, ERR_INTERNAL, "libsodium does not start") : 0;
    for (int i = 0; !failed && i < KINDS; i++)
        failed = lru_init(&p->tables[i], sizeof(struct counted), PASSWORDS_NAMES_MAX, e);
    if (failed) {
        passwords_free(p);
        return -1;
    }
    *ret = p;
    return 0;
}

void passwords_free(struct passwords *p)
{
    if (!p)
        return;
    for (int i = 0; i < KINDS; i++)
        lru_done(&p->tables[i]);
    pthread_cond_destroy(&p->turn);
    pthread_mutex_destroy(&p->gate);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- not too many at once ---- */

static int too_many(struct err *e)
{
    return err_set(e, ERR_OVERLOADED, "too many passwords are being checked; try again soon");
}

static int begin(struct passwords *p, struct err *e)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PASSWORDS_TURN_MS / 1000;
    pthread_mutex_lock(&p->gate);
    int failed = 0;
    if (p->busy >= PASSWORDS_AT_ONCE && p->waiting >= PASSWORDS_WAITERS)
        failed = too_many(e);
    p->waiting++;
    while (!failed && p->busy >= PASSWORDS_AT_ONCE)
        if (pthread_cond_timedwait(&p->turn, &p->gate, &until))
            failed = p->busy >= PASSWORDS_AT_ONCE ? too_many(e) : 0;
    p->waiting--;
    if (!failed)
        p->busy++;
    pthread_mutex_unlock(&p->gate);
    return failed;
}

static void end(struct passwords *p)
{
    pthread_mutex_lock(&p->gate);
    p->busy--;
    pthread_cond_signal(&p->turn);
    pthread_mutex_unlock(&p->gate);
}

static int check_text(struct str text, struct err *e)
{
    if (text.len == 0)
        return err_set(e, ERR_INVALID, "password: it is empty");
    if (text.len > PASSWORD_BYTES_MAX)
        return err_set(e, ERR_INVALID, "password: at most %d bytes", PASSWORD_BYTES_MAX);
    return 0;
}

int passwords_hash(struct passwords *p, struct str text, char ret[PASSWORD_HASH_SIZE],
                   struct err *e)
{
    char made[PASSWORD_HASH_SIZE];
    if (check_text(text, e) || begin(p, e))
        return -1;
    int failed = crypto_pwhash_str_alg(made, text.ptr, text.len, PASSES, MEMORY_BYTES,
                                       crypto_pwhash_ALG_ARGON2ID13);
    end(p);
    if (failed)
        return err_set(e, ERR_OVERLOADED,
                       "there is no memory to make a password's hash; try again");
    memcpy(ret, made, sizeof made);
    return 0;
}

/* ---- not too many after another ---- */

/* One name for all addresses that one peer can easily have. */
static void name_of(const char *address, char ret[ID_SIZE])
{
    struct in6_addr v6;
    (void)snprintf(ret, ID_SIZE, "%.64s", address);
    if (inet_pton(AF_INET6, address, &v6) != 1)
        return;
    const uint8_t *b = v6.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        (void)snprintf(ret, ID_SIZE, "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
    else
        (void)snprintf(ret, ID_SIZE, "%02x%02x:%02x%02x:%02x%02x:%02x%02x::/64", b[0], b[1], b[2],
                       b[3], b[4], b[5], b[6], b[7]);
}

struct names {
    char of[KINDS][ID_SIZE]; /* "": is not counted */
};

static void names_make(const struct guess *g, struct names *ret)
{
    *ret = (struct names){0};
    (void)snprintf(ret->of[OF_THING], ID_SIZE, "%.64s", g->of);
    if (strcmp(g->address, "unix") == 0)
        return;
    name_of(g->address, ret->of[OF_ADDRESS]);
    uint8_t digest[crypto_generichash_BYTES_MIN];
    char both[2 * ID_SIZE + 1];
    (void)snprintf(both, sizeof both, "%s %s", ret->of[OF_ADDRESS], ret->of[OF_THING]);
    crypto_generichash(digest, sizeof digest, (const uint8_t *)both, strlen(both), NULL, 0);
    sodium_bin2hex(ret->of[OF_BOTH], ID_SIZE, digest, sizeof digest);
}

static int64_t wait_us(enum kind kind, uint32_t guesses)
{
    if (guesses < free_guesses[kind])
        return 0;
    uint32_t doublings = guesses - free_guesses[kind];
    int64_t ms = (int64_t)WAIT_FIRST_MS << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
    return (ms < PASSWORDS_WAIT_MAX_MS ? ms : PASSWORDS_WAIT_MAX_MS) * 1000;
}

static void count(struct passwords *p, enum kind kind, const char *name, int64_t now_us)
{
    struct lru_entry *it;
    struct err ignored = {0}; /* without memory nothing is slowed down, and nothing works anyway */
    if (!*name || lru_make(&p->tables[kind], name, &it, &ignored))
        return;
    struct counted *n = (struct counted *)it;
    int64_t since_us = n->until_us > n->last_us ? n->until_us : n->last_us;
    if (n->guesses && now_us - since_us > QUIET_US)
        n->guesses = 0;
    if (n->guesses < UINT32_MAX)
        n->guesses++;
    n->last_us = now_us;
    n->until_us = now_us + wait_us(kind, n->guesses);
}

static int64_t look(struct passwords *p, const struct names *names, int64_t now_us)
{
    int64_t until_us = now_us;
    for (int i = 0; i < KINDS; i++) {
        const struct counted *n = (struct counted *)lru_get(&p->tables[i], names->of[i]);
        if (n && n->until_us > until_us)
            until_us = n->until_us;
    }
    return until_us - now_us;
}

static int count_all(struct passwords *p, const struct names *names, int64_t *ret_wait_ms,
                     struct err *e)
{
    int64_t now_us = p->clock.mono_us(p->clock.arg);
    pthread_mutex_lock(&p->lock);
    int64_t left_us = look(p, names, now_us);
    for (int i = 0; !left_us && i < KINDS; i++)
        count(p, (enum kind)i, names->of[i], now_us);
    pthread_mutex_unlock(&p->lock);
    *ret_wait_ms = (left_us + 999) / 1000;
    if (left_us)
        return err_set(e, ERR_LIMIT, "too many wrong passwords; try again in %lld s",
                       (long long)(*ret_wait_ms + 999) / 1000);
    return 0;
}

/* It was wrong: whoever waits does so from now on, not from when it began, which may be long ago. */
static void wait_anew(struct passwords *p, const struct names *names)
{
    int64_t now_us = p->clock.mono_us(p->clock.arg);
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < KINDS; i++) {
        struct counted *n = (struct counted *)lru_get(&p->tables[i], names->of[i]);
        if (!n)
            continue;
        n->last_us = now_us;
        n->until_us = now_us + wait_us((enum kind)i, n->guesses);
    }
    pthread_mutex_unlock(&p->lock);
}

/* It was right: as if it had not been a guess. Of address and thing together all is forgotten. */
static void take_back(struct passwords *p, const struct names *names)
{
    pthread_mutex_lock(&p->lock);
    lru_drop(&p->tables[OF_BOTH], names->of[OF_BOTH]);
    for (int i = OF_ADDRESS; i < KINDS; i++) {
        struct counted *n = (struct counted *)lru_get(&p->tables[i], names->of[i]);
        if (!n)
            continue;
        n->guesses -= n->guesses > 0;
        n->until_us = 0;
    }
    pthread_mutex_unlock(&p->lock);
}

int passwords_try(struct passwords *p, const struct guess *guess, int64_t *ret_wait_ms,
                  struct err *e)
{
    struct names names;
    names_make(guess, &names);
    if (count_all(p, &names, ret_wait_ms, e))
        return -1;
    if (begin(p, e)) {
        *ret_wait_ms = WAIT_FIRST_MS;
        return -1;
    }
    bool is_long = guess->text.len > PASSWORD_BYTES_MAX;
    bool is_right = crypto_pwhash_str_verify(
                        guess->hash ? guess->hash : nobodys, guess->text.ptr ? guess->text.ptr : "",
                        is_long ? 0 : (unsigned long long)guess->text.len) == 0;
    end(p);
    if (!is_right || !guess->hash || is_long) {
        wait_anew(p, &names);
        return err_set(e, ERR_UNAUTHORIZED, "that is not the password");
    }
    take_back(p, &names);
    return 0;
}
