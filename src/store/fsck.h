/* fsck.h -- whether everything that was promised is there.
 *
 * With the database: SQLite's own checks; what the rows about files say of each other, the counters of
 * every workspace among them; every pack record by record, each hashed; every row of a chunk against the
 * record it names; every kept version's content, put together and hashed. Quickly: without reading
 * payloads. From packs alone: every record hashed, and how many contents could be put together; for when
 * the database is lost, or not believed.
 *
 * Nothing is changed. Torn tails and garbage are no problems: a crash leaves them, gc takes them away.
 * From packs alone, a content of which pieces are missing is garbage just as well as damage: gc may have
 * removed the other half. It is counted, and no problem.
 *
 * Nobody writes meanwhile.
 */
#ifndef STORE_FSCK_H
#define STORE_FSCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct contents;
struct err;
struct packs;

/* A kept version whose bytes are not there any more, or not what they were. */
struct fsck_lost {
    const char *workspace; /* its id; as are the rest: good until the call returns */
    struct str workspace_name, path;
    uint64_t version;
    bool is_newest, is_in_trash; /* newest of those with content */
    const char *sha256, *why;    /* in hex */
};

struct fsck_options {
    struct contents *contents;                 /* NULL: from packs alone */
    struct packs *packs;                       /* always */
    bool is_quick;                             /* payloads are not read */
    void (*tell)(void *arg, const char *what); /* every problem, one line; may be NULL */
    void (*lost)(void *arg, const struct fsck_lost *lost); /* every version; may be NULL */
    void *arg;
};

struct fsck_result {
    uint64_t problems;
    uint64_t contents, content_bytes; /* that are there */
    uint64_t incomplete;              /* contents of which pieces are missing; from packs alone */
    uint64_t packs, records, bytes;   /* of all packs */
    uint64_t garbage_bytes;           /* of those, that no row names; only with the database */
};

/* Fails only when it cannot look. Blocks for as long as it takes. */
int fsck_run(const struct fsck_options *options, struct fsck_result *ret, struct err *e);

/* ---- scrub: the same for packs, slowly, in the background of a server that writes ----
 *
 * Packs that were written to within SCRUB_SETTLE_S are left for the next round: what looks damaged in
 * them may be a record in the making. */

enum { SCRUB_SETTLE_S = 3600 };

struct scrub; /* where it is */

int scrub_new(struct packs *packs, struct scrub **ret, struct err *e);
void scrub_free(struct scrub *s); /* NULL is fine */

struct scrub_state {
    uint64_t rounds;     /* over all packs, that were finished */
    uint64_t bytes;      /* read, ever */
    uint64_t damaged;    /* records found that are not what they were, ever */
    int64_t round_at_us; /* wall clock, when the last round was finished; 0: none was */
};

/* Checks records until some `bytes_max` were read or a round is over; `tell` hears of each that is
 * damaged. Blocks on disk. */
int scrub_step(struct scrub *s, uint64_t bytes_max, int64_t now_us,
               void (*tell)(void *arg, const char *what), void *arg, struct err *e);
void scrub_look(const struct scrub *s, struct scrub_state *ret);

#endif
