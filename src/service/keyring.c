#include "service/keyring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <openssl/evp.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/discovery.h"
#include "service/fetch.h"

#define SECOND_US INT64_C(1000000)

struct keyring {
    struct keyring_options o;
    pthread_t thread;
    bool has_thread;
    atomic_bool is_closing;

    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t wake;  /* the thread: something is wanted */
    pthread_cond_t told;  /* who waits: an attempt has ended */
    struct jwks *keys;    /* NULL: none yet */
    uint64_t generation;
    int64_t fetched_us; /* when they came; monotonic, as all times here */
    int64_t tried_us;   /* when they were asked for last */
    uint64_t tries;     /* attempts that ended */
    bool is_wanted, is_fetching;
    unsigned waiters;
    unsigned asks;   /* that are left of the allowance */
    int64_t asks_us; /* when it last grew */
};

/* ---- the thread ---- */

static int fetch_keys(struct keyring *k, struct jwks **ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(JWKS_BYTES_MAX);
    char url[DISCOVERY_URL_SIZE];
    if (*k->o.jwks_url)
        (void)snprintf(url, sizeof url, "%s", k->o.jwks_url);
    else if (discover_keys(k->o.issuer, &k->is_closing, url, e))
        return -1;
    if (fetch_document(url, &k->is_closing, &text, e))
        return -1;
    if (jwks_read((struct str){text.bytes ? text.bytes : "", text.len}, ret, e))
        return err_wrap(e, "%s", url);
    return 0;
}

/* With the lock held. */
static void take_in(struct keyring *k, struct jwks *fresh)
{
    k->fetched_us = clock_us();
    if (k->keys && memcmp(jwks_sha256(k->keys), jwks_sha256(fresh), HASH_LEN) == 0) {
        jwks_free(fresh);
        return;
    }
    log_line(k->o.log, LOG_INFO, "keys of the issuer", LOG_STR("issuer", k->o.issuer),
             LOG_U64("count", jwks_count(fresh)));
    jwks_free(k->keys);
    k->keys = fresh;
    k->generation++;
}

static void attempt(struct keyring *k)
{
    struct err e = {0};
    struct jwks *fresh = NULL;
    k->is_wanted = false;
    k->is_fetching = true;
    k->tried_us = clock_us();
    pthread_mutex_unlock(&k->lock);
    int failed = fetch_keys(k, &fresh, &e);
    if (failed && !atomic_load_explicit(&k->is_closing, memory_order_relaxed))
        log_line(k->o.log, LOG_WARNING, "the keys of the issuer cannot be fetched",
                 LOG_STR("why", e.text));
    pthread_mutex_lock(&k->lock);
    if (!failed)
        take_in(k, fresh);
    k->is_fetching = false;
    k->tries++;
    pthread_cond_broadcast(&k->told);
}

static void *keyring_main(void *arg)
{
    struct keyring *k = arg;
    pthread_mutex_lock(&k->lock);
    while (!atomic_load_explicit(&k->is_closing, memory_order_relaxed)) {
        if (k->is_wanted)
            attempt(k);
        else
            pthread_cond_wait(&k->wake, &k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* ---- asking ---- */

/* With the lock held, as all of these. */
static void want(struct keyring *k)
{
    k->is_wanted = true;
    pthread_cond_signal(&k->wake);
}

static bool is_good(const struct keyring *k, int64_t now_us)
{
    return k->keys && now_us - k->fetched_us < KEYRING_KEEP_S * SECOND_US;
}

/* Once in a while they are looked at again, without anybody waiting. */
static void refresh(struct keyring *k, int64_t now_us)
{
    if (!k->is_wanted && !k->is_fetching && now_us - k->tried_us >= KEYRING_FRESH_S * SECOND_US)
        want(k);
}

/* Whether an attempt may be made because of a stranger's word. */
static bool take_ask(struct keyring *k, int64_t now_us)
{
    int64_t grown = (now_us - k->asks_us) / (KEYRING_ASK_EVERY_S * SECOND_US);
    if (grown > 0) {
        k->asks_us += grown * KEYRING_ASK_EVERY_S * SECOND_US;
        k->asks = grown >= KEYRING_ASK_BURST - (int64_t)k->asks ? KEYRING_ASK_BURST
                                                                : k->asks + (unsigned)grown;
    }
    if (k->asks == 0)
        return false;
    k->asks--;
    return true;
}

static void wait_for(struct keyring *k, uint64_t tries)
{
    int64_t until_us = clock_us() + KEYRING_WAIT_MS * INT64_C(1000);
    const struct timespec until = {.tv_sec = (time_t)(until_us / SECOND_US),
                                   .tv_nsec = (long)(until_us % SECOND_US * 1000)};
    k->waiters++;
    while (k->tries < tries && !atomic_load_explicit(&k->is_closing, memory_order_relaxed))
        if (pthread_cond_timedwait(&k->told, &k->lock, &until))
            break;
    k->waiters--;
}

/* Waits for an attempt that began after now, or for the one under way if no other may be made. */
static void ask(struct keyring *k, int64_t now_us)
{
    uint64_t tries = k->tries + k->is_fetching;
    if (k->waiters >= KEYRING_WAITERS_MAX)
        return;
    if (k->is_wanted || take_ask(k, now_us)) {
        want(k);
        tries++;
    }
    wait_for(k, tries);
}

static struct evp_pkey_st *look(const struct keyring *k, enum jwt_alg alg, const char *kid)
{
    return is_good(k, clock_us()) ? jwks_find(k->keys, alg, kid) : NULL;
}

int keyring_find(struct keyring *k, enum jwt_alg alg, const char *kid, struct evp_pkey_st **ret,
                 uint64_t *ret_generation, struct err *e)
{
    int64_t now_us = clock_us();
    pthread_mutex_lock(&k->lock);
    struct evp_pkey_st *key = look(k, alg, kid);
    if (key) {
        refresh(k, now_us);
    } else {
        ask(k, now_us);
        key = look(k, alg, kid);
    }
    bool has_any = is_good(k, clock_us());
    *ret_generation = k->generation;
    pthread_mutex_unlock(&k->lock);
    if (!key)
        return has_any ? err_set(e, ERR_UNAUTHORIZED,
                                 "the token is signed with a key that its issuer does not publish")
                       : err_set(e, ERR_UNAVAILABLE,
                                 "the keys of the issuer cannot be fetched at the moment");
    *ret = key;
    return 0;
}

uint64_t keyring_generation(struct keyring *k)
{
    int64_t now_us = clock_us();
    pthread_mutex_lock(&k->lock);
    refresh(k, now_us);
    uint64_t generation = is_good(k, now_us) ? k->generation : 0;
    pthread_mutex_unlock(&k->lock);
    return generation;
}

/* ---- its life ---- */

int keyring_open(const struct keyring_options *options, struct keyring **ret, struct err *e)
{
    pthread_condattr_t attr;
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) /* counts its calls */
        return err_set(e, ERR_INTERNAL, "start libcurl");
    struct keyring *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "open the keys of the issuer");
    k->o = *options;
    k->is_wanted = true;
    k->asks = KEYRING_ASK_BURST;
    k->asks_us = k->tried_us = clock_us();
    (void)pthread_mutex_init(&k->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&k->wake, &attr);
    (void)pthread_cond_init(&k->told, &attr);
    (void)pthread_condattr_destroy(&attr);
    int failed = pthread_create(&k->thread, NULL, keyring_main, k);
    if (failed) {
        keyring_close(k);
        return err_sys(e, failed, "start the thread for the keys of the issuer");
    }
    k->has_thread = true;
    *ret = k;
    return 0;
}

void keyring_close(struct keyring *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    atomic_store_explicit(&k->is_closing, true, memory_order_relaxed);
    pthread_cond_broadcast(&k->wake);
    pthread_cond_broadcast(&k->told);
    pthread_mutex_unlock(&k->lock);
    if (k->has_thread)
        (void)pthread_join(k->thread, NULL);
    jwks_free(k->keys);
    (void)pthread_cond_destroy(&k->told);
    (void)pthread_cond_destroy(&k->wake);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}
