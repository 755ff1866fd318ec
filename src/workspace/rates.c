#include "workspace/rates.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/meta.h"
#include "workspace/lru.h"
#include "workspace/people.h"

#define MINUTE_US INT64_C(60000000)
#define DAY_US INT64_C(86400000000)

enum { PEER_WAIT_FIRST_MS = 1000 };

/* The bucket of runs per minute is kept as one point in time: when it will be full again. Every run
 * moves it further away, and one that would move it beyond a minute from now has to wait. */
struct key_entry {
    struct lru_entry at;
    int64_t full_us; /* monotonic */
    int64_t day;     /* that cpu_us is of; 0: not known */
    uint64_t cpu_us;
    int64_t month; /* that month_runs and month_us are of: its first day; 0: not known */
    uint64_t month_runs, month_us;
};

struct peer_entry {
    struct lru_entry at;
    uint32_t failures;
    int64_t failed_us; /* the last one, monotonic */
    int64_t until_us;  /* refused until then */
};

struct rates {
    struct meta *meta;
    struct rates_clock clock;
    pthread_mutex_t key_lock;  /* guards keys */
    struct lru keys;           /* of struct key_entry; only keys with limits */
    pthread_mutex_t peer_lock; /* guards peers */
    struct lru peers;          /* of struct peer_entry; only those with failures */
};

static int64_t system_mono(void *arg)
{
    (void)arg;
    return clock_us();
}

static int64_t system_wall(void *arg)
{
    (void)arg;
    return clock_wall_us();
}

const struct rates_clock rates_system_clock = {.mono_us = system_mono, .wall_us = system_wall};

static int64_t mono(const struct rates *r)
{
    return r->clock.mono_us(r->clock.arg);
}

static int64_t wall(const struct rates *r)
{
    return r->clock.wall_us(r->clock.arg);
}

int rates_new(struct meta *meta, const struct rates_clock *clock, struct rates **ret, struct err *e)
{
    struct rates *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NO_MEMORY, "make the rates");
    r->meta = meta;
    r->clock = *clock;
    pthread_mutex_init(&r->key_lock, NULL);
    pthread_mutex_init(&r->peer_lock, NULL);
    if (lru_init(&r->keys, sizeof(struct key_entry), RATES_KEYS_MAX, e) ||
        lru_init(&r->peers, sizeof(struct peer_entry), RATES_PEERS_MAX, e)) {
        rates_free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void rates_free(struct rates *r)
{
    if (!r)
        return;
    lru_done(&r->keys);
    lru_done(&r->peers);
    pthread_mutex_destroy(&r->key_lock);
    pthread_mutex_destroy(&r->peer_lock);
    free(r);
}

/* ---- runs ---- */

static int64_t ms_of(int64_t us) /* rounded up */
{
    return us <= 0 ? 0 : (us + 999) / 1000;
}

static int64_t share_us(const struct who *who)
{
    return MINUTE_US / who->limits.runs_per_minute;
}

/* How long until the bucket has room for one more. */
static int64_t minute_wait(const struct key_entry *k, const struct who *who, int64_t now_us)
{
    if (who->limits.runs_per_minute == 0)
        return 0;
    int64_t full_us = k->full_us > now_us ? k->full_us : now_us;
    return full_us + share_us(who) - MINUTE_US - now_us;
}

static void take_minute(struct key_entry *k, const struct who *who, int64_t now_us)
{
    if (who->limits.runs_per_minute == 0)
        return;
    int64_t full_us = k->full_us > now_us ? k->full_us : now_us;
    k->full_us = full_us + share_us(who);
}

static int fail_minute(const struct who *who, int64_t wait_us, int64_t *ret_wait_ms, struct err *e)
{
    *ret_wait_ms = ms_of(wait_us);
    return err_set(e, ERR_LIMIT, "this key may start %u runs per minute; try again in %lld s",
                   who->limits.runs_per_minute, (long long)(*ret_wait_ms + 999) / 1000);
}

static int fail_day(const struct who *who, int64_t now_us, int64_t *ret_wait_ms, struct err *e)
{
    *ret_wait_ms = ms_of(DAY_US - now_us % DAY_US);
    return err_set(e, ERR_LIMIT,
                   "this key has used its %u CPU seconds of today; more from midnight UTC on",
                   who->limits.cpu_s_per_day);
}

static int fail_month(const struct who *who, int64_t now_us, bool is_cpu, int64_t *ret_wait_ms,
                      struct err *e)
{
    *ret_wait_ms = ms_of(clock_month_of(now_us / DAY_US).next * DAY_US - now_us);
    return err_set(e, ERR_LIMIT,
                   "this key has used its %u %s of this month; more from the first of the next on "
                   "(UTC), or ask for a larger budget",
                   is_cpu ? who->limits.cpu_s_per_month : who->limits.runs_per_month,
                   is_cpu ? "CPU seconds" : "runs");
}

static bool has_day(const struct who *who)
{
    return who->limits.cpu_s_per_day > 0;
}

static bool has_month(const struct who *who)
{
    return who->limits.cpu_s_per_month > 0 || who->limits.runs_per_month > 0;
}

struct used {
    int64_t day, month;
    uint64_t cpu_us, month_runs, month_us;
};

static struct used used_on(int64_t day)
{
    return (struct used){.day = day, .month = clock_month_of(day).first};
}

/* What was used today and this month, as the store knows it. Blocks. */
static int read_used(struct rates *r, const struct who *who, struct used *u, struct err *e)
{
    struct usage_row today = {0}, month = {0};
    if (r->meta &&
        (meta_settle(r->meta, e) ||
         (has_day(who) && meta_usage_get(r->meta, who->key, u->day, &today, e)) ||
         (has_month(who) && meta_usage_sum(r->meta, who->key, u->month, u->day + 1, &month, e))))
        return -1;
    u->cpu_us = today.cpu_us;
    u->month_runs = month.runs;
    u->month_us = month.cpu_us;
    return 0;
}

/* What the entry does not know yet. */
static void fill_in(struct key_entry *k, const struct used *u)
{
    if (k->day != u->day) {
        k->day = u->day;
        k->cpu_us = u->cpu_us;
    }
    if (k->month != u->month) {
        k->month = u->month;
        k->month_runs = u->month_runs;
        k->month_us = u->month_us;
    }
}

/* Makes sure that the entry knows what was used. The lock is not held while reading. */
static int load_used(struct rates *r, const struct who *who, int64_t day, struct err *e)
{
    struct used u = used_on(day);
    if (!has_day(who) && !has_month(who))
        return 0;
    pthread_mutex_lock(&r->key_lock);
    const struct key_entry *known = (struct key_entry *)lru_get(&r->keys, who->key);
    bool is_known = known && known->day == u.day && known->month == u.month;
    pthread_mutex_unlock(&r->key_lock);
    if (is_known)
        return 0;
    if (read_used(r, who, &u, e))
        return -1;
    pthread_mutex_lock(&r->key_lock);
    struct lru_entry *it;
    int failed = lru_make(&r->keys, who->key, &it, e);
    if (!failed)
        fill_in((struct key_entry *)it, &u);
    pthread_mutex_unlock(&r->key_lock);
    return failed;
}

/* Whether a budget is used up; the lock is held. */
static int check_budgets(const struct key_entry *k, const struct who *who, int64_t today_us,
                         int64_t *ret_wait_ms, struct err *e)
{
    const struct key_limits *l = &who->limits;
    const struct used now = used_on(today_us / DAY_US);
    bool is_today = k->day == now.day, is_month = k->month == now.month;
    if (l->cpu_s_per_day && is_today && k->cpu_us >= (uint64_t)l->cpu_s_per_day * 1000000)
        return fail_day(who, today_us, ret_wait_ms, e);
    if (l->cpu_s_per_month && is_month && k->month_us >= (uint64_t)l->cpu_s_per_month * 1000000)
        return fail_month(who, today_us, /* is_cpu= */ true, ret_wait_ms, e);
    if (l->runs_per_month && is_month && k->month_runs >= l->runs_per_month)
        return fail_month(who, today_us, /* is_cpu= */ false, ret_wait_ms, e);
    return 0;
}

int rates_run_begin(struct rates *r, const struct who *who, int64_t *ret_wait_ms, struct err *e)
{
    *ret_wait_ms = 0;
    if (!*who->key || (who->limits.runs_per_minute == 0 && !has_day(who) && !has_month(who)))
        return 0;
    int64_t now_us = mono(r), today_us = wall(r);
    if (load_used(r, who, today_us / DAY_US, e))
        return -1;
    pthread_mutex_lock(&r->key_lock);
    struct lru_entry *it;
    int failed = lru_make(&r->keys, who->key, &it, e);
    struct key_entry *k = (struct key_entry *)it;
    int64_t wait_us = failed ? 0 : minute_wait(k, who, now_us);
    failed = failed || check_budgets(k, who, today_us, ret_wait_ms, e) ? -1 : 0;
    if (!failed && wait_us > 0)
        failed = fail_minute(who, wait_us, ret_wait_ms, e);
    if (!failed)
        take_minute(k, who, now_us);
    pthread_mutex_unlock(&r->key_lock);
    return failed;
}

void rates_run_end(struct rates *r, const struct who *who, const char *workspace, uint64_t cpu_us)
{
    struct usage_row used = {.day = wall(r) / DAY_US, .runs = 1, .cpu_us = cpu_us};
    const struct used now = used_on(used.day);
    memcpy(used.key, who->key, ID_SIZE);
    (void)snprintf(used.workspace, sizeof used.workspace, "%s", workspace);
    pthread_mutex_lock(&r->key_lock);
    struct key_entry *k = (struct key_entry *)lru_get(&r->keys, who->key);
    if (k && k->day == used.day)
        k->cpu_us += cpu_us;
    if (k && k->month == now.month) {
        k->month_us += cpu_us;
        k->month_runs++;
    }
    pthread_mutex_unlock(&r->key_lock);
    struct err ignored = {0}; /* the store has told why already */
    if (r->meta)
        (void)meta_usage_add(r->meta, &used, &ignored);
}

void rates_run_refund(struct rates *r, const struct who *who)
{
    if (!*who->key || who->limits.runs_per_minute == 0)
        return;
    pthread_mutex_lock(&r->key_lock);
    struct key_entry *k = (struct key_entry *)lru_get(&r->keys, who->key);
    if (k)
        k->full_us -= share_us(who);
    pthread_mutex_unlock(&r->key_lock);
}

/* ---- peers ---- */

/* One name for all addresses that one peer can easily have. False: never refused. */
static bool peer_name(const char *address, char ret[ID_SIZE])
{
    struct in6_addr v6;
    if (strcmp(address, "unix") == 0)
        return false;
    if (inet_pton(AF_INET6, address, &v6) != 1) {
        (void)snprintf(ret, ID_SIZE, "%s", address);
        return true;
    }
    const uint8_t *b = v6.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        (void)snprintf(ret, ID_SIZE, "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
    else
        (void)snprintf(ret, ID_SIZE, "%02x%02x:%02x%02x:%02x%02x:%02x%02x::/64", b[0], b[1], b[2],
                       b[3], b[4], b[5], b[6], b[7]);
    return true;
}

int rates_peer(struct rates *r, const char *address, int64_t *ret_wait_ms, struct err *e)
{
    char name[ID_SIZE];
    *ret_wait_ms = 0;
    if (!peer_name(address, name))
        return 0;
    int64_t now_us = mono(r), until_us = 0;
    pthread_mutex_lock(&r->peer_lock);
    const struct peer_entry *p = (struct peer_entry *)lru_get(&r->peers, name);
    if (p)
        until_us = p->until_us;
    pthread_mutex_unlock(&r->peer_lock);
    if (until_us <= now_us)
        return 0;
    *ret_wait_ms = ms_of(until_us - now_us);
    return err_set(e, ERR_LIMIT, "too many wrong keys from this address; try again in %lld s",
                   (long long)(*ret_wait_ms + 999) / 1000);
}

static int64_t wait_after(uint32_t failures)
{
    if (failures < RATES_FAILURES)
        return 0;
    uint32_t doublings = failures - RATES_FAILURES;
    int64_t wait_ms = doublings > 6 ? RATES_WAIT_MAX_MS : (int64_t)PEER_WAIT_FIRST_MS << doublings;
    return (wait_ms < RATES_WAIT_MAX_MS ? wait_ms : RATES_WAIT_MAX_MS) * 1000;
}

void rates_peer_failed(struct rates *r, const char *address)
{
    char name[ID_SIZE];
    if (!peer_name(address, name))
        return;
    int64_t now_us = mono(r);
    struct lru_entry *it;
    struct err ignored = {0}; /* without memory nothing is slowed down, and nothing works anyway */
    pthread_mutex_lock(&r->peer_lock);
    if (lru_make(&r->peers, name, &it, &ignored) == 0) {
        struct peer_entry *p = (struct peer_entry *)it;
        int64_t quiet_since_us = p->until_us > p->failed_us ? p->until_us : p->failed_us;
        if (now_us - quiet_since_us > MINUTE_US)
            p->failures = 0;
        if (p->failures < UINT32_MAX)
            p->failures++;
        p->failed_us = now_us;
        p->until_us = now_us + wait_after(p->failures);
    }
    pthread_mutex_unlock(&r->peer_lock);
}
