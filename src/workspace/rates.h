/* rates.h -- how much is too much, per key and per address.
 *
 * Two questions, each answered at once and without a disk:
 *
 *     rates_run_begin(r, &who, ...)        may this key start a run: per minute, day and month
 *     rates_peer(r, address, ...)          may this address try another wrong key
 *
 * Who gets a no also gets the time after which to ask again, for Retry-After: ERR_LIMIT, 429.
 *
 * Runs per minute is a bucket that holds a minute's worth and refills steadily: a burst is fine, a
 * flood is not. CPU seconds per day end at midnight UTC, budgets of a month with the month; what the runs
 * used is counted here when
 * they end and written to the store (META_SOON), so it survives a restart. Several runs that began
 * within the budget may together end over it.
 *
 * Failed keys are counted per address (IPv6: per /64). From the RATES_FAILURES-th on, without a quiet
 * minute between them, each doubles the wait, from one second up to RATES_WAIT_MAX_MS. Ask only about
 * wrong keys: nobody guesses 180 bits, so what is slowed down is noise, and behind a proxy all
 * clients have one address.
 * The tables are bounded; when one is full, what was touched longest ago goes first.
 *
 * Any number of threads. Only the first call for a key on a day may block: it reads the store.
 */
#ifndef WORKSPACE_RATES_H
#define WORKSPACE_RATES_H

#include <stdint.h>

struct err;
struct meta;
struct rates;
struct who;

enum {
    RATES_KEYS_MAX = 10000,
    RATES_PEERS_MAX = 4096,
    RATES_FAILURES = 10,
    RATES_WAIT_MAX_MS = 60000,
};

/* Time comes from here, so that a test can be another day. */
struct rates_clock {
    int64_t (*mono_us)(void *arg);
    int64_t (*wall_us)(void *arg);
    void *arg;
};

extern const struct rates_clock rates_system_clock;

/* `meta` may be NULL: then nothing survives. The clock is copied. */
int rates_new(struct meta *meta, const struct rates_clock *clock, struct rates **ret,
              struct err *e);
void rates_free(struct rates *r);
static inline void rates_freep(struct rates **r)
{
    rates_free(*r);
}

/* Counts a run that is about to begin. On ERR_LIMIT nothing was counted and *ret_wait_ms says how
 * long to wait. */
int rates_run_begin(struct rates *r, const struct who *who, int64_t *ret_wait_ms, struct err *e);

/* The run ended and used so much, in that workspace ("": in none). */
void rates_run_end(struct rates *r, const struct who *who, const char *workspace, uint64_t cpu_us);

/* The run did not begin after all: its place in the minute is given back. */
void rates_run_refund(struct rates *r, const struct who *who);

/* After a key was found to be wrong. `address` as in http_peer. "unix" is never refused. */
int rates_peer(struct rates *r, const char *address, int64_t *ret_wait_ms, struct err *e);
void rates_peer_failed(struct rates *r, const char *address);

#endif
