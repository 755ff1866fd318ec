/* people_int.h -- the inside of people.h. */
#ifndef WORKSPACE_PEOPLE_INT_H
#define WORKSPACE_PEOPLE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "workspace/people.h"

enum {
    KEY_BUCKETS = 16384,
    /* Bit of key_row.scopes, beside those of enum scope: works only while the configuration names
     * its secret. Never shown. */
    KEY_IS_FIXED = 1 << 30,
};

/* A key that works, or did until it expired. */
struct known_key {
    struct known_key *next;
    struct who who;
    uint8_t sha256[HASH_LEN];
    int64_t expires_us;
    _Atomic int64_t noted_us; /* when its use was last written down */
    bool is_fixed;
};

struct people {
    struct meta *meta;
    struct who local; /* the admin principal; constant after people_open */
    char new_secret[ID_SIZE];

    pthread_rwlock_t lock; /* guards all below; nothing blocks under it */
    struct known_key *buckets[KEY_BUCKETS];
    uint64_t key_count;      /* of those in the buckets, and of those being made */
    _Atomic uint64_t losses; /* how often one was taken away */
    struct disabled {
        char (*ids)[ID_SIZE]; /* of principals who are not let in, sorted; owned */
        size_t count, room;
    } disabled;
};

int secret_hash(struct str secret, uint8_t ret[HASH_LEN], struct err *e);

/* Puts a key into the table, where it works from then on. The place for it was counted before. */
int known_add(struct people *p, const struct key_row *row, const char *workspace, struct err *e);
void known_remove(struct people *p, const char *id);

/* A place for one more key: ERR_LIMIT when there is none. */
int known_reserve(struct people *p, int64_t now_us, struct err *e);
void known_unreserve(struct people *p);

bool known_is_fixed(struct people *p, const char *id);

/* A key as `row` says (name, scopes, limits, created, expires), without asking who wants it. */
int people_key_issue(struct people *p, const char *principal, struct key_row *row,
                     struct key_row *ret, char ret_secret[SECRET_SIZE], struct err *e);

/* Revokes the oldest keys of that name that still work, until `keep` are left. */
int people_keys_end(struct people *p, const char *principal, const char *name, uint32_t keep,
                    int64_t now_us, struct err *e);

/* Writes a principal and its default workspace. `row` needs kind, name and created; the rest is
 * filled in. */
int principal_make(struct people *p, struct principal_row *row, uint64_t max, struct err *e);

/* The sub-principal that `maker` (a principal; `key` "": without one) calls `external`, made on first use with that
 * name. */
int principal_child(struct people *p, const struct who *maker, const char *external,
                    const char *name, int64_t now_us, struct principal_row *ret, struct err *e);

/* ---- disabled.c: principals who are not let in ---- */

int disabled_load(struct people *p, struct err *e);
void disabled_done(struct people *p);
/* With p->lock held: whether they, or on whose keys they come, are among them. */
bool disabled_has(const struct people *p, const struct who *who);

/* 1 to PEOPLE_NAME_MAX bytes of UTF-8 without control characters. */
int check_text(const char *what, struct str text, struct err *e);

#endif
