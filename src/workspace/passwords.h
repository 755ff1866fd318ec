/* passwords.h -- what is kept of a password, and guesses of it, slowed down.
 *
 *     passwords_hash(p, text, hash, e)               argon2id, 64 MiB, three passes
 *     passwords_try(p, &guess, &wait_ms, e)          ERR_UNAUTHORIZED, ERR_LIMIT
 *
 * A hash costs memory and a good part of a second, on purpose: at most PASSWORDS_AT_ONCE are made at the
 * same time, PASSWORDS_WAITERS wait for their turn, others are told to come back.
 *
 * Guesses are counted for what the password is of, for the address they come from (IPv6: its /64), and
 * for both together. A guess counts when it begins, so that many at once are no way around; the right one is
 * taken back. Past so many of a kind (passwords.c) without a quiet minute each one doubles the wait, from
 * a second up to PASSWORDS_WAIT_MAX_MS; who comes before that is over is refused without a look at the
 * password. A guess at something that is not there takes as long and counts as much.
 *
 * Any number of threads. Hashing blocks.
 */
#ifndef WORKSPACE_PASSWORDS_H
#define WORKSPACE_PASSWORDS_H

#include <stdint.h>

#include "base/str.h"
#include "workspace/rates.h"

struct err;
struct passwords;

enum {
    PASSWORD_BYTES_MAX = 1024,
    PASSWORD_HASH_SIZE = 128,
    PASSWORDS_AT_ONCE = 2,
    PASSWORDS_WAITERS = 16,
    PASSWORDS_TURN_MS = 10000, /* that one waits for its turn at most */
    PASSWORDS_WAIT_MAX_MS = 60000,
    PASSWORDS_NAMES_MAX = 8192, /* that are counted at the same time, of each kind */
};

/* The clock is copied; its wall clock is not asked. */
int passwords_new(const struct rates_clock *clock, struct passwords **ret, struct err *e);
void passwords_free(struct passwords *p);
static inline void passwords_freep(struct passwords **p)
{
    passwords_free(*p);
}

/* Fails with ERR_INVALID for none, or one longer than PASSWORD_BYTES_MAX; ERR_OVERLOADED. */
int passwords_hash(struct passwords *p, struct str text, char ret[PASSWORD_HASH_SIZE],
                   struct err *e);

struct guess {
    const char *hash;    /* NULL: there is nothing of that name, which only the answer says */
    const char *of;      /* an id, or whatever names the thing; at most 64 bytes count */
    const char *address; /* as in http_peer; "unix" is never refused */
    struct str text;
};

/* 0: it is right. ERR_UNAUTHORIZED: it is not. ERR_LIMIT: nobody looked, and *ret_wait_ms says when to come
 * again. ERR_OVERLOADED likewise. */
int passwords_try(struct passwords *p, const struct guess *guess, int64_t *ret_wait_ms,
                  struct err *e);

#endif
