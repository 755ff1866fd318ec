/* audit_seal.h -- what proves the audit: checkpoints, the key that signs them, the check of it all.
 *
 * A checkpoint says: entry `seq` had `hash`, at that time; Ed25519 over
 *
 *     "cicada audit checkpoint\n" seq "\n" hash in hex "\n" time "\n"
 *
 * with a key of the server's, DATA/audit.key (32 bytes, 0600; made at the first start). As text it is a
 * line of JSON: {"seq":12,"hash":"...","time":"...","signature":"...","key":"..."}, where key is the
 * public half. It is kept twice: as a row, and as a line of DATA/audit.checkpoints. Order: the row is
 * written in a transaction after, or together with, the entry it names; when that is durable the line
 * is appended and synced. So every line has its row; a crash in between leaves a row without a line,
 * which audit_seal_begin appends, or half a line, which it cuts off.
 *
 * Whoever can write to DATA can forge both together with the key. Against that helps only a checkpoint
 * that was taken elsewhere (`cicada audit head`): audit_verify compares with it.
 */
#ifndef STORE_AUDIT_SEAL_H
#define STORE_AUDIT_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct audit_key;
struct buf;
struct err;
struct meta;

enum {
    AUDIT_KEY_LEN = 32,
    AUDIT_SIGNATURE_LEN = 64,
    AUDIT_CHECKPOINT_MAX = 1024, /* bytes of one as text */
    AUDIT_SEAL_ROWS = 1000,      /* new entries after which one is due, */
    AUDIT_SEAL_S = 60,           /* or seconds after the first of them */
};

struct audit_checkpoint {
    uint64_t seq;
    int64_t at_us;
    uint8_t hash[HASH_LEN];
    uint8_t signature[AUDIT_SIGNATURE_LEN];
    uint8_t key[AUDIT_KEY_LEN]; /* public */
};

/* Reads DATA/audit.key; `makes` one when there is none, otherwise ERR_NOT_FOUND. Blocks on disk. */
int audit_key_load(int data_fd, bool makes, struct audit_key **ret, struct err *e);
void audit_key_free(struct audit_key *k); /* NULL is fine */
static inline void audit_key_freep(struct audit_key **k)
{
    audit_key_free(*k);
}
const uint8_t *audit_key_public(const struct audit_key *k);

/* ---- checkpoints ---- */

int audit_checkpoint_sign(const struct audit_key *k, struct audit_checkpoint *c, struct err *e);
bool audit_checkpoint_is_signed(const struct audit_checkpoint *c); /* with the key it names */
void audit_checkpoint_print(const struct audit_checkpoint *c, struct buf *out); /* no newline */
/* Fails with ERR_INVALID. Nothing is said about its signature. */
int audit_checkpoint_parse(const char *text, size_t len, struct audit_checkpoint *ret,
                           struct err *e);

/* Puts DATA/audit.checkpoints in order after a crash. At the start, before any audit_seal. */
int audit_seal_begin(struct meta *m, int data_fd, struct err *e);

/* A checkpoint of the newest entry, made now unless there is one already; durable when this returns.
 * ERR_NOT_FOUND when the audit is empty. Blocks on disk. One thread at a time. */
int audit_seal(struct meta *m, const struct audit_key *k, int data_fd, int64_t now_us,
               struct audit_checkpoint *ret, struct err *e);

/* Of the newest checkpoint; 0: there is none. */
int audit_sealed(struct meta *m, uint64_t *ret_seq, struct err *e);

/* ---- checking ---- */

struct audit_check {
    int data_fd;        /* for audit.checkpoints; -1: without */
    const uint8_t *key; /* public; NULL: signatures are checked by what they say */
    const struct audit_checkpoint *given; /* taken elsewhere; NULL: none. Only seq and hash count */
};

struct audit_verdict {
    uint64_t entries;       /* that were looked at */
    uint64_t checkpoints;   /* rows and lines */
    uint8_t hash[HASH_LEN]; /* of the last entry that is good */
    bool is_intact;
    uint64_t bad_seq; /* the first entry that is not what it was, or is missing */
    char what[200];   /* is wrong with it */
};

/* Walks all entries: that none is missing, that every hash is right, that columns say what records say;
 * all checkpoints: that the signature is right and the entry there and the same. Fails only when it
 * cannot look; what is wrong is in *ret. Blocks for as long as it takes; others go on meanwhile. */
int audit_verify(struct meta *m, const struct audit_check *check, struct audit_verdict *ret,
                 struct err *e);

#endif
